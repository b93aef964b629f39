//! Marks the points at which a process may die.
//!
//! In the released program a mark does nothing. Tests count the marks that an operation reaches,
//! then kill it at each of them with SIGKILL: the store's own tests inside one process, and tests
//! with the feature `crash-points` wherever the real program runs.

use orange_config::Home;
use rusqlite::Connection;

/// A point at which a test may kill the process.
#[cfg(not(any(test, feature = "crash-points")))]
pub fn reach(_step: &'static str) {}

/// Whether a test has switched a rule off, to show that it is needed.
#[cfg(not(feature = "crash-points"))]
pub(crate) fn is_switched_off(_rule: &str, _home: &Home) -> bool {
    false
}

/// Whether the home's file `crash-points/off` lists this rule; it has one rule per line.
#[cfg(feature = "crash-points")]
pub(crate) fn is_switched_off(rule: &str, home: &Home) -> bool {
    let orders = std::fs::read_to_string(home.path().join("crash-points/off"));
    orders.is_ok_and(|it| it.lines().any(|line| line == rule))
}

/// A point at which a test may make a thread panic.
#[cfg(not(feature = "crash-points"))]
pub fn may_panic(_step: &'static str) {}

/// Panics if the home's file `crash-points/panics` lists this point; it has one point per line.
///
/// # Panics
///
/// When a test asks for it.
#[cfg(feature = "crash-points")]
pub fn may_panic(step: &'static str) {
    use orange_config::Environment;
    let home = Home::resolve(&Environment::read());
    let orders = home.map(|home| home.path().join("crash-points/panics"));
    let orders = orders.map(std::fs::read_to_string);
    let is_listed = orders.is_ok_and(|it| it.is_ok_and(|it| it.lines().any(|line| line == step)));
    assert!(!is_listed, "a test wants a panic in {step}");
}

/// Lets a test count the statements of a connection.
#[cfg(not(feature = "crash-points"))]
pub(crate) fn trace(_connection: &mut Connection, _home: &Home) {}

/// Appends each statement of a connection, behind the id of this process, to the home's file
/// `crash-points/statements`, if there is one.
#[cfg(feature = "crash-points")]
pub(crate) fn trace(connection: &mut Connection, home: &Home) {
    use rusqlite::trace::{TraceEvent, TraceEventCodes};
    use std::fs::OpenOptions;
    use std::io::Write as _;

    let path = home.path().join("crash-points/statements");
    let Ok(mut file) = OpenOptions::new().append(true).open(path) else {
        return;
    };
    let write = move |event: TraceEvent<'_>| {
        if let TraceEvent::Stmt(_, sql) = event {
            let words: Vec<&str> = sql.split_whitespace().collect();
            let line = format!("{} {}\n", std::process::id(), words.join(" "));
            let _written = file.write_all(line.as_bytes());
        }
    };
    let _traced = connection.trace_v2(TraceEventCodes::SQLITE_TRACE_STMT, Some(write));
}

#[cfg(test)]
pub use armed::{arm, reach};

#[cfg(all(feature = "crash-points", not(test)))]
pub use ordered::reach;

/// Kills this process as `kill -9` does.
#[cfg(any(test, feature = "crash-points"))]
fn die() {
    use rustix::process::{Signal, getpid, kill_process};
    let _dead = kill_process(getpid(), Signal::KILL);
}

#[cfg(test)]
mod armed {
    use std::cell::Cell;

    thread_local! {
        /// How many marks are left until the process dies; `None` lets it live.
        static LEFT: Cell<Option<usize>> = const { Cell::new(None) };
    }

    /// Makes the process die at this mark of the current thread, counted from 0.
    pub fn arm(at: usize) {
        LEFT.set(Some(at));
    }

    pub fn reach(_step: &'static str) {
        match LEFT.get() {
            None => {}
            Some(0) => super::die(),
            Some(left) => LEFT.set(Some(left - 1)),
        }
    }
}

/// A directory `crash-points` in the home holds `orders`: the steps that count, one per line, and
/// the numbers of the marks to die at. A process that reaches a mark appends a line to `reached`
/// beside it, so all processes of a home share one count.
#[cfg(all(feature = "crash-points", not(test)))]
mod ordered {
    use std::fs::{self, OpenOptions};
    use std::io::{self, Read as _, Write as _};
    use std::path::Path;

    use orange_config::{Environment, Home};

    pub fn reach(step: &'static str) {
        let Ok(home) = Home::resolve(&Environment::read()) else {
            return;
        };
        let folder = home.path().join("crash-points");
        let Ok(orders) = fs::read_to_string(folder.join("orders")) else {
            return;
        };
        if !orders.lines().any(|line| line == step) {
            return;
        }
        let Ok(number) = count(&folder.join("reached"), step) else {
            return;
        };
        if orders.lines().any(|line| line.parse() == Ok(number)) {
            super::die();
        }
    }

    /// The number of this mark, from 0.
    fn count(path: &Path, step: &str) -> io::Result<usize> {
        let mut options = OpenOptions::new();
        let mut file = options.read(true).append(true).create(true).open(path)?;
        file.lock()?;
        let mut before = String::new();
        file.read_to_string(&mut before)?;
        writeln!(file, "{} {step}", std::process::id())?;
        Ok(before.lines().count())
    }
}

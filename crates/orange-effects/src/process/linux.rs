//! Reads processes from Linux's `/proc`.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use orange_config::clock::Deadline;
use orange_config::reason;
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, geteuid, pidfd_open, pidfd_send_signal};

use super::{ProcessError, ProcessIdentity, Stat};

/// How long a process that works may seem to call `exec`.
const EXEC_TIMEOUT: Duration = Duration::from_millis(250);

/// The first size of the buffer for a process's variables, in bytes.
const USUAL_ENVIRONMENT: usize = 64 * 1024;

/// The numbers of fields of `stat`: the state, the size of the memory, and where the variables begin
/// and end.
const STATE: usize = 3;
const VIRTUAL_MEMORY: usize = 23;
const VARIABLES: [usize; 2] = [50, 51];

/// The id of this boot; read once, because no process outlives it.
pub fn boot() -> Result<Option<String>, ProcessError> {
    static BOOT: OnceLock<String> = OnceLock::new();
    if let Some(boot_id) = BOOT.get() {
        return Ok(Some(boot_id.clone()));
    }
    let boot_id = fs::read_to_string("/proc/sys/kernel/random/boot_id");
    let boot_id = boot_id.map_err(|error| ProcessError::NotListed(reason(&error)))?;
    let boot_id = BOOT.get_or_init(|| boot_id.trim().to_owned());
    Ok(Some(boot_id.clone()))
}

/// The process with this pid; `None` when there is none.
pub fn stat(pid: u32) -> Result<Option<Stat>, ProcessError> {
    let failed = |error: &io::Error| ProcessError::System {
        verb: "inspect",
        pid,
        reason: reason(error),
    };
    match fs::read(proc_path(pid, "stat")) {
        Ok(bytes) => match parse(pid, &bytes) {
            Some(stat) => Ok(Some(Stat {
                wait_status: wait_status(pid, &bytes),
                ..stat
            })),
            None => Err(failed(&io::Error::other("its `stat` is malformed"))),
        },
        Err(error) if is_gone(&error) => {
            // Without `/proc` every process would look gone, so it must at least show this process.
            let own = fs::metadata("/proc/self/stat");
            own.map(|_| None).map_err(|error| failed(&error))
        }
        Err(error) => Err(failed(&error)),
    }
}

pub fn table() -> Result<Vec<Stat>, ProcessError> {
    let failed = |error: io::Error| ProcessError::NotListed(reason(&error));
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        // A process that exited meanwhile is left out, and so is one that we cannot read: it is not
        // ours.
        if let Ok(Some(stat)) = stat(pid) {
            found.push(stat);
        }
    }
    Ok(found)
}

/// The environment a process was started with: `NAME=value`, each ended by a zero byte.
///
/// A process that calls `exec` shows no variables for a moment, so it is read again: otherwise an
/// agent's process could be overlooked.
pub fn environment(pid: u32) -> Option<Vec<u8>> {
    let mut found = None;
    Deadline::after(EXEC_TIMEOUT).wait_for(|| {
        found = read_at_once(&proc_path(pid, "environ")).ok();
        found.as_ref().is_none_or(|it| !it.is_empty()) || has_no_variables(pid)
    });
    found
}

/// Reads a file with one call: a second call would return nothing, as at the end of the file, if the
/// process has called `exec` meanwhile.
fn read_at_once(path: &Path) -> io::Result<Vec<u8>> {
    let mut size = USUAL_ENVIRONMENT;
    loop {
        let mut bytes = vec![0; size];
        let length = File::open(path)?.read(&mut bytes)?;
        if length < size {
            bytes.truncate(length);
            return Ok(bytes);
        }
        size *= 4;
    }
}

/// Whether a process that shows no variables has none, because it was started without any, is a
/// kernel thread, or has ended. While it calls `exec`, it has memory and does not sleep, but its
/// variables are not there yet.
fn has_no_variables(pid: u32) -> bool {
    let stat = fs::read(proc_path(pid, "stat")).unwrap_or_default();
    let fields = parse_fields(&stat).unwrap_or_default();
    let field = |number: usize| fields.get(number - 3).copied().unwrap_or("0");
    let is_busy = matches!(field(STATE), "R" | "D");
    let [start, end] = VARIABLES.map(field);
    field(VIRTUAL_MEMORY) == "0" || (!is_busy && end != "0" && start == end)
}

/// The file that a process executes, and the first of its arguments, as far as we may read them.
pub fn program_and_verb(pid: u32) -> Option<(fs::Metadata, Vec<u8>)> {
    let program = fs::metadata(proc_path(pid, "exe")).ok()?;
    let arguments = fs::read(proc_path(pid, "cmdline")).ok()?;
    let verb = arguments.split(|byte| *byte == 0).nth(1);
    Some((program, verb.unwrap_or_default().to_vec()))
}

/// The name of a process and its working directory, as far as we may read them.
pub fn name_and_directory(pid: u32) -> (Vec<u8>, io::Result<PathBuf>) {
    let name = fs::read(proc_path(pid, "comm")).unwrap_or_default();
    (name, fs::read_link(proc_path(pid, "cwd")))
}

/// Sends a signal to exactly this process; not an error when it has already exited.
pub fn signal(process: &ProcessIdentity, signal: Signal) -> Result<(), ProcessError> {
    let failed = |error: Errno| ProcessError::System {
        verb: "signal",
        pid: process.pid,
        reason: reason(&error.into()),
    };
    let Some(pid) = i32::try_from(process.pid).ok().and_then(Pid::from_raw) else {
        return Ok(());
    };
    // Open the handle before checking: it then stays bound to the process that has the pid now.
    let handle = match pidfd_open(pid, PidfdFlags::empty()) {
        Err(Errno::SRCH) => return Ok(()),
        opened => opened.map_err(failed)?,
    };
    if process.liveness() != super::Liveness::Alive {
        return Ok(());
    }
    match pidfd_send_signal(handle, signal) {
        Err(Errno::SRCH) => Ok(()),
        sent => sent.map_err(failed),
    }
}

/// The wait status in the last field; `None` if this user may not see it, because the kernel then
/// reports 0.
fn wait_status(pid: u32, bytes: &[u8]) -> Option<i32> {
    let owner = fs::metadata(format!("/proc/{pid}")).ok()?.uid();
    let own = geteuid();
    let may_see = own.is_root() || own.as_raw() == owner;
    let last = bytes.trim_ascii().rsplit(|byte| *byte == b' ').next()?;
    let status = std::str::from_utf8(last).ok()?.parse().ok()?;
    may_see.then_some(status)
}

fn proc_path(pid: u32, file: &str) -> PathBuf {
    PathBuf::from(format!("/proc/{pid}/{file}"))
}

fn is_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
        || error.raw_os_error() == Some(Errno::SRCH.raw_os_error())
}

/// The fields of a line of `stat` from the third on. The second is the program's name in parentheses,
/// and a name may itself contain spaces and parentheses, so the others begin after the last
/// parenthesis.
fn parse_fields(bytes: &[u8]) -> Option<Vec<&str>> {
    let end = bytes.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(bytes.get(end + 1..)?).ok()?;
    Some(rest.split_ascii_whitespace().collect())
}

/// Parses a line of `stat`.
fn parse(pid: u32, bytes: &[u8]) -> Option<Stat> {
    let fields = parse_fields(bytes)?;
    // The manual numbers the fields from 1, and these begin with the third.
    let field = |number: usize| fields.get(number - 3).copied();
    let number = |at: usize| field(at)?.parse::<i64>().ok();
    // A process that is being reaped no longer has a group or session.
    let (group, session) = (number(5)?, number(6)?);
    // The first thread of a process may have ended before the others, which still hold its locks.
    let has_threads = number(20)? > 1;
    Some(Stat {
        pid,
        parent: number(4)?.try_into().ok()?,
        group: group.try_into().unwrap_or(0),
        session: session.try_into().unwrap_or(0),
        start: field(22)?.parse().ok()?,
        has_ended: (matches!(field(3)?, "Z" | "X") && !has_threads) || group < 0,
        is_stopped: field(3)? == "T",
        is_traced: field(3)? == "t",
        wait_status: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_may_have_any_name() {
        let line = b"7 (a) R 9 ) (\n) S 1 2 3 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 4242 0 0";
        let stat = parse(7, line).unwrap();
        assert_eq!((stat.parent, stat.group, stat.session), (1, 2, 3));
        assert_eq!((stat.start, stat.has_ended), (4242, false));
        let leaving = b"7 (a) X 1 -1 -1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 4242 0 0";
        assert!(parse(7, leaving).unwrap().has_ended);
        let ending = b"7 (a) Z 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 4242 0 0";
        assert!(parse(7, ending).unwrap().has_ended);
        let working = b"7 (a) Z 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 2 0 4242 0 0";
        assert!(!parse(7, working).unwrap().has_ended);
        for garbage in [&b""[..], b"7", b"7 (a", b"7 (a) S", b"7 (a) S x y z"] {
            assert_eq!(parse(7, garbage), None);
        }
    }

    #[test]
    fn the_table_contains_this_process() {
        let own = std::process::id();
        assert!(table().unwrap().iter().any(|stat| stat.pid == own));
    }
}

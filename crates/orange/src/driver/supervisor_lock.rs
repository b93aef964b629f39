//! The right to supervise a home.
//!
//! An OS lock that dies with its holder says who supervises. Who wants to take over, because it
//! will stay longer, holds a second one until a holder that yields has let go of the first.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Seek as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::time::Duration;

use super::{Driver, DriverError};
use crate::clock::Deadline;
use crate::config::reason;
use crate::effects::process::{Life, ProcessIdentity, ask_to_end};

const HELD: &str = "supervisor.lock";
const WANTED: &str = "supervisor.wanted";

/// How long to wait for one who only looked, or who is about to yield.
const PATIENCE: Duration = Duration::from_secs(5);

/// What who yields says of itself, after its number.
const YIELDS: &str = " yields";

fn said(yields: bool) -> &'static str {
    if yields { YIELDS } else { "" }
}

/// Held by the one who supervises a home.
#[derive(Debug)]
pub struct SupervisorLock {
    _file: File,
}

impl Driver {
    /// Takes the right to supervise, for good or until somebody else wants it. One who yields is
    /// waited for; anybody else keeps it.
    pub fn take_supervision(&self, yields: bool) -> Result<SupervisorLock, DriverError> {
        let failed = |error: &io::Error| self.lock_failed(HELD, error);
        let wanted = self.lock_file(WANTED)?;
        wanted.lock().map_err(|error| failed(&error))?;
        let mut file = self.lock_file(HELD)?;
        let mut failure = None;
        let taken = Deadline::after(PATIENCE).wait_for(|| match file.try_lock() {
            Ok(()) => true,
            Err(TryLockError::WouldBlock) => false,
            Err(TryLockError::Error(error)) => {
                failure = Some(error);
                true
            }
        });
        if let Some(error) = failure {
            return Err(failed(&error));
        }
        if !taken {
            return Err(DriverError::Supervised {
                pid: self.supervisor(),
            });
        }
        let own = std::process::id();
        let own = ProcessIdentity::of(own).unwrap_or(ProcessIdentity {
            pid: own,
            start: None,
            boot: None,
        });
        let own = serde_json::to_string(&own).map_err(|error| failed(&error.into()))?;
        let noted = file
            .set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| writeln!(file, "{own}{}", said(yields)));
        noted.map_err(|error| failed(&error))?;
        Ok(SupervisorLock { _file: file })
    }

    /// Starts a supervisor apart from this process, and waits until it supervises.
    pub fn start_supervisor(&self, patience: Duration) -> Result<u32, DriverError> {
        if self.is_supervised() && !self.is_yielding() {
            return Err(DriverError::Supervised {
                pid: self.supervisor(),
            });
        }
        let started = self.start_apart(&["serve"])?;
        let holds = || self.is_supervised() && self.supervisor() == Some(started.pid);
        let mut is_gone = false;
        Deadline::after(patience).wait_for(|| {
            is_gone = started.life() == Life::Gone;
            is_gone || holds()
        });
        if holds() {
            return Ok(started.pid);
        }
        Err(DriverError::NotSupervising { pid: started.pid })
    }

    /// Asks the supervisor to end and waits until it has; who it was.
    pub fn stop_supervisor(&self, patience: Duration) -> Result<Option<u32>, DriverError> {
        // Whoever yields does something else besides, and must not be ended for this.
        if !self.is_supervised() || self.is_yielding() {
            return Ok(None);
        }
        // Who has just taken over says a moment later who it is: what is read before is nothing, or
        // of one that has ended and gets no signal, whoever has its number now.
        let mut asked = None;
        let mut failure = None;
        let has_ended = Deadline::after(patience).wait_for(|| {
            let process = self.supervising_process();
            let process = process.filter(|it| asked.is_none() && it.life() != Life::Gone);
            if let Some(process) = process {
                failure = ask_to_end(&process).err();
                asked = Some(process.pid);
            }
            failure.is_some() || !self.is_supervised()
        });
        if let Some(failure) = failure {
            return Err(failure.into());
        }
        if has_ended {
            return Ok(asked);
        }
        Err(DriverError::Supervised { pid: asked })
    }

    /// The number of who supervises, as far as it has said so.
    fn supervisor(&self) -> Option<u32> {
        self.supervising_process().map(|process| process.pid)
    }

    /// Who supervises, as far as it has said so: its start too, because numbers come again.
    fn supervising_process(&self) -> Option<ProcessIdentity> {
        let said = self.said_by_supervisor()?;
        let own = said.trim().trim_end_matches(YIELDS);
        serde_json::from_str(own.trim()).ok()
    }

    /// Whether who supervises said that it leaves that to anybody who wants to.
    fn is_yielding(&self) -> bool {
        let said = self.said_by_supervisor();
        said.is_some_and(|it| it.trim_end().ends_with(YIELDS))
    }

    fn said_by_supervisor(&self) -> Option<String> {
        std::fs::read_to_string(self.home.path().join(HELD)).ok()
    }

    /// Whether somebody supervises this home now.
    pub fn is_supervised(&self) -> bool {
        self.is_locked(HELD)
    }

    /// Whether somebody waits to take supervision over.
    pub fn is_supervision_wanted(&self) -> bool {
        self.is_locked(WANTED)
    }

    /// Looking takes the lock for a moment, together with others who look.
    fn is_locked(&self, name: &str) -> bool {
        let opened = File::open(self.home.path().join(name));
        opened.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
    }

    fn lock_file(&self, name: &str) -> Result<File, DriverError> {
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create(true);
        let opened = options
            .truncate(false)
            .mode(0o600)
            .open(self.home.path().join(name));
        opened.map_err(|error| self.lock_failed(name, &error))
    }

    fn lock_failed(&self, name: &str, error: &io::Error) -> DriverError {
        DriverError::File {
            attempt: "lock",
            path: self.home.path().join(name),
            reason: reason(error),
        }
    }
}

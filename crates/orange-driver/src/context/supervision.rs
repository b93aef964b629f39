//! The right to supervise a home.
//!
//! An OS lock that dies with its holder says who supervises. Who wants to take over, because it
//! will stay longer, holds a second one until a holder that yields has let go of the first.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Seek as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::time::Duration;

use orange_config::clock::Deadline;
use orange_config::reason;
use orange_effects::process::{Life, ProcessIdentity, ask_to_end};

use crate::DriverError;
use crate::context::Context;

const HELD: &str = "supervisor.lock";
const WANTED: &str = "supervisor.wanted";

/// How long to wait for one who only looked, or who is about to yield.
const PATIENCE: Duration = Duration::from_secs(5);

/// What who yields says of itself, after its number.
const YIELDS: &str = " yields";

fn said(yields: bool) -> &'static str {
    if yields { YIELDS } else { "" }
}

/// Who supervises, by its own word.
struct Holder {
    process: ProcessIdentity,
    yields: bool,
}

/// Held by the one who supervises a home.
#[derive(Debug)]
pub struct SupervisorLock {
    _file: File,
}

impl Context {
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
            .and_then(|()| file.write_all(format!("{own}{}\n", said(yields)).as_bytes()));
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
        let mut asked = None;
        let mut failure = None;
        let has_ended = Deadline::after(patience).wait_for(|| {
            if !self.is_supervised() {
                return true;
            }
            match self.holder() {
                // Whoever yields does something else besides, and must not be ended for this.
                Some(holder) if holder.yields => return true,
                Some(holder) if asked.is_none() => {
                    failure = ask_to_end(&holder.process).err();
                    asked = Some(holder.process.pid);
                }
                // Who has just taken over says a moment later who it is.
                _ => {}
            }
            failure.is_some()
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
        self.holder().map(|holder| holder.process.pid)
    }

    /// The process that supervises, as far as it has said so.
    pub(crate) fn supervisor_process(&self) -> Option<ProcessIdentity> {
        self.holder().map(|holder| holder.process)
    }

    /// Whether who supervises said that it leaves that to anybody who wants to.
    fn is_yielding(&self) -> bool {
        self.holder().is_some_and(|holder| holder.yields)
    }

    /// Who supervises, as far as it has said so: its start too, because numbers come again. What
    /// one said who has ended says nothing about who came after it.
    fn holder(&self) -> Option<Holder> {
        let said = std::fs::read_to_string(self.home.path().join(HELD)).ok()?;
        let said = said.trim_end();
        let own = said.trim_end_matches(YIELDS);
        let process: ProcessIdentity = serde_json::from_str(own).ok()?;
        let yields = own.len() < said.len();
        (process.life() != Life::Gone).then_some(Holder { process, yields })
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

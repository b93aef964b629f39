//! The lock for supervising a home.
//!
//! The process that holds an OS lock is the supervisor; the system releases the lock when the
//! process exits. A process that wants to take over, because it will run longer, holds a second
//! lock until a yielding supervisor has released the first.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Seek as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::time::Duration;

use orange_config::clock::Deadline;
use orange_config::reason;
use orange_effects::process::{Liveness, ProcessIdentity, terminate};

use crate::DriverError;
use crate::context::Context;

const LOCK_FILE: &str = "supervisor.lock";
const WANTED_FILE: &str = "supervisor.wanted";

/// How long to wait for a process that only checks the lock, or that is about to yield.
const YIELD_TIMEOUT: Duration = Duration::from_secs(5);

/// What a yielding supervisor writes after its process identity.
const YIELDS: &str = " yields";

fn yield_suffix(yields: bool) -> &'static str {
    if yields { YIELDS } else { "" }
}

/// The supervisor, as it identified itself in the lock file.
struct Holder {
    process: ProcessIdentity,
    yields: bool,
}

/// Held by the supervisor of a home.
#[derive(Debug)]
pub struct SupervisorLock {
    _file: File,
}

impl Context {
    /// Takes the supervisor lock, permanently or until another process wants it. Waits for a
    /// supervisor that yields; any other keeps the lock.
    pub fn take_supervision(&self, yields: bool) -> Result<SupervisorLock, DriverError> {
        let failed = |error: &io::Error| self.lock_failed(LOCK_FILE, error);
        let wanted = self.lock_file(WANTED_FILE)?;
        wanted.lock().map_err(|error| failed(&error))?;
        let mut file = self.lock_file(LOCK_FILE)?;
        let mut failure = None;
        let taken = Deadline::after(YIELD_TIMEOUT).wait_for(|| match file.try_lock() {
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
            return Err(DriverError::AlreadySupervised {
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
        let written = file
            .set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| file.write_all(format!("{own}{}\n", yield_suffix(yields)).as_bytes()));
        written.map_err(|error| failed(&error))?;
        Ok(SupervisorLock { _file: file })
    }

    /// Starts a detached supervisor, and waits until it supervises.
    pub fn start_supervisor(&self, timeout: Duration) -> Result<u32, DriverError> {
        if self.is_supervised() && !self.is_yielding() {
            return Err(DriverError::AlreadySupervised {
                pid: self.supervisor(),
            });
        }
        let started = self.start_detached(&["serve"])?;
        let holds = || self.is_supervised() && self.supervisor() == Some(started.pid);
        let mut is_gone = false;
        Deadline::after(timeout).wait_for(|| {
            is_gone = started.liveness() == Liveness::Gone;
            is_gone || holds()
        });
        if holds() {
            return Ok(started.pid);
        }
        Err(DriverError::SupervisorNotStarted { pid: started.pid })
    }

    /// Asks the supervisor to exit and waits until it has; returns its pid.
    pub fn stop_supervisor(&self, timeout: Duration) -> Result<Option<u32>, DriverError> {
        let mut stopped_pid = None;
        let mut failure = None;
        let has_ended = Deadline::after(timeout).wait_for(|| {
            if !self.is_supervised() {
                return true;
            }
            match self.holder() {
                // A process that yields also does other work, so it must not be stopped only to end
                // supervision.
                Some(holder) if holder.yields => return true,
                Some(holder) if stopped_pid.is_none() => {
                    failure = terminate(&holder.process).err();
                    stopped_pid = Some(holder.process.pid);
                }
                // A process that has just taken over identifies itself a moment later.
                _ => {}
            }
            failure.is_some()
        });
        if let Some(failure) = failure {
            return Err(failure.into());
        }
        if has_ended {
            return Ok(stopped_pid);
        }
        Err(DriverError::AlreadySupervised { pid: stopped_pid })
    }

    /// The supervisor's pid, if it has identified itself.
    fn supervisor(&self) -> Option<u32> {
        self.holder().map(|holder| holder.process.pid)
    }

    /// The supervisor's process, if it has identified itself.
    pub(crate) fn supervisor_process(&self) -> Option<ProcessIdentity> {
        self.holder().map(|holder| holder.process)
    }

    /// Whether the supervisor yields to any process that wants to take over.
    fn is_yielding(&self) -> bool {
        self.holder().is_some_and(|holder| holder.yields)
    }

    /// The supervisor, if it has identified itself. The start time is included because pids are
    /// reused. What an exited supervisor wrote says nothing about its successor.
    fn holder(&self) -> Option<Holder> {
        let text = std::fs::read_to_string(self.home.path().join(LOCK_FILE)).ok()?;
        let text = text.trim_end();
        let identity = text.trim_end_matches(YIELDS);
        let process: ProcessIdentity = serde_json::from_str(identity).ok()?;
        let yields = identity.len() < text.len();
        (process.liveness() != Liveness::Gone).then_some(Holder { process, yields })
    }

    /// Whether a process supervises this home now.
    pub fn is_supervised(&self) -> bool {
        self.is_locked(LOCK_FILE)
    }

    /// Whether a process waits to take over supervision.
    pub fn is_supervision_wanted(&self) -> bool {
        self.is_locked(WANTED_FILE)
    }

    /// Whether a process holds the lock. The check itself takes the lock for a moment, shared with
    /// other checks.
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

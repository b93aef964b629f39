//! Process checks for systems without `/proc`.
//!
//! A pid that no process has proves an exit. Everything else is reported as unsupported: which
//! process has a pid, which boot this is, which processes exist and their environments.

use std::io;
use std::path::PathBuf;
use std::sync::{Condvar, Mutex, PoisonError};

use orange_config::reason;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process, test_kill_process};

use super::{ProcessError, ProcessIdentity, Stat};

/// The id of the current boot.
#[expect(clippy::unnecessary_wraps, reason = "the same signature as on Linux")]
pub fn boot() -> Result<Option<String>, ProcessError> {
    Ok(None)
}

/// The process with this pid; `None` when there is none.
pub fn stat(pid: u32) -> Result<Option<Stat>, ProcessError> {
    match number(pid).map(test_kill_process) {
        None | Some(Err(Errno::SRCH)) => Ok(None),
        Some(_) => Err(ProcessError::Unsupported(
            "identify the process that has a pid",
        )),
    }
}

pub fn table() -> Result<Vec<Stat>, ProcessError> {
    Err(ProcessError::Unsupported("list the processes of a run"))
}

/// The environment a process was started with.
pub fn environment(_pid: u32) -> Option<Vec<u8>> {
    None
}

/// The file that a process executes, and the first of its arguments.
pub fn program_and_verb(_pid: u32) -> Option<(std::fs::Metadata, Vec<u8>)> {
    None
}

/// The name of a process and its working directory.
pub fn name_and_directory(_pid: u32) -> (Vec<u8>, io::Result<PathBuf>) {
    (Vec::new(), Err(io::ErrorKind::Unsupported.into()))
}

/// Sends a signal to the process that has the pid.
pub fn signal(process: &ProcessIdentity, signal: Signal) -> Result<(), ProcessError> {
    let Some(pid) = number(process.pid) else {
        return Ok(());
    };
    match kill_process(pid, signal) {
        Err(Errno::SRCH) => Ok(()),
        sent => sent.map_err(|error| ProcessError::System {
            verb: "signal",
            pid: process.pid,
            reason: reason(&error.into()),
        }),
    }
}

/// Whether the system killed this process for lack of memory; not available here.
pub fn is_oom_killed(_pid: u32, _start: u64) -> bool {
    false
}

/// Process exits cannot be awaited here; callers have to poll.
#[derive(Debug, Default)]
pub struct Exits {
    is_stopped: Mutex<bool>,
    stopping: Condvar,
}

impl Exits {
    pub fn new() -> Result<Exits, ProcessError> {
        Ok(Exits::default())
    }

    /// Always fails: not supported here.
    pub fn watch(&self, _process: &ProcessIdentity) -> Result<bool, ProcessError> {
        Err(ProcessError::Unsupported("wait for a process to exit"))
    }

    /// Waits until it is stopped.
    pub fn wait(&self) -> Option<Vec<u32>> {
        let stopped = self.is_stopped.lock();
        let stopped = stopped.unwrap_or_else(PoisonError::into_inner);
        drop(self.stopping.wait_while(stopped, |stopped| !*stopped));
        None
    }

    /// Stops the current wait and every later one.
    pub fn stop(&self) {
        *self
            .is_stopped
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = true;
        self.stopping.notify_all();
    }
}

fn number(pid: u32) -> Option<Pid> {
    i32::try_from(pid).ok().and_then(Pid::from_raw)
}

/// Nothing tells which process is at the other end of a connection.
pub fn socket_owners(
    _peer: std::net::SocketAddrV4,
    _own: std::net::SocketAddrV4,
) -> Result<Option<super::SocketOwners>, ProcessError> {
    Err(ProcessError::Unsupported("find the owner of a connection"))
}

//! Processes: identify one, check whether it is gone, end it.
//!
//! A pid alone identifies no process, because the system reuses it. A process is identified by its
//! pid, its start time and its boot; it is gone only when these prove it. A failed check proves
//! nothing.

mod ancestry;
mod closed_output;
mod freeze;
mod kill;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
mod linux_exits;
#[cfg(target_os = "linux")]
mod linux_memory;
mod open_files;
#[cfg(target_os = "linux")]
mod socket_owner;
mod table;
#[cfg(not(target_os = "linux"))]
mod unsupported;

#[cfg(target_os = "linux")]
use linux as system;

#[cfg(not(target_os = "linux"))]
use unsupported as system;

#[cfg(target_os = "linux")]
pub use linux_exits::Exits;
#[cfg(target_os = "linux")]
pub use linux_memory::is_oom_killed;
#[cfg(target_os = "linux")]
pub use socket_owner::socket_owners;
#[cfg(not(target_os = "linux"))]
pub use unsupported::{Exits, is_oom_killed, socket_owners};

pub use ancestry::{Ancestor, ancestors, process_and_ancestors};
pub use closed_output::is_output_closed;
pub use freeze::{FreezeError, RunProcesses, freeze, thaw};
#[cfg(target_os = "linux")]
pub(crate) use kill::kill_descendants;
pub use kill::{EndedProcesses, KillTimeouts, end_run_processes, end_with_variable, terminate};
pub use open_files::{original_open_file_limit, raise_open_file_limit, set_open_file_limit};
pub use table::{
    marked_runs, own_processes_in, processes_in, processes_of_run, processes_with_variable,
    run_members,
};

use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::ExitStatus;

use orange_engine::evidence::Evidence;
use serde::{Deserialize, Serialize};

/// One process, distinct from any that gets its pid later.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProcessIdentity {
    pub pid: u32,
    /// When it started, in the system's ticks since boot, if the system reports it.
    pub start: Option<u64>,
    /// The boot it started in, if the system reports it.
    pub boot: Option<String>,
}

/// Whether a process runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Liveness {
    Alive,
    /// It has provably exited.
    Gone,
    /// Whether the process runs could not be determined, for this reason.
    Unknown(String),
}

/// Which processes may hold the other end of a connection on the loopback interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SocketOwners {
    /// A process of another user.
    OtherUser,
    /// These processes have it open.
    Known(Vec<u32>),
    /// None that we may look into has it open; it can only be one of these, which are ours but
    /// hidden from us.
    Hidden(Vec<u32>),
}

/// Why a process could not be inspected or ended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProcessError {
    /// It exited before we looked.
    #[error("process {0} has exited")]
    Gone(u32),
    #[error("cannot {verb} process {pid}: {reason}")]
    System {
        verb: &'static str,
        pid: u32,
        reason: String,
    },
    #[error("cannot list the processes: {0}")]
    NotListed(String),
    /// Watching processes is not possible.
    #[error("cannot watch processes: {0}")]
    NotWatched(String),
    /// This system does not support the operation.
    #[error("cannot {0}: this system does not support it; check with `ps`")]
    Unsupported(&'static str),
    /// Some processes survived `SIGKILL`.
    #[error("cannot kill {}: still running after SIGTERM and SIGKILL; check with `ps -p {}`", join_pids(.0, ", "), join_pids(.0, ","))]
    Survived(Vec<u32>),
}

fn join_pids(pids: &[u32], separator: &str) -> String {
    let pids: Vec<String> = pids.iter().map(u32::to_string).collect();
    pids.join(separator)
}

/// What the system reports about a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stat {
    pid: u32,
    parent: u32,
    group: u32,
    session: u32,
    start: u64,
    /// Whether it is a zombie: it has exited, but its parent has not reaped it.
    has_ended: bool,
    /// Whether a signal has stopped it.
    is_stopped: bool,
    /// Whether a debugger holds it.
    is_traced: bool,
    /// Its wait status, as its parent would get it, if this system shows it to us.
    wait_status: Option<i32>,
}

/// The directory that a process works in, if we may know it.
pub fn directory_of(pid: u32) -> Option<PathBuf> {
    system::name_and_directory(pid).1.ok()
}

/// How a process ended that its parent has not reaped.
pub fn unreaped_exit(pid: u32, parent: u32) -> Option<Evidence> {
    let stat = system::stat(pid).ok()??;
    let status = stat
        .wait_status
        .filter(|_| stat.has_ended && stat.parent == parent);
    let status = ExitStatus::from_raw(status?);
    let exit = status.code().map(|code| Evidence::Exit { code });
    exit.or_else(|| status.signal().map(|signal| Evidence::Signal { signal }))
}

impl ProcessIdentity {
    /// The process that has this pid now.
    pub fn of(pid: u32) -> Result<Self, ProcessError> {
        let boot = system::boot()?;
        match system::stat(pid) {
            Ok(Some(stat)) if !stat.has_ended => Ok(Self {
                pid,
                start: Some(stat.start),
                boot,
            }),
            Ok(_) => Err(ProcessError::Gone(pid)),
            Err(ProcessError::Unsupported(_)) => Ok(Self {
                pid,
                start: None,
                boot,
            }),
            Err(error) => Err(error),
        }
    }

    pub fn liveness(&self) -> Liveness {
        self.check()
            .unwrap_or_else(|error| Liveness::Unknown(error.to_string()))
    }

    /// Whether it started before this boot, so that it must be gone.
    pub fn is_of_another_boot(&self) -> bool {
        match (&self.boot, system::boot()) {
            (Some(then), Ok(Some(now))) => *then != now,
            _ => false,
        }
    }

    fn check(&self) -> Result<Liveness, ProcessError> {
        if self.is_of_another_boot() {
            return Ok(Liveness::Gone);
        }
        let is_same = |stat: &Stat| self.start.is_none_or(|start| start == stat.start);
        Ok(match system::stat(self.pid)? {
            Some(stat) if is_same(&stat) && !stat.has_ended => Liveness::Alive,
            _ => Liveness::Gone,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_alive_and_another_start_time_is_not() {
        let own = ProcessIdentity::of(std::process::id()).unwrap();
        assert_eq!(own.liveness(), Liveness::Alive);
        let earlier = ProcessIdentity {
            start: own.start.map(|start| start - 1),
            ..own.clone()
        };
        assert_eq!(earlier.liveness(), Liveness::Gone);
        let before_the_boot = ProcessIdentity {
            boot: Some("another".to_owned()),
            ..own
        };
        assert_eq!(before_the_boot.liveness(), Liveness::Gone);
        assert!(before_the_boot.is_of_another_boot());
    }

    #[test]
    fn an_unused_pid_is_gone() {
        let unused_pid = 0x7fff_fff0;
        assert_eq!(
            ProcessIdentity::of(unused_pid),
            Err(ProcessError::Gone(unused_pid))
        );
    }
}

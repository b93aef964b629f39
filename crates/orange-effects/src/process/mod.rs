//! Processes: which one it was, whether it is gone, ending it.
//!
//! A number alone names nobody, because the system hands it out again. A process is meant by its
//! number, its start and the boot it started in; it is gone only when those say so, and a look that
//! fails is neither.

mod ancestry;
mod ending;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
mod linux_exits;
#[cfg(target_os = "linux")]
mod linux_memory;
mod open_files;
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
pub use linux_memory::ended_for_memory;
#[cfg(not(target_os = "linux"))]
pub use unsupported::{Exits, ended_for_memory};

pub use ancestry::{Ancestor, ancestors};
pub use ending::{Ended, Patience, ask_to_end, end, end_with_variable};
pub use open_files::{allow_many_open_files, limit_open_files, usual_open_files};
pub use table::{carrying, marked, members, with_variable, working_in};

use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;

use orange_engine::evidence::Evidence;
use serde::{Deserialize, Serialize};

/// One process, and no other that gets its number later.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProcessIdentity {
    pub pid: u32,
    /// When it started, in the system's own ticks since the boot, where the system tells.
    pub start: Option<u64>,
    /// The boot it started in, where the system tells.
    pub boot: Option<String>,
}

/// Whether a process runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Life {
    /// It runs.
    Alive,
    /// It has provably ended.
    Gone,
    /// Nobody can tell, and why.
    Unknown(String),
}

/// Why a process could not be looked at or ended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProcessError {
    /// It ended before it was looked at.
    #[error("process {0} has ended")]
    Gone(u32),
    #[error("cannot {verb} process {pid}: {reason}")]
    System {
        verb: &'static str,
        /// On which process.
        pid: u32,
        reason: String,
    },
    /// The processes could not be listed.
    #[error("cannot list the processes: {0}")]
    NotListed(String),
    /// Nobody can be watched.
    #[error("cannot watch processes: {0}")]
    NotWatched(String),
    /// This system does not tell.
    #[error("cannot {0}: this system does not tell; look with `ps` yourself")]
    Unsupported(&'static str),
    /// Some survived everything.
    #[error("cannot end {}: still there after TERM and KILL; look with `ps -p {}`", listed(.0, ", "), listed(.0, ","))]
    Survived(Vec<u32>),
}

fn listed(pids: &[u32], between: &str) -> String {
    let pids: Vec<String> = pids.iter().map(u32::to_string).collect();
    pids.join(between)
}

/// What the system says about a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stat {
    pid: u32,
    parent: u32,
    group: u32,
    session: u32,
    start: u64,
    /// Whether it has ended, and only its parent has not noticed.
    has_ended: bool,
    /// How it ended, as its parent would be told, if this system shows it to us.
    wait_status: Option<i32>,
}

/// How a process ended that its parent has not noticed.
pub fn unnoticed_end(pid: u32, parent: u32) -> Option<Evidence> {
    let stat = system::stat(pid).ok()??;
    let status = stat
        .wait_status
        .filter(|_| stat.has_ended && stat.parent == parent);
    let status = ExitStatus::from_raw(status?);
    let by_itself = status.code().map(|code| Evidence::Exit { code });
    by_itself.or_else(|| status.signal().map(|signal| Evidence::Signal { signal }))
}

impl ProcessIdentity {
    /// The process that has this number now.
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

    /// Whether it runs.
    pub fn life(&self) -> Life {
        self.look()
            .unwrap_or_else(|error| Life::Unknown(error.to_string()))
    }

    /// Whether it started before the machine did, so that it is gone without a look.
    pub fn is_of_another_boot(&self) -> bool {
        match (&self.boot, system::boot()) {
            (Some(then), Ok(Some(now))) => *then != now,
            _ => false,
        }
    }

    fn look(&self) -> Result<Life, ProcessError> {
        if self.is_of_another_boot() {
            return Ok(Life::Gone);
        }
        let is_it = |stat: &Stat| self.start.is_none_or(|start| start == stat.start);
        Ok(match system::stat(self.pid)? {
            Some(stat) if is_it(&stat) && !stat.has_ended => Life::Alive,
            _ => Life::Gone,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_alive_and_no_other_of_its_number_is() {
        let own = ProcessIdentity::of(std::process::id()).unwrap();
        assert_eq!(own.life(), Life::Alive);
        let earlier = ProcessIdentity {
            start: own.start.map(|start| start - 1),
            ..own.clone()
        };
        assert_eq!(earlier.life(), Life::Gone);
        let before_the_boot = ProcessIdentity {
            boot: Some("another".to_owned()),
            ..own
        };
        assert_eq!(before_the_boot.life(), Life::Gone);
        assert!(before_the_boot.is_of_another_boot());
    }

    #[test]
    fn a_number_nobody_has_is_gone() {
        let nobody = 0x7fff_fff0;
        assert_eq!(ProcessIdentity::of(nobody), Err(ProcessError::Gone(nobody)));
    }
}

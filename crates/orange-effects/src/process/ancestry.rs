//! The ancestors of this process.
//!
//! A process can drop its variables, but it cannot choose its parents: the pid and start time of an
//! ancestor say which run this process belongs to, whatever the variables say. A process that
//! detached from its parents is not covered.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use super::table::value;
use super::{ProcessError, ProcessIdentity, Stat, system};

/// How many ancestors are read. A longer chain is refused, because the rest would go unchecked.
const MAX_ANCESTORS: usize = 256;

/// How many times the chain is read, because it may change meanwhile.
const TRIES: usize = 16;

/// An ancestor of this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ancestor {
    pub process: ProcessIdentity,
    /// The environment it was started with; empty for another user's process, whose environment we
    /// cannot read.
    environment: Vec<u8>,
}

impl Ancestor {
    fn of(stat: &Stat, boot: Option<String>) -> Self {
        Self {
            process: ProcessIdentity {
                pid: stat.pid,
                start: Some(stat.start),
                boot,
            },
            environment: system::environment(stat.pid).unwrap_or_default(),
        }
    }

    /// A variable it was started with, unless that is empty.
    pub fn variable(&self, name: &str) -> Option<&OsStr> {
        let value = value(&self.environment, name)?;
        (!value.is_empty()).then(|| OsStr::from_bytes(value))
    }
}

/// The parent of this process, its parent, and so on.
///
/// Fails if one of them cannot be read, because then the ancestors above it are unknown.
pub fn ancestors() -> Result<Vec<Ancestor>, ProcessError> {
    ancestors_of(std::process::id())
}

/// The parent of a process, its parent, and so on; an error if the process has exited.
pub fn ancestors_of(pid: u32) -> Result<Vec<Ancestor>, ProcessError> {
    for _ in 0..TRIES {
        if let Some(found) = walk(pid)? {
            return Ok(found);
        }
    }
    Err(unreadable("it is hidden from this user"))
}

/// The chain; `None` when a process in it cannot be seen, because it has just exited or is hidden.
fn walk(pid: u32) -> Result<Option<Vec<Ancestor>>, ProcessError> {
    let boot = system::boot()?;
    let mut found: Vec<Ancestor> = Vec::new();
    let Some(mut child) = system::stat(pid)? else {
        return Ok(None);
    };
    // The parent pid is 0 for the first process, and for one whose parent is outside this container.
    while child.parent > 0 {
        if found.len() == MAX_ANCESTORS {
            return Err(unreadable("there are too many parent processes"));
        }
        let stat = match system::stat(child.parent)? {
            // If the child is older than its parent, the real parent has exited in the meantime, and
            // its pid now belongs to another process.
            Some(stat) if stat.start <= child.start => stat,
            // Process 1 has no parent, so the chain is complete even if it cannot be read.
            None if child.parent == 1 => break,
            _ => return Ok(None),
        };
        found.push(Ancestor::of(&stat, boot.clone()));
        child = stat;
    }
    Ok(Some(found))
}

/// A process and everything above it, nearest first; an error if it has exited.
pub fn process_and_ancestors(pid: u32) -> Result<Vec<Ancestor>, ProcessError> {
    let stat = system::stat(pid)?.ok_or(ProcessError::Gone(pid))?;
    let above = ancestors_of(pid)?;
    let own = Ancestor::of(&stat, system::boot()?);
    Ok([vec![own], above].concat())
}

fn unreadable(reason: &str) -> ProcessError {
    ProcessError::NotListed(format!("a parent process cannot be read: {reason}"))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_chain_goes_from_the_parent_to_the_root() {
        let found = ancestors().unwrap();
        let nearest = found.first().unwrap();
        assert_eq!(nearest.process.pid, std::os::unix::process::parent_id());
        assert!(nearest.variable("PATH").is_some());
        let top = found.last().unwrap().process.pid;
        assert!(system::stat(top).unwrap().is_none_or(|top| top.parent == 0));
    }
}

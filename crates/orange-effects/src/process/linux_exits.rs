//! Notices process exits as they happen.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::sync::{Mutex, PoisonError};

use orange_config::reason;
use rustix::buffer::spare_capacity;
use rustix::event::{EventfdFlags, epoll, eventfd};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::{Liveness, ProcessError, ProcessIdentity};

/// The key of the handle that stops waiting; no process has this key.
const STOP: u64 = u64::MAX;

/// How many exits one call handles.
const MAX_EVENTS: usize = 64;

/// Processes whose exit is awaited. A handle refers to one process, not to its pid.
#[derive(Debug)]
pub struct Exits {
    queue: OwnedFd,
    stop: OwnedFd,
    handles: Mutex<Handles>,
}

/// Each handle has its own key: before we handle the exit of a process, its pid may already belong
/// to another watched process.
#[derive(Debug, Default)]
struct Handles {
    last_key: u64,
    by_key: BTreeMap<u64, (u32, OwnedFd)>,
}

impl Exits {
    /// Watches no process yet.
    pub fn new() -> Result<Exits, ProcessError> {
        let failed = |error: Errno| ProcessError::NotWatched(reason(&error.into()));
        let queue = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(failed)?;
        let stop = eventfd(0, EventfdFlags::CLOEXEC).map_err(failed)?;
        let data = epoll::EventData::new_u64(STOP);
        epoll::add(&queue, &stop, data, epoll::EventFlags::IN).map_err(failed)?;
        Ok(Exits {
            queue,
            stop,
            handles: Mutex::default(),
        })
    }

    /// Watches a process; returns whether it still existed.
    pub fn watch(&self, process: &ProcessIdentity) -> Result<bool, ProcessError> {
        let failed = |error: Errno| ProcessError::System {
            verb: "watch",
            pid: process.pid,
            reason: reason(&error.into()),
        };
        let Some(pid) = i32::try_from(process.pid).ok().and_then(Pid::from_raw) else {
            return Ok(false);
        };
        // Open the handle before checking: it then stays bound to the process that has the pid now.
        let handle = match pidfd_open(pid, PidfdFlags::empty()) {
            Err(Errno::SRCH) => return Ok(false),
            opened => opened.map_err(failed)?,
        };
        if process.liveness() == Liveness::Gone {
            return Ok(false);
        }
        let mut handles = self.handles.lock().unwrap_or_else(PoisonError::into_inner);
        let key = handles.last_key + 1;
        let data = epoll::EventData::new_u64(key);
        epoll::add(&self.queue, &handle, data, epoll::EventFlags::IN).map_err(failed)?;
        handles.last_key = key;
        handles.by_key.insert(key, (process.pid, handle));
        Ok(true)
    }

    /// Stops watching a process that has exited; dropping its handle removes it from the queue.
    fn forget(&self, key: u64) -> Option<u32> {
        let mut handles = self.handles.lock().unwrap_or_else(PoisonError::into_inner);
        handles.by_key.remove(&key).map(|(pid, _)| pid)
    }

    /// Waits until watched processes have exited; `None` once waiting was stopped.
    pub fn wait(&self) -> Option<Vec<u32>> {
        let mut events = Vec::with_capacity(MAX_EVENTS);
        loop {
            events.clear();
            match epoll::wait(&self.queue, spare_capacity(&mut events), None) {
                Err(Errno::INTR) => continue,
                Err(_) => return None,
                Ok(_) => {}
            }
            if events.iter().any(|event| event.data.u64() == STOP) {
                return None;
            }
            let ended = events.iter();
            let ended = ended.filter_map(|event| self.forget(event.data.u64()));
            return Some(ended.collect());
        }
    }

    /// Stops the current wait and every later one.
    pub fn stop(&self) {
        // The write fails only if the counter is full, and a full counter stops the wait too.
        let _counted = rustix::io::write(&self.stop, &1_u64.to_ne_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exit_is_reported_once_and_keeps_the_other_handles() {
        let exits = Exits::new().unwrap();
        let own = ProcessIdentity::of(std::process::id()).unwrap();
        // The same pid twice, as when a process has exited and another got its pid.
        assert!(exits.watch(&own).unwrap());
        assert!(exits.watch(&own).unwrap());
        assert_eq!(exits.forget(1), Some(own.pid));
        assert_eq!(exits.forget(1), None);
        assert_eq!(exits.forget(2), Some(own.pid), "the later one was kept");
    }

    #[test]
    fn a_missing_process_cannot_be_watched() {
        let exits = Exits::new().unwrap();
        let own = ProcessIdentity::of(std::process::id()).unwrap();
        assert!(exits.watch(&own).unwrap());
        let earlier = ProcessIdentity {
            start: Some(1),
            ..own.clone()
        };
        assert!(!exits.watch(&earlier).unwrap(), "another had this number");
        exits.stop();
        assert_eq!(exits.wait(), None);
    }
}

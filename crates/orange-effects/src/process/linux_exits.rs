//! Notices the end of processes in the moment it happens.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::sync::{Mutex, PoisonError};

use orange_config::reason;
use rustix::buffer::spare_capacity;
use rustix::event::{EventfdFlags, epoll, eventfd};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::{Life, ProcessError, ProcessIdentity};

/// What the handle is called that ends waiting; no process is called so.
const STOP: u64 = u64::MAX;

/// How many ends are taken note of at once.
const AT_ONCE: usize = 64;

/// Processes whose end is waited for. A handle stands for one process, not for its number.
#[derive(Debug)]
pub struct Exits {
    queue: OwnedFd,
    stop: OwnedFd,
    handles: Mutex<Handles>,
}

/// Each handle has a number of its own: a process that ended may have left its number to another
/// that is watched before the end of the first is taken note of.
#[derive(Debug, Default)]
struct Handles {
    last: u64,
    of: BTreeMap<u64, (u32, OwnedFd)>,
}

impl Exits {
    /// Nobody is watched yet.
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

    /// Watches a process; whether it was there to be watched.
    pub fn watch(&self, process: &ProcessIdentity) -> Result<bool, ProcessError> {
        let failed = |error: Errno| ProcessError::System {
            verb: "watch",
            pid: process.pid,
            reason: reason(&error.into()),
        };
        let Some(pid) = i32::try_from(process.pid).ok().and_then(Pid::from_raw) else {
            return Ok(false);
        };
        // The handle is taken before the look: whoever has the number then keeps it.
        let handle = match pidfd_open(pid, PidfdFlags::empty()) {
            Err(Errno::SRCH) => return Ok(false),
            opened => opened.map_err(failed)?,
        };
        if process.life() == Life::Gone {
            return Ok(false);
        }
        let mut handles = self.handles.lock().unwrap_or_else(PoisonError::into_inner);
        let number = handles.last + 1;
        let data = epoll::EventData::new_u64(number);
        epoll::add(&self.queue, &handle, data, epoll::EventFlags::IN).map_err(failed)?;
        handles.last = number;
        handles.of.insert(number, (process.pid, handle));
        Ok(true)
    }

    /// Watches a process no more that has ended; with its handle it leaves the queue.
    fn forget(&self, number: u64) -> Option<u32> {
        let mut handles = self.handles.lock().unwrap_or_else(PoisonError::into_inner);
        handles.of.remove(&number).map(|(pid, _)| pid)
    }

    /// Waits until watched processes have ended; nothing more once it was stopped.
    pub fn wait(&self) -> Option<Vec<u32>> {
        let mut events = Vec::with_capacity(AT_ONCE);
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

    /// Ends waiting, now and from now on.
    pub fn stop(&self) {
        // A counter that is full already ends it too.
        let _counted = rustix::io::write(&self.stop, &1_u64.to_ne_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_told_once_and_forgets_no_other_handle() {
        let exits = Exits::new().unwrap();
        let own = ProcessIdentity::of(std::process::id()).unwrap();
        // The same number twice, as when a process has ended and another got its number.
        assert!(exits.watch(&own).unwrap());
        assert!(exits.watch(&own).unwrap());
        assert_eq!(exits.forget(1), Some(own.pid));
        assert_eq!(exits.forget(1), None);
        assert_eq!(exits.forget(2), Some(own.pid), "the later one was kept");
    }

    #[test]
    fn nobody_can_be_watched_who_is_not_there() {
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

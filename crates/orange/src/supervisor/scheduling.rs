//! Has the next tasks started, on a thread of its own.

use std::fmt;
use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};

use crate::driver::Driver;

/// Whoever starts what is next; ends when this is dropped, after what it is doing.
pub(super) struct Scheduling {
    wanted: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Scheduling {
    /// A thread that looks at the queue whenever it is asked to.
    pub(super) fn new(driver: Driver) -> Result<Scheduling, String> {
        let (wanted, wishes) = mpsc::channel();
        let look = move || {
            while wishes.recv().is_ok() {
                // However many commits there were meanwhile, one look sees them all.
                while wishes.try_recv().is_ok() {}
                // A database that is busy is no news: the next commit or sweep tries again.
                let _tried_again = driver.with_person_variables().schedule();
            }
        };
        let thread = thread::Builder::new().name(String::from("schedule"));
        let thread = thread.spawn(look).map_err(|error| error.to_string())?;
        Ok(Scheduling {
            wanted: Some(wanted),
            thread: Some(thread),
        })
    }

    /// Has the queue looked at soon.
    pub(super) fn look(&self) {
        if let Some(wanted) = &self.wanted {
            // A thread that has ended has nothing to start.
            let _ended = wanted.send(());
        }
    }
}

impl Drop for Scheduling {
    fn drop(&mut self) {
        self.wanted = None;
        if let Some(thread) = self.thread.take() {
            let _ended = thread.join();
        }
    }
}

impl fmt::Debug for Scheduling {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Scheduling")
    }
}

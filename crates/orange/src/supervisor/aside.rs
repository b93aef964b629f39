//! Does one thing whenever it is asked to, on its own thread.

use std::fmt;
use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};

/// Whoever does it; ends when this is dropped, after what it is doing.
pub(super) struct Aside {
    wanted: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Aside {
    /// A thread of this name that does this.
    pub(super) fn new(name: &str, work: impl Fn() + Send + 'static) -> Result<Aside, String> {
        let (wanted, wishes) = mpsc::channel();
        let look = move || {
            while wishes.recv().is_ok() {
                // However much has happened meanwhile, one look sees it all.
                while wishes.try_recv().is_ok() {}
                work();
            }
        };
        let thread = thread::Builder::new().name(name.to_owned());
        let thread = thread.spawn(look).map_err(|error| error.to_string())?;
        Ok(Aside {
            wanted: Some(wanted),
            thread: Some(thread),
        })
    }

    /// Has it done soon.
    pub(super) fn ask(&self) {
        if let Some(wanted) = &self.wanted {
            // A thread that has ended has nothing to do.
            let _ended = wanted.send(());
        }
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        self.wanted = None;
        if let Some(thread) = self.thread.take() {
            let _ended = thread.join();
        }
    }
}

impl fmt::Debug for Aside {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Aside")
    }
}

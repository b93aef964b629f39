//! Runs one job on its own thread, on request.

use std::fmt;
use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use orange_config::clock::Stopwatch;

/// The longest pause between two runs.
const LONGEST_REST: Duration = Duration::from_millis(250);

/// A handle to the thread. When it is dropped, the thread exits after its current run.
pub(super) struct BackgroundThread {
    requests: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl BackgroundThread {
    /// Starts a thread that does the work; several requests during a run cause one more run. The
    /// thread rests as long as the run took, so that requests that never end leave half a core to
    /// others.
    pub(super) fn new(
        name: &str,
        mut work: impl FnMut() + Send + 'static,
    ) -> Result<BackgroundThread, String> {
        let (sender, requests) = mpsc::channel();
        let work = move || {
            while requests.recv().is_ok() {
                while requests.try_recv().is_ok() {}
                let begun = Stopwatch::start();
                work();
                thread::sleep(begun.elapsed().min(LONGEST_REST));
            }
        };
        let thread = thread::Builder::new().name(name.to_owned());
        let thread = thread.spawn(work).map_err(|error| error.to_string())?;
        Ok(BackgroundThread {
            requests: Some(sender),
            thread: Some(thread),
        })
    }

    /// Requests a run.
    pub(super) fn request(&self) {
        if let Some(requests) = &self.requests {
            // Sending fails only if the thread has exited, which needs no reaction.
            let _ended = requests.send(());
        }
    }
}

impl Drop for BackgroundThread {
    fn drop(&mut self) {
        self.requests = None;
        if let Some(thread) = self.thread.take() {
            let _ended = thread.join();
        }
    }
}

impl fmt::Debug for BackgroundThread {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("BackgroundThread")
    }
}

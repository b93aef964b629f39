//! Gathers what the model shows, on its own threads.
//!
//! The thread that draws never waits for data: the threads here query the store, tmux and git, and
//! send the results as messages.

mod agents;
pub mod choices;
mod contents;
mod details;
mod diff;
mod diff_paths;
mod extents;
mod glances;
mod pull_requests;
mod rows;
mod screen;
mod usage;

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use orange_driver::{Driver, TaskRow};
use orange_engine::names::TaskId;

use super::model::command::Viewport;
use super::model::message::Message;
use super::theme::Theme;

#[derive(Clone, Debug)]
enum GatherRequest {
    /// From now on, gather what this viewport shows.
    Watch(Viewport),
    /// These tasks have changed in the store.
    Reload(Vec<TaskId>),
    /// Gather everything again.
    Refresh,
}

#[derive(Debug)]
pub struct Gatherers {
    senders: Vec<Sender<GatherRequest>>,
}

/// The tasks believed to have a living agent, for the thread that observes agents.
type LiveTasks = Arc<Mutex<Vec<TaskRow>>>;

impl Gatherers {
    /// Starts the threads, which send what they find. They end when the receiver is gone.
    pub fn start(driver: &Driver, theme: Theme, sender: &Sender<Message>) -> Gatherers {
        let alive = LiveTasks::default();
        let mut senders = Vec::new();
        let mut start = |name: &str, work: Box<dyn FnOnce(Receiver<GatherRequest>) + Send>| {
            let (sender_of_thread, receiver) = mpsc::channel();
            let thread = thread::Builder::new().name(name.to_owned());
            // If a thread cannot be started, its part of the screen stays empty.
            if thread.spawn(move || work(receiver)).is_ok() {
                senders.push(sender_of_thread);
            }
        };
        let (to, by, shared) = (sender.clone(), driver.clone(), Arc::clone(&alive));
        start(
            "rows",
            Box::new(move |receiver| rows::follow(&by, &receiver, &to, &shared)),
        );
        let (to, by) = (sender.clone(), driver.clone());
        start(
            "agents",
            Box::new(move |receiver| agents::observe(&by, &receiver, &to, &alive)),
        );
        let (to, by) = (sender.clone(), driver.clone());
        start(
            "glances",
            Box::new(move |receiver| glances::glance(&by, &receiver, &to)),
        );
        let (to, by) = (sender.clone(), driver.clone());
        start(
            "extents",
            Box::new(move |receiver| extents::measure(&by, &receiver, &to)),
        );
        let (to, by) = (sender.clone(), driver.clone());
        start(
            "details",
            Box::new(move |receiver| details::load(&by, theme, &receiver, &to)),
        );
        let (to, by) = (sender.clone(), driver.clone());
        start(
            "screen",
            Box::new(move |receiver| screen::watch(&by, theme, &receiver, &to)),
        );
        let (to, by) = (sender.clone(), driver.clone());
        start(
            "usage",
            Box::new(move |receiver| usage::follow(&by, &receiver, &to)),
        );
        let (to, by) = (sender.clone(), driver.clone());
        start(
            "pull requests",
            Box::new(move |receiver| pull_requests::follow(&by, &receiver, &to)),
        );
        Gatherers { senders }
    }

    pub fn watch(&self, viewport: &Viewport) {
        self.send(&GatherRequest::Watch(viewport.clone()));
    }

    pub fn reload(&self, tasks: &[TaskId]) {
        self.send(&GatherRequest::Reload(tasks.to_vec()));
    }

    pub fn refresh(&self) {
        self.send(&GatherRequest::Refresh);
    }

    fn send(&self, request: &GatherRequest) {
        for sender in &self.senders {
            // A thread that has ended needs no message.
            let _ended = sender.send(request.clone());
        }
    }
}

/// The requests that arrive within this time, empty on a timeout; `None` when the sender is gone.
/// All pending ones are taken together, so that a slow thread never falls behind.
fn receive(receiver: &Receiver<GatherRequest>, within: Duration) -> Option<Vec<GatherRequest>> {
    match receiver.recv_timeout(within) {
        Ok(first) => Some(std::iter::once(first).chain(receiver.try_iter()).collect()),
        Err(RecvTimeoutError::Timeout) => Some(Vec::new()),
        Err(RecvTimeoutError::Disconnected) => None,
    }
}

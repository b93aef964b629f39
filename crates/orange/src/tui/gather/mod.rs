//! Gathers what the model shows, on its own threads.
//!
//! The thread that draws never waits for data: every query of the store, tmux or git is made here,
//! and its result arrives as a message.

mod agents;
mod contents;
mod details;
mod diff;
mod diff_paths;
mod extents;
mod glances;
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
    Watch(Viewport),
    Reload(Vec<TaskId>),
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
        let mut wishes = Vec::new();
        let mut start = |name: &str, work: Box<dyn FnOnce(Receiver<GatherRequest>) + Send>| {
            let (wish, wished) = mpsc::channel();
            let thread = thread::Builder::new().name(name.to_owned());
            // If a thread cannot be started, its part of the screen stays empty.
            if thread.spawn(move || work(wished)).is_ok() {
                wishes.push(wish);
            }
        };
        let (to, by, shared) = (sender.clone(), driver.clone(), Arc::clone(&alive));
        start(
            "rows",
            Box::new(move |wished| rows::follow(&by, &wished, &to, &shared)),
        );
        let (to, by) = (sender.clone(), driver.clone());
        start(
            "agents",
            Box::new(move |wished| agents::gather_screens(&by, &wished, &to, &alive)),
        );
        let (to, by) = (sender.clone(), driver.clone());
        start(
            "glances",
            Box::new(move |wished| glances::glance(&by, &wished, &to)),
        );
        let (to, by) = (sender.clone(), driver.clone());
        start(
            "extents",
            Box::new(move |wished| extents::measure(&by, &wished, &to)),
        );
        let (to, by) = (sender.clone(), driver.clone());
        start(
            "details",
            Box::new(move |wished| details::load(&by, theme, &wished, &to)),
        );
        let (to, by) = (sender.clone(), driver.clone());
        start(
            "screen",
            Box::new(move |wished| screen::watch(&by, theme, &wished, &to)),
        );
        let (to, by) = (sender.clone(), driver.clone());
        start(
            "usage",
            Box::new(move |wished| usage::follow(&by, &wished, &to)),
        );
        Gatherers { senders: wishes }
    }

    pub fn watch(&self, aim: &Viewport) {
        self.send(&GatherRequest::Watch(aim.clone()));
    }

    pub fn reload(&self, tasks: &[TaskId]) {
        self.send(&GatherRequest::Reload(tasks.to_vec()));
    }

    pub fn refresh(&self) {
        self.send(&GatherRequest::Refresh);
    }

    fn send(&self, wish: &GatherRequest) {
        for wishes in &self.senders {
            // A thread that has ended needs no message.
            let _ended = wishes.send(wish.clone());
        }
    }
}

/// The requests that arrive within this time, empty on a timeout; `None` when the sender is gone.
/// All pending ones are taken together, so that a slow thread never falls behind.
fn receive(wishes: &Receiver<GatherRequest>, within: Duration) -> Option<Vec<GatherRequest>> {
    match wishes.recv_timeout(within) {
        Ok(first) => Some(std::iter::once(first).chain(wishes.try_iter()).collect()),
        Err(RecvTimeoutError::Timeout) => Some(Vec::new()),
        Err(RecvTimeoutError::Disconnected) => None,
    }
}

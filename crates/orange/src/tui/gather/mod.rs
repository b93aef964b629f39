//! Gathers what the model shows, on threads of its own.
//!
//! Nothing of this happens while a frame is drawn: every look at the store, tmux or git is made
//! here, and what it shows arrives as a message.

mod agents;
mod contents;
mod details;
mod extents;
mod glances;
mod rows;
mod screen;

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use orange_driver::{Driver, TaskRow};
use orange_engine::names::TaskId;

use super::model::command::Aim;
use super::model::message::Message;
use super::theme::Theme;

#[derive(Clone, Debug)]
enum Wish {
    Aim(Aim),
    Again(Vec<TaskId>),
    Refresh,
}

#[derive(Debug)]
pub struct Gatherers {
    wishes: Vec<Sender<Wish>>,
}

/// The tasks that are believed to have a living agent, for who looks at those.
type Alive = Arc<Mutex<Vec<TaskRow>>>;

impl Gatherers {
    /// Starts them; what they find is sent. They end with whoever listens.
    pub fn start(driver: &Driver, theme: Theme, sender: &Sender<Message>) -> Gatherers {
        let alive = Alive::default();
        let mut wishes = Vec::new();
        let mut start = |name: &str, work: Box<dyn FnOnce(Receiver<Wish>) + Send>| {
            let (wish, wished) = mpsc::channel();
            let thread = thread::Builder::new().name(name.to_owned());
            // Without a thread its part of the picture stays empty.
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
            Box::new(move |wished| agents::look(&by, &wished, &to, &alive)),
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
        Gatherers { wishes }
    }

    pub fn aim(&self, aim: &Aim) {
        self.tell(&Wish::Aim(aim.clone()));
    }

    pub fn again(&self, tasks: &[TaskId]) {
        self.tell(&Wish::Again(tasks.to_vec()));
    }

    pub fn refresh(&self) {
        self.tell(&Wish::Refresh);
    }

    fn tell(&self, wish: &Wish) {
        for wishes in &self.wishes {
            // One that has ended needs no telling.
            let _ended = wishes.send(wish.clone());
        }
    }
}

/// What is wished for within so long; nothing at the end of it. All that waits is taken together,
/// so that whoever is slow is never behind.
fn wished(wishes: &Receiver<Wish>, within: Duration) -> Option<Vec<Wish>> {
    match wishes.recv_timeout(within) {
        Ok(first) => Some(std::iter::once(first).chain(wishes.try_iter()).collect()),
        Err(RecvTimeoutError::Timeout) => Some(Vec::new()),
        Err(RecvTimeoutError::Disconnected) => None,
    }
}

//! The connection to tmux, and its queries.

use std::sync::mpsc::Sender;
use std::time::Duration;

use orange_config::clock::Deadline;
use orange_effects::tmux::{Control, ControlEvent, PaneSnapshot};

use super::Wake;
use crate::Driver;

/// How long to wait for an answer before closing the connection.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

/// The connection to tmux: at most one, with at most one query at a time.
#[derive(Debug)]
pub(super) struct Server {
    sender: Sender<Wake>,
    connection: Option<Control>,
    /// The number of the current connection, to recognize late output of an earlier one.
    number: u64,
    /// A connection that was closed and has not ended yet; there is never more than one.
    closing: Option<Control>,
    /// Whether the connection has ever answered.
    has_answered: bool,
    /// When to give up waiting for an answer; set while waiting.
    deadline: Option<Deadline>,
    /// Whether something changed while waiting for an answer.
    is_wanted_again: bool,
}

/// How to react to output of tmux.
#[derive(Debug)]
pub(super) enum Reaction {
    Nothing,
    /// The current panes.
    Panes(PaneSnapshot),
    /// The connection has ended; all agents have to be checked.
    Lost {
        /// Whether a server had ever answered on this connection.
        had_answered: bool,
    },
}

impl Server {
    pub(super) fn new(sender: Sender<Wake>) -> Server {
        Server {
            sender,
            connection: None,
            closing: None,
            has_answered: false,
            number: 0,
            deadline: None,
            is_wanted_again: false,
        }
    }

    /// Asks for every pane, unless an answer is still outstanding.
    pub(super) fn poll(&mut self, driver: &Driver) {
        if self.connection.is_none() {
            self.connect(driver);
        }
        self.ask();
    }

    fn connect(&mut self, driver: &Driver) {
        if self.closing.as_mut().is_some_and(|it| !it.has_ended()) {
            return;
        }
        self.closing = None;
        self.has_answered = false;
        self.number += 1;
        let (number, sender) = (self.number, self.sender.clone());
        let forward = move |event| {
            let _ended = sender.send(Wake::Tmux(number, event));
        };
        self.connection = driver.views.control(forward).ok();
    }

    fn ask(&mut self) {
        if let Some(deadline) = self.deadline {
            if !deadline.has_passed() {
                return;
            }
            self.disconnect();
        }
        let Some(connection) = &mut self.connection else {
            return;
        };
        match connection.request_panes() {
            Ok(()) => self.deadline = Some(Deadline::after(ANSWER_TIMEOUT)),
            Err(_) => self.disconnect(),
        }
    }

    /// Handles output from the connection with this number.
    pub(super) fn handle_output(&mut self, number: u64, event: ControlEvent) -> Reaction {
        if number != self.number {
            return Reaction::Nothing;
        }
        match event {
            ControlEvent::Panes(answer) => {
                self.deadline = None;
                self.has_answered |= answer.is_ok();
                if std::mem::take(&mut self.is_wanted_again) {
                    self.ask();
                }
                // An unreadable answer changes nothing; the next tick asks again.
                answer.map_or(Reaction::Nothing, Reaction::Panes)
            }
            ControlEvent::Changed => {
                self.is_wanted_again = self.deadline.is_some();
                self.ask();
                Reaction::Nothing
            }
            ControlEvent::Ended => {
                self.disconnect();
                let had_answered = self.has_answered;
                Reaction::Lost { had_answered }
            }
        }
    }

    /// Closes the connection; the next poll opens a new one.
    pub(super) fn disconnect(&mut self) {
        if let Some(mut connection) = self.connection.take() {
            connection.disconnect();
            self.closing = Some(connection);
        }
        self.deadline = None;
        self.is_wanted_again = false;
    }
}

//! The connection to tmux, and when it is asked.

use std::sync::mpsc::Sender;
use std::time::Duration;

use orange_config::clock::Deadline;
use orange_effects::tmux::{Control, Heard, Roll};

use super::Wake;
use crate::Driver;

/// How long an answer is waited for before the connection is given up.
const PATIENCE: Duration = Duration::from_secs(5);

/// At most one connection, and on it at most one question at a time.
#[derive(Debug)]
pub(super) struct Server {
    sender: Sender<Wake>,
    connection: Option<Control>,
    /// Counts connections: what an earlier one says late is about another server.
    number: u64,
    /// One that was given up and has not ended yet; there is never more than one.
    leaving: Option<Control>,
    /// Whether the connection has ever answered.
    has_answered: bool,
    /// Set while an answer is waited for.
    asked: Option<Deadline>,
    /// Whether something changed while an answer was waited for.
    is_wanted_again: bool,
}

/// What to do about something that was heard.
#[derive(Debug)]
pub(super) enum Meaning {
    Nothing,
    /// This is how it is now.
    Shown(Roll),
    /// The connection has ended; who was on it has to be looked at.
    Lost {
        /// Whether there was somebody at the other end.
        had_answered: bool,
    },
}

impl Server {
    pub(super) fn new(sender: Sender<Wake>) -> Server {
        Server {
            sender,
            connection: None,
            leaving: None,
            has_answered: false,
            number: 0,
            asked: None,
            is_wanted_again: false,
        }
    }

    /// Asks for every pane. One who has not answered is not asked again: late ticks are dropped.
    pub(super) fn look(&mut self, driver: &Driver) {
        if self.connection.is_none() {
            self.connect(driver);
        }
        self.ask();
    }

    fn connect(&mut self, driver: &Driver) {
        if self.leaving.as_mut().is_some_and(|it| !it.has_ended()) {
            return;
        }
        self.leaving = None;
        self.has_answered = false;
        self.number += 1;
        let (number, sender) = (self.number, self.sender.clone());
        let tell = move |heard| {
            let _ended = sender.send(Wake::Tmux(number, heard));
        };
        self.connection = driver.views.control(tell).ok();
    }

    fn ask(&mut self) {
        if let Some(deadline) = self.asked {
            if !deadline.has_passed() {
                return;
            }
            self.disconnect();
        }
        let Some(connection) = &mut self.connection else {
            return;
        };
        match connection.call_the_roll() {
            Ok(()) => self.asked = Some(Deadline::after(PATIENCE)),
            Err(_) => self.disconnect(),
        }
    }

    /// Takes what was heard on the connection of this number.
    pub(super) fn hear(&mut self, number: u64, heard: Heard) -> Meaning {
        if number != self.number {
            return Meaning::Nothing;
        }
        match heard {
            Heard::Roll(answer) => {
                self.asked = None;
                self.has_answered |= answer.is_ok();
                if std::mem::take(&mut self.is_wanted_again) {
                    self.ask();
                }
                // What makes no sense changes nothing; the next tick asks again.
                answer.map_or(Meaning::Nothing, Meaning::Shown)
            }
            Heard::Changed => {
                self.is_wanted_again = self.asked.is_some();
                self.ask();
                Meaning::Nothing
            }
            Heard::Ended => {
                self.disconnect();
                let had_answered = self.has_answered;
                Meaning::Lost { had_answered }
            }
        }
    }

    /// Ends the connection, for a while.
    pub(super) fn disconnect(&mut self) {
        if let Some(mut connection) = self.connection.take() {
            connection.leave();
            self.leaving = Some(connection);
        }
        self.asked = None;
        self.is_wanted_again = false;
    }
}

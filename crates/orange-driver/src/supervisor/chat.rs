//! Listens to a chat server on a thread of its own.
//!
//! A request to the server may take long, so the thread is not waited for when the supervisor ends:
//! only obeying is, and after that the thread changes nothing.

use std::fmt;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use orange_config::clock::Stopwatch;
use orange_effects::chat::error::ChatError;

use super::scheduling::FailureLog;
use crate::chat::bot::{Bot, BotKind, connect};
use crate::chat::send::SendFailure;
use crate::{Driver, DriverError};

/// How long a channel that is not set up is left alone; a change of the settings wakes it.
const IDLE: Duration = Duration::from_hours(1);

/// The shortest and the longest pause after a failure.
const FIRST_PAUSE: Duration = Duration::from_secs(5);
const LONGEST_PAUSE: Duration = Duration::from_mins(5);

/// A server that answers sooner that there is nothing does not wait for messages as it was asked to,
/// and is left alone for a moment.
const SOONEST_ANSWER: Duration = Duration::from_millis(200);
const MOMENT: Duration = Duration::from_secs(1);

/// A handle to the thread.
pub(super) struct ChatThread {
    wake: Sender<()>,
    is_stopped: Arc<Mutex<bool>>,
}

impl ChatThread {
    /// Starts listening to each kind of server that is set up.
    pub(super) fn start_all(driver: &Driver) -> Result<Vec<ChatThread>, String> {
        let threads = BotKind::ALL.map(|kind| ChatThread::start(driver.clone(), kind));
        threads.into_iter().collect()
    }

    fn start(driver: Driver, kind: BotKind) -> Result<ChatThread, String> {
        let (wake, wakes) = mpsc::channel();
        let is_stopped = Arc::new(Mutex::new(false));
        let mut listener = Listener {
            failures: FailureLog::new(driver.clone(), "chat.failed"),
            driver,
            kind,
            is_stopped: Arc::clone(&is_stopped),
            bot: None,
            pause: FIRST_PAUSE,
        };
        let listen = move || listener.listen(&wakes);
        let thread = thread::Builder::new().name(kind.channel().as_str().to_owned());
        let thread = thread.spawn(listen);
        thread.map_err(|error| error.to_string())?;
        Ok(ChatThread { wake, is_stopped })
    }

    /// Lets the thread read the settings again.
    pub(super) fn request(&self) {
        // Sending fails only if the thread has exited, which needs no reaction.
        let _ended = self.wake.send(());
    }
}

impl Drop for ChatThread {
    fn drop(&mut self) {
        // Waits while a command is obeyed, but not while the server is asked.
        *lock(&self.is_stopped) = true;
        self.request();
    }
}

impl fmt::Debug for ChatThread {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ChatThread")
    }
}

fn lock(is_stopped: &Mutex<bool>) -> std::sync::MutexGuard<'_, bool> {
    is_stopped.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Listener {
    driver: Driver,
    kind: BotKind,
    is_stopped: Arc<Mutex<bool>>,
    bot: Option<Bot>,
    failures: FailureLog,
    /// How long to wait after the next failure.
    pause: Duration,
}

impl Listener {
    fn listen(&mut self, wakes: &Receiver<()>) {
        loop {
            let pause = match self.round() {
                Ok(pause) => {
                    self.failures.note(Ok::<(), String>(()));
                    self.pause = FIRST_PAUSE;
                    pause
                }
                Err(failure) => {
                    let (error, wanted) = match failure {
                        SendFailure::Driver(error) => (error.to_string(), None),
                        SendFailure::Chat(error) => (error.to_string(), error.pause()),
                    };
                    let channel = self.kind.channel();
                    self.failures.note(Err(format!("{channel}: {error}")));
                    let pause = wanted.map_or(self.pause, Duration::from_secs).min(IDLE);
                    self.pause = (self.pause * 2).min(LONGEST_PAUSE);
                    pause
                }
            };
            if *lock(&self.is_stopped) {
                return;
            }
            if let Err(RecvTimeoutError::Disconnected) = wakes.recv_timeout(pause) {
                return;
            }
            while wakes.try_recv().is_ok() {}
        }
    }

    /// Reads and obeys what is there; returns how long to wait.
    fn round(&mut self) -> Result<Duration, SendFailure> {
        let chat = self.driver.chat.clone();
        let settings = self.driver.context.settings(None)?.chat;
        let settings = self.kind.settings(&settings);
        if !self.bot.as_ref().is_some_and(|it| it.is_for(settings)) {
            self.bot = None;
            let bot = connect(&self.driver.context, self.kind, settings);
            self.bot = bot.map_err(SendFailure::Chat)?;
        }
        let Some(bot) = &self.bot else {
            return Ok(IDLE);
        };
        // Whatever an earlier process left.
        self.obey(bot)?;
        chat.answer_messages(bot)?;
        let position = chat.position_of(bot)?;
        let asked = Stopwatch::start();
        let batch = match bot.fetch_messages(position.as_deref()) {
            Err(error @ ChatError::TokenRejected) => {
                self.bot = None;
                return Err(SendFailure::Chat(error));
            }
            batch => batch.map_err(SendFailure::Chat)?,
        };
        let is_hasty = batch.messages.is_empty() && asked.elapsed() < SOONEST_ANSWER;
        {
            let is_stopped = lock(&self.is_stopped);
            if *is_stopped {
                return Ok(IDLE);
            }
            chat.receive_from(bot, &batch)?;
        }
        self.obey(bot)?;
        chat.answer_messages(bot)?;
        Ok(if is_hasty { MOMENT } else { Duration::ZERO })
    }

    fn obey(&self, bot: &Bot) -> Result<(), DriverError> {
        let is_stopped = lock(&self.is_stopped);
        if *is_stopped {
            return Ok(());
        }
        let steps = self.driver.with_user_variables().steps;
        self.driver.chat.obey_messages(bot, &steps)
    }
}

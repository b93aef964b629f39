//! Supervises the home while no other process does.

use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use orange_config::clock::Deadline;
use orange_driver::Driver;
use orange_driver::supervisor::{Settings, Stopper, Supervisor};

use super::model::Supervision;
use super::model::message::Message;

/// Poll interval for whether the home is supervised.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// How long the supervisor may take to finish when the dashboard ends. Work that it leaves undone
/// is recorded, and the next process does it.
const STOP_TIMEOUT: Duration = Duration::from_secs(3);

/// The dashboard's supervisor: it stops when another process wants to supervise, and starts again
/// when no other process does.
#[derive(Debug)]
pub struct SupervisorThread {
    state: Arc<Mutex<State>>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct State {
    is_stopping: bool,
    stopper: Option<Stopper>,
}

impl SupervisorThread {
    /// Starts the thread, which supervises the home whenever no other process does.
    pub fn start(driver: &Driver, sender: &Sender<Message>) -> SupervisorThread {
        let state = Arc::new(Mutex::new(State::default()));
        let (shared, driver, sender) = (Arc::clone(&state), driver.clone(), sender.clone());
        let thread = thread::Builder::new().name(String::from("supervise"));
        let thread = thread.spawn(move || supervise(&driver, &sender, &shared));
        SupervisorThread {
            state,
            // If the thread cannot be started, there is no supervisor; the dashboard shows that.
            thread: thread.ok(),
        }
    }

    /// Stops the supervisor; agents keep running.
    pub fn stop(mut self) {
        {
            let mut state = lock(&self.state);
            state.is_stopping = true;
            if let Some(stopper) = &state.stopper {
                stopper.stop();
            }
        }
        if let Some(thread) = self.thread.take() {
            Deadline::after(STOP_TIMEOUT).wait_for(|| thread.is_finished());
        }
    }
}

fn lock(state: &Mutex<State>) -> std::sync::MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn supervise(driver: &Driver, sender: &Sender<Message>, state: &Mutex<State>) {
    let mut last_sent = None;
    let mut report = |supervision| {
        if last_sent != Some(supervision) {
            last_sent = Some(supervision);
            let _ended = sender.send(Message::Supervision(supervision));
        }
    };
    while !lock(state).is_stopping {
        let is_supervised = driver.context.is_supervised();
        // A home without a database has nothing to supervise, and the dashboard must not create the
        // database.
        if is_supervised || !driver.context.home().database().exists() {
            report(if is_supervised {
                Supervision::Elsewhere
            } else {
                Supervision::Absent
            });
        } else if let Some(supervisor) = supervisor(driver) {
            let is_wanted = {
                let mut state = lock(state);
                state.stopper = Some(supervisor.stopper());
                !state.is_stopping
            };
            if is_wanted {
                report(Supervision::Here);
                // However this supervisor ends, the loop checks again which process supervises.
                let _ended = supervisor.run();
            }
            lock(state).stopper = None;
            report(Supervision::Absent);
        } else {
            report(Supervision::Absent);
        }
        Deadline::after(POLL_INTERVAL).wait_for(|| lock(state).is_stopping);
    }
}

fn supervisor(driver: &Driver) -> Option<Supervisor> {
    let settings = driver.context.settings(None).ok()?;
    let settings = Settings {
        yields: true,
        ..Settings::from(&settings.supervisor)
    };
    Supervisor::new(driver.clone(), settings).ok()
}

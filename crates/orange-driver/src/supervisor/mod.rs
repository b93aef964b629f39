//! The supervisor: reacts when something changes.
//!
//! The supervisor has no state of its own, so it may be killed at any time. When it starts, it
//! reads everything it knows from the store, tmux and the processes, and everything it finds goes
//! through the driver like any other request. One thread waits for events and hands out work; other
//! threads check and perform, so that no slow effect delays a check.

mod background_thread;
mod batch_workers;
mod chat;
mod comments;
mod files;
mod forge;
mod issues;
mod jobs;
mod open_tasks;
mod pace;
pub mod poller;
mod posts;
mod reactions;
mod scheduling;
mod seen_hints;
mod server;
mod tasks;
mod timers;
mod workers;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::Duration;

use orange_config::clock::{self, Deadline};
use orange_config::{LogLevel, SupervisorSettings};
use orange_effects::process::{Exits, ProcessError, raise_open_file_limit};
use orange_effects::tmux::ControlEvent;
use orange_engine::names::TaskId;
use orange_engine::time::Timestamp;
use serde_json::json;

use crate::supervisor::background_thread::BackgroundThread;
use crate::supervisor::batch_workers::{start_confirmers, start_event_workers, start_readers};
use crate::supervisor::chat::ChatThread;
use crate::supervisor::files::Files;
use crate::supervisor::forge::start_polling;
use crate::supervisor::jobs::start_jobs;
use crate::supervisor::pace::Pace;
use crate::supervisor::scheduling::{start_cleanup, start_notifying, start_scheduling};
use crate::supervisor::server::Server;
use crate::supervisor::tasks::Tasks;
use crate::supervisor::timers::Timers;
use crate::supervisor::workers::Workers;
use crate::{
    Driver, DriverError, GatherPolicy, PerformResult, StartConfirmation, SupervisorLock, TaskCheck,
    Watcher,
};

/// How many threads end agents and release workspaces while all performers are busy.
const ENDERS: usize = 2;

/// How soon to read the database once more after a commit, because the file event arrives a moment
/// before the commit is visible.
const REREAD_DELAY: Duration = Duration::from_millis(100);

/// Intervals and limits.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The time between two listings of the tmux server; process exits need no listing.
    pub tick: Duration,
    /// The time between two checks of everything, which find missed events.
    pub sweep: Duration,
    /// How many tasks have their effects performed at the same time.
    pub performers: usize,
    /// How many agents may start per minute.
    pub start_rate: u32,
    /// Whether the supervisor exits as soon as another process wants to supervise.
    pub yields: bool,
}

impl From<&SupervisorSettings> for Settings {
    fn from(settings: &SupervisorSettings) -> Self {
        Self {
            tick: settings.tick,
            sweep: settings.sweep,
            start_rate: settings.start_rate,
            ..Self::default()
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            tick: Duration::from_secs(2),
            sweep: Duration::from_mins(1),
            performers: 8,
            start_rate: 600,
            yields: false,
        }
    }
}

/// Why supervising failed.
#[derive(Debug, thiserror::Error)]
pub enum SupervisorError {
    /// The driver reported an error.
    #[error(transparent)]
    Driver(#[from] DriverError),
    /// Processes cannot be watched.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// Files cannot be watched.
    #[error("cannot watch files: {0}")]
    Files(String),
    /// A thread could not be started.
    #[error("cannot start a thread: {0}")]
    Thread(String),
}

/// An event that wakes the supervisor.
#[derive(Debug)]
enum Wake {
    /// The supervisor should exit.
    Stop,
    /// A process has committed something.
    Committed,
    /// The settings may have changed.
    Settings,
    /// A task's file may have changed.
    Written(TaskId),
    /// An agent of a task has reported an event.
    AgentEvent(TaskId),
    /// Processes have exited.
    Ended(Vec<u32>),
    /// tmux sent something, on the connection with this number.
    Tmux(u64, ControlEvent),
    /// A check is done.
    Checked(Vec<TaskCheck>),
    /// The check of all these tasks failed.
    CheckFailed(Vec<TaskId>, DriverError),
    /// A performer is done.
    Performed(TaskId, Result<PerformResult, DriverError>),
    /// The check for starts that have happened is done.
    Confirmed(Vec<StartConfirmation>),
    /// Other work for a task has failed.
    Failed(TaskId, DriverError),
}

/// Stops a supervisor from outside.
#[derive(Clone, Debug)]
pub struct Stopper(Sender<Wake>);

impl Stopper {
    /// Asks the supervisor to exit; agents keep running.
    pub fn stop(&self) {
        // Sending fails only if the supervisor has already exited.
        let _ended = self.0.send(Wake::Stop);
    }
}

/// Supervises every task of a home.
#[derive(Debug)]
pub struct Supervisor {
    // The workers are declared first and the lock last, because fields are dropped in this order:
    // the workers must end before the lock is released.
    checkers: Workers,
    readers: Workers,
    event_workers: Workers,
    performers: Workers,
    /// Workers that record starts that have already happened.
    confirmers: Workers,
    /// Workers that perform the effects of tasks whose first effect ends an agent or releases a
    /// workspace, so that no slow setup delays these effects.
    enders: Workers,
    scheduling: BackgroundThread,
    cleanup: BackgroundThread,
    notifying: BackgroundThread,
    polling: BackgroundThread,
    jobs: BackgroundThread,
    chats: Vec<ChatThread>,
    driver: Driver,
    settings: Settings,
    watcher: Watcher,
    tasks: Tasks,
    /// Processes whose exit would go unnoticed, because watching them has failed.
    unwatched: BTreeSet<u32>,
    /// When effects are due.
    timers: Timers,
    /// When a status times out.
    timeouts: Timers,
    /// When the next parked harness can be used again.
    unpark_at: Option<Timestamp>,
    /// When to read the database once more after a write.
    reread_at: Option<Timestamp>,
    starts: Pace,
    server: Server,
    files: Files,
    exits: Arc<Exits>,
    wakes: Receiver<Wake>,
    sender: Sender<Wake>,
    tick: Deadline,
    sweep: Deadline,
    /// The last task that a sweep has read.
    swept: Option<TaskId>,
    _lock: SupervisorLock,
}

impl Supervisor {
    /// Takes over supervision of the driver's home; fails if another process has it.
    pub fn new(driver: Driver, settings: Settings) -> Result<Supervisor, SupervisorError> {
        raise_open_file_limit();
        let watcher = driver.views.watcher()?;
        let lock = driver.context.take_supervision(settings.yields)?;
        let (sender, wakes) = mpsc::channel();
        // A gate command may take minutes; the check is repeated when it has ended.
        let checking_driver = driver
            .clone()
            .with_gathering(GatherPolicy::Detached(Duration::ZERO));
        let exits = Arc::new(Exits::new()?);
        let checkers = {
            let (driver, sender) = (checking_driver.clone(), sender.clone());
            // One listing of the server covers all waiting tasks.
            Workers::new("check", 1, usize::MAX, move |tasks| {
                let result = driver.agents.observe_each(tasks);
                let wake = match result {
                    Ok(result) => Wake::Checked(result),
                    Err(error) => Wake::CheckFailed(tasks.to_vec(), error),
                };
                let _ended = sender.send(wake);
            })
        };
        let start_performers = |name: &str, threads: usize| {
            let (driver, sender) = (driver.clone(), sender.clone());
            Workers::new(name, threads, 1, move |tasks| {
                for task in tasks {
                    let performed = driver.with_user_variables().performer.perform(task);
                    let _ended = sender.send(Wake::Performed(task.clone(), performed));
                }
            })
        };
        let performers = start_performers("perform", settings.performers);
        let enders = start_performers("end", ENDERS);
        Ok(Supervisor {
            checkers: checkers.map_err(SupervisorError::Thread)?,
            readers: start_readers(checking_driver, sender.clone())
                .map_err(SupervisorError::Thread)?,
            event_workers: start_event_workers(driver.clone(), sender.clone())
                .map_err(SupervisorError::Thread)?,
            performers: performers.map_err(SupervisorError::Thread)?,
            confirmers: start_confirmers(driver.clone(), sender.clone())
                .map_err(SupervisorError::Thread)?,
            enders: enders.map_err(SupervisorError::Thread)?,
            scheduling: start_scheduling(driver.clone()).map_err(SupervisorError::Thread)?,
            cleanup: start_cleanup(driver.clone()).map_err(SupervisorError::Thread)?,
            notifying: start_notifying(driver.clone()).map_err(SupervisorError::Thread)?,
            polling: start_polling(driver.clone()).map_err(SupervisorError::Thread)?,
            jobs: start_jobs(driver.clone()).map_err(SupervisorError::Thread)?,
            chats: ChatThread::start_all(&driver).map_err(SupervisorError::Thread)?,
            files: Files::new(driver.context.home(), sender.clone())?,
            server: Server::new(sender.clone()),
            tasks: Tasks::default(),
            unwatched: BTreeSet::new(),
            timers: Timers::default(),
            timeouts: Timers::default(),
            unpark_at: None,
            reread_at: None,
            starts: Pace::new(settings.start_rate),
            tick: Deadline::after(Duration::ZERO),
            sweep: Deadline::after(settings.sweep),
            swept: None,
            watcher,
            driver,
            settings,
            exits,
            wakes,
            sender,
            _lock: lock,
        })
    }

    /// A handle to stop it from outside.
    pub fn stopper(&self) -> Stopper {
        Stopper(self.sender.clone())
    }

    /// Supervises until it is stopped, or until another process wants to take over.
    pub fn run(mut self) -> Result<(), SupervisorError> {
        self.listen_for_exits()?;
        self.reload();
        self.cleanup.request();
        loop {
            let times_left = [
                self.tick.remaining(),
                self.sweep.remaining(),
                self.timers.time_to_next(),
                self.timeouts.time_to_next(),
                timers::time_left(self.unpark_at),
                timers::time_left(self.reread_at),
            ];
            let time_left = times_left.into_iter().min().unwrap_or_default();
            // Handle all events that have arrived meanwhile together.
            let first = self.wakes.recv_timeout(time_left).ok();
            let all: Vec<Wake> = first.into_iter().chain(self.wakes.try_iter()).collect();
            if self.handle(all)
                || self.settings.yields && self.driver.context.is_supervision_wanted()
            {
                break;
            }
            if let Err(error) = self.watcher.require_known_schema() {
                self.exits.stop();
                return Err(error.into());
            }
            self.dispatch_due();
            if self.tick.has_passed() {
                self.tick = Deadline::after(self.settings.tick);
                self.query_server();
                self.polling.request();
                self.jobs.request();
            }
            if self.sweep.has_passed() {
                self.sweep = Deadline::after(self.settings.sweep);
                self.sweep_all();
            }
        }
        self.exits.stop();
        Ok(())
    }

    /// Starts a thread that listens for process exits.
    fn listen_for_exits(&self) -> Result<(), SupervisorError> {
        let (exits, sender) = (Arc::clone(&self.exits), self.sender.clone());
        let listen = move || {
            while let Some(pids) = exits.wait() {
                let _ended = sender.send(Wake::Ended(pids));
            }
        };
        let thread = thread::Builder::new().name(String::from("exits"));
        let started = thread.spawn(listen);
        started.map_err(|error| SupervisorError::Thread(error.to_string()))?;
        Ok(())
    }

    /// Handles all events; returns whether to exit.
    fn handle(&mut self, wakes: Vec<Wake>) -> bool {
        let mut has_committed = false;
        for wake in wakes {
            match wake {
                Wake::Stop => return true,
                Wake::Committed => has_committed = true,
                Wake::Settings => {
                    self.read_settings();
                    self.chats.iter().for_each(ChatThread::request);
                    self.scheduling.request();
                }
                Wake::Written(task) => self.readers.add(task),
                Wake::AgentEvent(task) => {
                    self.event_workers.add(task);
                    self.notifying.request();
                }
                Wake::Ended(pids) => {
                    for task in pids.into_iter().filter_map(|pid| self.tasks.task_of(pid)) {
                        self.checkers.add(task);
                    }
                }
                Wake::Tmux(connection, event) => self.handle_output(connection, event),
                Wake::Checked(checks) => self.record_checks(checks),
                Wake::CheckFailed(tasks, error) => {
                    for task in tasks {
                        self.log(&task, &error);
                        self.tasks.mark_doubtful(&task);
                    }
                }
                Wake::Performed(task, performed) => self.note_performed(&task, performed),
                Wake::Confirmed(confirmed) => self.note_confirmed(confirmed),
                Wake::Failed(task, error) => self.log(&task, &error),
            }
        }
        if has_committed {
            self.reload();
            self.reread_at = Some(clock::after(REREAD_DELAY));
        } else if self.reread_at.is_some_and(|at| at <= clock::now()) {
            self.reread_at = None;
            self.reload();
        }
        false
    }

    /// Applies the current settings; invalid ones leave the last good ones in place.
    fn read_settings(&mut self) {
        if let Ok(settings) = self.driver.context.settings(None) {
            self.settings = Settings {
                performers: self.settings.performers,
                yields: self.settings.yields,
                ..Settings::from(&settings.supervisor)
            };
            self.starts.set(self.settings.start_rate);
            self.tick = Deadline::after(self.settings.tick.min(self.tick.remaining()));
            self.sweep = Deadline::after(self.settings.sweep.min(self.sweep.remaining()));
        }
    }

    fn log(&self, task: &TaskId, error: &DriverError) {
        let error = json!({ "error": error.to_string() });
        self.driver
            .context
            .log(LogLevel::Warn, task, "supervise.failed", error);
    }
}

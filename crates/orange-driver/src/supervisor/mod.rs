//! Keeps looking: asks because the world changed.
//!
//! It holds no truth of its own. Everything it knows is read from the store and the world when it
//! starts, and everything it finds goes through the driver like any other request, so that it may
//! be killed at any time and nothing is different. One thread waits for whatever happens and hands
//! work out; looking and performing are done by others, so that no slow effect delays a look.

mod aside;
mod catching_up;
mod files;
mod pace;
mod scheduling;
mod server;
mod tasks;
mod timers;
mod watching;
mod workers;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::Duration;

use orange_config::clock::{self, Deadline};
use orange_config::{LogLevel, SupervisorSettings};
use orange_effects::process::{Exits, ProcessError, allow_many_open_files};
use orange_effects::tmux::Heard;
use orange_engine::names::TaskId;
use orange_engine::time::Timestamp;
use serde_json::json;

use crate::supervisor::aside::Aside;
use crate::supervisor::catching_up::{confirmers, hearers, readers};
use crate::supervisor::files::Files;
use crate::supervisor::pace::Pace;
use crate::supervisor::scheduling::{notifying, scheduling, tidying};
use crate::supervisor::server::Server;
use crate::supervisor::tasks::Tasks;
use crate::supervisor::timers::Timers;
use crate::supervisor::workers::Workers;
use crate::{
    Confirmed, Driver, DriverError, Gathering, Looked, Performed, SupervisorLock, Watcher,
};

/// How many tasks have something ended for them while everybody else is busy.
const ENDERS: usize = 2;

/// How long after a write to the database what it wrote is certain to be seen: a commit counts a
/// moment later than its bytes are told of.
const SETTLED: Duration = Duration::from_millis(100);

/// How often and how much.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Between two looks at the whole tmux server; ends of processes are seen without it.
    pub tick: Duration,
    /// Between two looks at everything, for what was missed.
    pub sweep: Duration,
    /// How many tasks have their effects performed at the same time.
    pub performers: usize,
    /// How many agents are started in a minute.
    pub start_rate: u32,
    /// Whether it ends as soon as somebody wants to supervise instead.
    pub yields: bool,
}

impl From<&SupervisorSettings> for Settings {
    fn from(given: &SupervisorSettings) -> Self {
        Self {
            tick: given.tick,
            sweep: given.sweep,
            start_rate: given.start_rate,
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

/// Why nobody supervises.
#[derive(Debug, thiserror::Error)]
pub enum SupervisorError {
    /// The driver says no.
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

/// Something happened.
#[derive(Debug)]
enum Wake {
    /// It is to end.
    Stop,
    /// Somebody has committed something.
    Committed,
    /// The settings may have changed.
    Settings,
    /// A task's file may have changed.
    Written(TaskId),
    /// An agent of a task has told something.
    Told(TaskId),
    /// Processes have ended.
    Ended(Vec<u32>),
    /// tmux said something, on the connection of this number.
    Tmux(u64, Heard),
    /// Somebody has looked.
    Looked(Vec<Looked>),
    /// Looking at these has failed as a whole.
    LookFailed(Vec<TaskId>, DriverError),
    /// Somebody has performed.
    Performed(TaskId, Result<Performed, DriverError>),
    /// Somebody has looked which starts have happened.
    Confirmed(Vec<Confirmed>),
    /// Something else that was done for a task has failed.
    Failed(TaskId, DriverError),
}

/// Ends a supervisor from outside.
#[derive(Clone, Debug)]
pub struct Stopper(Sender<Wake>);

impl Stopper {
    /// Asks it to end; agents live on.
    pub fn stop(&self) {
        // One that has ended needs no asking.
        let _ended = self.0.send(Wake::Stop);
    }
}

/// Looks after every task of a home.
#[derive(Debug)]
pub struct Supervisor {
    // Declared first, because they are dropped in this order: who works ends before the lock.
    looks: Workers,
    readers: Workers,
    hearers: Workers,
    performers: Workers,
    /// Record what has been started already.
    confirmers: Workers,
    /// Perform where something is to be ended first, so that no slow setup keeps that waiting.
    enders: Workers,
    scheduling: Aside,
    tidying: Aside,
    notifying: Aside,
    driver: Driver,
    settings: Settings,
    watcher: Watcher,
    tasks: Tasks,
    /// Processes whose end nobody would tell of, because watching them has failed.
    unwatched: BTreeSet<u32>,
    /// When something is to be performed.
    timers: Timers,
    /// When a status has lasted too long.
    timeouts: Timers,
    /// When the next parked harness can be used again.
    unparking: Option<Timestamp>,
    /// When the database is read once more after a write to it.
    rereading: Option<Timestamp>,
    starts: Pace,
    server: Server,
    files: Files,
    exits: Arc<Exits>,
    wakes: Receiver<Wake>,
    sender: Sender<Wake>,
    tick: Deadline,
    sweep: Deadline,
    _lock: SupervisorLock,
}

impl Supervisor {
    /// Takes supervision of the driver's home; nobody else may have it.
    pub fn new(driver: Driver, settings: Settings) -> Result<Supervisor, SupervisorError> {
        allow_many_open_files();
        let watcher = driver.views.watcher()?;
        let lock = driver.context.take_supervision(settings.yields)?;
        let (sender, wakes) = mpsc::channel();
        // A gate's command may take minutes; whoever looks asks again when it has ended.
        let looking = driver
            .clone()
            .gathering(Gathering::Detached(Duration::ZERO));
        let exits = Arc::new(Exits::new()?);
        let looks = {
            let (driver, sender) = (looking.clone(), sender.clone());
            // All that wait are looked at by one look at the server.
            Workers::new("look", 1, usize::MAX, move |tasks| {
                let looked = driver.agents.observe_each(tasks);
                let wake = match looked {
                    Ok(looked) => Wake::Looked(looked),
                    Err(error) => Wake::LookFailed(tasks.to_vec(), error),
                };
                let _ended = sender.send(wake);
            })
        };
        let performing = |name: &str, threads: usize| {
            let (driver, sender) = (driver.clone(), sender.clone());
            Workers::new(name, threads, 1, move |tasks| {
                for task in tasks {
                    let performed = driver.with_person_variables().performer.perform(task);
                    let _ended = sender.send(Wake::Performed(task.clone(), performed));
                }
            })
        };
        let performers = performing("perform", settings.performers);
        let enders = performing("end", ENDERS);
        Ok(Supervisor {
            looks: looks.map_err(SupervisorError::Thread)?,
            readers: readers(looking, sender.clone()).map_err(SupervisorError::Thread)?,
            hearers: hearers(driver.clone(), sender.clone()).map_err(SupervisorError::Thread)?,
            performers: performers.map_err(SupervisorError::Thread)?,
            confirmers: confirmers(driver.clone(), sender.clone())
                .map_err(SupervisorError::Thread)?,
            enders: enders.map_err(SupervisorError::Thread)?,
            scheduling: scheduling(driver.clone()).map_err(SupervisorError::Thread)?,
            tidying: tidying(driver.clone()).map_err(SupervisorError::Thread)?,
            notifying: notifying(driver.clone()).map_err(SupervisorError::Thread)?,
            files: Files::new(driver.context.home(), sender.clone())?,
            server: Server::new(sender.clone()),
            tasks: Tasks::default(),
            unwatched: BTreeSet::new(),
            timers: Timers::default(),
            timeouts: Timers::default(),
            unparking: None,
            rereading: None,
            starts: Pace::new(settings.start_rate),
            tick: Deadline::after(Duration::ZERO),
            sweep: Deadline::after(settings.sweep),
            watcher,
            driver,
            settings,
            exits,
            wakes,
            sender,
            _lock: lock,
        })
    }

    /// What ends it from outside.
    pub fn stopper(&self) -> Stopper {
        Stopper(self.sender.clone())
    }

    /// Supervises until it is stopped, or until somebody wants to do it instead.
    pub fn run(mut self) -> Result<(), SupervisorError> {
        self.listen_for_exits()?;
        self.reload();
        self.tidying.ask();
        loop {
            let rests = [
                self.tick.left(),
                self.sweep.left(),
                self.timers.rest(),
                self.timeouts.rest(),
                timers::left(self.unparking),
                timers::left(self.rereading),
            ];
            let rest = rests.into_iter().min().unwrap_or_default();
            // Whatever has happened meanwhile is taken together.
            let first = self.wakes.recv_timeout(rest).ok();
            let all: Vec<Wake> = first.into_iter().chain(self.wakes.try_iter()).collect();
            if self.take(all) || self.settings.yields && self.driver.context.is_supervision_wanted()
            {
                break;
            }
            self.have_done_what_is_due();
            if self.tick.has_passed() {
                self.tick = Deadline::after(self.settings.tick);
                self.look_at_server();
            }
            if self.sweep.has_passed() {
                self.sweep = Deadline::after(self.settings.sweep);
                self.sweep_all();
            }
        }
        self.exits.stop();
        Ok(())
    }

    /// Processes tell of their end on a thread of its own.
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

    /// Takes note of everything that has happened; whether it is to end.
    fn take(&mut self, wakes: Vec<Wake>) -> bool {
        let mut has_committed = false;
        for wake in wakes {
            match wake {
                Wake::Stop => return true,
                Wake::Committed => has_committed = true,
                Wake::Settings => {
                    self.read_settings();
                    self.scheduling.ask();
                }
                Wake::Written(task) => self.readers.add(task),
                Wake::Told(task) => {
                    self.hearers.add(task);
                    self.notifying.ask();
                }
                Wake::Ended(pids) => {
                    for task in pids.into_iter().filter_map(|pid| self.tasks.of(pid)) {
                        self.looks.add(task);
                    }
                }
                Wake::Tmux(connection, heard) => self.hear(connection, heard),
                Wake::Looked(looked) => self.note_looks(looked),
                Wake::LookFailed(tasks, error) => {
                    for task in tasks {
                        self.log(&task, &error);
                        self.tasks.doubt(&task);
                    }
                }
                Wake::Performed(task, performed) => self.note_performed(&task, performed),
                Wake::Confirmed(confirmed) => self.note_confirmed(confirmed),
                Wake::Failed(task, error) => self.log(&task, &error),
            }
        }
        if has_committed {
            self.reload();
            self.rereading = Some(clock::after(SETTLED));
        } else if self.rereading.is_some_and(|at| at <= clock::now()) {
            self.rereading = None;
            self.reload();
        }
        false
    }

    /// Takes the settings as they are now; a mistake in them leaves the last good ones.
    fn read_settings(&mut self) {
        if let Ok(settings) = self.driver.context.settings(None) {
            self.settings = Settings {
                performers: self.settings.performers,
                yields: self.settings.yields,
                ..Settings::from(&settings.supervisor)
            };
            self.starts.set(self.settings.start_rate);
            self.tick = Deadline::after(self.settings.tick.min(self.tick.left()));
            self.sweep = Deadline::after(self.settings.sweep.min(self.sweep.left()));
        }
    }

    fn log(&self, task: &TaskId, error: &DriverError) {
        let error = json!({ "error": error.to_string() });
        self.driver
            .context
            .log(LogLevel::Warn, task, "supervise.failed", error);
    }
}

//! What every part shares: the home, its store, tmux, the log.

pub(crate) mod background;
pub(crate) mod caller;
pub(crate) mod ids;
pub(crate) mod lock;
pub(crate) mod log;
pub(crate) mod notes;
pub(crate) mod notify;
mod orange_on_path;
mod policy;
pub(crate) mod progress;
pub(crate) mod read_store;
pub(crate) mod redactor;
pub(crate) mod router_pause;
pub(crate) mod run_location;
pub(crate) mod run_sandbox;
pub(crate) mod runner_lock;
mod sandbox_support;
pub(crate) mod script_runs;
pub(crate) mod skills;
pub(crate) mod supervision;
pub(crate) mod user_environment;
pub(crate) mod workflows;

use std::path::{Path, PathBuf};
use std::time::Duration;

use orange_config::{
    Environment, Harnesses, Home, LogSettings, ORANGE_BACKGROUND, Project, Projects, Settings,
};
use orange_effects::process::KillTimeouts;
use orange_effects::tmux::{Socket, Tmux};
use orange_engine::names::HarnessName;
use orange_store::Store;

use crate::DriverError;
use crate::context::progress::Progress;
use crate::context::read_store::IdleStore;
use crate::context::router_pause::RouterPause;
use crate::context::sandbox_support::KnownCapabilities;

/// How long another process's commit usually takes.
const USUAL_COMMIT: Duration = Duration::from_millis(500);

/// How long a command waits if the settings cannot be read.
const DEFAULT_WAIT: Duration = Duration::from_secs(8);

/// The home and everything else that the driver works with.
#[derive(Clone, Debug)]
pub struct Context {
    pub(crate) home: Home,
    pub(crate) environment: Environment,
    pub(crate) directory: Option<PathBuf>,
    /// The path of this program.
    pub(crate) orange: PathBuf,
    pub(crate) tmux: Tmux,
    pub(crate) bounds: Bounds,
    pub(crate) gathering: GatherPolicy,
    pub(crate) log: LogSettings,
    pub(crate) wait: Duration,
    pub(crate) progress: Progress,
    pub(crate) router_pause: RouterPause,
    pub(crate) idle_store: IdleStore,
    capabilities: KnownCapabilities,
}

/// Limits on retries and waiting.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// How often an effect is tried before it counts as failed.
    pub tries: u32,
    /// How long to wait after its first failure; doubled after each further one.
    pub backoff: Duration,
    /// How long the processes of a run may take to exit.
    pub kill_timeouts: KillTimeouts,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            tries: 4,
            backoff: Duration::from_millis(500),
            kill_timeouts: KillTimeouts::default(),
        }
    }
}

/// Which process runs gate commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GatherPolicy {
    /// This process. Unsuitable for a process that may be killed together with an agent.
    Here,
    /// A separate process; the caller waits this long for it.
    Detached(Duration),
}

/// The shell command that prints the status of a task, for the status line of tmux. `None` if a
/// path has characters that mean something to tmux or a shell.
fn status_command(orange: &Path, home: &Home) -> Option<String> {
    let is_plain = |it: char| it.is_alphanumeric() || matches!(it, '/' | '.' | '-' | '_');
    let plain = |path: &Path| {
        let text = path.to_str()?;
        text.chars().all(is_plain).then(|| text.to_owned())
    };
    let (orange, home) = (plain(orange)?, plain(home.path())?);
    Some(format!("ORANGE_HOME={home} {orange} status-line"))
}

impl Context {
    pub(crate) fn new(environment: &Environment, orange: PathBuf) -> Result<Context, DriverError> {
        let home = Home::resolve(environment)?;
        // An error in the settings is reported by the code that needs them.
        let settings = Settings::load(&home, environment, None);
        let (log, wait, config) = match settings {
            Ok(settings) => (settings.log, settings.wait, settings.tmux_config),
            Err(_) => (log::DEFAULT_SETTINGS, DEFAULT_WAIT, None),
        };
        let socket = Socket::Private(home.tmux_socket());
        Ok(Context {
            tmux: Tmux::new("tmux", socket, environment)
                .config(config)
                .status_command(status_command(&orange, &home))
                .tethered(orange.clone())
                .variable(ORANGE_BACKGROUND, home.path()),
            environment: environment.clone(),
            directory: None,
            home,
            orange,
            bounds: Bounds::default(),
            gathering: GatherPolicy::Here,
            log,
            wait,
            progress: Progress::default(),
            router_pause: RouterPause::default(),
            idle_store: IdleStore::default(),
            capabilities: KnownCapabilities::default(),
        })
    }

    pub fn home(&self) -> &Home {
        &self.home
    }

    /// The colours of the terminal, as `foreground;background`, if it sets them.
    pub fn terminal_colours(&self) -> Option<String> {
        let colours = self.environment.variable("COLORFGBG")?;
        colours.to_str().map(str::to_owned)
    }

    /// The progress that is shared with the caller.
    pub fn progress(&self) -> &Progress {
        &self.progress
    }

    /// The directory that the command was run in.
    pub fn directory(&self) -> Option<&Path> {
        self.directory.as_deref()
    }

    /// How long a command waits for effects if the caller sets no time.
    pub fn default_wait(&self) -> Duration {
        self.wait
    }

    /// The settings of a project, or the general ones; fails if they are invalid.
    pub fn settings(&self, project: Option<&Project>) -> Result<Settings, DriverError> {
        Ok(Settings::load(&self.home, &self.environment, project)?)
    }

    /// The user's own settings of a project, for what no policy may set: a damaged policy of one
    /// project must not stop the others.
    pub fn own_settings(&self, project: &Project) -> Result<Settings, DriverError> {
        Ok(Settings::load_own(&self.home, &self.environment, project)?)
    }

    /// Whether another process keeps writing to the database, so that recording has to wait.
    /// Returns false if that cannot be determined, because recording will then report the error.
    pub fn is_recording_blocked(&self) -> bool {
        let has_database = self.home.database().exists();
        let store = has_database.then(|| Store::open(&self.home));
        let store = store.and_then(Result::ok);
        store.is_some_and(|mut store| store.is_locked_by_another(USUAL_COMMIT).unwrap_or(false))
    }

    pub(crate) fn store(&self) -> Result<Store, DriverError> {
        Ok(Store::open(&self.home)?)
    }

    pub(crate) fn harnesses(&self) -> Result<Harnesses, DriverError> {
        Ok(Harnesses::load(&self.home)?)
    }

    pub(crate) fn projects(&self) -> Result<Projects, DriverError> {
        Ok(Projects::load(&self.home)?)
    }

    /// Every registered project, in the order of the file.
    pub fn all_projects(&self) -> Result<Vec<Project>, DriverError> {
        Ok(self.projects()?.projects)
    }

    /// The first harness by name whose program is installed.
    pub fn first_installed(&self, harnesses: &Harnesses) -> Option<HarnessName> {
        self.each_installed(harnesses).next()
    }

    /// Every harness whose program is installed, by name.
    pub fn installed(&self, harnesses: &Harnesses) -> Vec<HarnessName> {
        self.each_installed(harnesses).collect()
    }

    fn each_installed(&self, harnesses: &Harnesses) -> impl Iterator<Item = HarnessName> {
        let path = self.environment.variable("PATH");
        let usable = harnesses.all().filter_map(|(_, it)| it.ok());
        let installed = usable.filter(move |harness| harness.locate(path).is_ok());
        installed.map(|harness| harness.name.clone())
    }
}

//! Joins engine, store and effects: load, decide, record, perform, record.
//!
//! Nobody else sees all three. A step holds no transaction and no lock while anything slow
//! happens: facts are gathered between two decisions, effects are performed after the commit, and
//! an agent's own call arrives in exactly that window.

mod admin;
mod agents;
mod error;
mod facts;
mod gate_commands;
mod ids;
mod lock;
mod perform;
mod request;
mod schedule;
mod step;
pub mod supervisor;
mod views;
mod workspaces;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use orange_config::{
    Environment, Harnesses, Home, LogSettings, ORANGE_BACKGROUND, Project, Projects, Settings,
};
use orange_effects::process::Patience;
use orange_effects::tmux::{Listing, Socket, Tmux};
use orange_store::Store;

pub use admin::checkup::{Checkup, Health};
pub use admin::demo::Demo;
pub use admin::projects::{Belongings, ProjectSettings};
pub use admin::read_log::LogReader;
pub use admin::skills::{Lesson, Taught, Teaching};
pub use admin::supervisor_lock::SupervisorLock;
pub use agents::activity::RunActivity;
pub use agents::attach::Showing;
pub use agents::confirm_starts::Confirmed;
pub use agents::events::Told;
pub use agents::observe::Seen;
pub use agents::observe_many::Looked;
pub use agents::orphans::Orphan;
pub use agents::output::Shown as ShownByRun;
pub use agents::recover::BroughtBack;
pub use agents::results::ResultOfRun;
pub use agents::screen::{AgentScreen, Onlooker};
pub use error::{Candidate, DriverError, Kind, Report, Way};
pub use gate_commands::Gathering;
pub use perform::Performed;
pub use request::answer::{Answer, Changed, GivenUp};
pub use request::ask::Asked;
pub use request::catch_up::Behind;
pub use request::create::{NewWork, can_be_branch};
pub use request::delete::PutAway;
pub use request::identity::Identity;
pub use request::progress::Meanwhile;
pub use request::retry::Unblocked;
pub use request::start::{Begun, Start};
pub use request::wait::Waiting;
pub use schedule::parked::{KnownHarness, Unparked};
pub use views::attention::{Attended, Attention};
pub use views::await_status::{Awaited, Until};
pub use views::follow::{Follower, ListChange};
pub use views::glance::{Glance, Glancer};
pub use views::list::{AgentState, Overview, Wanted};
pub use views::queries::{Outlook, Shown, Why};
pub use views::watch::{Change, Watched, WatchedRun, Watcher};
pub use workspaces::gc::{Collected, IgnoredIn, Problem};
pub use workspaces::list::Pooled;
pub use workspaces::rescues::{Destination, KeptWork};

pub use orange_effects::command::{Invocation, lead_session};
pub use orange_effects::git::{Difference, Extent, FileDifference, Operation, Part};
pub use orange_effects::run::exec_run;
pub use orange_effects::tmux::Observation;
pub use orange_store::{ChildCount, InboxEntry as Message, Rebuilt, TaskRow, steps};

/// Everything a step needs to know about where it happens.
#[derive(Clone, Debug)]
pub struct Driver {
    home: Home,
    environment: Environment,
    directory: Option<PathBuf>,
    orange: PathBuf,
    tmux: Tmux,
    /// What a look at the server has just shown, for who confirms many starts.
    seen: Option<Arc<Listing>>,
    bounds: Bounds,
    gathering: Gathering,
    log: LogSettings,
    meanwhile: Meanwhile,
}

/// How long and how often things are tried.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// How often an effect is tried before it is given up.
    pub tries: u32,
    /// How long to wait after its first failure; doubled after each further one.
    pub backoff: Duration,
    /// How long the processes of a run may take to end.
    pub patience: Patience,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            tries: 4,
            backoff: Duration::from_millis(500),
            patience: Patience::default(),
        }
    }
}

impl Driver {
    /// A driver for the home that the environment names; `orange` is this program.
    pub fn new(environment: &Environment, orange: PathBuf) -> Result<Driver, DriverError> {
        let home = Home::resolve(environment)?;
        // A mistake in the settings is told by what needs them.
        let log = Settings::load(&home, environment, None).map_or(admin::log::USUAL, |it| it.log);
        let socket = Socket::Private(home.tmux_socket());
        Ok(Driver {
            tmux: Tmux::new("tmux", socket, environment).variable(ORANGE_BACKGROUND, home.path()),
            seen: None,
            environment: environment.clone(),
            directory: None,
            home,
            orange,
            bounds: Bounds::default(),
            gathering: Gathering::Here,
            log,
            meanwhile: Meanwhile::default(),
        })
    }

    /// Asked from this directory.
    #[must_use]
    pub fn standing_in(mut self, directory: Option<PathBuf>) -> Driver {
        self.directory = directory;
        self
    }

    /// With other bounds.
    #[must_use]
    pub fn bounded(mut self, bounds: Bounds) -> Driver {
        self.bounds = bounds;
        self
    }

    /// With the commands of gates run by somebody else.
    #[must_use]
    pub fn gathering(mut self, gathering: Gathering) -> Driver {
        self.gathering = gathering;
        self
    }

    /// The home.
    pub fn home(&self) -> &Home {
        &self.home
    }

    /// What the terminal says of its ground, as `foreground;background`.
    pub fn terminal_ground(&self) -> Option<String> {
        let ground = self.environment.variable("COLORFGBG")?;
        ground.to_str().map(str::to_owned)
    }

    /// What who looks on shares with who waits.
    pub fn meanwhile(&self) -> &Meanwhile {
        &self.meanwhile
    }

    /// Where it is asked from.
    pub fn directory(&self) -> Option<&Path> {
        self.directory.as_deref()
    }

    fn store(&self) -> Result<Store, DriverError> {
        Ok(Store::open(&self.home)?)
    }

    fn harnesses(&self) -> Result<Harnesses, DriverError> {
        Ok(Harnesses::load(&self.home)?)
    }

    /// What is set for a project, or where none is meant; a mistake in it fails what needs it.
    pub fn settings(&self, project: Option<&Project>) -> Result<Settings, DriverError> {
        Ok(Settings::load(&self.home, &self.environment, project)?)
    }

    fn projects(&self) -> Result<Projects, DriverError> {
        Ok(Projects::load(&self.home)?)
    }
}

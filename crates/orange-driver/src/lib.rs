//! Joins engine, store and effects: load, decide, record, perform, record.
//!
//! Nobody else sees all three. A step holds no transaction and no lock while anything slow
//! happens: facts are gathered between two decisions, effects are performed after the commit, and
//! an agent's own call arrives in exactly that window.

mod act;
mod activity;
mod agent_event;
mod answer;
mod ask;
mod attach;
mod attention;
mod await_status;
mod begin;
mod bind;
mod bring_back;
mod caller;
mod catch_up;
mod checkup;
mod collect;
mod confirm;
mod create;
mod demo;
mod diff;
mod due;
mod edit;
mod error;
mod error_wording;
mod facts;
mod family;
mod follow;
mod gate_commands;
mod given_up;
mod glance;
mod hear;
mod identity;
mod ids;
mod inbox;
mod list;
mod lock;
mod log;
mod logs;
mod lost;
mod meaning;
mod meanwhile;
mod notifying;
mod observe;
mod observe_each;
mod orphans;
mod parked;
mod perform;
mod person;
mod place;
mod pool;
mod ports;
mod project;
mod project_meant;
mod projects;
mod put_away;
mod queries;
mod read_log;
mod rebuild;
mod registered_remote;
mod releases;
mod rename;
mod repository;
mod rescues;
mod results;
mod retry;
mod schedule;
mod screen;
mod skills;
mod step;
mod store_problem;
pub mod supervisor;
mod supervisor_lock;
mod task_meant;
mod unperformed;
mod wait;
mod watch;
mod working_copy;
mod workspace;
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

pub use activity::RunActivity;
pub use agent_event::Told;
pub use answer::{Answer, Changed, GivenUp};
pub use ask::Asked;
pub use attach::Showing;
pub use attention::{Attended, Attention};
pub use await_status::{Awaited, Until};
pub use begin::{Begun, Start};
pub use catch_up::Behind;
pub use checkup::{Checkup, Health};
pub use collect::{Collected, IgnoredIn, Problem};
pub use confirm::Confirmed;
pub use create::{NewWork, can_be_branch};
pub use demo::Demo;
pub use error::{Candidate, DriverError, Way};
pub use follow::{Follower, ListChange};
pub use gate_commands::Gathering;
pub use glance::{Glance, Glancer};
pub use identity::Identity;
pub use list::{AgentState, Overview, Wanted};
pub use logs::Shown as ShownByRun;
pub use lost::BroughtBack;
pub use meanwhile::Meanwhile;
pub use observe::Seen;
pub use observe_each::Looked;
pub use orphans::Orphan;
pub use parked::{KnownHarness, Unparked};
pub use perform::Performed;
pub use projects::{Belongings, ProjectSettings};
pub use put_away::PutAway;
pub use queries::{Outlook, Shown, Why};
pub use read_log::LogReader;
pub use rescues::{Destination, KeptWork};
pub use results::ResultOfRun;
pub use retry::Unblocked;
pub use screen::{AgentScreen, Onlooker};
pub use skills::{Lesson, Taught, Teaching};
pub use store_problem::StoreProblem;
pub use supervisor_lock::SupervisorLock;
pub use wait::Waiting;
pub use watch::{Change, Watched, WatchedRun, Watcher};
pub use workspaces::Pooled;

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
        let log = Settings::load(&home, environment, None).map_or(log::USUAL, |it| it.log);
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

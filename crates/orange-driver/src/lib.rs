//! Joins engine, store and effects: load, decide, record, perform, record.
//!
//! Each part has a folder and a type, and gets the parts below it: `Context`, `Callers`,
//! `Workspaces`, `Steps`, `Agents`, `Scheduler`, `Performer`, `Requests`, `Views`, `Admin`. A step
//! holds no transaction and no lock during slow work: facts are gathered between two decisions,
//! effects are performed after the commit, and an agent's own call arrives in exactly that window.

mod admin;
mod agents;
mod callers;
mod context;
mod demo;
mod driver;
mod due;
mod error;
mod failure;
mod perform;
mod request;
mod schedule;
mod steps;
pub mod supervisor;
mod views;
mod workspaces;

pub use admin::checkup::{Checkup, Health};
pub use admin::gc::{Collected, IgnoredIn, Problem};
pub use admin::projects::{Belongings, ProjectSettings};
pub use admin::read_log::LogReader;
pub use admin::skills::{Lesson, Taught, Teaching};
pub use agents::activity::RunActivity;
pub use agents::attach::Showing;
pub use agents::events::Told;
pub use agents::look::Seen;
pub use agents::observe::Looked;
pub use agents::orphans::Orphan;
pub use agents::output::Shown as ShownByRun;
pub use agents::results::ResultOfRun;
pub use agents::screen::{AgentScreen, Onlooker};
pub use callers::identity::Identity;
pub use context::progress::Meanwhile;
pub use context::supervision::SupervisorLock;
pub use context::{Bounds, Context, Gathering};
pub use demo::Demo;
pub use driver::Driver;
pub use error::{Candidate, DriverError, Kind, Report, Way};
pub use perform::Performed;
pub use perform::confirm_starts::Confirmed;
pub use request::answer::{Answer, Changed, GivenUp};
pub use request::ask::Asked;
pub use request::delete::PutAway;
pub use request::recover::BroughtBack;
pub use request::retry::Unblocked;
pub use request::start::{Begun, Start};
pub use request::wait::Waiting;
pub use schedule::parked::{KnownHarness, Unparked};
pub use steps::catch_up::Behind;
pub use steps::create::{NewWork, can_be_branch};
pub use views::attention::{Attended, Attention};
pub use views::await_status::{Awaited, Until};
pub use views::follow::{Follower, ListChange};
pub use views::glance::{Glance, Glancer};
pub use views::list::{AgentState, Overview, Wanted};
pub use views::queries::{Outlook, Shown, Why};
pub use views::watch::{Change, Watched, WatchedRun, Watcher};
pub use workspaces::list::Pooled;
pub use workspaces::rescues::{Destination, KeptWork};

pub use orange_effects::command::{Invocation, lead_session};
pub use orange_effects::git::{Difference, Extent, FileDifference, Operation, Part};
pub use orange_effects::run::exec_run;
pub use orange_effects::tmux::Observation;
pub use orange_store::{
    ChildCount, InboxEntry as Message, Rebuilt, TaskRow, steps as crash_points,
};

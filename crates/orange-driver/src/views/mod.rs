//! Views of tasks, for users and the supervisor; none changes a task.

pub(crate) mod attention;
pub(crate) mod await_status;
pub(crate) mod budget;
pub(crate) mod follow;
pub(crate) mod group;
pub(crate) mod inbox;
mod jobs;
pub(crate) mod list;
mod missing_worktrees;
mod notes;
pub(crate) mod notify;
mod policies;
pub(crate) mod queries;
pub(crate) mod recorded_tests;
mod statistics;
pub(crate) mod summary;
mod tree;
pub(crate) mod usage;
pub(crate) mod watch;

use std::sync::Arc;

use crate::agents::Agents;
use crate::context::Context;
use crate::perform::Performer;
use crate::schedule::Scheduler;
use crate::steps::Steps;
use crate::workspaces::Workspaces;

/// Answers queries; changes no task.
#[derive(Clone, Debug)]
pub struct Views {
    context: Arc<Context>,
    workspaces: Workspaces,
    steps: Steps,
    agents: Agents,
    scheduler: Scheduler,
    performer: Performer,
}

impl Views {
    pub(crate) fn new(
        context: &Arc<Context>,
        workspaces: &Workspaces,
        steps: &Steps,
        agents: &Agents,
        scheduler: &Scheduler,
        performer: &Performer,
    ) -> Views {
        Views {
            context: Arc::clone(context),
            workspaces: workspaces.clone(),
            steps: steps.clone(),
            agents: agents.clone(),
            scheduler: scheduler.clone(),
            performer: performer.clone(),
        }
    }
}

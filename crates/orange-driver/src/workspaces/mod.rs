//! Worktrees of the pool, and the work in them.

pub(crate) mod command;
pub(crate) mod default_branch;
pub(crate) mod describe_project;
pub(crate) mod diff;
pub(crate) mod kept;
mod late_commits;
pub(crate) mod lifecycle;
pub(crate) mod list;
pub(crate) mod merge_forecast;
pub(crate) mod open;
pub(crate) mod pager;
pub(crate) mod policy;
pub(crate) mod pool;
pub(crate) mod ports;
pub(crate) mod prepare;
pub(crate) mod private_repository;
pub(crate) mod registered_remote;
pub(crate) mod rename;
pub(crate) mod repository;
pub(crate) mod repository_state;
pub(crate) mod rescues;
pub(crate) mod restore;
pub(crate) mod sandbox;
pub(crate) mod test_run;
pub(crate) mod unread_filters;
pub(crate) mod verification;

use std::sync::Arc;

use crate::callers::Callers;
use crate::context::Context;

/// Worktrees of the pool, and the work in them.
#[derive(Clone, Debug)]
pub struct Workspaces {
    context: Arc<Context>,
    callers: Callers,
}

impl Workspaces {
    pub(crate) fn new(context: &Arc<Context>, callers: &Callers) -> Workspaces {
        Workspaces {
            context: Arc::clone(context),
            callers: callers.clone(),
        }
    }
}

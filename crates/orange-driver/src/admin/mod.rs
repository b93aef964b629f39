//! Manages the home: projects, skills, checks, log, cleanup, rebuild, uninstall.

mod chat;
pub(crate) mod checkup;
pub(crate) mod gc;
mod mcp_servers;
mod move_project;
pub(crate) mod policy;
pub(crate) mod projects;
pub(crate) mod read_log;
pub(crate) mod rebuild;
pub(crate) mod register_project;
pub(crate) mod releases;
pub(crate) mod remove_workspace;
mod sandbox;
pub(crate) mod set_aside;
pub(crate) mod skills;
pub(crate) mod uninstall;
mod worktree_repository;

use std::sync::Arc;

use crate::agents::Agents;
use crate::callers::Callers;
use crate::context::Context;
use crate::forge::Forge;
use crate::request::Requests;
use crate::steps::Steps;
use crate::workspaces::Workspaces;

/// Manages the home: projects, setup, workspaces, repairs.
#[derive(Clone, Debug)]
pub struct Admin {
    context: Arc<Context>,
    callers: Callers,
    workspaces: Workspaces,
    forge: Forge,
    steps: Steps,
    agents: Agents,
    requests: Requests,
}

impl Admin {
    pub(crate) fn new(
        context: &Arc<Context>,
        callers: &Callers,
        workspaces: &Workspaces,
        forge: &Forge,
        steps: &Steps,
        agents: &Agents,
        requests: &Requests,
    ) -> Admin {
        Admin {
            context: Arc::clone(context),
            callers: callers.clone(),
            workspaces: workspaces.clone(),
            forge: forge.clone(),
            steps: steps.clone(),
            agents: agents.clone(),
            requests: requests.clone(),
        }
    }
}

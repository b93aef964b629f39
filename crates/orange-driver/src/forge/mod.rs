//! Pull requests of tasks, as the forge shows them.
//!
//! Only the user's own processes and those that orange started for them ask the forge: an agent
//! gets no token, and its variables could name another server.

mod checks;
mod feedback;
mod feedback_file;
mod hints;
pub(crate) mod issue_file;
pub(crate) mod issues;
pub(crate) mod last_look;
pub(crate) mod look;
pub(crate) mod open;
pub(crate) mod outside_request;
pub(crate) mod posts;
pub(crate) mod repository;
pub(crate) mod search;
pub(crate) mod sessions;
pub(crate) mod snapshot;
pub(crate) mod status;
mod subject;

use std::sync::Arc;

use orange_effects::forge::error::{ForgeError, Trouble};
use orange_effects::forge::host::AddressError;
use orange_effects::git::GitError;
use orange_engine::names::{ProjectName, TaskId};

use crate::DriverError;
use crate::context::Context;
use crate::forge::look::RecentLooks;
use crate::forge::sessions::Sessions;
use crate::workspaces::Workspaces;

/// Pull requests of tasks, as the forge shows them.
#[derive(Clone, Debug)]
pub struct Forge {
    context: Arc<Context>,
    workspaces: Workspaces,
    sessions: Sessions,
    recent: RecentLooks,
}

impl Forge {
    pub(crate) fn new(context: &Arc<Context>, workspaces: &Workspaces) -> Forge {
        Forge {
            context: Arc::clone(context),
            workspaces: workspaces.clone(),
            sessions: Sessions::default(),
            recent: RecentLooks::default(),
        }
    }
}

/// Why the forge gave no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ForgeFailure {
    #[error("only your own commands and `orange serve` ask the forge, because agents get no token")]
    Agent,
    #[error("`ORANGE_FORGE_API`: {0}")]
    Address(#[from] AddressError),
    /// There is no token.
    #[error("{0}")]
    Token(Trouble),
    #[error(transparent)]
    Request(#[from] ForgeError),
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    Driver(#[from] DriverError),
    /// A write that may have taken effect, but cannot be seen.
    #[error("{0}; whether it took effect cannot be seen yet")]
    Unseen(String),
    /// Something that the user has to sort out.
    #[error("{0}")]
    Unclear(String),
}

impl ForgeFailure {
    /// The error of a command about a task.
    pub(crate) fn into_driver_error(self, task: &TaskId) -> DriverError {
        match self {
            ForgeFailure::Driver(error) => error,
            other => DriverError::FactUnknown {
                task: task.clone(),
                what: "the pull request",
                reason: other.to_string(),
            },
        }
    }

    /// The error of a command about an issue.
    pub(crate) fn into_issue_error(self, number: u64) -> DriverError {
        match self {
            ForgeFailure::Driver(error) => error,
            other => DriverError::IssueUnusable {
                number,
                reason: other.to_string(),
            },
        }
    }

    /// The error of a command about the issues of a project.
    pub(crate) fn into_issues_error(self, project: &ProjectName) -> DriverError {
        match self {
            ForgeFailure::Driver(error) => error,
            other => DriverError::IssuesUnread {
                project: project.clone(),
                reason: other.to_string(),
            },
        }
    }

    /// Whether the same question may be answered later without a change by the user.
    pub(crate) fn is_temporary(&self) -> bool {
        match self {
            ForgeFailure::Request(error) => error.is_temporary(),
            ForgeFailure::Git(_) | ForgeFailure::Driver(_) | ForgeFailure::Unseen(_) => true,
            ForgeFailure::Agent
            | ForgeFailure::Address(_)
            | ForgeFailure::Token(_)
            | ForgeFailure::Unclear(_) => false,
        }
    }
}

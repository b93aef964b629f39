//! Hooks: what a workflow runs on a transition.

use serde::{Deserialize, Serialize};

use super::problem::Position;
use super::prompt::Prompt;
use super::workflow::{Change, Permissions};
use crate::document::SectionName;
use crate::merge_strategy::MergeStrategy;
use crate::names::{FieldName, PromptName};
use crate::role::Role;

/// A hook: an action and what happens if it fails.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Hook {
    /// What it does.
    #[serde(flatten)]
    pub action: Action,
    /// Its timeout in seconds; if absent, the performer's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<u64>,
    /// Whether its failure stops the hooks after it.
    pub on_error: OnError,
    /// Its position in the file.
    #[serde(skip)]
    pub at: Position,
}

/// What the failure of a hook means for those after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnError {
    /// They do not run.
    Stop,
    /// They still run.
    Continue,
}

/// The vocabulary of hooks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum Action {
    /// Binds a workspace, and restores saved work if requested.
    AcquireWorkspace {
        /// Whether to restore saved work.
        restore: bool,
    },
    /// Saves uncommitted work, then releases the workspace; never spawns.
    ReleaseWorkspace,
    /// Starts an agent.
    SpawnAgent(SpawnHook),
    /// Kills every agent of the task.
    KillSession,
    /// Kills the agents of one role: `kill_reviewer`, or `kill_agent` with a role.
    KillRole {
        /// The role.
        role: Role,
    },
    /// Sends a message to the worker, or respawns it if it is not running.
    NotifyWorker {
        /// The message.
        message: Prompt,
    },
    /// Lets the scheduler start the next queued task.
    SpawnNext,
    /// Pushes the branch.
    PushBranch,
    /// Pushes the submitted commit, and finds or opens the pull request of the branch.
    CreatePr {
        /// Whether a new pull request is a draft; if absent, the project's setting decides.
        #[serde(skip_serializing_if = "Option::is_none")]
        draft: Option<bool>,
        /// The labels of a new pull request, in addition to those of the project.
        labels: Vec<String>,
    },
    /// Marks the pull request as ready for review.
    ReadyPr,
    /// Asks the forge to merge the submitted commit.
    MergePr {
        /// The merge strategy.
        strategy: MergeStrategy,
    },
    /// Removes the remote branch.
    DeleteRemoteBranch,
    /// Changes a numeric field.
    SetField(Change),
    /// Archives a section, so that the next one with its name is new.
    ArchiveSection {
        /// The section.
        section: SectionName,
    },
    /// Notifies the user.
    Notify {
        /// The message.
        message: Prompt,
        /// The channels to use.
        via: Vec<Channel>,
    },
    /// Runs a command in the workspace, at most once.
    RunCommand {
        /// Program and arguments; it does not run in a shell.
        command: Vec<String>,
    },
    /// Chooses agent, model and skills.
    Route,
    /// Creates the child tasks that the report requests.
    CreateChildren,
    /// Merges the branches of children that are done into the task's branch.
    MergeChildren,
}

/// How an agent is started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct SpawnHook {
    /// The name of its prompt.
    pub prompt: PromptName,
    /// The role it runs as.
    pub role: Role,
    /// Which of the task's harnesses it uses.
    pub harness: HarnessChoice,
    /// What it may do without asking.
    pub permissions: Permissions,
    /// The name of its tmux window.
    pub window: Prompt,
    /// A field that counts the starts; it is incremented before the prompt is filled in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub increment: Option<FieldName>,
    /// Whether it runs without a terminal and writes a JSON report.
    pub headless: bool,
    /// Whether it runs in a directory of the task's own instead of a worktree.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub without_worktree: bool,
    /// The prompt of a run that only plans how to split the task; it has no worktree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<PromptName>,
}

/// Which of the task's harnesses a spawn uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HarnessChoice {
    /// The harness that does the work.
    Task,
    /// The harness that reviews the work.
    Review,
}

/// How the user is notified.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    schemars::JsonSchema,
    Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Channel {
    /// A desktop notification.
    Desktop,
    /// The terminal bell.
    Bell,
    /// A webhook.
    Webhook,
}

impl Channel {
    /// Every channel, by its name in a file.
    pub const ALL: [(&'static str, Channel); 3] = [
        ("desktop", Channel::Desktop),
        ("bell", Channel::Bell),
        ("webhook", Channel::Webhook),
    ];
}

impl Action {
    /// Whether a failure of this action stops the actions after it, unless the author says
    /// otherwise.
    pub fn default_on_error(&self) -> OnError {
        match self {
            Action::DeleteRemoteBranch | Action::Notify { .. } | Action::SpawnNext => {
                OnError::Continue
            }
            _ => OnError::Stop,
        }
    }

    /// A short label for messages: the name of the effect it becomes.
    pub fn label(&self) -> &'static str {
        match self {
            Action::AcquireWorkspace { .. } => "acquire_workspace",
            Action::ReleaseWorkspace => "release_workspace",
            Action::SpawnAgent(SpawnHook { headless: true, .. }) => "run_headless",
            Action::SpawnAgent(spawn) if spawn.role == Role::Reviewer => "spawn_reviewer",
            Action::SpawnAgent(_) => "spawn_agent",
            Action::KillSession => "kill_session",
            Action::KillRole {
                role: Role::Reviewer,
            } => "kill_reviewer",
            Action::KillRole { .. } => "kill_agent",
            Action::NotifyWorker { .. } => "notify_worker",
            Action::SpawnNext => "spawn_next",
            Action::PushBranch => "push_branch",
            Action::CreatePr { .. } => "create_pr",
            Action::ReadyPr => "ready_pr",
            Action::MergePr { .. } => "merge_pr",
            Action::DeleteRemoteBranch => "delete_remote_branch",
            Action::SetField(_) => "set_field",
            Action::ArchiveSection { .. } => "archive_section",
            Action::Notify { .. } => "notify",
            Action::RunCommand { .. } => "run_command",
            Action::Route => "route",
            Action::CreateChildren => "create_children",
            Action::MergeChildren => "merge_children",
        }
    }

    /// The agent start in this action, if it is one.
    pub fn spawn(&self) -> Option<&SpawnHook> {
        match self {
            Action::SpawnAgent(spawn) => Some(spawn),
            _ => None,
        }
    }
}

//! Hooks: what a workflow runs on a transition.

use serde::{Deserialize, Serialize};

use super::problem::Position;
use super::prompt::Prompt;
use super::workflow::{Change, Permissions};
use crate::document::SectionName;
use crate::names::{FieldName, PromptName};
use crate::role::Role;

/// One hook with what concerns every hook.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Hook {
    /// What it does.
    #[serde(flatten)]
    pub action: Action,
    /// Seconds it may take; the performer's own bound when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<u64>,
    /// Whether its failure stops the hooks after it.
    pub on_error: OnError,
    /// Where the file says so.
    #[serde(skip)]
    pub at: Position,
}

/// What the failure of a hook means for those after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnError {
    /// They do not run.
    Stop,
    /// They run all the same.
    Continue,
}

/// The vocabulary of hooks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum Action {
    /// Binds a workspace, and brings rescued work back when asked to.
    AcquireWorkspace {
        /// Whether work rescued earlier is restored.
        restore: bool,
    },
    /// Saves what is unsaved, then frees the workspace; never spawns.
    ReleaseWorkspace,
    /// Starts an agent.
    SpawnAgent(SpawnHook),
    /// Ends every agent of the task.
    KillSession,
    /// Ends the agents of one role: `kill_reviewer`, or `kill_agent` with a role.
    KillRole {
        /// The role.
        role: Role,
    },
    /// Tells the worker something, or respawns it when it is gone.
    NotifyWorker {
        /// What it is told.
        message: Prompt,
    },
    /// Lets the scheduler start the next queued task.
    SpawnNext,
    /// Pushes the branch.
    PushBranch,
    /// Opens a pull request.
    CreatePr,
    /// Removes the remote branch.
    DeleteRemoteBranch,
    /// Changes a numeric field.
    SetField(Change),
    /// Sets a section aside, so that the next one of its name is new.
    ArchiveSection {
        /// The section.
        section: SectionName,
    },
    /// Tells the person something.
    Notify {
        /// What.
        message: Prompt,
        /// By which ways.
        via: Vec<Channel>,
    },
    /// Runs a command in the workspace, at most once.
    RunCommand {
        /// Program and arguments; no shell reads them.
        command: Vec<String>,
    },
    /// Chooses agent, model and skills.
    Route,
    /// Creates the child tasks that the report asks for.
    CreateChildren,
    /// Comments on the linked issue.
    CommentIssue {
        /// What.
        message: Prompt,
    },
    /// Labels the linked issue.
    LabelIssue {
        /// The label.
        label: String,
    },
    /// Closes the linked issue.
    CloseIssue,
}

/// How an agent is started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct SpawnHook {
    /// What it is told.
    pub prompt: PromptName,
    /// As what it runs.
    pub role: Role,
    /// Whose harness it uses.
    pub harness: HarnessChoice,
    /// What it may do.
    pub permissions: Permissions,
    /// The name of its window.
    pub window: Prompt,
    /// A field that counts this start, changed before the prompt is written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub increment: Option<FieldName>,
    /// Whether it runs without a terminal and reports as JSON.
    pub headless: bool,
}

/// Which of the task's harnesses a spawn uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HarnessChoice {
    /// The one the work is done with.
    Task,
    /// The one the review is done with.
    Review,
}

/// How a person is told something.
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
    /// A notification of the desktop.
    Desktop,
    /// The bell of the terminal.
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
    pub fn usual_on_error(&self) -> OnError {
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
            Action::CreatePr => "create_pr",
            Action::DeleteRemoteBranch => "delete_remote_branch",
            Action::SetField(_) => "set_field",
            Action::ArchiveSection { .. } => "archive_section",
            Action::Notify { .. } => "notify",
            Action::RunCommand { .. } => "run_command",
            Action::Route => "route",
            Action::CreateChildren => "create_children",
            Action::CommentIssue { .. } => "comment_issue",
            Action::LabelIssue { .. } => "label_issue",
            Action::CloseIssue => "close_issue",
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

//! Effects: hooks with every parameter filled in, ready to perform.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::document::SectionName;
use crate::language::hooks::{Channel, OnError};
use crate::language::workflow::Permissions;
use crate::merged::{LeftOut, Merged};
use crate::names::{BranchName, CommitId, HarnessName, RunId, Status, TaskId, WorkspaceName};
use crate::report::Delegation;
use crate::role::Role;

/// The version of the event that planned an effect: unique within its task, and in order.
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
pub struct EffectId(pub u64);

impl fmt::Display for EffectId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// An effect with what its performer must know besides.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, schemars::JsonSchema, Deserialize)]
pub struct PlannedEffect {
    /// Which one it is.
    pub id: EffectId,
    /// The plan it belongs to; a failure stops only the later ones of the same plan.
    pub plan: u64,
    /// What to do.
    pub effect: Effect,
    /// Seconds it may take; the performer's own bound when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<u64>,
    /// What its failure means for the later ones of its plan.
    pub on_error: OnError,
}

/// Something to do in the world.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Effect {
    /// Bind a workspace to the task.
    AcquireWorkspace {
        /// Whether work rescued earlier is brought back.
        restore: bool,
    },
    /// Save what is unsaved, then free the workspace.
    ReleaseWorkspace {
        /// The one that was bound when it was planned; another must not be touched.
        workspace: Option<WorkspaceName>,
    },
    /// Start an agent.
    Spawn(Spawn),
    /// End agents and whatever they left running.
    Kill(Kill),
    /// Tell an agent something.
    NotifyRole(NotifyRole),
    /// Let the scheduler start the next queued task.
    SpawnNext,
    /// Push the branch.
    PushBranch {
        /// The branch.
        branch: BranchName,
    },
    /// Open a pull request.
    CreatePr {
        /// The branch.
        branch: BranchName,
        /// The title.
        title: String,
    },
    /// Remove the remote branch.
    DeleteRemoteBranch {
        /// The branch.
        branch: BranchName,
    },
    /// Set a section of TASK.md aside.
    ArchiveSection {
        /// The section.
        section: SectionName,
    },
    /// Tell the person something.
    Notify {
        /// What.
        message: String,
        /// By which ways.
        via: Vec<Channel>,
    },
    /// Run a command in the workspace.
    RunCommand {
        /// Program and arguments.
        command: Vec<String>,
    },
    /// Merge the branch.
    Merge(Merge),
    /// Choose agent, model and skills.
    Route,
    /// Create child tasks.
    CreateChildren {
        /// The children.
        delegations: Vec<Delegation>,
    },
    /// Comment on the linked issue.
    CommentIssue {
        /// What.
        message: String,
    },
    /// Label the linked issue.
    LabelIssue {
        /// The label.
        label: String,
    },
    /// Close the linked issue.
    CloseIssue,
}

/// How an agent is started.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, schemars::JsonSchema, Deserialize)]
pub struct Spawn {
    /// The identity of this start.
    pub run: RunId,
    /// As what it runs.
    pub role: Role,
    /// The program.
    pub harness: HarnessName,
    /// Which model it uses; its own choice when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How hard it thinks; its own choice when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<String>,
    /// What it may do.
    pub permissions: Permissions,
    /// The name of its window, for people.
    pub window: String,
    /// What it is told, every variable filled in.
    pub prompt: String,
    /// Whether it runs without a terminal and reports as JSON.
    pub headless: bool,
    /// Seconds to wait first.
    pub delay: u64,
}

/// Which agents are ended, with whatever they left running.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, schemars::JsonSchema, Deserialize)]
pub struct Kill {
    /// How far it reaches beyond the runs that are named.
    pub scope: KillScope,
    /// The runs known when it was planned, dead or alive.
    pub runs: Vec<RunId>,
}

/// How far a kill reaches.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KillScope {
    /// Every agent of the task.
    Session,
    /// Every agent of one role.
    Role(Role),
    /// Nothing but the runs that are named.
    Runs,
}

/// A message to an agent.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, schemars::JsonSchema, Deserialize)]
pub struct NotifyRole {
    /// To whom.
    pub role: Role,
    /// What.
    pub message: String,
    /// What to start when nobody is there to read it.
    pub otherwise: Option<Spawn>,
}

/// A merge bound to the commits it was decided for.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, schemars::JsonSchema, Deserialize)]
pub struct Merge {
    /// How.
    pub strategy: MergeStrategy,
    /// The branch.
    pub branch: BranchName,
    /// The commit that is merged.
    pub head: CommitId,
    /// The branch's commit when it was decided; plans of before had no other than `head`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tip: Option<CommitId>,
    /// The default branch's commit when it was decided.
    pub base: CommitId,
    /// Where success leads.
    pub to: Status,
    /// Whether the remote is left alone, whatever the project says.
    #[serde(default, skip_serializing_if = "is_false")]
    pub local: bool,
    /// Whether the default branch had the commit when it was decided.
    #[serde(default, skip_serializing_if = "is_false")]
    pub was_in_base: bool,
    /// What the task has besides that commit.
    #[serde(default, skip_serializing_if = "LeftOut::is_nothing")]
    pub left_out: LeftOut,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes what it serializes by reference"
)]
fn is_false(value: &bool) -> bool {
    !value
}

/// How a branch is merged.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    schemars::JsonSchema,
    Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum MergeStrategy {
    /// Fast-forward, or refuse.
    #[default]
    Ff,
    /// A merge commit.
    Merge,
    /// One commit.
    Squash,
}

impl MergeStrategy {
    pub fn as_str(self) -> &'static str {
        match self {
            MergeStrategy::Ff => "ff",
            MergeStrategy::Merge => "merge",
            MergeStrategy::Squash => "squash",
        }
    }
}

/// What happens to an effect if its performer crashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EffectClass {
    /// Checks whether its goal is reached, acts if not, and checks again; performing it twice is
    /// safe.
    Convergent,
    /// Marked before it starts; after a crash it is reported, not repeated.
    AtMostOnce,
}

/// What performing an effect brought to light.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectOutcome {
    /// Nothing beyond its success.
    Done,
    /// The workspace that was bound.
    Bound(WorkspaceName),
    /// Nobody was there to be told, so the agent was started.
    SpawnedInstead,
    /// What was merged where.
    Merged(Merged),
    /// The harness that was chosen.
    Routed(HarnessName),
    /// The child tasks that were created.
    Children(Vec<TaskId>),
}

impl Effect {
    /// What happens to this effect if its performer crashes.
    pub fn class(&self) -> EffectClass {
        match self {
            Effect::RunCommand { .. } => EffectClass::AtMostOnce,
            Effect::Notify { via, .. } if via.contains(&Channel::Webhook) => {
                EffectClass::AtMostOnce
            }
            _ => EffectClass::Convergent,
        }
    }

    /// A short label for messages: the hook's name.
    pub fn label(&self) -> &'static str {
        match self {
            Effect::AcquireWorkspace { .. } => "acquire_workspace",
            Effect::ReleaseWorkspace { .. } => "release_workspace",
            Effect::Spawn(Spawn { headless: true, .. }) => "run_headless",
            Effect::Spawn(spawn) if spawn.role == Role::Reviewer => "spawn_reviewer",
            Effect::Spawn(_) => "spawn_agent",
            Effect::Kill(kill) => match &kill.scope {
                KillScope::Session => "kill_session",
                KillScope::Role(Role::Reviewer) => "kill_reviewer",
                KillScope::Role(_) | KillScope::Runs => "kill_agent",
            },
            Effect::NotifyRole(_) => "notify_worker",
            Effect::SpawnNext => "spawn_next",
            Effect::PushBranch { .. } => "push_branch",
            Effect::CreatePr { .. } => "create_pr",
            Effect::DeleteRemoteBranch { .. } => "delete_remote_branch",
            Effect::ArchiveSection { .. } => "archive_section",
            Effect::Notify { .. } => "notify",
            Effect::RunCommand { .. } => "run_command",
            Effect::Merge(_) => "merge",
            Effect::Route => "route",
            Effect::CreateChildren { .. } => "create_children",
            Effect::CommentIssue { .. } => "comment_issue",
            Effect::LabelIssue { .. } => "label_issue",
            Effect::CloseIssue => "close_issue",
        }
    }
}

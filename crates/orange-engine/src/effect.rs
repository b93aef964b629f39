//! Effects: hooks with every parameter filled in, ready to perform.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::delegation::ChildMerge;
use crate::document::SectionName;
use crate::forge::pull_request::PullRequestLink;
use crate::language::hooks::{Channel, OnError};
use crate::language::workflow::Permissions;
use crate::merge_result::{MergeResult, OmittedWork};
pub use crate::merge_strategy::MergeStrategy;
use crate::names::{BranchName, CommitId, HarnessName, RunId, Status, TaskId, WorkspaceName};
use crate::report::Delegation;
use crate::role::Role;
use crate::routing::Choice;

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

/// An effect, with everything else that its performer needs to know.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, schemars::JsonSchema, Deserialize)]
pub struct PlannedEffect {
    /// The id of the effect.
    pub id: EffectId,
    /// The plan it belongs to; a failure stops only later effects of the same plan.
    pub plan: u64,
    /// What to do.
    pub effect: Effect,
    /// Its timeout in seconds; if absent, the performer's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<u64>,
    /// What its failure means for the later effects of its plan.
    pub on_error: OnError,
}

/// Something to do in the world.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum Effect {
    /// Bind a workspace to the task.
    AcquireWorkspace {
        /// Whether to restore saved work.
        restore: bool,
    },
    /// Save uncommitted work, then release the workspace.
    ReleaseWorkspace {
        /// The workspace that was bound when this was planned; no other is touched.
        workspace: Option<WorkspaceName>,
    },
    /// Start an agent.
    Spawn(Spawn),
    /// Kill agents and the processes they left running.
    Kill(Kill),
    /// Send a message to an agent.
    NotifyRole(NotifyRole),
    /// Let the scheduler start the next queued task.
    SpawnNext,
    /// Push the branch.
    PushBranch {
        /// The branch.
        branch: BranchName,
    },
    /// Push a commit to the remote branch, then find or open the branch's pull request.
    CreatePr(CreatePr),
    /// Mark the pull request as ready for review.
    ReadyPr,
    /// Run the failed checks of the pull request again.
    RerunChecks {
        /// The commit they ran for.
        head: CommitId,
    },
    /// Ask the forge to merge the pull request; the task moves when the merge is observed.
    MergePr {
        /// The commit to merge.
        head: CommitId,
        /// The merge strategy.
        strategy: MergeStrategy,
    },
    /// Remove the remote branch.
    DeleteRemoteBranch {
        /// The branch.
        branch: BranchName,
    },
    /// Archive a section of TASK.md.
    ArchiveSection {
        /// The section.
        section: SectionName,
    },
    /// Notify the user.
    Notify {
        /// The message.
        message: String,
        /// The channels to use.
        via: Vec<Channel>,
    },
    /// Run a command in the workspace.
    RunCommand {
        /// Program and arguments.
        command: Vec<String>,
    },
    /// Merge the branch.
    Merge(Merge),
    /// Choose harness, model and skills.
    Route,
    /// Create child tasks.
    CreateChildren {
        /// The children.
        delegations: Vec<Delegation>,
    },
    /// Merge the branches of children that are done into the task's branch.
    MergeChildren {
        /// The children that have ended.
        children: Vec<TaskId>,
    },
    /// A write to the linked issue that a workflow of an earlier version planned; does nothing.
    #[serde(alias = "comment_issue", alias = "label_issue", alias = "close_issue")]
    WriteIssue,
}

/// How an agent is started.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, schemars::JsonSchema, Deserialize)]
pub struct Spawn {
    /// The id of the run.
    pub run: RunId,
    /// The role it runs as.
    pub role: Role,
    /// The harness to start.
    pub harness: HarnessName,
    /// The model; if absent, the harness's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The reasoning effort; if absent, the harness's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<String>,
    /// What it may do without asking.
    pub permissions: Permissions,
    /// The name of its tmux window.
    pub window: String,
    /// Its prompt, with every variable filled in.
    pub prompt: String,
    /// Whether it runs without a terminal and writes a JSON report.
    pub headless: bool,
    /// Whether it runs in a directory of the task's own instead of a worktree.
    #[serde(default, skip_serializing_if = "is_false")]
    pub without_worktree: bool,
    /// Whether it only plans how to split the task.
    #[serde(default, skip_serializing_if = "is_false")]
    pub plans: bool,
    /// How many seconds to wait before the start.
    pub delay: u64,
}

/// Which agents to kill, with the processes they left running.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, schemars::JsonSchema, Deserialize)]
pub struct Kill {
    /// What it kills in addition to the named runs.
    pub scope: KillScope,
    /// The runs that were known when it was planned, dead or alive.
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
    /// Only the named runs.
    Runs,
}

/// The author of a message in a history from before messages had one.
fn engine() -> Role {
    Role::Engine
}

fn is_engine(role: &Role) -> bool {
    *role == Role::Engine
}

/// A message to an agent.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, schemars::JsonSchema, Deserialize)]
pub struct NotifyRole {
    /// The role it is for.
    pub role: Role,
    /// The author; the engine for a text of the workflow.
    #[serde(default = "engine", skip_serializing_if = "is_engine")]
    pub from: Role,
    /// The message.
    pub message: String,
    /// The agent to start if none is running.
    pub spawn_if_absent: Option<Spawn>,
}

/// A pull request to find or to open.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, schemars::JsonSchema, Deserialize)]
pub struct CreatePr {
    /// The branch.
    pub branch: BranchName,
    /// The commit to push; if absent, the branch's commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<CommitId>,
    /// The title of a new pull request.
    pub title: String,
    /// Whether a new pull request is a draft; if absent, the project's setting decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draft: Option<bool>,
    /// The labels of a new pull request, in addition to those of the project.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
}

/// A merge bound to the commits it was decided for.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, schemars::JsonSchema, Deserialize)]
pub struct Merge {
    /// The merge strategy.
    pub strategy: MergeStrategy,
    /// The branch.
    pub branch: BranchName,
    /// The commit to merge.
    pub head: CommitId,
    /// The branch's commit when the merge was decided; absent in old plans, where it is `head`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tip: Option<CommitId>,
    /// The default branch's commit when the merge was decided.
    pub base: CommitId,
    /// The status after the merge.
    pub to: Status,
    /// Whether to skip the push, whatever the project's settings say.
    #[serde(default, skip_serializing_if = "is_false")]
    pub local: bool,
    /// Whether the default branch already contained the commit when the merge was decided.
    #[serde(default, skip_serializing_if = "is_false")]
    pub was_in_base: bool,
    /// Work of the task that the merge leaves out.
    #[serde(default, skip_serializing_if = "OmittedWork::is_empty")]
    pub left_out: OmittedWork,
    /// The pull request to merge through; absent if the task has none or the merge is local.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pull_request: Option<PullRequestLink>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes what it serializes by reference"
)]
fn is_false(value: &bool) -> bool {
    !value
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

/// The result of performing an effect.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectOutcome {
    /// It succeeded, and there is nothing else to record.
    Done,
    /// The workspace that was bound.
    Bound(WorkspaceName),
    /// No agent was running, so one was started instead.
    SpawnedInstead,
    /// What was merged, and where.
    Merged(MergeResult),
    /// The harness that was chosen.
    Routed(HarnessName),
    /// The harness that was chosen, and why.
    Chosen(Box<Choice>),
    /// The child tasks that were created.
    Children(Vec<TaskId>),
    /// What became of the branches of the children that are done.
    ChildrenMerged(BTreeMap<TaskId, ChildMerge>),
    /// The pull request of the branch.
    PullRequest(PullRequestLink),
}

/// The label of a merge.
pub(crate) const MERGE: &str = "merge";

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
            Effect::CreatePr(_) => "create_pr",
            Effect::ReadyPr => "ready_pr",
            Effect::RerunChecks { .. } => "rerun_checks",
            Effect::MergePr { .. } => "merge_pr",
            Effect::DeleteRemoteBranch { .. } => "delete_remote_branch",
            Effect::ArchiveSection { .. } => "archive_section",
            Effect::Notify { .. } => "notify",
            Effect::RunCommand { .. } => "run_command",
            Effect::Merge(_) => MERGE,
            Effect::Route => "route",
            Effect::CreateChildren { .. } => "create_children",
            Effect::MergeChildren { .. } => "merge_children",
            Effect::WriteIssue => "write_issue",
        }
    }
}

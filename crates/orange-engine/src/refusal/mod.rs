//! Refusals: everything that is missing, as data, with one wording.

mod gate_failure;
mod wording;

use serde::Serialize;

use crate::effect::MergeStrategy;
use crate::language::verbs::Verb;
use crate::language::workflow::Kind;
use crate::names::{BranchName, CommitId, FieldName, Status, TaskId, WorkflowName};
use crate::role::Role;
use crate::schedule::Wait;

pub(crate) use gate_failure::CommitKind;
pub use gate_failure::{GateFailure, PullRequestFact};
pub(crate) use wording::{HAS_SUMMARY, describe_section, describe_trigger};

/// Why a request is refused. A refused request changes nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Refusal {
    /// The task.
    pub task: TaskId,
    /// The role that requested it.
    pub by: Role,
    /// What was attempted.
    pub attempt: Attempt,
    /// Everything that blocks the request.
    pub missing: Vec<Blocker>,
    /// Gate commands that were not run, because something else blocks the request.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unchecked: Vec<String>,
    /// What to do next; each hint is complete on its own.
    pub hints: Vec<String>,
}

/// What was attempted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Attempt {
    /// A change of status.
    Move {
        /// The current status.
        from: Status,
        /// The requested status.
        to: Status,
    },
    /// A verb.
    Verb {
        /// The verb.
        verb: Verb,
        /// The current status.
        from: Status,
        /// The merge strategy, if one was given.
        #[serde(skip_serializing_if = "Option::is_none")]
        strategy: Option<MergeStrategy>,
        /// Whether the push was to be skipped.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        local: bool,
        /// The commit that a merge would have taken, if known.
        #[serde(skip_serializing_if = "Option::is_none")]
        head: Option<CommitId>,
        /// Whether the request named that commit.
        #[serde(skip)]
        is_head_named: bool,
    },
    /// Respawning an agent.
    Respawn {
        /// The current status.
        from: Status,
    },
    /// Stopping an agent.
    Stop {
        /// The current status.
        from: Status,
    },
    /// Restarting an agent.
    Restart {
        /// The current status.
        from: Status,
    },
    /// Reopening the task.
    Reopen,
    /// Opening a pull request.
    OpenPullRequest,
    /// A change of summary, branch or priority.
    Amend,
    /// A change of the workflow.
    ChangeWorkflow {
        /// The workflow.
        workflow: WorkflowName,
    },
    /// Deleting the task.
    Delete,
    /// Restoring a deleted task.
    Restore,
    /// Sending a message to an agent.
    Tell,
    /// Retrying failed effects.
    RetryEffects,
    /// Clearing the attention items.
    ClearAttention,
    /// A new task.
    Create {
        /// The requested first status.
        status: Option<Status>,
    },
}

/// One thing that blocks a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum Blocker {
    /// The workflow has no such status.
    UnknownStatus {
        /// The status.
        status: Status,
        /// The statuses that can be requested from here.
        allowed: Vec<Status>,
    },
    /// The task has ended.
    Terminal {
        /// The status it ended in.
        status: Status,
        /// Whether it was cancelled, and can be reopened.
        is_cancelled: bool,
        /// The branch, if merging it is left to the user.
        #[serde(skip_serializing_if = "Option::is_none")]
        branch: Option<BranchName>,
    },
    /// The task is already in this status, and another role requested that.
    SameStatus {
        /// The status.
        status: Status,
    },
    /// The workflow has no such edge.
    NoTransition {
        /// The statuses that can be requested from here.
        allowed: Vec<Status>,
    },
    /// Only an event leads to this status, not a request.
    NotByRequest {
        /// The events, by trigger.
        triggers: Vec<String>,
    },
    /// The edge leads to the previous status, but there is none.
    NoPrevious,
    /// The caller may not request this.
    NotAllowed {
        /// The caller's role.
        role: Role,
        /// The roles that may.
        by: Vec<Role>,
    },
    /// The guard is not true.
    GuardFailed {
        /// The guard.
        when: String,
        /// The values it read.
        values: Vec<(FieldName, i64)>,
    },
    /// A gate does not pass.
    GateFailed {
        /// The reason.
        failure: GateFailure,
    },
    /// The user must confirm first.
    ConfirmationNeeded {
        /// The question.
        question: String,
    },
    /// The branch has no commit that the default branch lacks.
    NothingToMerge {
        /// The branch.
        branch: BranchName,
    },
    /// The branch has no commit to open a pull request for.
    NothingToPush {
        /// The branch.
        branch: BranchName,
    },
    /// The commit that was named is not part of the branch.
    NotInBranch {
        /// The commit.
        commit: CommitId,
        /// The branch.
        branch: BranchName,
    },
    /// The verb is not available in this status.
    VerbUnavailable {
        /// The verb.
        verb: Verb,
    },
    /// The task cannot be split by a run that plans its parts.
    CannotPlan {
        /// What prevents it.
        reason: CannotPlan,
    },
    /// No agent can be respawned in this status.
    NoRespawn {
        /// The requested role.
        role: Option<Role>,
    },
    /// No agent is running that could read a message.
    NoAgentRunning {
        /// The requested role.
        role: Option<Role>,
    },
    /// The workflow starts no agent with this role.
    UnknownRole {
        /// The role.
        role: Role,
        /// The roles of the workflow's agents.
        roles: Vec<Role>,
    },
    /// No agent of the task was ever started.
    NotStarted,
    /// The agent is still running.
    StillRunning {
        /// The role.
        role: Role,
    },
    /// The agent is already being respawned.
    AlreadyStarting {
        /// The role.
        role: Role,
    },
    /// A merge is in progress, and an agent must not overtake it.
    Merging,
    /// The effects of entering the current status are still running.
    EffectsRunning,
    /// There is no workspace to work in.
    NoWorkspace,
    /// A task cannot be created in this status.
    NoEntry {
        /// The statuses in which it can.
        entries: Vec<Status>,
    },
    /// There is nothing to send or to retry.
    NothingToDo,
    /// The start has to wait.
    HeldBack {
        /// What it waits for.
        wait: Wait,
    },
    /// The task has not ended.
    NotEnded {
        /// Its status.
        status: Status,
    },
    /// The task was not cancelled.
    NotCancelled {
        /// Its status.
        status: Status,
        /// Whether it has ended in another way.
        has_ended: bool,
    },
    /// The task still holds a workspace.
    HoldsWorkspace,
    /// The other workflow has no such status.
    StatusAbsent {
        /// The other workflow.
        workflow: WorkflowName,
        /// The status.
        status: Status,
        /// The statuses that both have, with the same meaning.
        statuses: Vec<Status>,
    },
    /// The status means something else in the other workflow.
    KindDiffers {
        /// The other workflow.
        workflow: WorkflowName,
        /// The status.
        status: Status,
        /// Its kind in the current workflow.
        current_kind: Kind,
        /// Its kind in the other workflow.
        other_kind: Kind,
    },
}

/// Why no run can plan how to split a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CannotPlan {
    /// Its workflow has no `plan`.
    Workflow,
    /// It does not wait in a queue.
    Status,
    /// It may not delegate.
    Depth,
}

impl Blocker {
    /// The stable code that scripts match on.
    pub fn code(&self) -> &'static str {
        match self {
            Blocker::UnknownStatus { .. } => "unknown-status",
            Blocker::Terminal { .. } => "terminal",
            Blocker::SameStatus { .. } => "same-status",
            Blocker::NoTransition { .. } => "no-transition",
            Blocker::NotByRequest { .. } => "not-by-request",
            Blocker::NoPrevious => "no-previous",
            Blocker::NotAllowed { .. } => "not-allowed",
            Blocker::GuardFailed { .. } => "guard-failed",
            Blocker::GateFailed { .. } => "gate-failed",
            Blocker::ConfirmationNeeded { .. } => "confirmation-needed",
            Blocker::NothingToMerge { .. } => "nothing-to-merge",
            Blocker::NothingToPush { .. } => "nothing-to-push",
            Blocker::NotInBranch { .. } => "not-in-branch",
            Blocker::VerbUnavailable { .. } => "verb-unavailable",
            Blocker::CannotPlan { .. } => "cannot-plan",
            Blocker::NoRespawn { .. } => "no-respawn",
            Blocker::NoAgentRunning { .. } => "no-agent-running",
            Blocker::UnknownRole { .. } => "unknown-role",
            Blocker::NotStarted => "not-started",
            Blocker::StillRunning { .. } => "still-running",
            Blocker::AlreadyStarting { .. } => "already-starting",
            Blocker::Merging => "merging",
            Blocker::EffectsRunning => "effects-running",
            Blocker::NoWorkspace => "no-workspace",
            Blocker::NoEntry { .. } => "no-entry",
            Blocker::NothingToDo => "nothing-to-do",
            Blocker::HeldBack { .. } => "held-back",
            Blocker::NotEnded { .. } => "not-ended",
            Blocker::NotCancelled { .. } => "not-cancelled",
            Blocker::HoldsWorkspace => "holds-workspace",
            Blocker::StatusAbsent { .. } => "status-absent",
            Blocker::KindDiffers { .. } => "kind-differs",
        }
    }
}

impl Refusal {
    /// The stable code of the first thing that is missing.
    pub fn code(&self) -> &'static str {
        self.missing.first().map_or("refused", Blocker::code)
    }
}

impl std::error::Error for Refusal {}

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
pub use gate_failure::GateFailure;
pub(crate) use wording::{event_of, how_to_write};

/// Why a request is not followed. It changes nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Refusal {
    /// The task.
    pub task: TaskId,
    /// Who asked.
    pub by: Role,
    /// What was attempted.
    pub attempt: Attempt,
    /// Everything that stands in the way.
    pub missing: Vec<Missing>,
    /// Commands whose outcome was not asked for, because the rest does not hold.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unchecked: Vec<String>,
    /// What to do next; each stands alone.
    pub hints: Vec<String>,
}

/// What was attempted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Attempt {
    /// A change of status.
    Move {
        /// From where.
        from: Status,
        /// To where.
        to: Status,
    },
    /// A verb.
    Verb {
        /// Which one.
        verb: Verb,
        /// From where.
        from: Status,
        /// How to merge, if that was said.
        #[serde(skip_serializing_if = "Option::is_none")]
        strategy: Option<MergeStrategy>,
        /// Whether the remote was to be left alone.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        local: bool,
        /// The commit that a merge would have taken, where it is known.
        #[serde(skip_serializing_if = "Option::is_none")]
        head: Option<CommitId>,
    },
    /// Bringing an agent back.
    Respawn {
        /// In which status.
        from: Status,
    },
    /// A change of summary or branch.
    Amend,
    /// A change of the workflow.
    Adopt {
        /// The workflow.
        workflow: WorkflowName,
    },
    /// Putting the task away.
    Delete,
    /// Bringing it back.
    BringBack,
    /// Telling an agent something.
    Tell,
    /// Another try at effects.
    RetryEffects,
    /// Clearing what needs a person.
    ClearAttention,
    /// A new task.
    Create {
        /// Where it was to begin.
        status: Option<Status>,
    },
}

/// One thing that stands in the way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum Missing {
    /// The workflow has no such status.
    UnknownStatus {
        /// The status.
        status: Status,
        /// Where a request can lead from here.
        allowed: Vec<Status>,
    },
    /// The task has ended.
    Terminal {
        /// How.
        status: Status,
    },
    /// The task is there already, and somebody else brought it there.
    SameStatus {
        /// The status.
        status: Status,
    },
    /// The workflow has no such edge.
    NoTransition {
        /// Where a request can lead from here.
        allowed: Vec<Status>,
    },
    /// Only an event leads there, not a request.
    NotByRequest {
        /// The events, by trigger.
        triggers: Vec<String>,
    },
    /// The edge leads back, but there is nothing to go back to.
    NoPrevious,
    /// The asker may not ask for this.
    NotAllowed {
        /// Who asked.
        role: Role,
        /// Who may.
        by: Vec<Role>,
    },
    /// The guard does not hold.
    GuardFailed {
        /// The guard.
        when: String,
        /// The values it read.
        values: Vec<(FieldName, i64)>,
    },
    /// A gate does not hold.
    GateFailed {
        /// Why.
        failure: GateFailure,
    },
    /// The edge asks the person a question first.
    ConfirmationNeeded {
        /// The question.
        question: String,
    },
    /// The branch has no commit that the default branch lacks.
    NothingToMerge {
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
    /// The verb leads nowhere from here.
    VerbUnavailable {
        /// The verb.
        verb: Verb,
    },
    /// No agent can be brought back in this status.
    NoRespawn {
        /// The role that was asked for.
        role: Option<Role>,
    },
    /// There is no agent to tell anything.
    NobodyThere {
        /// The role that was asked for.
        role: Option<Role>,
    },
    /// The agent is not gone.
    StillRunning {
        /// The role.
        role: Role,
    },
    /// The agent is being brought back already.
    OnItsWay {
        /// The role.
        role: Role,
    },
    /// A merge is on its way, and an agent must not overtake it.
    Merging,
    /// What the present status was entered with has not happened yet.
    NotSettled,
    /// There is no workspace to work in.
    NoWorkspace,
    /// A task cannot begin in this status.
    NoEntry {
        /// Where it can.
        entries: Vec<Status>,
    },
    /// There is nothing to change or to try again.
    NothingToDo,
    /// The start has to wait.
    HeldBack {
        /// For what.
        wait: Wait,
    },
    /// The task has not ended.
    NotEnded {
        /// Where it is.
        status: Status,
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
        /// What it is here.
        here: Kind,
        /// What it is there.
        there: Kind,
    },
}

impl Missing {
    /// The stable code that scripts match on.
    pub fn code(&self) -> &'static str {
        match self {
            Missing::UnknownStatus { .. } => "unknown-status",
            Missing::Terminal { .. } => "terminal",
            Missing::SameStatus { .. } => "same-status",
            Missing::NoTransition { .. } => "no-transition",
            Missing::NotByRequest { .. } => "not-by-request",
            Missing::NoPrevious => "no-previous",
            Missing::NotAllowed { .. } => "not-allowed",
            Missing::GuardFailed { .. } => "guard-failed",
            Missing::GateFailed { .. } => "gate-failed",
            Missing::ConfirmationNeeded { .. } => "confirmation-needed",
            Missing::NothingToMerge { .. } => "nothing-to-merge",
            Missing::NotInBranch { .. } => "not-in-branch",
            Missing::VerbUnavailable { .. } => "verb-unavailable",
            Missing::NoRespawn { .. } => "no-respawn",
            Missing::NobodyThere { .. } => "nobody-there",
            Missing::StillRunning { .. } => "still-running",
            Missing::OnItsWay { .. } => "on-its-way",
            Missing::Merging => "merging",
            Missing::NotSettled => "not-settled",
            Missing::NoWorkspace => "no-workspace",
            Missing::NoEntry { .. } => "no-entry",
            Missing::NothingToDo => "nothing-to-do",
            Missing::HeldBack { .. } => "held-back",
            Missing::NotEnded { .. } => "not-ended",
            Missing::HoldsWorkspace => "holds-workspace",
            Missing::StatusAbsent { .. } => "status-absent",
            Missing::KindDiffers { .. } => "kind-differs",
        }
    }
}

impl Refusal {
    /// The stable code of the first thing that is missing.
    pub fn code(&self) -> &'static str {
        self.missing.first().map_or("refused", Missing::code)
    }
}

impl std::error::Error for Refusal {}

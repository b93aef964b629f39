//! Events: recorded facts, in the past tense.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::document::{SectionHash, SectionName};
use crate::effect::{EffectId, EffectOutcome, MergeStrategy, PlannedEffect};
use crate::evidence::Evidence;
use crate::language::gates::PullRequestState;
use crate::language::workflow::Trigger;
use crate::merged::LeftOut;
use crate::names::{
    BranchName, CommitId, FieldName, HarnessName, ProjectName, RunId, Status, TaskId, WorkflowName,
};
use crate::report::Report;
use crate::role::Role;
use crate::task::{Queueing, Submission, Tuning};
use crate::time::Timestamp;

/// Something that happened to a task.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, schemars::JsonSchema, Deserialize)]
pub struct Event {
    /// The task's version after it; versions of a task have no gaps.
    pub version: u64,
    /// When.
    pub at: Timestamp,
    /// What.
    #[serde(flatten)]
    pub fact: Fact,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(tag = "type")]
pub enum Fact {
    /// The task began.
    #[serde(rename = "task.created")]
    TaskCreated(Created),
    /// Summary, branch or priority were changed.
    #[serde(rename = "task.amended")]
    TaskAmended {
        /// Who asked.
        by: Role,
        /// The new summary.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        summary: Option<String>,
        /// The new branch.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        branch: Option<BranchName>,
        /// The new priority.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        priority: Option<i64>,
    },
    /// The task goes on by another workflow.
    #[serde(rename = "workflow.changed")]
    WorkflowChanged {
        /// Who asked.
        by: Role,
        /// The workflow it had.
        from: WorkflowName,
        /// The workflow it has now.
        to: WorkflowName,
        /// The first values of fields that it did not have.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        fields: BTreeMap<FieldName, i64>,
        /// The sections that were there already and decided nothing so far.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        sections: BTreeMap<SectionName, SectionHash>,
    },
    /// The task was put away.
    #[serde(rename = "task.deleted")]
    TaskDeleted {
        /// Who asked.
        by: Role,
    },
    /// A task that was put away is back.
    #[serde(rename = "task.brought_back")]
    TaskBroughtBack {
        /// Who asked.
        by: Role,
    },
    /// An agent that was gone is started again in the same status.
    #[serde(rename = "agent.respawned")]
    AgentRespawned {
        /// Who asked; the engine where a rule of the workflow says so.
        by: Role,
        /// Which agent.
        role: Role,
    },
    /// TASK.md was read on somebody's call.
    #[serde(rename = "document.imported")]
    DocumentImported {
        /// On whose call.
        by: Role,
        /// Whether the call asked for a status, and so stood for what the document says.
        asked: bool,
        /// The sections that gates read; `None` for one that is not there.
        sections: BTreeMap<SectionName, Option<SectionHash>>,
    },
    /// The task went from one status to another.
    #[serde(rename = "status.changed")]
    StatusChanged(StatusChanged),
    /// A numeric field changed.
    #[serde(rename = "field.set")]
    FieldSet {
        /// The field.
        field: FieldName,
        /// Its new value.
        value: i64,
    },
    /// Something is to be done.
    #[serde(rename = "effect.planned")]
    EffectPlanned(PlannedEffect),
    /// It was done.
    #[serde(rename = "effect.done")]
    EffectDone {
        /// Which one.
        effect: EffectId,
        /// What it brought to light.
        outcome: EffectOutcome,
    },
    /// It failed for good.
    #[serde(rename = "effect.given_up")]
    EffectGivenUp {
        /// Which one.
        effect: EffectId,
        /// Why.
        error: String,
    },
    /// It will not start, because an earlier one of its plan failed.
    #[serde(rename = "effect.stopped")]
    EffectStopped {
        /// Which one.
        effect: EffectId,
        /// The one that failed.
        because_of: EffectId,
    },
    /// It is no longer wanted.
    #[serde(rename = "effect.cancelled")]
    EffectCancelled {
        /// Which one.
        effect: EffectId,
    },
    /// It is tried again.
    #[serde(rename = "effect.retried")]
    EffectRetried {
        /// Which one.
        effect: EffectId,
    },
    /// All effects of the latest transition were done; only now is it a success.
    #[serde(rename = "hooks.finished")]
    HooksFinished,
    /// An agent's process ended.
    #[serde(rename = "run.ended")]
    RunEnded {
        /// Which run.
        run: RunId,
        /// As what it ran.
        role: Role,
        /// How we know.
        evidence: Evidence,
        /// The line of its output that told, if one did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        said: Option<String>,
    },
    /// An agent ended without what was asked of it.
    #[serde(rename = "agent.crashed")]
    AgentCrashed {
        /// Which one.
        role: Role,
        /// Crashes in this status so far, this one included.
        crash_count: i64,
    },
    /// Something went wrong; equal errors in a row are counted.
    #[serde(rename = "error.noted")]
    ErrorNoted {
        /// What.
        error: String,
    },
    /// A person should look at the task.
    #[serde(rename = "attention.raised")]
    AttentionRaised {
        /// Why.
        reason: String,
    },
    /// A person has seen to what was raised about an ended task.
    #[serde(rename = "attention.cleared")]
    AttentionCleared {
        /// Who.
        by: Role,
    },
    /// A merge was asked for and is on its way.
    #[serde(rename = "merge.started")]
    MergeStarted {
        /// Who asked.
        by: Role,
        /// How.
        strategy: MergeStrategy,
        /// The branch's commit it is for.
        head: CommitId,
        /// The default branch's commit it is for.
        base: CommitId,
        /// What the task has besides that commit.
        #[serde(default, skip_serializing_if = "LeftOut::is_nothing")]
        left_out: LeftOut,
    },
    /// The status line in TASK.md was edited, and the edit was not followed.
    #[serde(rename = "edit.rejected")]
    EditRejected {
        /// As whom the edit spoke.
        by: Role,
        /// What it asked for.
        to: Status,
        /// Why it was not followed.
        reason: String,
    },
    /// A headless run reported.
    #[serde(rename = "report.received")]
    ReportReceived {
        /// Which run.
        run: RunId,
        /// What it reported.
        report: Report,
    },
    /// A child task was created.
    #[serde(rename = "child.added")]
    ChildAdded {
        /// The child.
        child: TaskId,
    },
    /// A child task reached its end.
    #[serde(rename = "child.ended")]
    ChildEnded {
        /// The child.
        child: TaskId,
        /// How.
        status: Status,
    },
    /// The forge's word on the pull request.
    #[serde(rename = "pull_request.observed")]
    PullRequestObserved {
        /// Its state.
        state: PullRequestState,
    },
    /// The branch was found merged, without our doing.
    #[serde(rename = "merge.observed")]
    MergeObserved {
        /// The commit that contains it.
        commit: CommitId,
    },
}

/// The beginning of a task.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, schemars::JsonSchema, Deserialize)]
pub struct Created {
    /// Its identity.
    pub id: TaskId,
    /// Its project.
    pub project: ProjectName,
    /// The workflow it is pinned to.
    pub workflow: WorkflowName,
    /// Who created it.
    pub by: Role,
    /// Where it begins.
    pub status: Status,
    /// What is to be done.
    pub summary: String,
    /// Where it is done.
    pub branch: BranchName,
    /// With what.
    pub harness: HarnessName,
    /// With what it is reviewed.
    pub review_harness: HarnessName,
    /// How its agents are set, where somebody said so.
    #[serde(default, skip_serializing_if = "Tuning::is_unset")]
    pub tuning: Tuning,
    /// When its work is started, compared with others.
    #[serde(flatten)]
    pub queueing: Queueing,
    /// The first values of its fields.
    pub fields: BTreeMap<FieldName, i64>,
    /// The sections that were there already; they decide nothing.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sections: BTreeMap<SectionName, SectionHash>,
}

/// A change of status.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, schemars::JsonSchema, Deserialize)]
pub struct StatusChanged {
    /// From where.
    pub from: Status,
    /// To where.
    pub to: Status,
    /// What set it off.
    pub trigger: Trigger,
    /// Who asked; the engine for what it observed.
    pub by: Role,
    /// What was shown: one line for each guard and gate that held.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub because: Vec<String>,
    /// What the asker said with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The commit that is up for review or merge from now on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub submission: Option<Submission>,
}

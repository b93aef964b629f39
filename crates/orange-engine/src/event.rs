//! Events: recorded facts, in the past tense.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize, Serializer};

use crate::document::{SectionHash, SectionName};
use crate::effect::{EffectId, EffectOutcome, MergeStrategy, PlannedEffect};
use crate::evidence::Evidence;
use crate::forge::issue::IssueLink;
use crate::forge::pull_request::PullRequestLink;
use crate::forge::reaction::{Fingerprint, Reaction};
use crate::format::{self, NewerFormat};
use crate::job::JobLink;
use crate::language::gates::PullRequestState;
use crate::language::workflow::Trigger;
use crate::merge_result::OmittedWork;
use crate::names::{
    BranchName, CommitId, FieldName, HarnessName, ProjectName, RunId, Status, TaskId, WorkflowName,
};
use crate::report::Report;
use crate::role::Role;
use crate::routing::Routing;
use crate::task::{AgentSettings, Queueing, Submission};
use crate::time::Timestamp;

/// Something that happened to a task.
///
/// As JSON it says which format it needs, if that is not the first one: an engine that ignored a
/// field it does not know would continue with another task than the one that was decided.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(try_from = "StoredEvent")]
pub struct Event {
    /// The task's version after the event; versions of a task have no gaps.
    pub version: u64,
    /// The time it was recorded.
    pub at: Timestamp,
    /// What happened.
    pub fact: Fact,
}

/// Something that happened to a task.
#[derive(Deserialize, schemars::JsonSchema)]
#[schemars(rename = "Event")]
struct StoredEvent {
    /// The task's version after the event; versions of a task have no gaps.
    version: u64,
    /// The time it was recorded.
    at: Timestamp,
    /// The format that a reader must know; absent if it is the first one.
    #[serde(default = "format::first", skip_serializing_if = "format::is_first")]
    format: u32,
    /// What happened.
    #[serde(flatten)]
    fact: Fact,
}

impl TryFrom<StoredEvent> for Event {
    type Error = NewerFormat;

    fn try_from(stored: StoredEvent) -> Result<Event, NewerFormat> {
        format::require_readable(stored.format)?;
        Ok(Event {
            version: stored.version,
            at: stored.at,
            fact: stored.fact,
        })
    }
}

/// An event to be written, without a copy of its fact.
#[derive(Serialize)]
struct WrittenEvent<'a> {
    version: u64,
    at: Timestamp,
    #[serde(skip_serializing_if = "format::is_first")]
    format: u32,
    #[serde(flatten)]
    fact: &'a Fact,
}

impl Serialize for Event {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let written = WrittenEvent {
            version: self.version,
            at: self.at,
            format: self.fact.format(),
            fact: &self.fact,
        };
        written.serialize(serializer)
    }
}

impl schemars::JsonSchema for Event {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        StoredEvent::schema_name()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        StoredEvent::json_schema(generator)
    }
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(tag = "type")]
pub enum Fact {
    /// The task was created.
    #[serde(rename = "task.created")]
    TaskCreated(Box<TaskCreation>),
    /// Summary, branch or priority were changed.
    #[serde(rename = "task.amended")]
    TaskAmended {
        /// The role that requested it.
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
    /// The task moved to another workflow.
    #[serde(rename = "workflow.changed")]
    WorkflowChanged {
        /// The role that requested it.
        by: Role,
        /// The previous workflow.
        from: WorkflowName,
        /// The new workflow.
        to: WorkflowName,
        /// The initial values of fields that the task did not have.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        fields: BTreeMap<FieldName, i64>,
        /// Gated sections that already existed; they do not count as fresh.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        sections: BTreeMap<SectionName, SectionHash>,
    },
    /// The task was deleted.
    #[serde(rename = "task.deleted")]
    TaskDeleted {
        /// The role that requested it.
        by: Role,
    },
    /// A deleted task was restored.
    #[serde(rename = "task.restored")]
    TaskRestored {
        /// The role that requested it.
        by: Role,
    },
    /// A cancelled task continues: the status change before this event left its end.
    #[serde(rename = "task.reopened")]
    TaskReopened {
        /// The role that requested it.
        by: Role,
        /// The status from which the task had entered the one it continues in; absent if it was
        /// created there.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        previous: Option<Status>,
    },
    /// The task continues on another machine. Its workspace and its agents stayed behind; the
    /// events after this one end them and plan them anew.
    #[serde(rename = "task.moved")]
    TaskMoved,
    /// An agent that was not running is started again in the same status.
    #[serde(rename = "agent.respawned")]
    AgentRespawned {
        /// The role that requested it; `engine` if an exit rule of the workflow did.
        by: Role,
        /// The role of the agent.
        role: Role,
    },
    /// TASK.md was read because a role called orange.
    #[serde(rename = "document.imported")]
    DocumentImported {
        /// The role that called.
        by: Role,
        /// Whether the call requested a status, and so vouched for what the document says.
        is_request: bool,
        /// The sections that gates read; `null` for one that does not exist.
        sections: BTreeMap<SectionName, Option<SectionHash>>,
    },
    /// The task changed its status.
    #[serde(rename = "status.changed")]
    StatusChanged(StatusChange),
    /// A numeric field changed.
    #[serde(rename = "field.set")]
    FieldSet {
        /// The field.
        field: FieldName,
        /// Its new value.
        value: i64,
    },
    /// An effect was planned.
    #[serde(rename = "effect.planned")]
    EffectPlanned(PlannedEffect),
    /// An effect was performed.
    #[serde(rename = "effect.done")]
    EffectDone {
        /// The effect.
        effect: EffectId,
        /// The result of performing it.
        outcome: EffectOutcome,
    },
    /// An effect failed permanently.
    #[serde(rename = "effect.failed")]
    EffectFailed {
        /// The effect.
        effect: EffectId,
        /// The error.
        error: String,
        /// What the task's agent needs to know to fix the cause, if an agent can fix it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        feedback: Option<String>,
    },
    /// An effect will not start, because an earlier one of its plan failed.
    #[serde(rename = "effect.stopped")]
    EffectStopped {
        /// The effect.
        effect: EffectId,
        /// The effect that failed.
        because_of: EffectId,
    },
    /// An effect was cancelled.
    #[serde(rename = "effect.cancelled")]
    EffectCancelled {
        /// The effect.
        effect: EffectId,
    },
    /// A failed effect is retried.
    #[serde(rename = "effect.retried")]
    EffectRetried {
        /// The effect.
        effect: EffectId,
    },
    /// All effects of the latest transition were performed; the transition has succeeded.
    #[serde(rename = "hooks.finished")]
    HooksFinished,
    /// An agent's process ended.
    #[serde(rename = "run.ended")]
    RunEnded {
        /// The run.
        run: RunId,
        /// The role it ran as.
        role: Role,
        /// How the process ended.
        evidence: Evidence,
        /// The line of its output that says why it ended, if there is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output_line: Option<String>,
    },
    /// An agent exited without finishing its work.
    #[serde(rename = "agent.crashed")]
    AgentCrashed {
        /// The role of the agent.
        role: Role,
        /// Crashes in this status so far, this one included.
        crash_count: i64,
    },
    /// Something went wrong; equal errors in a row are counted.
    #[serde(rename = "error.recorded")]
    ErrorRecorded {
        /// The error.
        error: String,
        /// The branch's commit, if a run left work to do and changed nothing: then every such run
        /// at the same commit counts as the same error, whatever it says.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unchanged_at: Option<CommitId>,
    },
    /// Another harness took over from a parked one.
    #[serde(rename = "harness.replaced")]
    HarnessReplaced {
        /// The role whose agent is started.
        role: Role,
        /// Whether it is the task's review harness.
        reviews: bool,
        /// The parked harness.
        from: HarnessName,
        /// The harness that took over.
        to: HarnessName,
        /// Why the harness is parked.
        reason: String,
    },
    /// The task needs the user.
    #[serde(rename = "attention.raised")]
    AttentionRaised {
        /// The reason.
        reason: String,
    },
    /// The attention items of a task were cleared.
    #[serde(rename = "attention.cleared")]
    AttentionCleared {
        /// The role that cleared them.
        by: Role,
    },
    /// A merge was requested and is in progress.
    #[serde(rename = "merge.started")]
    MergeStarted {
        /// The role that requested it.
        by: Role,
        /// The merge strategy.
        strategy: MergeStrategy,
        /// The commit to merge.
        head: CommitId,
        /// The default branch's commit when the merge was decided.
        base: CommitId,
        /// Work of the task that the merge leaves out.
        #[serde(default, skip_serializing_if = "OmittedWork::is_empty")]
        left_out: OmittedWork,
    },
    /// The status line in TASK.md was edited, and the edit was rejected.
    #[serde(rename = "edit.rejected")]
    EditRejected {
        /// The role that the edit is attributed to.
        by: Role,
        /// The status it requested.
        to: Status,
        /// Why it was rejected.
        reason: String,
    },
    /// A headless run wrote its report.
    #[serde(rename = "report.received")]
    ReportReceived {
        /// The run.
        run: RunId,
        /// Its report.
        report: Report,
    },
    /// A child task was created.
    #[serde(rename = "child.added")]
    ChildAdded {
        /// The child.
        child: TaskId,
    },
    /// A child task ended.
    #[serde(rename = "child.ended")]
    ChildEnded {
        /// The child.
        child: TaskId,
        /// The status it ended in.
        status: Status,
    },
    /// A child task that had ended was reopened.
    #[serde(rename = "child.reopened")]
    ChildReopened {
        /// The child.
        child: TaskId,
    },
    /// The forge reported the state of the pull request.
    #[serde(rename = "pull_request.observed")]
    PullRequestObserved {
        /// Its state.
        state: PullRequestState,
    },
    /// The pull request of the branch was found.
    #[serde(rename = "pull_request.linked")]
    PullRequestLinked {
        /// The pull request.
        link: PullRequestLink,
    },
    /// Orange reacted to the state of the pull request.
    #[serde(rename = "pull_request.reaction")]
    PullRequestReaction {
        /// What it reacted to.
        fingerprint: Fingerprint,
        /// What it did.
        reaction: Reaction,
        /// The file with the feedback for the agent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        file: Option<String>,
    },
    /// The next run plans how to split the task into child tasks.
    #[serde(rename = "split.requested")]
    SplitRequested {
        /// The role that asked for it.
        by: Role,
    },
    /// The branch was found merged, but not by orange.
    #[serde(rename = "merge.observed")]
    MergeObserved {
        /// The commit that contains it.
        commit: CommitId,
    },
}

/// The creation of a task.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, schemars::JsonSchema, Deserialize)]
pub struct TaskCreation {
    /// The id of the task.
    pub id: TaskId,
    /// Its project.
    pub project: ProjectName,
    /// The workflow it is pinned to.
    pub workflow: WorkflowName,
    /// The role that created it.
    pub by: Role,
    /// Its first status.
    pub status: Status,
    /// What the task should do, in a sentence.
    pub summary: String,
    /// Its git branch.
    pub branch: BranchName,
    /// The harness that does the work.
    pub harness: HarnessName,
    /// The harness that reviews the work.
    pub review_harness: HarnessName,
    /// Model and effort of its agents, where set.
    #[serde(default, skip_serializing_if = "AgentSettings::is_unset")]
    pub agent_settings: AgentSettings,
    /// Its labels, and who chose its harness.
    #[serde(default, skip_serializing_if = "Routing::is_unset")]
    pub routing: Routing,
    /// When its work starts relative to other tasks.
    #[serde(flatten)]
    pub queueing: Queueing,
    /// The issue it was created for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issue: Option<IssueLink>,
    /// The job it was created for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<JobLink>,
    /// The pull request it was created for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pull_request: Option<PullRequestLink>,
    /// The initial values of its fields.
    pub fields: BTreeMap<FieldName, i64>,
    /// Gated sections that already existed; they do not count as fresh.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sections: BTreeMap<SectionName, SectionHash>,
}

/// A change of status.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, schemars::JsonSchema, Deserialize)]
pub struct StatusChange {
    /// The previous status.
    pub from: Status,
    /// The new status.
    pub to: Status,
    /// What triggered it.
    pub trigger: Trigger,
    /// The role that requested it; `engine` for an observation.
    pub by: Role,
    /// The evidence: one line for each gate that passed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<String>,
    /// The message of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Whether the message, and those before it, wait for an agent to receive them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keeps_messages: bool,
    /// The commit that is up for review or merge from now on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub submission: Option<Submission>,
}

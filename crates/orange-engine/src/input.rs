//! Inputs: a request, or a change in the world.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::document::Document;
use crate::effect::{EffectId, EffectOutcome, MergeStrategy};
use crate::evidence::Evidence;
use crate::forge::issue::IssueLink;
use crate::forge::knowledge::Knowledge;
use crate::forge::pull_request::{PullRequestLink, PullRequestReading, ReviewDecision};
use crate::job::JobLink;
use crate::language::Workflow;
use crate::language::gates::{ChecksState, GitCondition, PullRequestState};
use crate::language::verbs::Verb;
use crate::names::{
    BranchName, CommitId, FreshId, HarnessName, ProjectName, RunId, Status, TaskId,
};
use crate::report::Report;
use crate::role::Role;
use crate::routing::Routing;
use crate::task::{AgentSettings, Queueing};
use crate::time::Timestamp;

/// Everything `decide` may know in addition to the workflow and the task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    pub context: DecisionContext,
    pub cause: Cause,
}

/// What is known when a decision is made, whatever the cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecisionContext {
    pub at: Timestamp,
    /// A text that no earlier decision received; ids of new runs are made from it.
    pub fresh: FreshId,
    /// TASK.md as it was just read; `None` when it was not read.
    pub document: Option<Document>,
    pub facts: Facts,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    Request(Request),
    Observation(Observation),
}

/// A request by a role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    pub by: Role,
    pub kind: RequestKind,
    /// Whether the edge's question, if it has one, was answered with yes.
    pub is_confirmed: bool,
    /// The message given with the request.
    pub message: Option<String>,
    /// The commit to merge, or the commit that the verdict judges.
    pub head: Option<CommitId>,
    /// The version of the task that the caller saw. The decision is not recorded if the task has
    /// another version by then; the engine itself never sees a task that has moved.
    pub if_version: Option<u64>,
}

impl Request {
    /// A request without confirmation, message or commit.
    pub fn new(by: Role, kind: RequestKind) -> Request {
        Request {
            by,
            kind,
            is_confirmed: false,
            message: None,
            head: None,
            if_version: None,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestKind {
    Move {
        to: Status,
    },
    /// The transition that the workflow maps this verb to in the current status.
    Verb(Verb),
    Merge {
        /// The merge strategy; if absent, the project's setting.
        strategy: Option<MergeStrategy>,
        /// Whether to leave the remote alone, whatever the project's settings say.
        local: bool,
        /// Whether to merge only `head`, without the task's later commits and uncommitted files.
        only_head: bool,
    },
    /// Bring back an agent that has exited; the status stays.
    Respawn {
        /// The agent's role; if absent, the first role whose agent is not running.
        role: Option<Role>,
    },
    /// Stop agents that are running; the status stays.
    Stop {
        /// The agent's role; if absent, every running agent.
        role: Option<Role>,
    },
    /// Stop agents that are running and start them again, or start those that are stopped or gone.
    Restart {
        /// The agent's role; if absent, every agent that is running or stopped, else the one that
        /// `Respawn` would choose.
        role: Option<Role>,
    },
    /// Continue a cancelled task where it was.
    Reopen,
    /// Push the branch's commit and find or open its pull request; the status stays.
    OpenPullRequest {
        /// Whether the pull request is a draft; if absent, the project's setting decides. `false`
        /// also marks an existing draft as ready.
        draft: Option<bool>,
    },
    /// A status that was written into TASK.md by hand. In a worktree it counts as the worker's
    /// request; elsewhere it counts as the user's and is always rejected.
    HandEdit {
        to: Status,
        /// The task's version as written in the same file.
        version: u64,
    },
    /// Change summary, branch or priority, and optionally move to a status: all of it or nothing.
    Amend {
        summary: Option<String>,
        branch: Option<BranchName>,
        priority: Option<i64>,
        /// The status to move to after the change.
        to: Option<Status>,
    },
    /// Switch to another workflow.
    ChangeWorkflow {
        workflow: Box<Workflow>,
        /// The text of the workflow file, which the task is pinned to from then on.
        text: String,
    },
    /// Let the next run plan how to split the task into child tasks; the status stays.
    Split,
    /// Delete the finished task.
    Delete,
    /// Restore a deleted task.
    Restore,
    /// Send the request's message to an agent; nothing else changes.
    Tell {
        /// The agent's role; if absent, a running agent that the status expects, else any running
        /// agent.
        role: Option<Role>,
    },
    /// Retry the effects that failed.
    RetryEffects,
    /// Clear the attention items of a task that has ended.
    ClearAttention,
    /// Retry a failed release of the workspace and the failed kills before it, but no other effect.
    RetryReleases,
}

/// A change in the world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Observation {
    /// TASK.md was read because a role called orange, whatever the result of the call.
    DocumentRead {
        /// The role that called.
        by: Role,
        /// Whether the call asked for a status, and so vouched for what the document says.
        is_request: bool,
    },
    /// An agent's process ended.
    RunEnded {
        run: RunId,
        /// How the run ended.
        evidence: Evidence,
        /// The line of its output that says why it ended, if there is one.
        output_line: Option<String>,
    },
    EffectDone {
        effect: EffectId,
        /// The result of performing the effect.
        outcome: EffectOutcome,
    },
    /// An effect failed permanently.
    EffectFailed {
        effect: EffectId,
        error: String,
        /// What the task's agent needs to know to fix the cause, if an agent can fix it.
        feedback: Option<String>,
    },
    /// A start waits for a parked harness, and another harness can take over.
    StandIn {
        /// The run to be started.
        run: RunId,
        harness: HarnessName,
        /// Why the run's own harness is parked.
        reason: String,
    },
    /// The branch was merged, but not by orange.
    Merged {
        /// The commit that contains the branch.
        commit: CommitId,
    },
    /// The state of the pull request, as reported by the forge.
    PullRequest(PullRequestReading),
    /// The status may have reached its timeout.
    TimedOut,
    ReportArrived {
        run: RunId,
        report: Report,
    },
    /// Something came up that the user should know.
    AttentionNeeded {
        reason: String,
    },
    /// A reason for attention no longer holds.
    AttentionOver {
        reason: String,
    },
    /// The task continues on this machine; its workspace, its agents and their processes are on
    /// another one, and nothing here may act for them.
    Moved,
    /// A child task was created.
    ChildAdded {
        child: TaskId,
    },
    /// A child task ended.
    ChildEnded {
        child: TaskId,
        status: Status,
    },
    /// A child task that had ended was reopened.
    ChildReopened {
        child: TaskId,
    },
}

/// What is known about the world, gathered while the task was in its current status.
///
/// All facts of one input are gathered for the same commit of the branch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The task's version when it entered its status; facts for an earlier status are ignored.
    pub entered: u64,
    /// Branch and worktree.
    pub git: Option<GitFacts>,
    /// The pull request; `Some(None)` when the task has none.
    pub pull_request: Option<Option<PullRequestFacts>>,
    /// How commands exited, by program and arguments.
    pub commands: BTreeMap<Vec<String>, CommandResult>,
    /// The report of each run; `None` for a run that left no report.
    pub reports: BTreeMap<RunId, Option<Report>>,
    /// Where the task was before it entered its status.
    pub origin: Option<Origin>,
}

/// Where a task was before it entered its current status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The status that the task left; `None` if the task was created in its current status.
    pub status: Option<Status>,
    /// The status before `status`.
    pub previous: Option<Status>,
    /// Whether the task held a workspace in `status`.
    pub had_workspace: bool,
}

/// What is known about branch and worktree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitFacts {
    pub head: CommitId,
    /// The default branch's commit.
    pub base: CommitId,
    pub met_conditions: Vec<GitCondition>,
    /// What keeps the worktree from being clean.
    pub uncommitted: UncommittedWork,
    /// The commit that the request named, else the submitted one.
    pub named: Option<NamedCommit>,
}

/// What a worktree has beyond its branch's commit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UncommittedWork {
    /// Uncommitted files, including untracked but not ignored ones.
    pub files: Vec<String>,
    /// Files that may look changed only because orange does not run their git filter.
    pub unfiltered: Vec<UnfilteredFile>,
    /// The branch that the worktree is on, if it has another commit than the task's branch and can
    /// become the task's branch.
    pub other_branch: Option<BranchName>,
    /// Anything else, each as a sentence.
    pub others: Vec<String>,
}

/// A file whose filter only the repository's own configuration defines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct UnfilteredFile {
    /// Its path.
    pub path: String,
    /// The filter's name.
    pub filter: String,
}

/// How a commit relates to the branch and to the default branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedCommit {
    pub commit: CommitId,
    /// How many commits the branch has after this one; `None` when the commit is not part of the
    /// branch.
    pub commits_since: Option<u64>,
    /// Whether the default branch contains it.
    pub is_in_base: bool,
}

/// What is known about the pull request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PullRequestFacts {
    pub state: PullRequestState,
    /// The commit that the other facts are about.
    pub head: CommitId,
    pub is_draft: bool,
    /// The state of its checks; `None` when the repository has no checks.
    pub checks: Knowledge<ChecksState>,
    /// `None` when no review is required and none was given.
    pub review: Knowledge<ReviewDecision>,
    /// Whether it can be merged without conflicts; absent when unknown.
    pub mergeable: Option<bool>,
    /// How many review threads are unresolved; absent when unknown.
    pub open_threads: Option<usize>,
}

/// The result of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommandResult {
    /// It exited with this code.
    Exited(i32),
    /// It timed out.
    TimedOut,
}

/// A fact that a decision needs and does not have.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FactNeeded {
    /// TASK.md, read now.
    Document,
    /// Branch and worktree.
    Git,
    PullRequest,
    /// The report of a headless run that has ended.
    Report {
        run: RunId,
    },
    /// Where the task was before it entered its status, from its events.
    Origin,
    /// How a command exits.
    Command {
        command: Vec<String>,
        /// In seconds.
        timeout: u64,
    },
}

/// A task that a role wants to create.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewTask {
    pub id: TaskId,
    pub project: ProjectName,
    pub by: Role,
    /// The status to begin in; if absent, the first entry whose guard holds.
    pub status: Option<Status>,
    pub summary: String,
    pub branch: BranchName,
    pub harness: HarnessName,
    pub review_harness: HarnessName,
    /// The settings of its agents.
    pub agent_settings: AgentSettings,
    /// Its labels, and who chose its harness.
    pub routing: Routing,
    /// When to start its work relative to other tasks.
    pub queueing: Queueing,
    /// The issue that it is for.
    pub issue: Option<IssueLink>,
    /// The job that it is for.
    pub job: Option<JobLink>,
    /// The pull request that it is for.
    pub pull_request: Option<PullRequestLink>,
}

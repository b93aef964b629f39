//! Inputs: somebody asks, or the world changed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::document::Document;
use crate::effect::{EffectId, EffectOutcome, MergeStrategy};
use crate::evidence::Evidence;
use crate::language::Workflow;
use crate::language::gates::{ChecksState, GitCondition, PullRequestState};
use crate::language::verbs::Verb;
use crate::names::{
    BranchName, CommitId, FreshId, HarnessName, ProjectName, RunId, Status, TaskId,
};
use crate::report::Report;
use crate::role::Role;
use crate::task::{Queueing, Tuning};
use crate::time::Timestamp;

/// Everything `decide` may know besides the workflow and the task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    pub known: Known,
    /// What it is about.
    pub cause: Cause,
}

/// What is known when a decision is made, whatever it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    pub at: Timestamp,
    /// A text that came with no earlier decision.
    pub fresh: FreshId,
    /// TASK.md as it was just read; `None` when it was not read.
    pub document: Option<Document>,
    /// What is known about the world.
    pub facts: Facts,
}

/// What an input is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    Request(Request),
    /// The world changed.
    Observation(Observation),
}

/// Somebody asks for something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    pub by: Role,
    pub ask: Ask,
    /// Whether the question of the edge, if it has one, was answered with yes.
    pub confirmed: bool,
    /// What was said with it.
    pub message: Option<String>,
    /// The commit it speaks for: what a merge takes, or what a verdict is about.
    pub head: Option<CommitId>,
}

impl Request {
    /// A request that says nothing more.
    pub fn new(by: Role, ask: Ask) -> Request {
        Request {
            by,
            ask,
            confirmed: false,
            message: None,
            head: None,
        }
    }
}

/// What can be asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ask {
    Move {
        to: Status,
    },
    /// Whatever this verb means here.
    Verb(Verb),
    /// A merge, in a certain way.
    Merge {
        strategy: MergeStrategy,
        /// Whether the remote is left alone, whatever the project says.
        local: bool,
        /// Whether whatever the task has besides the named commit may be left out.
        leave_rest: bool,
    },
    /// An agent that died, in the same status.
    Respawn {
        /// Which one; the first that is missing when absent.
        role: Option<Role>,
    },
    /// A status that was written into TASK.md by hand: as the worker in a worktree, as the human
    /// elsewhere, where it is never followed.
    HandEdit {
        to: Status,
        /// The version that stood beside it.
        version: u64,
    },
    /// Another summary, branch or priority, and with it a status: all of it or nothing.
    Amend {
        /// The new summary.
        summary: Option<String>,
        /// The new branch.
        branch: Option<BranchName>,
        /// The new priority.
        priority: Option<i64>,
        /// Where the task goes once that is changed.
        to: Option<Status>,
    },
    /// Another workflow.
    Adopt {
        workflow: Box<Workflow>,
        /// Its text, which the task is pinned to.
        text: String,
    },
    /// Put away.
    Delete,
    /// Brought back after it was put away.
    BringBack,
    /// That an agent is told what is said with it; nothing else changes.
    Tell {
        /// Which one; the one that the status expects, else any that is there, when absent.
        role: Option<Role>,
    },
    /// Another try at the effects that were given up.
    RetryEffects,
    /// Nobody need look any more at what went wrong; the task has ended.
    ClearAttention,
    /// Another try at giving the workspace back, and at nothing else that was given up.
    RetryReleases,
}

/// The world changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Observation {
    /// TASK.md was read on somebody's call, whatever came of the call.
    DocumentRead {
        /// On whose call.
        by: Role,
        /// Whether the call asked for a status, and so stood for what the document says.
        asked: bool,
    },
    /// An agent's process ended.
    RunEnded {
        run: RunId,
        /// How we know.
        evidence: Evidence,
        /// The line of its output that told, if one did.
        said: Option<String>,
    },
    EffectDone {
        effect: EffectId,
        /// What it brought to light.
        outcome: EffectOutcome,
    },
    /// An effect failed for good.
    EffectGivenUp {
        effect: EffectId,
        error: String,
    },
    /// The branch is merged, without our doing.
    Merged {
        /// The commit that contains it.
        commit: CommitId,
    },
    /// The forge's word on the pull request.
    PullRequest {
        state: PullRequestState,
    },
    /// The status has lasted for some time.
    TimedOut,
    ReportArrived {
        run: RunId,
        report: Report,
    },
    /// Something came to light that a person should know.
    Noticed {
        what: String,
    },
    /// A child task was created.
    ChildAdded {
        child: TaskId,
    },
    /// A child task reached its end.
    ChildEnded {
        child: TaskId,
        status: Status,
    },
}

/// What is known about the world, gathered while the task was in its status.
///
/// Whoever gathers them gathers all of one input for one commit of the branch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The version at which the status was entered; facts for an earlier one do not count.
    pub entered: u64,
    /// Branch and worktree.
    pub git: Option<GitFacts>,
    /// The pull request; `Some(None)` when there is none.
    pub pull_request: Option<Option<PullRequestFacts>>,
    /// How commands ended, by program and arguments.
    pub commands: BTreeMap<Vec<String>, CommandResult>,
    /// The report that a run left; `None` inside when it left none.
    pub reports: BTreeMap<RunId, Option<Report>>,
}

/// What is known about branch and worktree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitFacts {
    pub head: CommitId,
    /// The default branch's commit.
    pub base: CommitId,
    pub holds: Vec<GitCondition>,
    /// What keeps the worktree from being clean.
    pub unclean: Unclean,
    /// The commit that the request named, or else the one that was handed over.
    pub named: Option<NamedCommit>,
}

/// What a worktree has besides its branch's commit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unclean {
    /// Files that are not committed, untracked ones included and ignored ones not.
    pub files: Vec<String>,
    /// Anything else, each as a sentence of its own.
    pub others: Vec<String>,
}

/// How a commit relates to the branch and to the default branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedCommit {
    pub commit: CommitId,
    /// How many commits the branch has since; `None` when it is not part of the branch.
    pub commits_since: Option<u64>,
    /// Whether the default branch has it.
    pub is_in_base: bool,
}

/// What is known about the pull request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PullRequestFacts {
    pub state: PullRequestState,
    /// How its checks stand; `None` when it has none.
    pub checks: Option<ChecksState>,
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommandResult {
    /// With this exit code.
    Exited(i32),
    /// Not in time.
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
    /// How a command ends.
    Command {
        command: Vec<String>,
        /// Seconds it may take.
        timeout: u64,
    },
}

/// A task that somebody wants to begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewTask {
    pub id: TaskId,
    pub project: ProjectName,
    pub by: Role,
    /// Where it begins; the first entry that is open when absent.
    pub status: Option<Status>,
    /// What is to be done.
    pub summary: String,
    /// Where it is done.
    pub branch: BranchName,
    pub harness: HarnessName,
    pub review_harness: HarnessName,
    /// How its agents are set.
    pub tuning: Tuning,
    /// When its work is started, compared with others.
    pub queueing: Queueing,
}

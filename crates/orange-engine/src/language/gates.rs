//! Gates: the evidence that an edge requires.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::document::SectionName;
use crate::document::reading::{Verdict, VerdictMode};
use crate::names::GateName;
use crate::role::Role;

/// A condition on the document, the report, or the world.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Gate {
    /// Its name, when the file gave it one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<GateName>,
    /// What it requires.
    #[serde(flatten)]
    pub kind: GateKind,
}

/// The kinds of gate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GateKind {
    /// A section of TASK.md.
    Section(SectionGate),
    /// A field of the report of this attempt's headless run.
    Report(ReportGate),
    /// Facts about the task's branch and worktree.
    Git(GitGate),
    /// Facts about the pull request.
    PullRequest(PullRequestGate),
    /// The exit status of a command in the workspace.
    Command(CommandGate),
}

/// What a section must contain; it must always exist and have content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct SectionGate {
    /// The section.
    pub section: SectionName,
    /// At least one of these fields must have content; if empty, no field is required.
    pub fields: Vec<String>,
    /// The verdict it must have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// How the verdict is read.
    pub verdict_mode: VerdictMode,
    /// The roles that may submit it; if empty, any role.
    pub from_role: Vec<Role>,
    /// Whether it must have changed since the status was entered.
    pub fresh: bool,
}

/// What a field of the report must be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct ReportGate {
    /// The field.
    pub field: ReportField,
    /// The value it must have.
    pub wanted: ReportCondition,
}

/// The condition on a report's field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReportCondition {
    /// One of these texts.
    Is(Vec<String>),
    /// Whether the field must be empty.
    Empty(bool),
}

/// The fields of a report that a gate can read.
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
pub enum ReportField {
    /// The status that the run claims.
    Status,
    /// The outcome of the report: a `done` with work remaining is `unfinished`.
    Outcome,
    /// The summary.
    Summary,
    /// Why it is blocked or needs review.
    Reason,
    /// What was done.
    Accomplished,
    /// What is left.
    Remaining,
    /// What blocks it.
    Blockers,
    /// Files that were changed.
    FilesChanged,
    /// Whether the run asks for the user's help.
    NeedsHelp,
    /// The child tasks it requests.
    Delegations,
}

impl ReportField {
    /// Every field, by its name in a file.
    pub const ALL: [(&'static str, ReportField); 10] = [
        ("status", ReportField::Status),
        ("outcome", ReportField::Outcome),
        ("summary", ReportField::Summary),
        ("reason", ReportField::Reason),
        ("accomplished", ReportField::Accomplished),
        ("remaining", ReportField::Remaining),
        ("blockers", ReportField::Blockers),
        ("files_changed", ReportField::FilesChanged),
        ("needs_help", ReportField::NeedsHelp),
        ("delegations", ReportField::Delegations),
    ];
}

impl fmt::Display for ReportField {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = ReportField::ALL.iter().find(|(_, field)| field == self);
        formatter.write_str(name.map_or("", |(name, _)| name))
    }
}

/// Which git conditions must be met.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct GitGate {
    /// The conditions, all of which must be met.
    pub conditions: Vec<GitCondition>,
}

/// A fact about the branch or the worktree.
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
pub enum GitCondition {
    /// Nothing uncommitted and nothing untracked.
    Clean,
    /// At least one commit that the default branch does not have.
    CommitsAhead,
    /// The branch is not the default branch.
    BranchNotDefault,
    /// TASK.md is not in the branch's commits.
    TaskFileUntracked,
}

impl GitCondition {
    /// Every condition, by its name in a file.
    pub const ALL: [(&'static str, GitCondition); 4] = [
        ("clean", GitCondition::Clean),
        ("commits_ahead", GitCondition::CommitsAhead),
        ("branch_not_default", GitCondition::BranchNotDefault),
        ("task_file_untracked", GitCondition::TaskFileUntracked),
    ];

    /// Its name in a file.
    pub fn name(self) -> &'static str {
        let is_this = |(_, condition): &&(&'static str, GitCondition)| *condition == self;
        GitCondition::ALL
            .iter()
            .find(is_this)
            .map_or("", |(name, _)| name)
    }
}

/// What the pull request must be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct PullRequestGate {
    /// The state it must have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<PullRequestState>,
    /// Whether it must be a draft.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub draft: Option<bool>,
    /// The state its checks must have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checks: Option<ChecksState>,
    /// Whether a repository without checks counts as one whose checks have that state.
    pub allow_none: bool,
    /// The review it must have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub review: Option<ReviewCondition>,
    /// Whether it must be free of conflicts with its base.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mergeable: Option<bool>,
    /// What must be true of the points of its reviewers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads: Option<ThreadsCondition>,
}

/// The review that a pull request must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReviewCondition {
    /// An approval.
    Approved,
    /// An approval, unless the repository requires no review.
    NoneRequired,
}

/// What must be true of the points of reviewers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ThreadsCondition {
    /// None is open.
    Resolved,
}

/// The state of a pull request.
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
pub enum PullRequestState {
    /// Open.
    Open,
    /// Merged.
    Merged,
    /// Closed without a merge.
    Closed,
}

impl PullRequestState {
    pub fn as_str(self) -> &'static str {
        match self {
            PullRequestState::Open => "open",
            PullRequestState::Merged => "merged",
            PullRequestState::Closed => "closed",
        }
    }
}

/// The state of the checks of a pull request.
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
pub enum ChecksState {
    /// All passed.
    Passing,
    /// At least one failed.
    Failing,
    /// Still running.
    Pending,
}

/// A command whose exit status decides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct CommandGate {
    /// Program and arguments; it does not run in a shell.
    pub command: Vec<String>,
    /// Its timeout in seconds.
    pub timeout: u64,
}

impl CommandGate {
    /// The recorded evidence that the command succeeded.
    pub fn evidence(&self) -> String {
        format!("`{}` succeeded", self.command.join(" "))
    }
}

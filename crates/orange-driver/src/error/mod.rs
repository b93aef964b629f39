//! Every error of the driver: messages here, the rest in `report`.

mod caller;
mod lower;
mod policy;
mod report;
mod sandbox;
mod web;

use std::path::PathBuf;

use orange_config::{
    CatalogError, HarnessError, HomeError, JobsError, PinnedPolicyError, ProjectsError,
    SettingsError,
};
use orange_effects::command::CommandError;
use orange_effects::git::GitError;
use orange_effects::own_file::OwnFileError;
use orange_effects::process::ProcessError;
use orange_effects::sandbox::DescribeError;
use orange_effects::tmux::TmuxError;
use orange_engine::document::DocumentError;
use orange_engine::names::{
    BranchName, CommitId, HarnessName, ProjectName, RequestId, RunId, Status, TaskId, WorkspaceName,
};
use orange_engine::permission::PermissionOutcome;
use orange_engine::role::Role;
use orange_engine::wording::join_and;
use orange_store::StoreError;
use serde::Serialize;

use crate::fleet::FleetError;

pub use report::{Kind, Report};

/// What was attempted, on what, and why it failed.
#[derive(Debug, thiserror::Error)]
pub enum DriverError {
    #[error(transparent)]
    Fleet(#[from] FleetError),
    #[error(transparent)]
    Home(#[from] HomeError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Projects(#[from] ProjectsError),
    #[error(transparent)]
    Jobs(#[from] JobsError),
    #[error(transparent)]
    Settings(#[from] SettingsError),
    #[error(transparent)]
    Harness(#[from] HarnessError),
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    #[error(transparent)]
    Tmux(#[from] TmuxError),
    #[error(transparent)]
    Command(#[from] CommandError),
    #[error("cannot write the report to `{}`: {}", .0.path.display(), .0.reason)]
    ReportNotWritten(OwnFileError),
    #[error(
        "cannot start the supervisor: process {pid} was started but does not supervise; run \
         `orange serve` to see why"
    )]
    SupervisorNotStarted { pid: u32 },
    #[error(
        "cannot start a supervisor: {} already supervises this home",
        .pid.map_or_else(|| String::from("another process"), |pid| format!("process {pid}"))
    )]
    AlreadySupervised { pid: Option<u32> },
    #[error(transparent)]
    Git(GitError),
    #[error("cannot use `{value}` as {what}: {reason}; choose another")]
    NameInvalid {
        what: &'static str,
        value: String,
        reason: &'static str,
        hint: &'static str,
    },
    #[error(
        "cannot change task `{task}`: it has changed since you saw it, and is in `{status}` now"
    )]
    TaskChanged {
        task: TaskId,
        /// The version that the caller saw.
        seen: u64,
        /// Its version now.
        version: u64,
        status: Status,
    },
    #[error("cannot find a device named `{0}`")]
    NoDevice(String),
    #[error("cannot pair a device named `{0}`: another one has that name")]
    DeviceExists(String),
    #[error("cannot trust the devices of the web API because of `{}`: {reason}", .path.display())]
    DevicesUntrusted { path: PathBuf, reason: String },
    #[error("cannot pair a device: {what}")]
    DevicesFull { what: &'static str },
    #[error("cannot find saved work {number} of task `{task}`")]
    NoRescue { task: TaskId, number: u32 },
    #[error("cannot restore saved work {number} of task `{task}`: {reason}")]
    NotRestored {
        task: TaskId,
        number: u32,
        reason: String,
        paths: Vec<String>,
    },
    #[error("cannot create {requested} workspaces for project `{project}`: its pool has {size}")]
    PoolTooSmall {
        project: ProjectName,
        requested: u32,
        size: u32,
    },
    #[error(
        "cannot start task `{task}`: all {size} workspaces of project `{project}` are in use: {}",
        list_holders(.holders)
    )]
    PoolFull {
        task: TaskId,
        project: ProjectName,
        size: u32,
        holders: Vec<(WorkspaceName, TaskId)>,
    },
    #[error("cannot work with GitHub in project `{project}`: it has no repository there")]
    NoForge { project: ProjectName },
    #[error("cannot use issue #{number}: {reason}")]
    IssueUnusable { number: u64, reason: String },
    #[error("cannot read the issues of project `{project}`: {reason}")]
    IssuesUnread {
        project: ProjectName,
        reason: String,
    },
    #[error("cannot review pull request #{number}: task `{task}` is for it")]
    PullRequestTaken { number: u64, task: TaskId },
    #[error("cannot review pull request #{number}: {reason}")]
    PullRequestUnusable { number: u64, reason: String },
    #[error(
        "cannot review pull request #{number}: it changes files that configure coding agents: {}",
        files.join(", ")
    )]
    PullRequestSettings { number: u64, files: Vec<String> },
    #[error(
        "cannot review pull request #{number}: workflow `{workflow}` has no entry that starts a \
         reviewer"
    )]
    NoReviewEntry {
        number: u64,
        workflow: String,
        /// The workflows that have such an entry.
        names: Vec<String>,
    },
    #[error("cannot change workspace `{0}`: another process is changing it")]
    WorkspaceBusy(WorkspaceName),
    #[error("cannot uninstall: orange is working on task `{task}`")]
    TaskBusy { task: TaskId },
    #[error("cannot remove workspace `{workspace}`: task `{task}` has it")]
    WorkspaceInUse {
        workspace: WorkspaceName,
        task: TaskId,
    },
    #[error("cannot remove workspace `{workspace}`: {reason}")]
    WorkspaceNotRemoved {
        workspace: WorkspaceName,
        path: PathBuf,
        reason: String,
    },
    #[error(transparent)]
    Process(#[from] ProcessError),
    #[error("cannot create an id: {0}")]
    NoRandomness(String),
    #[error("cannot {attempt} `{}`: {reason}", .path.display())]
    File {
        attempt: &'static str,
        path: PathBuf,
        reason: String,
    },
    #[error("cannot determine the project: `{}` belongs to no registered project", .directory.display())]
    ProjectUnclear {
        /// The current directory.
        directory: PathBuf,
        names: Vec<ProjectName>,
    },
    #[error("cannot register `{}`: {problem}", .path.display())]
    NoRepository {
        path: PathBuf,
        problem: RepositoryProblem,
    },
    #[error(
        "cannot find the repository of project `{project}`: `{}` is no longer a git repository; if \
         you moved it, run `orange project update {project} --path DIRECTORY`",
        .path.display()
    )]
    RepositoryMissing { project: ProjectName, path: PathBuf },
    #[error("cannot use `{}` as the repository of project `{project}`: {reason}", .path.display())]
    NotThisRepository {
        project: ProjectName,
        path: PathBuf,
        reason: String,
    },
    #[error(transparent)]
    PinnedPolicy(#[from] PinnedPolicyError),
    #[error("cannot find a policy on branch `{branch}` of project `{project}`")]
    PolicyMissing {
        project: ProjectName,
        branch: BranchName,
    },
    #[error(
        "cannot use the policy of project `{project}` at commit {}: {}",
        .commit.short(), .problems.join("; ")
    )]
    PolicyInvalid {
        project: ProjectName,
        commit: CommitId,
        problems: Vec<String>,
    },
    #[error(
        "cannot allow the policy of project `{project}`: it is not the one that was shown, but \
         {found}"
    )]
    PolicyDiffers {
        project: ProjectName,
        /// Its hash.
        found: String,
    },
    #[error("cannot find branch `{branch}` in `{}`", .path.display())]
    NoBranch { path: PathBuf, branch: BranchName },
    #[error("cannot use branch `{branch}` for a task: {problem}")]
    BranchUnusable {
        branch: BranchName,
        problem: BranchProblem,
    },
    #[error("cannot remove project `{project}`: {}", list_uses(.tasks, .workspaces))]
    ProjectInUse {
        project: ProjectName,
        tasks: Vec<TaskId>,
        workspaces: Vec<WorkspaceName>,
    },
    #[error("cannot create a child of task `{task}`: it is finished (`{status}`)")]
    ParentEnded { task: TaskId, status: Status },
    #[error(
        "cannot create a child of task `{parent}` that starts after `{}`: they would wait for each \
         other forever", join_cycle(.cycle)
    )]
    WaitsForItself { parent: TaskId, cycle: Vec<TaskId> },
    #[error(
        "cannot create a task in `{project}`: no coding agent is installed, and no harness is named"
    )]
    HarnessUnset {
        project: ProjectName,
        folder: PathBuf,
    },
    #[error("cannot start a chat: no coding agent is installed, and no harness is named")]
    ChatHarnessUnset { folder: PathBuf },
    #[error("cannot install the skill{}", explain_no_skills(.0.as_ref()))]
    NoSkills(Option<HarnessName>),
    #[error("there is no workflow `{name}`")]
    WorkflowMissing { name: String, names: Vec<String> },
    #[error("cannot use the workflow `{name}`: {problem}")]
    WorkflowInvalid { name: String, problem: String },
    #[error("cannot use the {0}: it contains a NUL character")]
    HasNul(&'static str),
    #[error("cannot write TASK.md: {0}")]
    Document(#[from] DocumentError),
    #[error("cannot read TASK.md of task `{task}`: {reason}")]
    DocumentUnknown { task: TaskId, reason: String },
    /// The task's branch was never created.
    #[error("the branch of task `{task}` does not exist: {}", explain_no_branch(.next_step))]
    NotStarted { task: TaskId, next_step: NextStep },
    #[error("task `{task}` has no worktree")]
    NoWorktree { task: TaskId, next_step: NextStep },
    #[error("the worktree of task `{0}` is still being prepared")]
    WorktreeNotReady(TaskId),
    #[error(
        "the worktree of task `{0}` is still being released; what is unsaved in it is saved first"
    )]
    WorktreeBeingReleased(TaskId),
    #[error(
        "nothing to send back: `{task}` can be merged into `{into}` without conflicts, and no \
         verification has failed"
    )]
    NoMergeFailure { task: TaskId, into: BranchName },
    #[error("cannot determine {what} (task `{task}`): {reason}")]
    FactUnknown {
        task: TaskId,
        what: &'static str,
        reason: String,
    },
    #[error("cannot use a sandbox: {reason}. To fix it: {fix}")]
    NoSandbox { reason: String, fix: String },
    #[error("cannot start `{program}` in the sandbox: {reason}")]
    NotStartedInSandbox { program: String, reason: String },
    #[error("no agent of task `{task}` {what}")]
    NoSandboxedRun {
        task: TaskId,
        /// What none of them does.
        what: &'static str,
    },
    #[error("the agent of task `{task}` uses the network of this machine")]
    SharedNetwork { task: TaskId, port: u16 },
    #[error("cannot listen on port {port}: {reason}")]
    PortNotOpened { port: u16, reason: String },
    #[error("cannot decide about task `{task}` yet: `{command}` is still running")]
    GateRunning { task: TaskId, command: String },
    #[error("cannot decide about task `{task}`: it keeps changing")]
    Contended { task: TaskId },
    #[error("cannot identify the caller: `ORANGE_RUN_PROOF` does not match run `{0}`")]
    ProofInvalid(RunId),
    #[error("cannot identify the caller: {0}")]
    CallerUnknown(String),
    #[error("cannot access task `{requested}` as the {role} of task `{own}`")]
    OtherTask {
        role: Role,
        own: TaskId,
        requested: TaskId,
        /// Whether the caller counts as the worker only because it is in the worktree of its task.
        is_by_directory: bool,
    },
    #[error("cannot access task `{task}` from a gate, hook or script that runs for it")]
    InsideEffect { task: TaskId },
    #[error("cannot determine the task")]
    TaskUnclear,
    #[error("cannot tell which task `{name}` means: it could be {}", list_candidates(.candidates))]
    TaskAmbiguous {
        name: String,
        candidates: Vec<Candidate>,
    },
    #[error("the task's repository has no commit `{0}`")]
    CommitUnknown(String),
    #[error("cannot change task `{task}`: it was deleted")]
    TaskDeleted { task: TaskId },
    #[error("{}", unsafe_workflow(.workflow, *.errors, .problems))]
    WorkflowUnsafe {
        workflow: String,
        errors: usize,
        problems: Vec<String>,
    },
    #[error("there is no status `{status}`")]
    NoSuchStatus {
        status: Status,
        statuses: Vec<Status>,
    },
    #[error("cannot wait until task `{task}` is in `{status}`: its workflow has no such status")]
    StatusUnknown {
        task: TaskId,
        status: Status,
        statuses: Vec<Status>,
    },
    #[error(
        "task `{task}` has no agent role `{role}`; its agent roles are {}",
        join_and(.roles.iter().map(|role| format!("`{role}`")))
    )]
    RoleUnknown {
        task: TaskId,
        role: Role,
        roles: Vec<Role>,
    },
    #[error("cannot show the output of an agent of task `{task}`: {reason}")]
    NoOutput {
        task: TaskId,
        reason: String,
        next_step: NextStep,
    },
    #[error("cannot {action} {}: only the user may do this", worker_place(.worktree_of.as_ref()))]
    UserOnly {
        action: &'static str,
        /// The task whose worktree the caller is in, if only this makes the caller the worker.
        worktree_of: Option<TaskId>,
    },
    #[error("cannot find note {0}")]
    NoNote(u64),
    #[error("cannot write the note down: {0}")]
    NoteInvalid(String),
    #[error("cannot answer request `{0}`: there is no such request")]
    RequestUnknown(String),
    #[error(
        "cannot answer request `{id}` of task `{task}`: {}",
        .outcome.as_ref().map_or_else(
            || String::from("the agent no longer waits for an answer"),
            ToString::to_string,
        )
    )]
    RequestClosed {
        id: RequestId,
        task: TaskId,
        outcome: Option<PermissionOutcome>,
    },
    #[error("cannot rebuild the database `{}`: it already exists", .path.display())]
    DatabaseExists { path: PathBuf },
    #[error("cannot attach to task `{task}`: {reason}")]
    NoAgent {
        task: TaskId,
        reason: String,
        next_step: NextStep,
    },
}

impl DriverError {
    pub(crate) fn home_not_set() -> DriverError {
        DriverError::NoSandbox {
            reason: String::from("HOME is not set, so your home directory cannot be hidden"),
            fix: String::from("set HOME"),
        }
    }

    /// An agent asked for an action that only the user may do.
    pub(crate) fn user_only(action: &'static str) -> DriverError {
        DriverError::UserOnly {
            action,
            worktree_of: None,
        }
    }
}

impl From<DescribeError> for DriverError {
    fn from(error: DescribeError) -> Self {
        DriverError::NoSandbox {
            reason: error.to_string(),
            fix: String::from("use another path, or set `sandbox.mode` to \"off\""),
        }
    }
}

/// What makes the caller count as an agent.
fn worker_place(worktree_of: Option<&TaskId>) -> String {
    match worktree_of {
        Some(task) => format!("in the worktree of task `{task}`"),
        None => String::from("from an agent's session"),
    }
}

/// A task that the given name may refer to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Candidate {
    pub task: TaskId,
    pub project: ProjectName,
    pub status: Status,
    pub summary: String,
}

/// What to do about a task that has no agent, branch or worktree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NextStep {
    /// Start the work of the task, which has not started yet.
    Spawn,
    /// Start the task's agent again; holds the role, if one was requested.
    Respawn(Option<Role>),
    /// Create a new task, because this one ended before its work started.
    Create,
    /// Look at the task's changes, because it has commits.
    Diff,
    /// Look at the task, because the next step depends on its state.
    Inspect,
}

/// Why no task can start on a branch.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BranchProblem {
    #[error("it is the default branch, which tasks are merged into")]
    Default,
    #[error("it is checked out in `{}`, and git checks a branch out only once", .0.display())]
    CheckedOut(PathBuf),
    #[error("the branch `{0}` exists, and git cannot have both")]
    Clashes(BranchName),
}

/// Why a directory cannot be registered as a project.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RepositoryProblem {
    #[error("it is not in a git repository")]
    NotARepository,
    #[error("it is not in a checkout of the repository")]
    NoCheckout,
    #[error("no branch is checked out, and the repository has no default branch")]
    NoBranch,
    #[error("the repository has no commit yet")]
    NoCommit,
    #[error("its path contains control characters or is not UTF-8")]
    BadPath,
}

impl From<GitError> for DriverError {
    fn from(error: GitError) -> Self {
        match error {
            GitError::BadName {
                what,
                value,
                reason,
            } => DriverError::NameInvalid {
                what,
                value,
                reason,
                hint: "check the name with `git check-ref-format --branch NAME`",
            },
            GitError::NoRescue { task, number } => DriverError::NoRescue {
                task: TaskId::new(task),
                number,
            },
            error => DriverError::Git(error),
        }
    }
}

fn list_uses(tasks: &[TaskId], workspaces: &[WorkspaceName]) -> String {
    let quoted = |what: &str, names: Vec<String>| {
        (!names.is_empty()).then(|| format!("{what} `{}`", names.join("`, `")))
    };
    let tasks = tasks.iter().map(ToString::to_string).collect();
    let held = workspaces.iter().map(ToString::to_string).collect();
    let tasks = quoted("it has unfinished tasks:", tasks);
    let held = quoted("it has workspaces in use:", held);
    let both: Vec<String> = tasks.into_iter().chain(held).collect();
    both.join("; ")
}

fn explain_no_branch(next_step: &NextStep) -> &'static str {
    match next_step {
        NextStep::Create => "it was finished before its work started",
        _ => "its work has not started",
    }
}

fn explain_no_skills(requested: Option<&HarnessName>) -> String {
    requested.map_or_else(
        || String::from(": no agent that supports skills is on the PATH"),
        |name| format!(" for `{name}`: its definition does not say where it keeps skills"),
    )
}

fn list_candidates(candidates: &[Candidate]) -> String {
    let ids = candidates.iter().map(|it| format!("`{}`", it.task));
    ids.collect::<Vec<_>>().join(" or ")
}

fn list_holders(holders: &[(WorkspaceName, TaskId)]) -> String {
    let held = holders.iter();
    let held: Vec<String> = held
        .map(|(workspace, task)| format!("`{task}` has `{workspace}`"))
        .collect();
    held.join(", ")
}

fn join_cycle(cycle: &[TaskId]) -> String {
    let names: Vec<&str> = cycle.iter().map(TaskId::as_str).collect();
    names.join("`, which waits for `")
}

fn unsafe_workflow(workflow: &str, errors: usize, problems: &[String]) -> String {
    let noun = if errors == 1 { "error" } else { "errors" };
    let more = match errors.saturating_sub(problems.len()) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    let problems = problems.join("; ");
    format!(
        "cannot use the workflow `{workflow}`: `orange workflow check` finds {errors} {noun}: \
         {problems}{more}"
    )
}

//! Why a step could not be taken; a refusal is an answer.

use std::path::PathBuf;

use orange_config::{CatalogError, HarnessError, HomeError, ProjectsError, SettingsError};
use orange_effects::command::CommandError;
use orange_effects::git::GitError;
use orange_effects::process::ProcessError;
use orange_effects::tmux::TmuxError;
use orange_engine::document::DocumentError;
use orange_engine::names::{
    BranchName, HarnessName, ProjectName, RunId, Status, TaskId, WorkspaceName,
};
use orange_engine::role::Role;
use orange_store::StoreError;
use serde::Serialize;

use crate::error_wording::{held, in_use, joined, listed, no_skills, unsafe_workflow};

/// What was attempted, on what, and what stood in the way.
#[derive(Debug, thiserror::Error)]
pub enum DriverError {
    /// There is no home.
    #[error(transparent)]
    Home(#[from] HomeError),
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The registered projects.
    #[error(transparent)]
    Projects(#[from] ProjectsError),
    /// The settings.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// A harness.
    #[error(transparent)]
    Harness(#[from] HarnessError),
    /// The workflows in the home.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// tmux.
    #[error(transparent)]
    Tmux(#[from] TmuxError),
    /// A program.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// A supervisor that was started does not supervise.
    #[error(
        "cannot supervise in the background: process {pid} was started and does not; run \
         `orange serve` to see why"
    )]
    NotSupervising {
        /// The process.
        pid: u32,
    },
    /// Somebody supervises this home already.
    #[error(
        "cannot supervise: {} supervises this home already",
        .pid.map_or_else(|| String::from("another process"), |pid| format!("process {pid}"))
    )]
    Supervised {
        /// Who, as far as it has said so.
        pid: Option<u32>,
    },
    /// Git, or a file near it.
    #[error(transparent)]
    Git(GitError),
    /// A name that git or the file system would take for something else.
    #[error("cannot use `{value}` as {what}: {reason}; choose another")]
    NameInvalid {
        /// What kind of name.
        what: &'static str,
        /// The name, shortened.
        value: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// There is no such rescue.
    #[error("cannot find rescue {number} of task `{task}`")]
    NoRescue {
        /// The task.
        task: TaskId,
        /// Its number.
        number: u32,
    },
    /// A rescue cannot come back there; nothing was changed.
    #[error("cannot bring back rescue {number} of task `{task}`: {reason}")]
    NotRestored {
        /// The task.
        task: TaskId,
        /// Its number.
        number: u32,
        /// What stood in the way.
        reason: String,
        /// The files that are others by now.
        paths: Vec<String>,
    },
    /// The pool is not as large.
    #[error("cannot make {asked} workspaces for project `{project}`: its pool has {size}")]
    PoolTooSmall {
        /// The project.
        project: ProjectName,
        /// How many were asked for.
        asked: u32,
        /// How many it may have.
        size: u32,
    },
    /// Nothing is free, and starts do not wait.
    #[error(
        "cannot start task `{task}`: all {size} workspaces of project `{project}` are in use: {}",
        held(.holders)
    )]
    PoolFull {
        /// The task.
        task: TaskId,
        /// Its project.
        project: ProjectName,
        /// How many workspaces it may have.
        size: u32,
        /// Which task has which.
        holders: Vec<(WorkspaceName, TaskId)>,
    },
    /// Somebody else changes the workspace.
    #[error("cannot change workspace `{0}`: somebody else is changing it")]
    WorkspaceBusy(WorkspaceName),
    /// A process.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// The system gives no randomness.
    #[error("cannot make an id: {0}")]
    NoRandomness(String),
    /// The system says no.
    #[error("cannot {attempt} `{}`: {reason}", .path.display())]
    File {
        /// What was attempted.
        attempt: &'static str,
        /// On what.
        path: PathBuf,
        /// What stood in the way.
        reason: String,
    },
    /// Nobody says which project is meant.
    #[error("cannot tell which project is meant: {reason}")]
    ProjectUnclear {
        /// Why.
        reason: &'static str,
        /// The names there are.
        names: Vec<ProjectName>,
    },
    /// It is no repository that tasks can be done in.
    #[error("cannot register `{}`: {reason}", .path.display())]
    NoRepository {
        /// The directory.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// It has no such branch.
    #[error("cannot find branch `{branch}` in `{}`", .path.display())]
    NoBranch {
        /// The repository.
        path: PathBuf,
        /// The branch.
        branch: BranchName,
    },
    /// Tasks or worktrees would be left behind.
    #[error("cannot remove project `{project}`: {}", in_use(.tasks, .workspaces))]
    ProjectInUse {
        /// The project.
        project: ProjectName,
        /// The tasks that have not ended.
        tasks: Vec<TaskId>,
        /// The workspaces that hold something.
        workspaces: Vec<WorkspaceName>,
    },
    /// What has ended gets no new parts.
    #[error("cannot create a part of task `{task}`: it has ended as `{status}`")]
    ParentEnded {
        /// The task.
        task: TaskId,
        /// How it ended.
        status: Status,
    },
    /// A parent waits for its children, so that none can wait for it.
    #[error(
        "cannot create a part of task `{parent}` that comes after `{}`: they would wait for one \
         another for ever", joined(.way)
    )]
    WaitsForItself {
        /// The parent.
        parent: TaskId,
        /// From what the new task comes after to the parent.
        way: Vec<TaskId>,
    },
    /// Nobody says which harness is meant.
    #[error(
        "cannot create a task in `{project}`: neither the project nor the command names a harness"
    )]
    HarnessUnset {
        /// The project.
        project: ProjectName,
        /// Where harnesses are defined.
        folder: PathBuf,
    },
    /// There is no place to put a skill.
    #[error("cannot install the skill{}", no_skills(.0.as_ref()))]
    NoSkills(Option<HarnessName>),
    /// There is no such workflow.
    #[error("cannot use the workflow `{name}`: there is none of that name")]
    WorkflowMissing {
        /// The name.
        name: String,
        /// The names there are.
        names: Vec<String>,
    },
    /// The workflow has problems.
    #[error("cannot use the workflow `{name}`: {problem}")]
    WorkflowInvalid {
        /// The name.
        name: String,
        /// The first problem.
        problem: String,
    },
    /// A text that no file and no program can hold.
    #[error("cannot take the {0}: it holds a NUL character")]
    HasNul(&'static str),
    /// A text that is no document.
    #[error("cannot write TASK.md: {0}")]
    Document(#[from] DocumentError),
    /// Nobody can tell what TASK.md says, so nothing may follow from it.
    #[error("cannot tell what TASK.md of task `{task}` says: {reason}")]
    DocumentUnknown {
        /// The task.
        task: TaskId,
        /// Why.
        reason: String,
    },
    /// A fact that a gate needs could not be had.
    #[error("cannot tell {what} of task `{task}`: {reason}")]
    FactUnknown {
        /// The task.
        task: TaskId,
        /// What.
        what: &'static str,
        /// Why.
        reason: String,
    },
    /// A gate's command takes longer than is waited for it.
    #[error("cannot decide about task `{task}` yet: `{command}` is still running")]
    GateRunning {
        /// The task.
        task: TaskId,
        /// The command.
        command: String,
    },
    /// Others were faster, again and again.
    #[error("cannot decide about task `{task}`: it changes all the time")]
    Contended {
        /// The task.
        task: TaskId,
    },
    /// The secret is not that of the run.
    #[error("cannot tell who asks: `ORANGE_RUN_PROOF` is not that of run `{0}`")]
    ProofInvalid(RunId),
    /// Nothing says reliably who asks, so it is not the user.
    #[error("cannot tell who asks: {0}")]
    CallerUnknown(String),
    /// An agent speaks for its own task only.
    #[error("cannot ask about task `{asked}` as the {role} of task `{own}`")]
    OtherTask {
        /// As what it speaks.
        role: Role,
        /// The task it may speak for.
        own: TaskId,
        /// The task that was asked about.
        asked: TaskId,
    },
    /// A hook would wait for what waits for it.
    #[error("cannot ask about task `{task}` from a command that runs for it")]
    InsideEffect {
        /// The task.
        task: TaskId,
    },
    /// Nobody says which task is meant.
    #[error("cannot tell which task is meant")]
    TaskUnclear,
    /// What was named could be several tasks.
    #[error("cannot tell which task `{named}` means: it could be {}", listed(.candidates))]
    TaskAmbiguous {
        /// What was named.
        named: String,
        /// The tasks it could be.
        candidates: Vec<Candidate>,
    },
    /// A commit that the repository does not have.
    #[error("no commit of the task's repository is called `{0}`")]
    CommitUnknown(String),
    /// It was put away.
    #[error("cannot change task `{task}`: it was deleted")]
    TaskDeleted {
        /// The task.
        task: TaskId,
    },
    /// A workflow that could harm its tasks.
    #[error("{}", unsafe_workflow(.workflow, *.errors, .problems))]
    WorkflowUnsafe {
        /// The workflow.
        workflow: String,
        /// How many errors `check` finds in it.
        errors: usize,
        /// The first of them.
        problems: Vec<String>,
    },
    /// Nobody could ever be there.
    #[error("cannot wait until task `{task}` is in `{status}`: its workflow has no such status")]
    StatusUnknown {
        /// The task.
        task: TaskId,
        /// The status.
        status: Status,
        /// The statuses there are.
        statuses: Vec<Status>,
    },
    /// There is nothing to show of an agent.
    #[error("cannot show what an agent of task `{task}` said: {reason}")]
    NoOutput {
        /// The task.
        task: TaskId,
        /// Why.
        reason: String,
    },
    /// Agents do not ask for this.
    #[error("cannot {0} from an agent's session: only a person may")]
    ForAPerson(&'static str),
    /// A rebuild would take the place of what is there.
    #[error("cannot rebuild the database `{}`: there is one", .path.display())]
    DatabaseThere {
        /// The database.
        path: PathBuf,
    },
    /// There is no agent to show.
    #[error("cannot attach to task `{task}`: {reason}")]
    NobodyThere {
        /// The task.
        task: TaskId,
        /// Why.
        reason: String,
        /// What may bring one there.
        way: Way,
    },
}

/// A task that may have been meant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Candidate {
    /// The task.
    pub task: TaskId,
    /// Its project.
    pub project: ProjectName,
    /// Where it is.
    pub status: Status,
    /// What is to be done.
    pub summary: String,
}

/// What may bring an agent to a task that has none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Way {
    /// Its work has not begun.
    Spawn,
    /// It had one; as which role, if one was asked for.
    Respawn(Option<Role>),
    /// Nothing, as far as can be told.
    Look,
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
            },
            GitError::NoRescue { task, number } => DriverError::NoRescue {
                task: TaskId::new(task),
                number,
            },
            error => DriverError::Git(error),
        }
    }
}

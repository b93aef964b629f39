//! Why the store could not save or load something.

use std::io;
use std::path::{Path, PathBuf};

use orange_config::reason;
use orange_engine::apply::ReplayError;
use orange_engine::format::{self, EventHeader, NewerFormat};
use orange_engine::job::JobLink;
use orange_engine::names::{BranchName, RunId, Status, TaskId, WorkspaceName};
use rusqlite::ErrorCode;

/// The hint for a database that cannot be read.
const REBUILD: &str = "run `orange rebuild --move-aside`: it restores the database from the task directories, and keeps the old one";

/// What was attempted, on what, and why it failed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("cannot {attempt} `{}`: {reason}", .path.display())]
    File {
        attempt: &'static str,
        path: PathBuf,
        reason: String,
    },
    #[error("cannot {attempt} in the database: {source}")]
    Database {
        attempt: &'static str,
        /// The `SQLite` error.
        source: rusqlite::Error,
    },
    /// Another process has held the write lock for longer than it should.
    #[error("cannot {attempt}: another process is writing to `{}`", .path.display())]
    Busy {
        attempt: &'static str,
        path: PathBuf,
    },
    /// There is no database to read yet.
    #[error("cannot open the database `{}`: it does not exist", .path.display())]
    Missing {
        /// The expected path.
        path: PathBuf,
    },
    /// There are tasks but no database; a new database would not know them.
    #[error("cannot open the database `{}`: it is missing, but `{}` contains tasks", .path.display(), .tasks.display())]
    DatabaseLost {
        /// The expected path.
        path: PathBuf,
        tasks: PathBuf,
    },
    /// A newer orange wrote the database.
    #[error("cannot open the database `{}`: its schema is {found}, but this version of orange supports at most {known}", .path.display())]
    Newer {
        path: PathBuf,
        /// The schema of the database.
        found: u32,
        /// The newest schema that this program knows.
        known: u32,
    },
    /// Another program wrote the database.
    #[error("cannot open `{}`: it belongs to another program", .path.display())]
    NotOurs { path: PathBuf },
    /// A rebuild replaced the database.
    #[error("cannot {attempt}: the database `{}` was replaced in the meantime", .path.display())]
    Replaced {
        attempt: &'static str,
        path: PathBuf,
    },
    /// Commits would not be safe on this file system.
    #[error("cannot keep the database in `{}`: it is on {kind}, where two processes can damage it", .path.display())]
    UnsafeFileSystem {
        /// The home.
        path: PathBuf,
        /// The kind of file system.
        kind: &'static str,
    },
    #[error("there is no task `{task}`")]
    UnknownTask { task: TaskId },
    #[error("cannot create task `{task}`: it already exists")]
    DuplicateTask { task: TaskId },
    #[error("cannot find run `{run}` of task `{task}`: it was never planned")]
    UnknownRun { task: TaskId, run: RunId },
    #[error("cannot find workspace `{workspace}`: it is not in the pool")]
    UnknownWorkspace { workspace: WorkspaceName },
    /// The new events do not continue the recorded ones.
    #[error("cannot record events of task `{task}`: got version {found}, expected {expected}")]
    VersionGap {
        task: TaskId,
        /// The version that should follow.
        expected: u64,
        /// The version of the event given.
        found: u64,
    },
    /// The events of a task must begin with its creation and contain it only once.
    #[error("cannot record events: {0}")]
    FirstEventInvalid(&'static str),
    /// An import event came without the imported text.
    #[error("cannot record an import of task `{task}`: its text is missing")]
    ImportWithoutText { task: TaskId },
    /// Stored data cannot be read.
    #[error("cannot read {what} of task `{task}`: {reason}")]
    Unreadable {
        what: &'static str,
        task: TaskId,
        reason: String,
    },
    /// A name that would escape its directory.
    #[error("cannot keep files of {what} `{name}`: that is not a valid directory name")]
    BadName {
        /// The kind of thing it names.
        what: &'static str,
        name: String,
    },
    /// A path that is not UTF-8, so that the database cannot store it.
    #[error("cannot store the path `{}`: it is not UTF-8", .0.display())]
    PathNotText(PathBuf),
    /// Another file is already where TASK.md belongs.
    #[error("cannot put the file of task `{task}` at `{}`: a file already exists there", .path.display())]
    PathOccupied { task: TaskId, path: PathBuf },
    /// Only one active task may have a branch.
    #[error("cannot use branch `{branch}`: task `{task}` already uses it and is in `{status}`")]
    BranchTaken {
        branch: BranchName,
        task: TaskId,
        status: Status,
    },
    /// Only one active task may be for an issue, and only a user may ask for a second task for the
    /// same text of the issue.
    #[error("cannot create a task for issue #{number}: it has task `{task}`")]
    IssueTaken { number: u64, task: TaskId },
    /// The user does not want this text of the issue.
    #[error("cannot create a task for issue #{number}: you ignored its present text")]
    IssueIgnored { number: u64 },
    /// An instant of a job has one run.
    #[error("cannot create a task for {0}: this instant has a run")]
    JobInstantTaken(JobLink),
    /// A message of a chat is acted on once.
    #[error("cannot create a task for {0}: it was acted on")]
    ChatMessageTaken(String),
    /// A request of a report has one child.
    #[error("cannot create a child for a request of a report: it has one")]
    DelegationTaken,
    /// The file is in another worktree.
    #[error("cannot move the file of task `{task}` to `{}`: it is at `{}`", .wanted.display(), .path.display())]
    BoundElsewhere {
        task: TaskId,
        /// The requested path.
        wanted: PathBuf,
        path: PathBuf,
    },
    /// The history file has events that the database lacks.
    #[error("cannot continue `{}` of task `{task}`: it ends at version {file}, the database at {database}", .path.display())]
    HistoryAhead {
        task: TaskId,
        /// The history.
        path: PathBuf,
        /// The version of its last line.
        file: u64,
        /// The version the database has.
        database: u64,
    },
    /// The history file and the database disagree about the last event.
    #[error("cannot continue task `{task}`: event {version} in `{}` differs from the one in the database", .path.display())]
    HistoryDiffers {
        task: TaskId,
        /// The history.
        path: PathBuf,
        /// The version of its last line.
        version: u64,
    },
    /// A task of this id is here, and its events are not those of the task that was to be taken over.
    #[error("cannot take over task `{task}`: its event {version} here is another one")]
    AnotherHistory {
        task: TaskId,
        /// The version of the first event that differs.
        version: u64,
    },
    /// A task that was held elsewhere still has a workspace from before.
    #[error("cannot take over task `{task}`: workspace `{workspace}` is still bound to it")]
    StillBound {
        task: TaskId,
        workspace: WorkspaceName,
    },
    /// The server of the fleet has not given the task to this machine.
    #[error(
        "cannot change task `{task}`: this machine does not hold it; the fleet's server decides which one does"
    )]
    NotHeld { task: TaskId },
    /// The task came from another machine, and cannot be changed before it continues here.
    #[error("cannot change task `{task}`: this machine is taking it over")]
    Arriving { task: TaskId },
    /// A home that belongs to a fleet gets its tasks from the server.
    #[error(
        "cannot create a task here: this home works for the fleet of `{server}`, which hands out its tasks"
    )]
    Joined { server: String },
    /// The home already belongs to a fleet, or has tasks of its own.
    #[error("cannot join the fleet: {reason}")]
    CannotJoin { reason: String },
    /// The home belongs to no fleet.
    #[error("cannot {attempt}: this home belongs to no fleet")]
    NotJoined { attempt: &'static str },
    /// The fleet would lose a task that only this home has.
    #[error("cannot leave the fleet: this machine still holds task `{task}`")]
    NotGivenBack { task: TaskId },
    #[error("cannot read the home's standing in the fleet: {reason}")]
    MembershipUnreadable { reason: String },
    /// A copy of the task that does not continue the server's log has to be removed first.
    #[error("cannot take over task `{task}`: another copy of it is here")]
    OtherCopy { task: TaskId },
    /// What the server sent is not a log of the task.
    #[error("cannot take over task `{task}`: {reason}")]
    BadLog { task: TaskId, reason: String },
    /// A newer orange wrote events that this one would misread.
    #[error("cannot read the history of task `{task}`: {source}")]
    NewerEvents { task: TaskId, source: NewerFormat },
    /// The file changed while it was being moved.
    #[error("cannot move `{}`: {reason}", .path.display())]
    FileChanging {
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
}

impl StoreError {
    /// Hints on how to fix it; each is complete in itself.
    pub fn hints(&self) -> Vec<String> {
        if let StoreError::BranchTaken { task, .. } = self {
            return vec![format!(
                "continue with that task, see `orange task show {task}`, or name another branch"
            )];
        }
        if let StoreError::IssueTaken { task, .. } = self {
            return vec![format!(
                "continue with that task, see `orange task show {task}`; once it has ended, \
                 `orange task create --issue` creates another"
            )];
        }
        let hint = match self {
            StoreError::Busy { .. } | StoreError::Replaced { .. } => {
                "run the command again; nothing that was recorded is lost"
            }
            StoreError::Missing { .. } => "create a first task with `orange task create`",
            StoreError::DatabaseLost { .. } => {
                "run `orange rebuild`: it restores the database from the task directories"
            }
            StoreError::HistoryAhead { .. } | StoreError::HistoryDiffers { .. } => {
                "the database has lost its last records; run `orange rebuild --move-aside`: it restores the database from the task directories, and keeps the old one"
            }
            StoreError::Unreadable { .. } => REBUILD,
            error if error.is_corruption() => REBUILD,
            StoreError::Database { source, .. } => match source.sqlite_error_code() {
                Some(ErrorCode::DiskFull) => "free some disk space, then run the command again",
                _ => return Vec::new(),
            },
            StoreError::Newer { .. } => {
                "install the newer orange that wrote it, or set `ORANGE_HOME` to another directory"
            }
            StoreError::NewerEvents { .. } | StoreError::MembershipUnreadable { .. } => {
                "install the newer orange that wrote it; `orange --version` shows this one"
            }
            StoreError::AnotherHistory { .. } => {
                "compare them with `orange task history`, and delete neither before you know which one is right"
            }
            StoreError::StillBound { .. } => {
                "save what is in the workspace, then run `orange workspace gc`"
            }
            StoreError::NotHeld { .. } | StoreError::Arriving { .. } => {
                "ask for it at the server; `orange ls` shows the tasks that this machine holds"
            }
            StoreError::NotGivenBack { .. } => {
                "run `orange runner drain`, and try again when it has ended"
            }
            StoreError::Joined { .. } => {
                "create the task at the server, or set `ORANGE_HOME` to a home that has not joined"
            }
            StoreError::NotOurs { .. } => {
                let elsewhere = "move that file away, or set `ORANGE_HOME` to another directory";
                let damaged = format!("if orange created it and it is damaged, {REBUILD}");
                return vec![elsewhere.to_owned(), damaged];
            }
            StoreError::UnsafeFileSystem { .. } => {
                "set `ORANGE_HOME` to a directory on a local disk, for example `export ORANGE_HOME=/var/tmp/orange`"
            }
            StoreError::UnknownWorkspace { .. } => "`orange workspace list` shows the workspaces",
            StoreError::UnknownTask { .. } => {
                "`orange ls --all --all-statuses` lists the tasks, `orange ls --all --deleted` the deleted ones"
            }
            StoreError::PathOccupied { .. } => {
                "move that file away with `git mv` or `mv`, or give the project another name for its task file"
            }
            StoreError::FileChanging { .. } => {
                "save the complete file as UTF-8, then run the command again"
            }
            _ => return Vec::new(),
        };
        vec![hint.to_owned()]
    }

    /// Whether the database itself is damaged.
    pub fn is_corruption(&self) -> bool {
        let StoreError::Database { source, .. } = self else {
            return false;
        };
        matches!(
            source.sqlite_error_code(),
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
        )
    }

    /// An I/O error with its reason.
    pub(super) fn file(attempt: &'static str, path: &Path, error: &io::Error) -> StoreError {
        StoreError::File {
            attempt,
            path: path.to_owned(),
            reason: reason(error),
        }
    }

    /// A history that cannot be replayed.
    pub(super) fn replay(task: &TaskId, error: &ReplayError) -> StoreError {
        StoreError::Unreadable {
            what: "the history",
            task: task.clone(),
            reason: error.to_string(),
        }
    }

    /// An event that cannot be parsed, perhaps because a newer orange wrote it.
    pub(super) fn event(task: &TaskId, json: &str, error: &serde_json::Error) -> StoreError {
        match require_readable(json.as_bytes()) {
            Ok(()) => StoreError::json("an event", task, error),
            Err(source) => {
                let task = task.clone();
                StoreError::NewerEvents { task, source }
            }
        }
    }

    /// JSON that cannot be parsed.
    pub(super) fn json(what: &'static str, task: &TaskId, error: &serde_json::Error) -> StoreError {
        StoreError::Unreadable {
            what,
            task: task.clone(),
            reason: error.to_string(),
        }
    }
}

/// Fails if an event needs a newer format; what says nothing about its format needs none.
pub(super) fn require_readable(event: &[u8]) -> Result<(), NewerFormat> {
    match serde_json::from_slice::<EventHeader>(event) {
        Ok(header) => format::require_readable(header.format),
        Err(_) => Ok(()),
    }
}

/// Adds what was attempted to an `SQLite` error.
pub(super) fn failed(attempt: &'static str) -> impl FnOnce(rusqlite::Error) -> StoreError {
    move |source| StoreError::Database { attempt, source }
}

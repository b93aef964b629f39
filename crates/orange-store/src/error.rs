//! Why the store could not remember or recall something.

use std::io;
use std::path::{Path, PathBuf};

use orange_config::reason;
use orange_engine::apply::ReplayError;
use orange_engine::names::{BranchName, RunId, Status, TaskId, WorkspaceName};
use rusqlite::ErrorCode;

/// What to do about a database that does not read back.
const REBUILD: &str = "run `orange rebuild --move-aside`: it restores the database from the task directories, and keeps the old one";

/// What was attempted, on what, and what stood in the way.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("cannot {attempt} `{}`: {reason}", .path.display())]
    File {
        attempt: &'static str,
        path: PathBuf,
        reason: String,
    },
    /// `SQLite` says no.
    #[error("cannot {attempt} in the database: {source}")]
    Database {
        attempt: &'static str,
        /// What `SQLite` says.
        source: rusqlite::Error,
    },
    /// Another process writes, for longer than anybody should.
    #[error("cannot {attempt}: another process is writing to `{}`", .path.display())]
    Busy {
        attempt: &'static str,
        path: PathBuf,
    },
    /// There is nothing to read yet.
    #[error("cannot open the database `{}`: it does not exist", .path.display())]
    Missing {
        /// Where it would be.
        path: PathBuf,
    },
    /// There are tasks but no database; a new one would forget them.
    #[error("cannot open the database `{}`: it is missing, but `{}` holds tasks", .path.display(), .tasks.display())]
    Lost {
        /// Where it should be.
        path: PathBuf,
        tasks: PathBuf,
    },
    /// A newer orange wrote it.
    #[error("cannot open the database `{}`: its schema is {found}, and this orange knows up to {known}", .path.display())]
    Newer {
        path: PathBuf,
        /// Its schema.
        found: u32,
        /// The newest this program knows.
        known: u32,
    },
    /// An older orange wrote it, and reading must not change it.
    #[error("cannot read the database `{}`: its schema is {found} and has to become {known} first", .path.display())]
    Older {
        path: PathBuf,
        /// Its schema.
        found: u32,
        /// The one this program reads.
        known: u32,
    },
    /// Another program wrote it.
    #[error("cannot open `{}`: it is a database of another program", .path.display())]
    NotOurs { path: PathBuf },
    /// A rebuild put another database in its place.
    #[error("cannot {attempt}: the database `{}` was replaced meanwhile", .path.display())]
    Replaced {
        attempt: &'static str,
        path: PathBuf,
    },
    /// Commits would not be safe there.
    #[error("cannot keep the database in `{}`: it is on {kind}, where two processes can damage it", .path.display())]
    UnsafeFileSystem {
        /// The home.
        path: PathBuf,
        /// The kind of file system.
        kind: &'static str,
    },
    /// There is no such task.
    #[error("cannot find task `{task}`: there is none of that name")]
    UnknownTask { task: TaskId },
    /// There is such a task already.
    #[error("cannot create task `{task}`: there is one of that name")]
    DuplicateTask { task: TaskId },
    /// There is no such run.
    #[error("cannot find run `{run}` of task `{task}`: it was never planned")]
    UnknownRun { task: TaskId, run: RunId },
    /// There is no such workspace.
    #[error("cannot find workspace `{workspace}`: it is not in the pool")]
    UnknownWorkspace { workspace: WorkspaceName },
    /// What is to be recorded does not follow what is recorded.
    #[error("cannot record events of task `{task}`: version {found} where {expected} belongs")]
    Gap {
        task: TaskId,
        /// The version that belongs there.
        expected: u64,
        /// The version that was given.
        found: u64,
    },
    /// A task begins exactly once.
    #[error("cannot record events: {0}")]
    NoBeginning(&'static str),
    /// An import without the text that was imported.
    #[error("cannot record an import of task `{task}`: its text was not given")]
    ImportWithoutText { task: TaskId },
    /// What is stored does not read back.
    #[error("cannot read {what} of task `{task}`: {reason}")]
    Unreadable {
        what: &'static str,
        task: TaskId,
        reason: String,
    },
    /// A name that would lead out of its directory.
    #[error("cannot keep files of {what} `{name}`: that is no name for a directory")]
    BadName {
        /// What it names.
        what: &'static str,
        name: String,
    },
    /// A path that cannot be written into the database.
    #[error("cannot store the path `{}`: it is not UTF-8", .0.display())]
    PathNotText(PathBuf),
    /// Something else stands where TASK.md belongs.
    #[error("cannot put the file of task `{task}` at `{}`: a file is there already", .path.display())]
    Occupied { task: TaskId, path: PathBuf },
    /// A branch is one task's at a time.
    #[error("cannot give a task the branch `{branch}`: task `{task}` has it and is in `{status}`")]
    BranchTaken {
        branch: BranchName,
        task: TaskId,
        status: Status,
    },
    /// The file is in another worktree.
    #[error("cannot move the file of task `{task}` to `{}`: it is at `{}`", .wanted.display(), .path.display())]
    BoundElsewhere {
        task: TaskId,
        /// Where it should go.
        wanted: PathBuf,
        path: PathBuf,
    },
    /// The files know more than the database.
    #[error("cannot go on with `{}` of task `{task}`: it ends at version {file}, the database at {database}", .path.display())]
    HistoryAhead {
        task: TaskId,
        /// The history.
        path: PathBuf,
        /// The version of its last line.
        file: u64,
        /// The version the database has.
        database: u64,
    },
    /// The files know another last event than the database.
    #[error("cannot go on with task `{task}`: event {version} in `{}` is not the one in the database", .path.display())]
    HistoryDiffers {
        task: TaskId,
        /// The history.
        path: PathBuf,
        /// The version of its last line.
        version: u64,
    },
    /// The file changes while it is moved.
    #[error("cannot move `{}`: {reason}", .path.display())]
    Unsettled {
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
}

impl StoreError {
    /// What to do about it; each stands alone.
    pub fn hints(&self) -> Vec<String> {
        if let StoreError::BranchTaken { task, .. } = self {
            return vec![format!(
                "go on with that one, see `orange task show {task}`, or name another branch"
            )];
        }
        let hint = match self {
            StoreError::Busy { .. } | StoreError::Replaced { .. } => {
                "run the command again; what was recorded stays recorded"
            }
            StoreError::Missing { .. } => "create a first task with `orange task create`",
            StoreError::Lost { .. } => {
                "run `orange rebuild`: it restores the database from the task directories"
            }
            StoreError::HistoryAhead { .. } | StoreError::HistoryDiffers { .. } => {
                "the database has lost its last commits; run `orange rebuild --move-aside`: it restores the database from the task directories, and keeps the old one"
            }
            StoreError::Unreadable { .. } => REBUILD,
            error if error.is_damage() => REBUILD,
            StoreError::Database { source, .. } => match source.sqlite_error_code() {
                Some(ErrorCode::DiskFull) => "free some disk space, then run the command again",
                _ => return Vec::new(),
            },
            StoreError::Newer { .. } => {
                "install the newer orange that wrote it, or set `ORANGE_HOME` to another directory"
            }
            StoreError::Older { .. } => {
                "run a command that changes a task, such as `orange task create`: it brings the database up to date"
            }
            StoreError::NotOurs { .. } => {
                let elsewhere = "move that file away, or set `ORANGE_HOME` to another directory";
                let damaged = format!("if it was orange's own and is damaged, {REBUILD}");
                return vec![elsewhere.to_owned(), damaged];
            }
            StoreError::UnsafeFileSystem { .. } => {
                "set `ORANGE_HOME` to a directory on a local disk, for example `export ORANGE_HOME=/var/tmp/orange`"
            }
            StoreError::UnknownTask { .. } => "`orange task list` shows every task",
            StoreError::Occupied { .. } => {
                "move that file away with `git mv` or `mv`, or give the project another name for its task file"
            }
            StoreError::Unsettled { .. } => {
                "save the file whole, as UTF-8, then run the command again"
            }
            _ => return Vec::new(),
        };
        vec![hint.to_owned()]
    }

    /// Whether the database itself is damaged.
    pub fn is_damage(&self) -> bool {
        let StoreError::Database { source, .. } = self else {
            return false;
        };
        matches!(
            source.sqlite_error_code(),
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
        )
    }

    /// A failure of the system, as it is told.
    pub(super) fn file(attempt: &'static str, path: &Path, error: &io::Error) -> StoreError {
        StoreError::File {
            attempt,
            path: path.to_owned(),
            reason: reason(error),
        }
    }

    /// A history that does not replay.
    pub(super) fn replay(task: &TaskId, error: &ReplayError) -> StoreError {
        StoreError::Unreadable {
            what: "the history",
            task: task.clone(),
            reason: error.to_string(),
        }
    }

    /// JSON that does not read back.
    pub(super) fn json(what: &'static str, task: &TaskId, error: &serde_json::Error) -> StoreError {
        StoreError::Unreadable {
            what,
            task: task.clone(),
            reason: error.to_string(),
        }
    }
}

/// Says what was attempted when `SQLite` fails.
pub(super) fn failed(attempt: &'static str) -> impl FnOnce(rusqlite::Error) -> StoreError {
    move |source| StoreError::Database { attempt, source }
}

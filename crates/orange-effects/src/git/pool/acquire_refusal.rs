//! Why a task cannot have a workspace, and how to fix it.

use std::path::PathBuf;

use orange_engine::names::{BranchName, TaskId};

use crate::git::{Head, Operation, ReleaseResult, SlotRefusal};

/// Why a task cannot have the workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AcquireRefusal {
    /// The directory cannot be used.
    Slot(SlotRefusal),
    /// Tasks do not work on the default branch.
    DefaultBranch(BranchName),
    /// The repository tracks a file where the task's file would be.
    TaskFileTracked {
        /// The file's name; another can be configured.
        file: String,
    },
    /// The branch is checked out in another worktree, which was not changed.
    CheckedOutElsewhere(PathBuf),
    /// The branch is checked out in a worktree of orange, perhaps of another home.
    HasOtherWorkspace(PathBuf),
    /// Another task has the workspace.
    HasOtherTask(TaskId),
    /// The task's agent switched to another branch.
    OnAnotherBranch { head: Head },
    /// The workspace contains unsaved work.
    NotClean {
        head: Head,
        /// Files, submodules and repositories.
        paths: Vec<PathBuf>,
        /// The operations in progress.
        operations: Vec<Operation>,
    },
    /// git refuses to check the branch out because ignored files are in the way.
    IgnoredFilesInTheWay {
        worktree: PathBuf,
        /// git's message, on one line.
        message: String,
    },
    /// An earlier attempt began to release the workspace, and completing the release failed.
    NotReleased(Box<ReleaseResult>),
}

impl AcquireRefusal {
    /// How to fix it.
    pub fn hint(&self) -> String {
        match self {
            Self::Slot(SlotRefusal::Occupied(path) | SlotRefusal::NotOurs(path)) => {
                format!("move `{}` away, or use another workspace", path.display())
            }
            Self::Slot(SlotRefusal::Broken { path, reason }) => {
                format!(
                    "`{}`: {reason}; save what is in it, then remove it",
                    path.display()
                )
            }
            Self::Slot(refusal @ SlotRefusal::NotRegularFile(_)) => {
                format!("{refusal}, and git would block on it; remove it")
            }
            Self::DefaultBranch(branch) => format!(
                "`{branch}` is the default branch: choose another with \
                 `orange task update --branch <name>`"
            ),
            Self::TaskFileTracked { file } => format!(
                "the repository tracks a `{file}` of its own: set `task_file` of this project in \
                 `projects.json` in orange's home to another name"
            ),
            Self::CheckedOutElsewhere(path) => format!(
                "the branch is checked out in `{0}`: run `git -C '{0}' switch --detach`",
                path.display()
            ),
            Self::HasOtherWorkspace(path) => format!(
                "a task of orange, perhaps of another home, has the branch in `{}`: choose another \
                 with `orange task update --branch <name>`, or finish that task first",
                path.display()
            ),
            Self::HasOtherTask(task) => {
                format!("wait for task `{task}`, or use another workspace")
            }
            Self::OnAnotherBranch { .. } => {
                "run `orange task update --branch <name>` if the branch was renamed".to_owned()
            }
            Self::NotClean { paths, .. } => format!(
                "save what is in it, then clean it and detach HEAD ({} paths differ)",
                paths.len()
            ),
            Self::IgnoredFilesInTheWay { worktree, message } => format!(
                "ignored files in the free worktree `{}` are in the way: run `orange workspace gc \
                 --yes`, which moves them aside, or move them yourself ({message})",
                worktree.display()
            ),
            Self::NotReleased(_) => "check what blocks its release".to_owned(),
        }
    }
}

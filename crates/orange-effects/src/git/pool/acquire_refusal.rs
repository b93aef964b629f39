//! Why a task cannot have a workspace, and how to fix it.

use std::path::PathBuf;

use orange_engine::names::{BranchName, TaskId};

use crate::git::{Head, Operation, Released, SlotRefusal};

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
    /// Another task has it.
    Taken(TaskId),
    /// The task's agent switched to another branch.
    OnAnotherBranch { head: Head },
    /// It contains unsaved work.
    NotAtRest {
        head: Head,
        /// Files, submodules and repositories.
        paths: Vec<PathBuf>,
        /// The operations in progress.
        operations: Vec<Operation>,
    },
    /// git refuses to check the branch out, in its own words: ignored files are in the way.
    InTheWay(String),
    /// An earlier attempt began to release it, and completing that failed.
    NotReleased(Box<Released>),
}

impl AcquireRefusal {
    /// How to fix it.
    pub fn hint(&self) -> String {
        match self {
            Self::Slot(SlotRefusal::Occupied(path) | SlotRefusal::NotOurs(path)) => {
                format!(
                    "move `{}` away, or let another workspace be used",
                    path.display()
                )
            }
            Self::Slot(SlotRefusal::Broken { path, reason }) => {
                format!(
                    "`{}`: {reason}; save what is in it, then remove it",
                    path.display()
                )
            }
            Self::Slot(refusal @ SlotRefusal::NoFile(_)) => {
                format!("{refusal}, and git would wait for it; remove it")
            }
            Self::DefaultBranch(branch) => format!(
                "`{branch}` is the default branch: name another with \
                 `orange task update --branch <name>`"
            ),
            Self::TaskFileTracked { file } => format!(
                "the repository tracks a `{file}` of its own: configure another name for the \
                 task's file of this project"
            ),
            Self::CheckedOutElsewhere(path) => format!(
                "the branch is checked out in `{0}`: run `git -C '{0}' switch --detach`",
                path.display()
            ),
            Self::Taken(task) => {
                format!("wait for task `{task}`, or let another workspace be used")
            }
            Self::OnAnotherBranch { .. } => {
                "run `orange task update --branch <name>` if the branch was renamed".to_owned()
            }
            Self::NotAtRest { paths, .. } => format!(
                "save what is in it and leave it clean and detached ({} paths differ)",
                paths.len()
            ),
            Self::InTheWay(words) => format!("move these files away: {words}"),
            Self::NotReleased(_) => "look at what stands in the way of its release".to_owned(),
        }
    }
}

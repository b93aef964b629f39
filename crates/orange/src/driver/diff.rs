//! What a task has changed, for who reviews it.

use orange_engine::names::TaskId;

use super::{Driver, DriverError};
use crate::effects::git::{AskDiff, Difference, Extent};
use crate::store::Store;

impl Driver {
    /// How much a task has changed, uncommitted work included.
    pub fn extent(&self, task: &TaskId) -> Result<Extent, DriverError> {
        let store = Store::open_read_only(&self.home)?;
        let task = store.require(task)?.task;
        let held = store.workspace_of(&task.id)?;
        let (project, git) = self.repository_of(&task)?;
        let ask = AskDiff {
            branch: &task.branch,
            default: &project.default_branch,
            stat: true,
            colour: false,
        };
        Ok(match held {
            Some(held) => git.worktree(&held.path)?.extent(&ask)?,
            None => git.extent(&ask)?,
        })
    }

    /// The difference between a task's branch and where it began, uncommitted work included.
    pub fn diff(&self, task: &TaskId, stat: bool, colour: bool) -> Result<Difference, DriverError> {
        let store = Store::open_read_only(&self.home)?;
        let task = store.require(task)?.task;
        let held = store.workspace_of(&task.id)?;
        let (project, git) = self.repository_of(&task)?;
        let ask = AskDiff {
            branch: &task.branch,
            default: &project.default_branch,
            stat,
            colour,
        };
        Ok(match held {
            Some(held) => git.worktree(&held.path)?.diff(&ask)?,
            None => git.diff(&ask)?,
        })
    }
}

//! Tasks that do the same work with different agents.

use orange_engine::Task;
use orange_engine::language::workflow::{Kind, Trigger};
use orange_engine::names::{GroupName, TaskId};
use orange_store::RowFilter;

use crate::DriverError;
use crate::context::ids;
use crate::views::Views;

/// A task of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupMember {
    pub task: Task,
    /// Whether it has ended.
    pub is_finished: bool,
    /// Whether it was merged.
    pub is_merged: bool,
}

/// A name that no group has.
pub fn new_group_name() -> Result<GroupName, DriverError> {
    Ok(GroupName::new(ids::session()?))
}

impl Views {
    /// The task and all others of its group; only the task if it belongs to none.
    pub fn group_of(&self, id: &TaskId) -> Result<Vec<GroupMember>, DriverError> {
        let store = self.context.read_store()?;
        let task = store.require(id)?.task;
        let filter = RowFilter {
            project: Some(task.project.clone()),
            ..RowFilter::default()
        };
        let mut members = Vec::new();
        for row in store.rows(&filter)?.rows {
            // A task that was deleted meanwhile is not a member any more.
            let Some(stored) = store.load(&row.id)? else {
                continue;
            };
            let group = &stored.task.queueing.group;
            if row.id == *id || group.is_some() && *group == task.queueing.group {
                members.push(GroupMember {
                    is_merged: stored.task.entered.trigger == Some(Trigger::Merged),
                    task: stored.task,
                    is_finished: row.kind == Some(Kind::Terminal),
                });
            }
        }
        Ok(members)
    }
}

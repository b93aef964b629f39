//! What people and replicas read.

use crate::ids::TaskId;
use crate::ledger::Ledger;
use crate::message::{Change, Changes, Rest, TaskState, TaskView};
use crate::time::Timestamp;

impl Ledger {
    pub fn view(&self, now: Timestamp, id: &TaskId) -> Option<TaskView> {
        let task = self.tasks.get(id)?;
        let before = self.open_before(task);
        let state = match (&task.owner, task.rest) {
            (Some(owner), _) => TaskState::Held {
                runner: owner.runner.clone(),
                epoch: task.epoch,
            },
            _ if task.summary.ended => TaskState::Ended,
            (None, Rest::Idle) => TaskState::Idle,
            (None, Rest::Paused { until }) if now < until => TaskState::Paused { until },
            (None, _) if !before.is_empty() => TaskState::Blocked {
                after: before.into_iter().cloned().collect(),
            },
            (None, _) => TaskState::Offered,
        };
        Some(TaskView {
            task: id.clone(),
            project: task.needs.project.clone(),
            state,
            head: task.head(),
            summary: task.summary.clone(),
        })
    }

    /// At most `most` rows of the feed after a point.
    pub fn changes(&self, since: u64, most: usize) -> Changes {
        let rows = self.tasks.iter().flat_map(|(id, task)| {
            let rows = task.log.iter().filter(|it| it.sequence > since);
            rows.map(move |row| (id, row))
        });
        let mut rows: Vec<_> = rows.collect();
        rows.sort_by_key(|(_, row)| row.sequence);
        rows.truncate(most);
        let next = rows.last().map_or(since, |(_, row)| row.sequence);
        let changes = rows.into_iter().map(|(task, row)| Change {
            task: task.clone(),
            epoch: row.epoch,
            commit: row.commit.clone(),
        });
        Changes {
            rows: changes.collect(),
            next,
        }
    }
}

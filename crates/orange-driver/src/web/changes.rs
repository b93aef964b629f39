//! Which tasks have changed since a commit.

use orange_effects::folder_watch::FolderWatch;
use orange_engine::names::{Status, TaskId};
use orange_store::StoreError;
use serde::Serialize;

use crate::DriverError;
use crate::web::Web;

/// The most tasks that one answer names.
const MAX_CHANGES: usize = 1_000;

/// What commits have changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Commits {
    /// Tells the database from another one that replaced it, and that counts anew.
    pub database: (u64, u64),
    /// The number of the last commit.
    pub last: u64,
    /// The number of the last commit that was looked at; if there are many, the last ones are not.
    pub sequence: u64,
    pub commits: Vec<CommitReport>,
}

/// What one commit has changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CommitReport {
    pub sequence: u64,
    pub changes: Vec<ChangedTask>,
}

/// A task that was changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ChangedTask {
    pub task: TaskId,
    pub version: u64,
    pub status: Status,
}

impl Web {
    /// Gives a sign when the database may have changed.
    pub fn watch_changes(&self) -> FolderWatch {
        FolderWatch::new(self.context.home.path())
    }

    /// The commits after this one, in order.
    pub fn commits_after(&self, sequence: u64) -> Result<Commits, DriverError> {
        let store = match self.context.read_store() {
            Err(StoreError::Missing { .. }) => {
                return Ok(Commits::default());
            }
            store => store?,
        };
        // Read first: a commit that comes in between is in the next answer.
        let last = store.sequence()?;
        let mut rows = store.changes_after(sequence, MAX_CHANGES)?;
        let is_partial = rows.len() == MAX_CHANGES;
        if is_partial {
            // The last commit may not be complete.
            let incomplete = rows.last().map(|it| it.sequence);
            let complete = rows.iter().filter(|it| Some(it.sequence) != incomplete);
            // A single commit never changes that many tasks.
            rows = complete.cloned().collect();
        }
        let mut commits: Vec<CommitReport> = Vec::new();
        for row in rows {
            let change = ChangedTask {
                task: row.task,
                version: row.version,
                status: row.status,
            };
            match commits.last_mut() {
                Some(commit) if commit.sequence == row.sequence => commit.changes.push(change),
                _ => commits.push(CommitReport {
                    sequence: row.sequence,
                    changes: vec![change],
                }),
            }
        }
        let read = commits.last().map_or(sequence, |it| it.sequence);
        Ok(Commits {
            database: store.identity(),
            last,
            sequence: if is_partial { read } else { last.max(read) },
            commits,
        })
    }
}

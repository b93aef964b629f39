//! Finds tasks whose worktree is gone.

use std::collections::BTreeSet;

use orange_engine::names::{ProjectName, TaskId};
use orange_store::{Store, StoreError, TaskRow, WorkspaceState};

use crate::workspaces::kept::missing_worktree_notice;

/// Adds a warning for the user to the rows of tasks whose worktree is gone.
pub(super) fn add_missing_worktrees(store: &Store, rows: &mut [TaskRow]) -> Result<(), StoreError> {
    let projects: BTreeSet<ProjectName> = rows.iter().map(|row| row.project.clone()).collect();
    let mut tasks: BTreeSet<TaskId> = BTreeSet::new();
    for project in &projects {
        for record in store.workspaces(project)? {
            if let WorkspaceState::Bound(task) = record.state
                && !record.path.exists()
            {
                tasks.insert(task);
            }
        }
    }
    for row in rows.iter_mut().filter(|row| tasks.contains(&row.id)) {
        let notice = missing_worktree_notice(&row.id);
        // The end of an agent may have raised the same notice already.
        if !row.attention.contains(&notice) {
            row.attention.push(notice);
        }
    }
    Ok(())
}

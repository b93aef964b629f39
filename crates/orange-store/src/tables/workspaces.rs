//! The pool: which workspace is bound to which task.
//!
//! Invariant: a workspace has at most one task and a task at most one workspace. Two unique indexes
//! enforce it, and a reservation is part of the commit that needs it.

use std::path::PathBuf;

use orange_engine::effect::{Effect, EffectId, EffectOutcome};
use orange_engine::event::{Event, Fact};
use orange_engine::names::{ProjectName, TaskId, WorkspaceName};
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use crate::Store;
use crate::error::{StoreError, failed};

/// A slot of the pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkspaceRecord {
    pub name: WorkspaceName,
    pub project: ProjectName,
    /// Its number within the project.
    pub number: u32,
    pub path: PathBuf,
    pub state: WorkspaceState,
}

/// The state of a workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkspaceState {
    Free,
    /// It is reserved for this task.
    Reserved(TaskId),
    Bound(TaskId),
    /// It is left as it is and no longer used.
    Retired,
}

/// The answer to a reservation request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reservation {
    Reserved,
    /// It is not free; choose another.
    Taken {
        /// The task that holds it; `None` when it is retired.
        by: Option<TaskId>,
    },
}

const SELECT: &str = "SELECT name, project, number, path, task, state FROM workspaces";

impl Store {
    /// The workspaces of a project, ordered by number.
    pub fn workspaces(&self, project: &ProjectName) -> Result<Vec<WorkspaceRecord>, StoreError> {
        let sql = format!("{SELECT} WHERE project = ?1 ORDER BY number");
        let attempt = "read workspaces";
        let mut statement = self.connection.prepare(&sql).map_err(failed(attempt))?;
        let rows = statement
            .query_map([project.as_str()], record)
            .map_err(failed(attempt))?;
        rows.map(|row| row.map_err(failed(attempt))).collect()
    }

    /// The workspace that is reserved for a task or bound to it.
    pub fn workspace_of(&self, task: &TaskId) -> Result<Option<WorkspaceRecord>, StoreError> {
        held_by(&self.connection, task)
    }

    /// Every workspace that is bound to a task, in all projects.
    pub fn bound_workspaces(&self) -> Result<Vec<(TaskId, WorkspaceRecord)>, StoreError> {
        let sql = format!("{SELECT} WHERE state = 'bound' ORDER BY name");
        let attempt = "read workspaces";
        let mut statement = self.connection.prepare(&sql).map_err(failed(attempt))?;
        let rows = statement.query_map([], record).map_err(failed(attempt))?;
        let mut bound = Vec::new();
        for row in rows {
            let workspace = row.map_err(failed(attempt))?;
            if let WorkspaceState::Bound(task) = &workspace.state {
                bound.push((task.clone(), workspace));
            }
        }
        Ok(bound)
    }

    /// Adds a workspace to the pool; an existing one is unchanged.
    pub fn add_workspace(
        &mut self,
        name: &WorkspaceName,
        project: &ProjectName,
        number: u32,
        path: &std::path::Path,
    ) -> Result<(), StoreError> {
        let writing = self.write("add a workspace")?;
        insert(&writing.transaction, name, project, number, path)?;
        writing.commit()?;
        Ok(())
    }

    /// Reserves a free workspace for a task; a commit can do the same in its own transaction.
    pub fn reserve_workspace(
        &mut self,
        name: &WorkspaceName,
        task: &TaskId,
    ) -> Result<Reservation, StoreError> {
        let writing = self.write("reserve a workspace")?;
        let answer = reserve(&writing.transaction, name, task)?;
        if answer == Reservation::Reserved {
            writing.commit()?;
        }
        Ok(answer)
    }

    /// Takes a workspace that must not be changed out of the pool.
    pub fn retire_workspace(&mut self, name: &WorkspaceName) -> Result<(), StoreError> {
        let attempt = "retire a workspace";
        let writing = self.write(attempt)?;
        let changed = writing
            .transaction
            .execute(
                "UPDATE workspaces SET state = 'retired', task = NULL WHERE name = ?1",
                [name.as_str()],
            )
            .map_err(failed(attempt))?;
        if changed == 0 {
            let workspace = name.clone();
            return Err(StoreError::UnknownWorkspace { workspace });
        }
        writing.commit()?;
        Ok(())
    }

    /// Releases a workspace that was reserved but not used, or was retired and cleaned up. Returns
    /// `false`, without a change, if its state has changed since it was read.
    pub fn free_workspace(&mut self, found: &WorkspaceRecord) -> Result<bool, StoreError> {
        let attempt = "free a workspace";
        let (state, task) = match &found.state {
            WorkspaceState::Free => ("free", None),
            WorkspaceState::Reserved(task) => ("reserved", Some(task.as_str())),
            WorkspaceState::Bound(task) => ("bound", Some(task.as_str())),
            WorkspaceState::Retired => ("retired", None),
        };
        let writing = self.write(attempt)?;
        let changed = writing
            .transaction
            .execute(
                "UPDATE workspaces SET state = 'free', task = NULL
                 WHERE name = ?1 AND state = ?2 AND task IS ?3",
                params![found.name.as_str(), state, task],
            )
            .map_err(failed(attempt))?;
        writing.commit()?;
        Ok(changed == 1)
    }

    /// Removes from the pool a workspace whose worktree is gone, unless a task has it.
    pub fn forget_workspace(&mut self, name: &WorkspaceName) -> Result<(), StoreError> {
        let attempt = "remove a workspace";
        let writing = self.write(attempt)?;
        writing
            .transaction
            .execute(
                "DELETE FROM workspaces WHERE name = ?1 AND task IS NULL",
                [name.as_str()],
            )
            .map_err(failed(attempt))?;
        writing.commit()?;
        Ok(())
    }
}

/// The workspace that is reserved for a task or bound to it.
pub(crate) fn held_by(
    connection: &Connection,
    task: &TaskId,
) -> Result<Option<WorkspaceRecord>, StoreError> {
    let sql = format!("{SELECT} WHERE task = ?1");
    connection
        .query_row(&sql, [task.as_str()], record)
        .optional()
        .map_err(failed("read a workspace"))
}

/// Writes a free workspace.
pub(crate) fn insert(
    connection: &Connection,
    name: &WorkspaceName,
    project: &ProjectName,
    number: u32,
    path: &std::path::Path,
) -> Result<(), StoreError> {
    let path = path
        .to_str()
        .ok_or_else(|| StoreError::PathNotText(path.to_owned()))?;
    connection
        .execute(
            "INSERT INTO workspaces (name, project, number, path, state)
             VALUES (?1, ?2, ?3, ?4, 'free') ON CONFLICT (name) DO NOTHING",
            params![name.as_str(), project.as_str(), number, path],
        )
        .map_err(failed("add a workspace"))?;
    Ok(())
}

/// Reserves a workspace for a task that has none; if it is taken, returns by which task.
pub(crate) fn reserve(
    connection: &Connection,
    name: &WorkspaceName,
    task: &TaskId,
) -> Result<Reservation, StoreError> {
    let sql = format!("{SELECT} WHERE name = ?1");
    let found = connection
        .query_row(&sql, [name.as_str()], record)
        .optional()
        .map_err(failed("reserve a workspace"))?
        .ok_or_else(|| StoreError::UnknownWorkspace {
            workspace: name.clone(),
        })?;
    match found.state {
        WorkspaceState::Retired => Ok(Reservation::Taken { by: None }),
        WorkspaceState::Reserved(by) | WorkspaceState::Bound(by) if by != *task => {
            Ok(Reservation::Taken { by: Some(by) })
        }
        WorkspaceState::Reserved(_) | WorkspaceState::Bound(_) => Ok(Reservation::Reserved),
        WorkspaceState::Free => {
            // Another workspace may have been reserved for the task before a crash.
            connection
                .execute(
                    "UPDATE workspaces SET state = 'free', task = NULL
                     WHERE task = ?1 AND state = 'reserved'",
                    [task.as_str()],
                )
                .map_err(failed("reserve a workspace"))?;
            set_task(connection, name, task, "reserved")?;
            Ok(Reservation::Reserved)
        }
    }
}

fn set_task(
    connection: &Connection,
    name: &WorkspaceName,
    task: &TaskId,
    state: &str,
) -> Result<(), StoreError> {
    connection
        .execute(
            "UPDATE workspaces SET task = ?2, state = ?3
             WHERE name = ?1 AND (task IS NULL OR task = ?2)",
            params![name.as_str(), task.as_str(), state],
        )
        .map_err(failed("bind a workspace"))?;
    Ok(())
}

/// Applies an event to the workspaces.
pub(crate) fn derive<'effect>(
    connection: &Connection,
    task: &TaskId,
    event: &Event,
    effect: impl Fn(&EffectId) -> Option<&'effect Effect>,
) -> Result<(), StoreError> {
    let Fact::EffectDone {
        effect: id,
        outcome,
    } = &event.fact
    else {
        return Ok(());
    };
    match (effect(id), outcome) {
        (_, EffectOutcome::Bound(name)) => set_task(connection, name, task, "bound"),
        (Some(Effect::ReleaseWorkspace { workspace }), _) => {
            connection
                .execute(
                    "UPDATE workspaces SET task = NULL, state = 'free'
                     WHERE task = ?1 AND (?2 IS NULL OR name = ?2)",
                    params![task.as_str(), workspace.as_ref().map(WorkspaceName::as_str)],
                )
                .map_err(failed("free a workspace"))?;
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Binds a workspace again that the task holds according to its events.
pub(crate) fn restore(
    connection: &Connection,
    name: &WorkspaceName,
    task: &TaskId,
) -> Result<(), StoreError> {
    set_task(connection, name, task, "bound")
}

fn record(row: &Row<'_>) -> rusqlite::Result<WorkspaceRecord> {
    let task: Option<String> = row.get(4)?;
    let state: String = row.get(5)?;
    let state = match (state.as_str(), task) {
        ("reserved", Some(task)) => WorkspaceState::Reserved(TaskId::new(task)),
        ("bound", Some(task)) => WorkspaceState::Bound(TaskId::new(task)),
        ("retired", _) => WorkspaceState::Retired,
        _ => WorkspaceState::Free,
    };
    let (name, project, path): (String, String, String) = (row.get(0)?, row.get(1)?, row.get(3)?);
    Ok(WorkspaceRecord {
        name: WorkspaceName::new(name),
        project: ProjectName::new(project),
        number: row.get(2)?,
        path: PathBuf::from(path),
        state,
    })
}

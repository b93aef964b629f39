//! Removes a task that another machine may continue.

use orange_engine::names::TaskId;
use rusqlite::Connection;

use super::membership::{self, Membership};
use crate::Store;
use crate::error::{StoreError, failed};
use crate::tables::workspaces;

impl Store {
    /// Removes every row of a task, and changes the home's standing in the same transaction. Its
    /// directory is in the trash by then. Fails while a workspace is bound to the task.
    pub fn discard_task(
        &mut self,
        task: &TaskId,
        change: impl FnOnce(&mut Membership),
    ) -> Result<(), StoreError> {
        let attempt = "remove a task that another machine may continue";
        let writing = self.write(attempt)?;
        let connection = &writing.transaction;
        let mut known = membership::find(connection)?.ok_or(StoreError::NotJoined { attempt })?;
        if let Some(workspace) = workspaces::held_by(connection, task)? {
            return Err(StoreError::StillBound {
                task: task.clone(),
                workspace: workspace.name,
            });
        }
        for (table, column) in tables_of_tasks(connection)? {
            let sql = format!("DELETE FROM \"{table}\" WHERE \"{column}\" = ?1");
            connection
                .execute(&sql, [task.as_str()])
                .map_err(failed(attempt))?;
        }
        connection
            .execute("DELETE FROM tasks WHERE id = ?1", [task.as_str()])
            .map_err(failed(attempt))?;
        change(&mut known);
        membership::write(connection, &known)?;
        writing.commit()?;
        Ok(())
    }
}

/// The tables with rows of a task, each with the column that names it.
fn tables_of_tasks(connection: &Connection) -> Result<Vec<(String, String)>, StoreError> {
    let attempt = "list the tables of tasks";
    let sql = "SELECT tables.name, keys.\"from\"
               FROM sqlite_schema AS tables, pragma_foreign_key_list(tables.name) AS keys
               WHERE tables.type = 'table' AND keys.\"table\" = 'tasks'";
    let mut statement = connection.prepare(sql).map_err(failed(attempt))?;
    let rows = statement
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
        .map_err(failed(attempt))?;
    rows.map(|row| row.map_err(failed(attempt))).collect()
}

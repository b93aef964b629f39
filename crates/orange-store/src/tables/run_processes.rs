//! Finds runs by pid.

use rusqlite::params_from_iter;

use super::runs::{READ, RunPlace, RunRecord, SELECT, record};
use crate::Store;
use crate::error::{StoreError, failed};

impl Store {
    /// The runs started in a process with one of these pids, now or long ago.
    pub fn runs_of_processes(&self, pids: &[u32]) -> Result<Vec<RunRecord>, StoreError> {
        let sql = format!("{SELECT} WHERE pid IN ({})", placeholders(pids));
        self.select_by_pid(&sql, pids)
    }

    /// For each tmux server with one of these pids, the place of one run that was started on it.
    pub fn places_of_servers(&self, pids: &[u32]) -> Result<Vec<RunPlace>, StoreError> {
        let sql = format!(
            "{SELECT} WHERE tmux_pid IN ({}) GROUP BY tmux_socket, tmux_pid, tmux_started, boot_id",
            placeholders(pids)
        );
        let found = self.select_by_pid(&sql, pids)?.into_iter();
        Ok(found.filter_map(|run| run.place).collect())
    }

    fn select_by_pid(&self, sql: &str, pids: &[u32]) -> Result<Vec<RunRecord>, StoreError> {
        let mut statement = self.connection.prepare(sql).map_err(failed(READ))?;
        let rows = statement.query_map(params_from_iter(pids), record);
        let rows = rows.map_err(failed(READ))?;
        rows.map(|row| row.map_err(failed(READ))).collect()
    }
}

fn placeholders(values: &[u32]) -> String {
    vec!["?"; values.len()].join(", ")
}

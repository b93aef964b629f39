//! Gate commands: requested, answered, and used once.
//!
//! A result is valid for the status it was requested in and for the content of the worktree when
//! the command exited. Using a result removes it, because the next request needs a fresh one.

use orange_engine::input::CommandResult;
use orange_engine::names::TaskId;
use orange_engine::time::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use crate::Store;
use crate::error::{StoreError, failed};

/// A command whose result a gate needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GateCommand {
    pub command: Vec<String>,
    /// The version at which the task entered the status with the gate.
    pub entered: u64,
    /// The timeout in seconds.
    pub timeout: u64,
    /// The result; `None` until it has exited.
    pub answer: Option<GateResult>,
}

/// The result of a gate command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GateResult {
    pub result: CommandResult,
    /// The hash of the worktree's state when the command exited.
    pub state: String,
}

impl Store {
    /// The requested commands of a task, ordered by request time.
    pub fn gate_commands(&self, task: &TaskId) -> Result<Vec<GateCommand>, StoreError> {
        let mut statement = self
            .connection
            .prepare(
                "SELECT command, entered, timeout, result, state FROM gate_commands
                 WHERE task = ?1 ORDER BY wanted_at, command",
            )
            .map_err(failed("read the commands of gates"))?;
        let rows = statement
            .query_map([task.as_str()], raw_command)
            .map_err(failed("read the commands of gates"))?;
        let rows: Result<Vec<RawCommand>, _> = rows.collect();
        let rows = rows.map_err(failed("read the commands of gates"))?;
        rows.into_iter().map(|row| row.read(task)).collect()
    }

    /// Requests a new result of a command, unless the same request is already waiting for one.
    pub fn request_gate_command(
        &mut self,
        task: &TaskId,
        request: &GateCommand,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let command = text(task, &request.command)?;
        let writing = self.write("request a gate's command")?;
        writing
            .transaction
            .execute(
                "INSERT INTO gate_commands (task, command, entered, timeout, wanted_at)
                 VALUES (?1, ?2, ?3, ?4, ?5)
                 ON CONFLICT (task, command) DO UPDATE
                 SET entered = excluded.entered, timeout = excluded.timeout,
                     wanted_at = excluded.wanted_at, result = NULL, state = NULL
                 WHERE entered <> excluded.entered OR result IS NOT NULL",
                params![
                    task.as_str(),
                    command,
                    request.entered,
                    request.timeout,
                    now.to_string()
                ],
            )
            .map_err(failed("request a gate's command"))?;
        writing.commit()?;
        Ok(())
    }

    /// Records the result of a command, if it is still requested for the same status.
    pub fn record_gate_result(
        &mut self,
        task: &TaskId,
        request: &GateCommand,
        answer: &GateResult,
    ) -> Result<(), StoreError> {
        let command = text(task, &request.command)?;
        let result = text(task, &answer.result)?;
        let writing = self.write("record the result of a gate's command")?;
        writing
            .transaction
            .execute(
                "UPDATE gate_commands SET result = ?4, state = ?5
                 WHERE task = ?1 AND command = ?2 AND entered = ?3 AND result IS NULL",
                params![
                    task.as_str(),
                    command,
                    request.entered,
                    result,
                    answer.state
                ],
            )
            .map_err(failed("record the result of a gate's command"))?;
        writing.commit()?;
        Ok(())
    }

    /// Removes a command and returns it with its result; `None` when another process was faster.
    pub fn claim_gate_command(
        &mut self,
        task: &TaskId,
        command: &[String],
    ) -> Result<Option<GateCommand>, StoreError> {
        let command = text(task, &command)?;
        let writing = self.write("claim a gate's command")?;
        let found = take(&writing.transaction, task, &command)?;
        writing.commit()?;
        found.map(|found| found.read(task)).transpose()
    }
}

fn take(
    connection: &Connection,
    task: &TaskId,
    command: &str,
) -> Result<Option<RawCommand>, StoreError> {
    connection
        .query_row(
            "DELETE FROM gate_commands WHERE task = ?1 AND command = ?2
             RETURNING command, entered, timeout, result, state",
            params![task.as_str(), command],
            raw_command,
        )
        .optional()
        .map_err(failed("claim a gate's command"))
}

/// A row as stored.
struct RawCommand {
    command: String,
    entered: u64,
    timeout: u64,
    result: Option<String>,
    state: Option<String>,
}

fn raw_command(row: &Row<'_>) -> rusqlite::Result<RawCommand> {
    Ok(RawCommand {
        command: row.get(0)?,
        entered: row.get(1)?,
        timeout: row.get(2)?,
        result: row.get(3)?,
        state: row.get(4)?,
    })
}

impl RawCommand {
    fn read(self, task: &TaskId) -> Result<GateCommand, StoreError> {
        let garbled = |error| StoreError::json("a gate's command", task, &error);
        let result = self.result.map(|result| serde_json::from_str(&result));
        let result: Option<CommandResult> = result.transpose().map_err(garbled)?;
        let answer = result.zip(self.state);
        Ok(GateCommand {
            command: serde_json::from_str(&self.command).map_err(garbled)?,
            entered: self.entered,
            timeout: self.timeout,
            answer: answer.map(|(result, state)| GateResult { result, state }),
        })
    }
}

fn text(task: &TaskId, value: &impl serde::Serialize) -> Result<String, StoreError> {
    let text = serde_json::to_string(value);
    text.map_err(|error| StoreError::json("a gate's command", task, &error))
}

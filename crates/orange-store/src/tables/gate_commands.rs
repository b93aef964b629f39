//! Commands of gates: wanted, answered, and used once.
//!
//! An answer counts for the status it was wanted in and for what the worktree held when the command
//! had ended. Who uses it takes it away, because the next one who asks wants to know it anew.

use orange_engine::input::CommandResult;
use orange_engine::names::TaskId;
use orange_engine::time::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use crate::Store;
use crate::error::{StoreError, failed};

/// A command that a gate wants to know the end of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GateCommand {
    pub command: Vec<String>,
    /// The version at which the task entered the status that asks.
    pub entered: u64,
    /// Seconds it may take.
    pub timeout: u64,
    /// How it ended; nothing while it has not.
    pub answer: Option<GateAnswer>,
}

/// How a command of a gate ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GateAnswer {
    pub result: CommandResult,
    /// What the worktree held then.
    pub state: String,
}

impl Store {
    /// The commands of a task that somebody wants or wanted, in the order of wanting.
    pub fn gate_commands(&self, task: &TaskId) -> Result<Vec<GateCommand>, StoreError> {
        let mut statement = self
            .connection
            .prepare(
                "SELECT command, entered, timeout, result, state FROM gate_commands
                 WHERE task = ?1 ORDER BY wanted_at, command",
            )
            .map_err(failed("read the commands of gates"))?;
        let rows = statement
            .query_map([task.as_str()], texts)
            .map_err(failed("read the commands of gates"))?;
        let rows: Result<Vec<Texts>, _> = rows.collect();
        let rows = rows.map_err(failed("read the commands of gates"))?;
        rows.into_iter().map(|row| row.read(task)).collect()
    }

    /// Notes that somebody wants to know how a command ends, unless that is noted already.
    pub fn want_gate_command(
        &mut self,
        task: &TaskId,
        wanted: &GateCommand,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let command = text(task, &wanted.command)?;
        let writing = self.write("want a gate's command")?;
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
                    wanted.entered,
                    wanted.timeout,
                    now.to_string()
                ],
            )
            .map_err(failed("want a gate's command"))?;
        writing.commit()?;
        Ok(())
    }

    /// Notes how a command ended, if it is still wanted for the same status.
    pub fn answer_gate_command(
        &mut self,
        task: &TaskId,
        wanted: &GateCommand,
        answer: &GateAnswer,
    ) -> Result<(), StoreError> {
        let command = text(task, &wanted.command)?;
        let result = text(task, &answer.result)?;
        let writing = self.write("answer a gate's command")?;
        writing
            .transaction
            .execute(
                "UPDATE gate_commands SET result = ?4, state = ?5
                 WHERE task = ?1 AND command = ?2 AND entered = ?3 AND result IS NULL",
                params![task.as_str(), command, wanted.entered, result, answer.state],
            )
            .map_err(failed("answer a gate's command"))?;
        writing.commit()?;
        Ok(())
    }

    /// Takes a command and its answer away; nothing when somebody else was faster.
    pub fn take_gate_command(
        &mut self,
        task: &TaskId,
        command: &[String],
    ) -> Result<Option<GateCommand>, StoreError> {
        let command = text(task, &command)?;
        let writing = self.write("take a gate's command")?;
        let found = take(&writing.transaction, task, &command)?;
        writing.commit()?;
        found.map(|found| found.read(task)).transpose()
    }
}

fn take(
    connection: &Connection,
    task: &TaskId,
    command: &str,
) -> Result<Option<Texts>, StoreError> {
    connection
        .query_row(
            "DELETE FROM gate_commands WHERE task = ?1 AND command = ?2
             RETURNING command, entered, timeout, result, state",
            params![task.as_str(), command],
            texts,
        )
        .optional()
        .map_err(failed("take a gate's command"))
}

/// A row as it is kept.
struct Texts {
    command: String,
    entered: u64,
    timeout: u64,
    result: Option<String>,
    state: Option<String>,
}

fn texts(row: &Row<'_>) -> rusqlite::Result<Texts> {
    Ok(Texts {
        command: row.get(0)?,
        entered: row.get(1)?,
        timeout: row.get(2)?,
        result: row.get(3)?,
        state: row.get(4)?,
    })
}

impl Texts {
    fn read(self, task: &TaskId) -> Result<GateCommand, StoreError> {
        let garbled = |error| StoreError::json("a gate's command", task, &error);
        let result = self.result.map(|result| serde_json::from_str(&result));
        let result: Option<CommandResult> = result.transpose().map_err(garbled)?;
        let answer = result.zip(self.state);
        Ok(GateCommand {
            command: serde_json::from_str(&self.command).map_err(garbled)?,
            entered: self.entered,
            timeout: self.timeout,
            answer: answer.map(|(result, state)| GateAnswer { result, state }),
        })
    }
}

fn text(task: &TaskId, value: &impl serde::Serialize) -> Result<String, StoreError> {
    let text = serde_json::to_string(value);
    text.map_err(|error| StoreError::json("a gate's command", task, &error))
}

//! Runs: how each was started, where it runs, how it ended.

use std::collections::BTreeMap;
use std::path::PathBuf;

use orange_engine::effect::{Effect, EffectId, EffectOutcome, Spawn};
use orange_engine::event::{Event, Fact};
use orange_engine::evidence::Evidence;
use orange_engine::names::{HarnessName, RunId, TaskId};
use orange_engine::role::Role;
use orange_engine::time::Timestamp;
use rusqlite::{Connection, Row, Statement, params};
use serde::{Deserialize, Serialize};

use crate::Store;
use crate::error::{StoreError, failed};

/// One start of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
pub struct RunRecord {
    /// Its id; the store's key is the task and this id.
    pub id: RunId,
    /// The task.
    pub task: TaskId,
    /// Its role.
    pub role: Role,
    /// Its harness.
    pub harness: HarnessName,
    /// Whether it runs without a terminal.
    pub headless: bool,
    /// When it was planned.
    pub created_at: Timestamp,
    /// How it is started; absent until a performer has prepared it.
    pub setup: Option<RunSetup>,
    /// Where it runs; absent until it is started.
    pub place: Option<RunPlace>,
    /// How it ended; absent if orange killed it or it has not ended.
    pub evidence: Option<Evidence>,
    /// When it exited or was killed.
    pub ended_at: Option<Timestamp>,
}

/// How a run is started. Of its secret only the hash is kept, of its variables only the names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
pub struct RunSetup {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// The names of the variables it gets.
    pub environment: Vec<String>,
    /// The directory it starts in.
    pub directory: PathBuf,
    /// The hash of the secret that identifies its calls.
    pub secret_hash: String,
    /// When it was prepared.
    pub at: Timestamp,
}

/// Where a run is. A tmux id is valid only together with its server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
pub struct RunPlace {
    /// The socket of the tmux server.
    pub socket: PathBuf,
    /// The server's process.
    pub server: ProcessIdentity,
    /// The session's id.
    pub session: String,
    /// The window's id.
    pub window: String,
    /// The pane's id.
    pub pane: String,
    /// The run's own process.
    pub process: ProcessIdentity,
    /// The boot it belongs to.
    pub boot_id: String,
}

/// A process, identified by more than its reusable pid.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
pub struct ProcessIdentity {
    /// Its number.
    pub pid: u32,
    /// When it started, as the system reports it.
    pub started: String,
}

pub(crate) const SELECT: &str = "SELECT task, id, role, harness, headless, created_at,
    argv, environment, directory, secret_hash, prepared_at,
    tmux_socket, tmux_pid, tmux_started, session, window, pane, pid, process_started, boot_id,
    evidence, ended_at FROM runs";

/// What was attempted, for errors.
pub(crate) const READ: &str = "read runs";

impl Store {
    /// The runs of a task, in the order they were planned.
    pub fn runs(&self, task: &TaskId) -> Result<Vec<RunRecord>, StoreError> {
        let mut runs = self.runs_of([task])?;
        Ok(runs.remove(task).unwrap_or_default())
    }

    /// The runs of several tasks, each in the order they were planned; prepares one statement.
    pub fn runs_of<'a>(
        &self,
        tasks: impl IntoIterator<Item = &'a TaskId>,
    ) -> Result<BTreeMap<TaskId, Vec<RunRecord>>, StoreError> {
        let sql = format!("{SELECT} WHERE task = ?1 ORDER BY created_at, rowid");
        let mut statement = self.connection.prepare(&sql).map_err(failed(READ))?;
        let tasks = tasks.into_iter();
        tasks
            .map(|task| Ok((task.clone(), select(&mut statement, task.as_str())?)))
            .collect()
    }

    /// The runs with this id. New ids are unique across tasks, so there is normally at most one.
    pub fn runs_named(&self, run: &RunId) -> Result<Vec<RunRecord>, StoreError> {
        let sql = format!("{SELECT} WHERE id = ?1 ORDER BY task");
        let mut statement = self.connection.prepare(&sql).map_err(failed(READ))?;
        select(&mut statement, run.as_str())
    }

    /// Records how a run is about to be started.
    pub fn set_run_setup(
        &mut self,
        task: &TaskId,
        run: &RunId,
        setup: &RunSetup,
    ) -> Result<(), StoreError> {
        let writing = self.write_lazily("record how a run is started")?;
        write_setup(&writing.transaction, task, run, setup)?;
        writing.commit()?;
        Ok(())
    }

    /// Records where a run is.
    pub fn set_run_place(
        &mut self,
        task: &TaskId,
        run: &RunId,
        place: &RunPlace,
    ) -> Result<(), StoreError> {
        let writing = self.write_lazily("record where a run is")?;
        write_place(&writing.transaction, task, run, place)?;
        writing.commit()?;
        Ok(())
    }
}

fn write_setup(
    connection: &Connection,
    task: &TaskId,
    run: &RunId,
    setup: &RunSetup,
) -> Result<(), StoreError> {
    let json = |list: &[String]| {
        serde_json::to_string(list).map_err(|error| StoreError::json("a run", task, &error))
    };
    let changed = connection
        .execute(
            "UPDATE runs SET argv = ?3, environment = ?4, directory = ?5, secret_hash = ?6,
                 prepared_at = ?7 WHERE task = ?1 AND id = ?2",
            params![
                task.as_str(),
                run.as_str(),
                json(&setup.argv)?,
                json(&setup.environment)?,
                text_of(&setup.directory)?,
                setup.secret_hash,
                setup.at.to_string(),
            ],
        )
        .map_err(failed("record how a run is started"))?;
    require_one(changed, task, run)
}

fn write_place(
    connection: &Connection,
    task: &TaskId,
    run: &RunId,
    place: &RunPlace,
) -> Result<(), StoreError> {
    let changed = connection
        .execute(
            "UPDATE runs SET tmux_socket = ?3, tmux_pid = ?4, tmux_started = ?5, session = ?6,
                 window = ?7, pane = ?8, pid = ?9, process_started = ?10, boot_id = ?11
             WHERE task = ?1 AND id = ?2",
            params![
                task.as_str(),
                run.as_str(),
                text_of(&place.socket)?,
                place.server.pid,
                place.server.started,
                place.session,
                place.window,
                place.pane,
                place.process.pid,
                place.process.started,
                place.boot_id,
            ],
        )
        .map_err(failed("record where a run is"))?;
    require_one(changed, task, run)
}

fn require_one(changed: usize, task: &TaskId, run: &RunId) -> Result<(), StoreError> {
    if changed == 1 {
        return Ok(());
    }
    Err(StoreError::UnknownRun {
        task: task.clone(),
        run: run.clone(),
    })
}

fn text_of(path: &std::path::Path) -> Result<&str, StoreError> {
    path.to_str()
        .ok_or_else(|| StoreError::PathNotText(path.to_owned()))
}

/// Restores the setup and the place of a run; the run itself is derived from the events.
pub(crate) fn restore(connection: &Connection, record: &RunRecord) -> Result<(), StoreError> {
    if let Some(setup) = &record.setup {
        write_setup(connection, &record.task, &record.id, setup)?;
    }
    if let Some(place) = &record.place {
        write_place(connection, &record.task, &record.id, place)?;
    }
    Ok(())
}

/// Applies an event to the runs.
pub(crate) fn derive<'effect>(
    connection: &Connection,
    task: &TaskId,
    event: &Event,
    effect: impl Fn(&EffectId) -> Option<&'effect Effect>,
) -> Result<(), StoreError> {
    match &event.fact {
        Fact::EffectPlanned(planned) => match spawn_of(&planned.effect) {
            Some(spawn) => insert_run(connection, task, spawn, event.at),
            None => Ok(()),
        },
        Fact::EffectDone {
            effect: id,
            outcome,
        } => match effect(id) {
            Some(Effect::Kill(kill)) => {
                for run in &kill.runs {
                    record_end(connection, task, run, event.at, None)?;
                }
                Ok(())
            }
            Some(notify @ Effect::NotifyRole(_)) if *outcome != EffectOutcome::SpawnedInstead => {
                delete_unstarted(connection, task, notify)
            }
            _ => Ok(()),
        },
        Fact::EffectCancelled { effect: id } => match effect(id) {
            Some(cancelled) => delete_unstarted(connection, task, cancelled),
            None => Ok(()),
        },
        Fact::EffectRetried { effect: id } => match effect(id).and_then(spawn_of) {
            Some(spawn) => insert_run(connection, task, spawn, event.at),
            None => Ok(()),
        },
        Fact::RunEnded { run, evidence, .. } => {
            record_end(connection, task, run, event.at, Some(evidence))
        }
        _ => Ok(()),
    }
}

/// The run that an effect may start.
fn spawn_of(effect: &Effect) -> Option<&Spawn> {
    match effect {
        Effect::Spawn(spawn) => Some(spawn),
        Effect::NotifyRole(notify) => notify.spawn_if_absent.as_ref(),
        _ => None,
    }
}

fn insert_run(
    connection: &Connection,
    task: &TaskId,
    spawn: &Spawn,
    at: Timestamp,
) -> Result<(), StoreError> {
    connection
        .execute(
            "INSERT INTO runs (task, id, role, harness, headless, created_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO NOTHING",
            params![
                task.as_str(),
                spawn.run.as_str(),
                spawn.role.as_str(),
                spawn.harness.as_str(),
                spawn.headless,
                at.to_string(),
            ],
        )
        .map_err(failed("write a run"))?;
    Ok(())
}

fn delete_unstarted(
    connection: &Connection,
    task: &TaskId,
    effect: &Effect,
) -> Result<(), StoreError> {
    if let Some(spawn) = spawn_of(effect) {
        connection
            .execute(
                "DELETE FROM runs WHERE task = ?1 AND id = ?2
                 AND prepared_at IS NULL AND ended_at IS NULL",
                params![task.as_str(), spawn.run.as_str()],
            )
            .map_err(failed("delete a run"))?;
    }
    Ok(())
}

/// Records the end of a run; the first recorded end stands.
fn record_end(
    connection: &Connection,
    task: &TaskId,
    run: &RunId,
    at: Timestamp,
    evidence: Option<&Evidence>,
) -> Result<(), StoreError> {
    let evidence = evidence
        .map(serde_json::to_string)
        .transpose()
        .map_err(|error| StoreError::json("a run", task, &error))?;
    connection
        .execute(
            "UPDATE runs SET evidence = ?3, ended_at = ?4
             WHERE task = ?1 AND id = ?2 AND ended_at IS NULL",
            params![task.as_str(), run.as_str(), evidence, at.to_string()],
        )
        .map_err(failed("record that a run ended"))?;
    Ok(())
}

fn select(statement: &mut Statement<'_>, key: &str) -> Result<Vec<RunRecord>, StoreError> {
    let rows = statement.query_map([key], record).map_err(failed(READ))?;
    rows.map(|row| row.map_err(failed(READ))).collect()
}

pub(crate) fn record(row: &Row<'_>) -> rusqlite::Result<RunRecord> {
    let text = |name: &str| row.get::<_, String>(name);
    let instant = |name: &str| {
        let text: Option<String> = row.get(name)?;
        Ok::<_, rusqlite::Error>(text.and_then(|text| Timestamp::parse(&text).ok()))
    };
    let list = |name: &str| Ok::<_, rusqlite::Error>(parsed(&text(name)?));
    let setup = match instant("prepared_at")? {
        None => None,
        Some(at) => Some(RunSetup {
            argv: list("argv")?,
            environment: list("environment")?,
            directory: PathBuf::from(text("directory")?),
            secret_hash: text("secret_hash")?,
            at,
        }),
    };
    let process = |pid: &str, started: &str| {
        Ok::<_, rusqlite::Error>(ProcessIdentity {
            pid: row.get(pid)?,
            started: text(started)?,
        })
    };
    let place = match row.get::<_, Option<String>>("tmux_socket")? {
        None => None,
        Some(socket) => Some(RunPlace {
            socket: PathBuf::from(socket),
            server: process("tmux_pid", "tmux_started")?,
            session: text("session")?,
            window: text("window")?,
            pane: text("pane")?,
            process: process("pid", "process_started")?,
            boot_id: text("boot_id")?,
        }),
    };
    let evidence: Option<String> = row.get("evidence")?;
    Ok(RunRecord {
        id: RunId::new(text("id")?),
        task: TaskId::new(text("task")?),
        role: Role::from_name(&text("role")?),
        harness: HarnessName::new(text("harness")?),
        headless: row.get("headless")?,
        created_at: instant("created_at")?.unwrap_or_default(),
        setup,
        place,
        evidence: evidence.and_then(|json| serde_json::from_str(&json).ok()),
        ended_at: instant("ended_at")?,
    })
}

fn parsed(json: &str) -> Vec<String> {
    serde_json::from_str(json).unwrap_or_default()
}

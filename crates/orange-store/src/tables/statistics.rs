//! What was recorded within a window, for reports.
//!
//! Indexes find the rows, so what was recorded before the window is not read. The exception is the
//! status that an older task had when the window began.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use orange_engine::Workflow;
use orange_engine::budget::Money;
use orange_engine::effect::{Effect, EffectId};
use orange_engine::event::{Event, Fact};
use orange_engine::language::load;
use orange_engine::names::{HarnessName, ProjectName, RunId, TaskId};
use orange_engine::statistics::{COUNTED_TYPES, Records, SpendRecord, StatusEntry, TaskRecord};
use orange_engine::time::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, Statement, params};

use super::{tasks, texts};
use crate::Store;
use crate::error::{StoreError, failed};

const ATTEMPT: &str = "read what happened";

impl Store {
    /// What was recorded since this time, of one project or of all.
    pub fn records_since(
        &self,
        since: Timestamp,
        project: Option<&ProjectName>,
    ) -> Result<Records, StoreError> {
        // A deferred transaction is a snapshot: everything in it is as of one commit.
        let snapshot = self.connection.unchecked_transaction();
        let snapshot = snapshot.map_err(failed(ATTEMPT))?;
        let mut reader = Reader::new(&snapshot)?;
        let mut records = Records::default();
        let mut events = events(&snapshot, since)?;
        let mut spend = spend(&snapshot, since)?;
        let spenders = spend.iter().map(|record| record.task.clone());
        let ids: BTreeSet<TaskId> = events.keys().cloned().chain(spenders).collect();
        for id in ids {
            let events = events.remove(&id).unwrap_or_default();
            if let Some(record) = reader.record(&id, events, project)? {
                records.tasks.push(record);
            }
        }
        let known: BTreeSet<&TaskId> = records.tasks.iter().map(|it| &it.task).collect();
        spend.retain(|record| known.contains(&record.task));
        drop(known);
        records.spend = spend;
        Ok(records)
    }
}

/// The counted events since this time, by task and in the order of their versions.
fn events(
    connection: &Connection,
    since: Timestamp,
) -> Result<BTreeMap<TaskId, Vec<Event>>, StoreError> {
    let types = COUNTED_TYPES.map(|name| format!("'{name}'")).join(", ");
    let sql = format!(
        "SELECT task, event FROM events INDEXED BY events_by_time
         WHERE at >= ?1 AND event ->> 'type' IN ({types}) ORDER BY task, version"
    );
    let mut statement = connection.prepare(&sql).map_err(failed(ATTEMPT))?;
    let rows = statement.query_map([since.to_string()], |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))
    });
    let mut found: BTreeMap<TaskId, Vec<Event>> = BTreeMap::new();
    for row in rows.map_err(failed(ATTEMPT))? {
        let (task, json) = row.map_err(failed(ATTEMPT))?;
        let task = TaskId::new(task);
        let event = parse(&task, &json)?;
        found.entry(task).or_default().push(event);
    }
    Ok(found)
}

fn spend(connection: &Connection, since: Timestamp) -> Result<Vec<SpendRecord>, StoreError> {
    let sql = "SELECT task, run, harness, model, tokens, money FROM spend INDEXED BY spend_by_time
               WHERE counted_at >= ?1 ORDER BY task, run, day";
    let mut statement = connection.prepare(sql).map_err(failed(ATTEMPT))?;
    let rows = statement.query_map([since.to_string()], |row| {
        let number = |column: usize| -> rusqlite::Result<Option<u64>> {
            let number: Option<i64> = row.get(column)?;
            Ok(number.map(|it| u64::try_from(it).unwrap_or_default()))
        };
        Ok(SpendRecord {
            task: TaskId::new(row.get::<_, String>(0)?),
            run: RunId::new(row.get::<_, String>(1)?),
            harness: HarnessName::new(row.get::<_, String>(2)?),
            model: row.get(3)?,
            tokens: number(4)?,
            money: number(5)?.map(Money),
        })
    });
    let found: Result<Vec<SpendRecord>, _> = rows.map_err(failed(ATTEMPT))?.collect();
    found.map_err(failed(ATTEMPT))
}

/// Reads what else is needed of each task. It keeps its statements and the parsed workflows,
/// because there may be thousands of tasks.
struct Reader<'a> {
    connection: &'a Connection,
    task: Statement<'a>,
    before: Statement<'a>,
    planned: Statement<'a>,
    /// The workflows that were read so far, by the hash of their text; `None` if one is invalid.
    workflows: BTreeMap<String, Option<Arc<Workflow>>>,
}

impl<'a> Reader<'a> {
    fn new(connection: &'a Connection) -> Result<Reader<'a>, StoreError> {
        let prepare = |sql: &str| connection.prepare(sql).map_err(failed(ATTEMPT));
        Ok(Reader {
            connection,
            task: prepare(
                "SELECT tasks.project, tasks.workflow_hash, task_rows.summary
                 FROM tasks LEFT JOIN task_rows ON task_rows.task = tasks.id WHERE tasks.id = ?1",
            )?,
            before: prepare(
                "SELECT event FROM events WHERE task = ?1 AND version < ?2
                 AND event ->> 'type' IN ('status.changed', 'task.created')
                 ORDER BY version DESC LIMIT 1",
            )?,
            planned: prepare(
                "SELECT event FROM events WHERE task = ?1 AND version < ?2
                 AND event ->> 'type' = 'effect.planned' AND event ->> 'id' = ?3
                 ORDER BY version DESC LIMIT 1",
            )?,
            workflows: BTreeMap::new(),
        })
    }

    /// The record of a task; `None` if it belongs to another project.
    fn record(
        &mut self,
        id: &TaskId,
        events: Vec<Event>,
        only: Option<&ProjectName>,
    ) -> Result<Option<TaskRecord>, StoreError> {
        let row = self.task.query_row([id.as_str()], |row| {
            let summary: Option<String> = row.get(2)?;
            Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, summary))
        });
        let row = row.optional().map_err(failed(ATTEMPT))?;
        let Some((project, hash, summary)) = row else {
            return Ok(None);
        };
        if only.is_some_and(|only| only.as_str() != project) {
            return Ok(None);
        }
        let (summary, is_deleted) = match summary {
            Some(summary) => (summary, false),
            // A deleted task has no row.
            None => match tasks::find(self.connection, id)? {
                Some(task) => (task.summary, task.is_deleted),
                None => return Ok(None),
            },
        };
        Ok(Some(TaskRecord {
            task: id.clone(),
            project: ProjectName::new(project),
            summary,
            is_deleted,
            workflow: self.workflow(&hash)?,
            before: self.entry_before(id, &events)?,
            failed_effects: self.failed_effects(id, &events)?,
            events,
        }))
    }

    /// The status before the first of these events.
    fn entry_before(
        &mut self,
        id: &TaskId,
        events: &[Event],
    ) -> Result<Option<StatusEntry>, StoreError> {
        let Some(first) = events.first().filter(|it| it.version > 1) else {
            return Ok(None);
        };
        let json = self
            .before
            .query_row(params![id.as_str(), first.version], |row| {
                row.get::<_, String>(0)
            });
        let json = json.optional().map_err(failed(ATTEMPT))?;
        let event = json.map(|json| parse(id, &json)).transpose()?;
        Ok(event.and_then(|event| {
            let status = match event.fact {
                Fact::StatusChanged(change) => change.to,
                Fact::TaskCreated(created) => created.status,
                _ => return None,
            };
            let at = event.at;
            Some(StatusEntry { status, at })
        }))
    }

    fn failed_effects(
        &mut self,
        id: &TaskId,
        events: &[Event],
    ) -> Result<BTreeMap<EffectId, Effect>, StoreError> {
        let mut found = BTreeMap::new();
        for event in events {
            let Fact::EffectFailed { effect, .. } = &event.fact else {
                continue;
            };
            let json = self
                .planned
                .query_row(params![id.as_str(), event.version, effect.0], |row| {
                    row.get::<_, String>(0)
                });
            let json = json.optional().map_err(failed(ATTEMPT))?;
            let planned = json.map(|json| parse(id, &json)).transpose()?;
            if let Some(Fact::EffectPlanned(planned)) = planned.map(|event| event.fact) {
                found.insert(*effect, planned.effect);
            }
        }
        Ok(found)
    }

    fn workflow(&mut self, hash: &str) -> Result<Option<Arc<Workflow>>, StoreError> {
        if let Some(known) = self.workflows.get(hash) {
            return Ok(known.clone());
        }
        let text = texts::find(self.connection, hash)?;
        let workflow = text.and_then(|text| load(&text).workflow).map(Arc::new);
        self.workflows.insert(hash.to_owned(), workflow.clone());
        Ok(workflow)
    }
}

fn parse(task: &TaskId, json: &str) -> Result<Event, StoreError> {
    serde_json::from_str(json).map_err(|error| StoreError::event(task, json, &error))
}

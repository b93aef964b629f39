//! Who waits and who is under way, for the order of starts.

use std::collections::{BTreeMap, BTreeSet};

use orange_engine::language::load;
use orange_engine::language::workflow::Kind;
use orange_engine::names::{HarnessName, TaskId};
use orange_engine::schedule::{Limits, Place, Standing, Wait, in_the_way};
use orange_engine::{Task, Workflow};
use rusqlite::{Connection, OptionalExtension as _, Row, Statement};

use super::error::{StoreError, failed};
use super::{Store, parked, tasks, texts};
use crate::clock;

/// Reads where tasks stand, thousands of them in a row.
struct Reader<'a> {
    connection: &'a Connection,
    load: Statement<'a>,
    /// By the hash of their text; one that cannot be read is nothing.
    workflows: BTreeMap<String, Option<Workflow>>,
}

impl Store {
    /// Every task that has not ended, with what it waits for, all as of one commit.
    pub fn standings(&self) -> Result<Vec<Standing>, StoreError> {
        let snapshot = self.connection.unchecked_transaction();
        let snapshot = snapshot.map_err(failed("look at the queue"))?;
        standings(&snapshot)
    }

    /// Where a task stands, with what it comes after; nothing for one that is not there, or whose
    /// workflow cannot be read.
    pub fn standing(&self, task: &TaskId) -> Result<Option<(Standing, Vec<Standing>)>, StoreError> {
        let snapshot = self.connection.unchecked_transaction();
        let snapshot = snapshot.map_err(failed("look at the queue"))?;
        let mut reader = Reader::new(&snapshot)?;
        let Some(own) = reader.standing(task)? else {
            return Ok(None);
        };
        let mut dependencies = Vec::new();
        for after in &own.after {
            dependencies.extend(reader.standing(after)?);
        }
        Ok(Some((own, dependencies)))
    }

    /// Every task that may take up a place of a limit: all but those that only wait in a queue, or
    /// have ended and left nothing behind.
    pub fn holders(&self) -> Result<Vec<Standing>, StoreError> {
        let attempt = || failed("look at the queue");
        let snapshot = self.connection.unchecked_transaction();
        let snapshot = snapshot.map_err(attempt())?;
        let mut reader = Reader::new(&snapshot)?;
        let sql = "SELECT task, status, workflow_hash, runs <> '{}'
                   OR EXISTS (SELECT 1 FROM workspaces WHERE workspaces.task = task_rows.task)
                   OR EXISTS (SELECT 1 FROM pending WHERE pending.task = task_rows.task)
                   FROM task_rows";
        let mut statement = snapshot.prepare(sql).map_err(attempt())?;
        let mut rows = statement.query([]).map_err(attempt())?;
        let mut holders = Vec::new();
        // Thousands of neighbours wait in the same queue.
        let mut last = (String::new(), String::new(), false);
        while let Some(row) = rows.next().map_err(attempt())? {
            let text =
                |column: usize| -> rusqlite::Result<&str> { Ok(row.get_ref(column)?.as_str()?) };
            let read = || -> rusqlite::Result<_> { Ok((text(1)?, text(2)?, row.get(3)?)) };
            let (status, hash, has_something): (&str, &str, bool) = read().map_err(attempt())?;
            if (last.0.as_str(), last.1.as_str()) != (status, hash) {
                let workflow = reader.workflow(hash)?;
                let mut states = workflow.iter().flat_map(|it| it.states.iter());
                let state = states.find(|state| state.name.as_str() == status);
                let is_idle =
                    state.is_some_and(|it| matches!(it.kind, Kind::Queued | Kind::Terminal));
                last = (status.to_owned(), hash.to_owned(), is_idle);
            }
            if has_something || !last.2 {
                holders.extend(reader.standing(&id(row).map_err(attempt())?)?);
            }
        }
        Ok(holders)
    }

    /// The tasks that come after this one.
    pub fn dependents(&self, task: &TaskId) -> Result<Vec<Standing>, StoreError> {
        let sql = "SELECT task FROM dependencies WHERE after = ?1 ORDER BY task";
        self.standings_found(sql, task)
    }

    /// The harnesses that any task names.
    pub fn harnesses_in_use(&self) -> Result<BTreeSet<HarnessName>, StoreError> {
        let attempt = || failed("look which harnesses are in use");
        let mut found = BTreeSet::new();
        for field in ["$.harness", "$.review_harness"] {
            // From one name to the next by the index, however many tasks have the same.
            let sql = format!(
                "WITH RECURSIVE names (name) AS (
                     SELECT min(json_extract(snapshot, '{field}')) FROM tasks
                     UNION ALL
                     SELECT (SELECT min(json_extract(snapshot, '{field}')) FROM tasks
                             WHERE json_extract(snapshot, '{field}') > names.name)
                     FROM names WHERE names.name IS NOT NULL)
                 SELECT name FROM names WHERE name IS NOT NULL"
            );
            let mut statement = self.connection.prepare(&sql).map_err(attempt())?;
            let names = statement.query_map([], |row| row.get::<_, String>(0));
            for name in names.map_err(attempt())? {
                found.insert(HarnessName::new(name.map_err(attempt())?));
            }
        }
        Ok(found)
    }

    /// The tasks that are a part of this one.
    pub fn children(&self, parent: &TaskId) -> Result<Vec<Standing>, StoreError> {
        let sql = "SELECT id FROM tasks WHERE parent = ?1 ORDER BY id";
        self.standings_found(sql, parent)
    }

    fn standings_found(&self, sql: &str, related: &TaskId) -> Result<Vec<Standing>, StoreError> {
        let attempt = || failed("look for related tasks");
        let mut statement = self.connection.prepare(sql).map_err(attempt())?;
        let ids = statement
            .query_map([related.as_str()], id)
            .map_err(attempt())?;
        let ids: Result<Vec<TaskId>, _> = ids.collect();
        let mut reader = Reader::new(&self.connection)?;
        let mut found = Vec::new();
        for id in ids.map_err(attempt())? {
            found.extend(reader.standing(&id)?);
        }
        Ok(found)
    }
}

fn id(row: &Row<'_>) -> rusqlite::Result<TaskId> {
    Ok(TaskId::new(row.get::<_, String>(0)?))
}

/// What keeps a start of this task back, as of the transaction that would record it.
pub(super) fn obstacles(
    connection: &Connection,
    task: &Task,
    limits: &Limits,
) -> Result<Vec<Wait>, StoreError> {
    let mut limits = limits.clone();
    limits.parked = parked::parked(connection, clock::now())?;
    if task.queueing.after.is_empty() && limits == Limits::default() {
        return Ok(Vec::new());
    }
    let all = standings(connection)?;
    let own = all.iter().find(|it| it.task == task.id);
    Ok(own.map_or_else(Vec::new, |own| in_the_way(own, &all, &limits)))
}

/// Every task that has not ended or still has a workspace.
fn under_way(reader: &mut Reader<'_>) -> Result<Vec<TaskId>, StoreError> {
    let attempt = || failed("look at the queue");
    let sql = "SELECT r.task, r.status, r.workflow_hash, w.task FROM task_rows r
               LEFT JOIN workspaces w ON w.task = r.task";
    let mut statement = reader.connection.prepare(sql).map_err(attempt())?;
    let mut rows = statement.query([]).map_err(attempt())?;
    let mut wanted: Vec<TaskId> = Vec::new();
    while let Some(row) = rows.next().map_err(attempt())? {
        let read = || -> rusqlite::Result<(String, String, Option<String>)> {
            Ok((row.get(1)?, row.get(2)?, row.get(3)?))
        };
        let (status, hash, workspace) = read().map_err(attempt())?;
        let workflow = reader.workflow(&hash)?;
        let is_over = workflow.is_none_or(|it| {
            let mut states = it.states.iter();
            states.any(|state| state.name.as_str() == status && it.is_terminal(&state.name))
        });
        if !is_over || workspace.is_some() {
            wanted.push(id(row).map_err(attempt())?);
        }
    }
    Ok(wanted)
}

/// The same, with all that they wait for.
fn standings(connection: &Connection) -> Result<Vec<Standing>, StoreError> {
    let mut reader = Reader::new(connection)?;
    let mut wanted = under_way(&mut reader)?;
    let mut seen: BTreeSet<TaskId> = wanted.iter().cloned().collect();
    let mut found = Vec::new();
    while let Some(id) = wanted.pop() {
        let Some(standing) = reader.standing(&id)? else {
            continue;
        };
        if matches!(standing.place, Place::Queued(_)) {
            let unseen = standing
                .after
                .iter()
                .filter(|it| seen.insert((*it).clone()));
            wanted.extend(unseen.cloned());
        }
        found.push(standing);
    }
    Ok(found)
}

impl<'a> Reader<'a> {
    fn new(connection: &'a Connection) -> Result<Reader<'a>, StoreError> {
        let load = "SELECT snapshot, workflow_hash FROM tasks WHERE id = ?1";
        Ok(Reader {
            connection,
            load: connection
                .prepare(load)
                .map_err(failed("look at the queue"))?,
            workflows: BTreeMap::new(),
        })
    }

    fn standing(&mut self, id: &TaskId) -> Result<Option<Standing>, StoreError> {
        let read = |row: &Row<'_>| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?));
        let found = self.load.query_row([id.as_str()], read).optional();
        let Some((snapshot, hash)) = found.map_err(failed("look at the queue"))? else {
            return Ok(None);
        };
        let task = tasks::unfold(self.connection, id, &snapshot)?;
        let workflow = self.workflow(&hash)?;
        Ok(workflow.map(|workflow| Standing::of(workflow, &task)))
    }

    fn workflow(&mut self, hash: &str) -> Result<Option<&Workflow>, StoreError> {
        if !self.workflows.contains_key(hash) {
            let text = texts::find(self.connection, hash)?.unwrap_or_default();
            self.workflows.insert(hash.to_owned(), load(&text).workflow);
        }
        Ok(self.workflows.get(hash).and_then(Option::as_ref))
    }
}

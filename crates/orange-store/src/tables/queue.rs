//! Which tasks wait and which are active, to order starts.

use std::collections::{BTreeMap, BTreeSet};

use orange_config::clock;
use orange_engine::language::load;
use orange_engine::language::workflow::Kind;
use orange_engine::names::{HarnessName, Status, TaskId};
use orange_engine::schedule::{
    Limits, SchedulePlace, ScheduledTask, Wait, find_waits, goes_before,
};
use orange_engine::{Task, Workflow};
use rusqlite::{Connection, OptionalExtension as _, Row, Statement};

use super::{parkings, spend, tasks, texts};
use crate::Store;
use crate::error::{StoreError, failed};

/// Reads where tasks are in their schedule. It keeps its statement and the parsed workflows,
/// because there may be thousands of tasks.
struct Reader<'a> {
    connection: &'a Connection,
    load: Statement<'a>,
    /// The workflows that were read so far, by the hash of their text; `None` if one is invalid.
    workflows: BTreeMap<String, Option<Workflow>>,
}

/// The tasks that start before a queued task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueHead {
    /// The first of them, and the tasks that they wait for.
    pub tasks: Vec<ScheduledTask>,
    /// Whether these are all that start before it.
    pub is_complete: bool,
}

impl Store {
    /// Every task that has not ended or still has a workspace, and every task that one of them
    /// waits for, all as of one commit.
    pub fn standings(&self) -> Result<Vec<ScheduledTask>, StoreError> {
        let snapshot = self.connection.unchecked_transaction();
        let snapshot = snapshot.map_err(failed("read the queue"))?;
        standings(&snapshot)
    }

    /// A task and the tasks that it waits for; `None` if the task does not exist or its workflow
    /// cannot be read.
    pub fn standing(
        &self,
        task: &TaskId,
    ) -> Result<Option<(ScheduledTask, Vec<ScheduledTask>)>, StoreError> {
        let snapshot = self.connection.unchecked_transaction();
        let snapshot = snapshot.map_err(failed("read the queue"))?;
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

    /// The first tasks that start before a queued task, without gaps. Reads at most `most` tasks of
    /// each queue.
    pub fn queued_before(&self, own: &ScheduledTask, most: usize) -> Result<QueueHead, StoreError> {
        let snapshot = self.connection.unchecked_transaction();
        let snapshot = snapshot.map_err(failed("read the queue"))?;
        queued_before(&snapshot, own, most)
    }

    /// Every task that may count towards a limit: all but those that only wait in a queue, or have
    /// ended and left nothing behind.
    pub fn tasks_under_limits(&self) -> Result<Vec<ScheduledTask>, StoreError> {
        let snapshot = self.connection.unchecked_transaction();
        let snapshot = snapshot.map_err(failed("read the queue"))?;
        tasks_under_limits(&snapshot)
    }

    /// The tasks that depend on this one.
    pub fn dependents(&self, task: &TaskId) -> Result<Vec<ScheduledTask>, StoreError> {
        let sql = "SELECT task FROM dependencies WHERE after = ?1 ORDER BY task";
        self.select_standings(sql, task)
    }

    /// The harnesses that any task uses.
    pub fn harnesses_in_use(&self) -> Result<BTreeSet<HarnessName>, StoreError> {
        let attempt = || failed("read which harnesses are in use");
        let mut found = BTreeSet::new();
        for field in ["$.harness", "$.review_harness"] {
            // Jumps from one name to the next by the index, however many tasks share a name.
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

    /// The subtasks of this task.
    pub fn children(&self, parent: &TaskId) -> Result<Vec<ScheduledTask>, StoreError> {
        let sql = "SELECT id FROM tasks WHERE parent = ?1 ORDER BY id";
        self.select_standings(sql, parent)
    }

    fn select_standings(
        &self,
        sql: &str,
        related: &TaskId,
    ) -> Result<Vec<ScheduledTask>, StoreError> {
        let attempt = || failed("find related tasks");
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

/// See [`Store::queued_before`].
fn queued_before(
    connection: &Connection,
    own: &ScheduledTask,
    most: usize,
) -> Result<QueueHead, StoreError> {
    let attempt = || failed("read the queue");
    let mut reader = Reader::new(connection)?;
    let mut queues = Vec::new();
    for (status, hash) in statuses(connection).map_err(attempt())? {
        let workflow = reader.workflow(&hash)?;
        let state = workflow.and_then(|it| it.state(&Status::new(&*status)));
        if state.is_some_and(|it| it.kind == Kind::Queued) {
            queues.push((status, hash));
        }
    }
    // The expressions are those of the index.
    let sql = "SELECT id FROM tasks WHERE status = ?1 AND workflow_hash = ?2
               ORDER BY coalesce(json_extract(snapshot, '$.priority'), 0) DESC,
                   json_extract(snapshot, '$.entered.at'), id";
    let mut in_order = connection.prepare(sql).map_err(attempt())?;
    let mut first: Vec<ScheduledTask> = Vec::new();
    let mut last_read: Vec<ScheduledTask> = Vec::new();
    for queue in queues {
        let mut ids = in_order.query(queue).map_err(attempt())?;
        let mut found = 0;
        while let Some(row) = ids.next().map_err(attempt())? {
            let queued = reader.standing(&id(row).map_err(attempt())?)?;
            let Some(queued) = queued.filter(|it| goes_before(it, own)) else {
                break;
            };
            found += 1;
            if found == most {
                last_read.push(queued.clone());
            }
            first.push(queued);
            if found == most {
                break;
            }
        }
    }
    // What comes after the last task that was read of one queue may come after unread ones.
    first.retain(|it| !last_read.iter().any(|last| goes_before(last, it)));
    let mut tasks = Vec::new();
    for queued in first {
        for after in &queued.after {
            tasks.extend(reader.standing(after)?);
        }
        tasks.push(queued);
    }
    Ok(QueueHead {
        tasks,
        is_complete: last_read.is_empty(),
    })
}

/// See [`Store::tasks_under_limits`].
fn tasks_under_limits(connection: &Connection) -> Result<Vec<ScheduledTask>, StoreError> {
    let attempt = || failed("read the queue");
    let mut reader = Reader::new(connection)?;
    let mut ids = BTreeSet::new();
    let mut collect = |sql: &str, values: &[&str]| -> rusqlite::Result<()> {
        let mut statement = connection.prepare(sql)?;
        for found in statement.query_map(rusqlite::params_from_iter(values), id)? {
            ids.insert(found?);
        }
        Ok(())
    };
    collect(
        "SELECT task FROM workspaces WHERE task IS NOT NULL
         UNION SELECT task FROM pending
         UNION SELECT task FROM task_rows WHERE runs <> '{}'",
        &[],
    )
    .map_err(attempt())?;
    for (status, hash) in statuses(connection).map_err(attempt())? {
        let workflow = reader.workflow(&hash)?;
        let mut states = workflow.iter().flat_map(|it| it.states.iter());
        let state = states.find(|state| state.name.as_str() == status);
        let is_idle = state.is_some_and(|it| matches!(it.kind, Kind::Queued | Kind::Terminal));
        if !is_idle {
            let sql = "SELECT task FROM task_rows WHERE status = ?1 AND workflow_hash = ?2";
            collect(sql, &[&status, &hash]).map_err(attempt())?;
        }
    }
    let mut holders = Vec::new();
    for task in ids {
        holders.extend(reader.standing(&task)?);
    }
    Ok(holders)
}

/// The statuses that tasks are in, each with its workflow; jumps from one to the next by the index,
/// however many tasks share a status.
fn statuses(connection: &Connection) -> rusqlite::Result<Vec<(String, String)>> {
    let sql = "SELECT status, workflow_hash FROM task_rows
               WHERE (status, workflow_hash) > (?1, ?2)
               ORDER BY status, workflow_hash LIMIT 1";
    let mut next = connection.prepare(sql)?;
    let mut found: Vec<(String, String)> = Vec::new();
    loop {
        let last = found
            .last()
            .map(|(status, hash)| (status.as_str(), hash.as_str()));
        let row = next.query_row(last.unwrap_or_default(), |row| {
            Ok((row.get(0)?, row.get(1)?))
        });
        match row.optional()? {
            Some(row) => found.push(row),
            None => return Ok(found),
        }
    }
}

fn id(row: &Row<'_>) -> rusqlite::Result<TaskId> {
    Ok(TaskId::new(row.get::<_, String>(0)?))
}

/// What holds back a start of this task, as of the transaction that would record it.
pub(crate) fn start_blockers(
    connection: &Connection,
    task: &Task,
    limits: &Limits,
) -> Result<Vec<Wait>, StoreError> {
    let mut limits = limits.clone();
    limits.parked = parkings::parkings(connection, clock::now())?;
    if !limits.budget.is_empty() {
        limits.budget.spent = spend::spent(connection, clock::now())?;
    }
    if task.queueing.after.is_empty() && limits == Limits::default() {
        return Ok(Vec::new());
    }
    // Tasks that only wait in a queue hold back nothing, and there may be thousands of them.
    let mut all = tasks_under_limits(connection)?;
    // The list may lack this task and those that it waits for.
    let mut reader = Reader::new(connection)?;
    for id in task.queueing.after.iter().chain([&task.id]) {
        if all.iter().all(|it| it.task != *id) {
            all.extend(reader.standing(id)?);
        }
    }
    let own = all.iter().find(|it| it.task == task.id);
    Ok(own.map_or_else(Vec::new, |own| find_waits(own, &all, &limits)))
}

/// Every task that has not ended or still has a workspace.
fn unfinished_tasks(reader: &mut Reader<'_>) -> Result<Vec<TaskId>, StoreError> {
    let attempt = || failed("read the queue");
    let sql = "SELECT r.task, r.status, r.workflow_hash, w.task FROM task_rows r
               LEFT JOIN workspaces w ON w.task = r.task";
    let mut statement = reader.connection.prepare(sql).map_err(attempt())?;
    let mut rows = statement.query([]).map_err(attempt())?;
    let mut required: Vec<TaskId> = Vec::new();
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
            required.push(id(row).map_err(attempt())?);
        }
    }
    Ok(required)
}

/// Where every unfinished task is in its schedule, and every task that one of them waits for.
fn standings(connection: &Connection) -> Result<Vec<ScheduledTask>, StoreError> {
    let mut reader = Reader::new(connection)?;
    let mut required = unfinished_tasks(&mut reader)?;
    let mut seen: BTreeSet<TaskId> = required.iter().cloned().collect();
    let mut found = Vec::new();
    while let Some(id) = required.pop() {
        let Some(standing) = reader.standing(&id)? else {
            continue;
        };
        if matches!(standing.place, SchedulePlace::Queued(_)) {
            let unseen = standing
                .after
                .iter()
                .filter(|it| seen.insert((*it).clone()));
            required.extend(unseen.cloned());
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
            load: connection.prepare(load).map_err(failed("read the queue"))?,
            workflows: BTreeMap::new(),
        })
    }

    fn standing(&mut self, id: &TaskId) -> Result<Option<ScheduledTask>, StoreError> {
        let read = |row: &Row<'_>| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?));
        let found = self.load.query_row([id.as_str()], read).optional();
        let Some((snapshot, hash)) = found.map_err(failed("read the queue"))? else {
            return Ok(None);
        };
        let task = tasks::task_of_snapshot(self.connection, id, &snapshot)?;
        let workflow = self.workflow(&hash)?;
        Ok(workflow.map(|workflow| ScheduledTask::of(workflow, &task)))
    }

    fn workflow(&mut self, hash: &str) -> Result<Option<&Workflow>, StoreError> {
        if !self.workflows.contains_key(hash) {
            let text = texts::find(self.connection, hash)?.unwrap_or_default();
            self.workflows.insert(hash.to_owned(), load(&text).workflow);
        }
        Ok(self.workflows.get(hash).and_then(Option::as_ref))
    }
}

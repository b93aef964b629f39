//! Who waits and who is under way, for the order of starts.

use std::collections::{BTreeMap, BTreeSet};

use orange_engine::language::load;
use orange_engine::names::{HarnessName, TaskId};
use orange_engine::schedule::{Limits, Place, Standing, Wait, in_the_way};
use orange_engine::{Task, Workflow};
use rusqlite::{Connection, Row};

use super::error::{StoreError, failed};
use super::{Store, parked, tasks, texts};
use crate::clock;

/// Workflows by the hash of their text; one that cannot be read is nothing.
#[derive(Default)]
struct Workflows(BTreeMap<String, Option<Workflow>>);

impl Store {
    /// Every task that has not ended, with what it waits for, all as of one commit.
    pub fn standings(&self) -> Result<Vec<Standing>, StoreError> {
        let snapshot = self.connection.unchecked_transaction();
        let snapshot = snapshot.map_err(failed("look at the queue"))?;
        standings(&snapshot)
    }

    /// The harnesses that tasks which have not ended may start agents on.
    pub fn harnesses_in_use(&self) -> Result<BTreeSet<HarnessName>, StoreError> {
        let mut found = BTreeSet::new();
        for id in under_way(&self.connection, &mut Workflows::default())? {
            if let Some(task) = tasks::find(&self.connection, &id)? {
                found.extend([task.harness, task.review_harness]);
            }
        }
        Ok(found)
    }

    /// The tasks that are a part of this one.
    pub fn children(&self, parent: &TaskId) -> Result<Vec<Standing>, StoreError> {
        let attempt = || failed("look for children");
        let sql = "SELECT id FROM tasks WHERE parent = ?1 ORDER BY id";
        let mut statement = self.connection.prepare(sql).map_err(attempt())?;
        let ids = statement
            .query_map([parent.as_str()], id)
            .map_err(attempt())?;
        let ids: Result<Vec<TaskId>, _> = ids.collect();
        let mut workflows = Workflows::default();
        let mut found = Vec::new();
        for id in ids.map_err(attempt())? {
            found.extend(standing(&self.connection, &id, &mut workflows)?);
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
fn under_way(
    connection: &Connection,
    workflows: &mut Workflows,
) -> Result<Vec<TaskId>, StoreError> {
    let attempt = || failed("look at the queue");
    let sql = "SELECT r.task, r.status, r.workflow_hash, w.task FROM task_rows r
               LEFT JOIN workspaces w ON w.task = r.task";
    let mut statement = connection.prepare(sql).map_err(attempt())?;
    let mut rows = statement.query([]).map_err(attempt())?;
    let mut wanted: Vec<TaskId> = Vec::new();
    while let Some(row) = rows.next().map_err(attempt())? {
        let read = || -> rusqlite::Result<(String, String, Option<String>)> {
            Ok((row.get(1)?, row.get(2)?, row.get(3)?))
        };
        let (status, hash, workspace) = read().map_err(attempt())?;
        let workflow = workflows.find(connection, &hash)?;
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
    let mut workflows = Workflows::default();
    let mut wanted = under_way(connection, &mut workflows)?;
    let mut seen: BTreeSet<TaskId> = wanted.iter().cloned().collect();
    let mut found = Vec::new();
    while let Some(id) = wanted.pop() {
        let Some(standing) = standing(connection, &id, &mut workflows)? else {
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

fn standing(
    connection: &Connection,
    id: &TaskId,
    workflows: &mut Workflows,
) -> Result<Option<Standing>, StoreError> {
    let Some(task) = tasks::find(connection, id)? else {
        return Ok(None);
    };
    let sql = "SELECT workflow_hash FROM tasks WHERE id = ?1";
    let hash = connection.query_row(sql, [id.as_str()], |row| row.get::<_, String>(0));
    let hash = hash.map_err(failed("look at the queue"))?;
    let workflow = workflows.find(connection, &hash)?;
    Ok(workflow.map(|workflow| Standing::of(workflow, &task)))
}

impl Workflows {
    fn find(
        &mut self,
        connection: &Connection,
        hash: &str,
    ) -> Result<Option<&Workflow>, StoreError> {
        if !self.0.contains_key(hash) {
            let text = texts::find(connection, hash)?.unwrap_or_default();
            self.0.insert(hash.to_owned(), load(&text).workflow);
        }
        Ok(self.0.get(hash).and_then(Option::as_ref))
    }
}

//! What a task list shows: small rows beside the snapshots.
//!
//! A row is written in the same transaction as its snapshot.

use std::collections::{BTreeMap, BTreeSet};

use orange_engine::attention::{Need, need, working_roles};
use orange_engine::language::load;
use orange_engine::language::workflow::{Kind, State};
use orange_engine::names::{FieldName, ProjectName, Status, TaskId};
use orange_engine::role::Role;
use orange_engine::task::Run;
use orange_engine::time::Timestamp;
use orange_engine::{Task, Workflow};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row, params};
use serde::de::DeserializeOwned;

use super::{tasks, texts};
use crate::Store;
use crate::error::{StoreError, failed};

/// The field in which the shipped workflows count their reviews.
pub const REVIEW_ROUND_FIELD: &str = "review_round";

/// Shown for a task whose row cannot be read.
const DAMAGED: &str = "its row in the database is damaged; `orange task show` shows what is known";

/// What a list shows of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskRow {
    pub id: TaskId,
    pub project: ProjectName,
    pub status: Status,
    /// The kind of the status; `None` when its workflow is no longer valid.
    pub kind: Option<Kind>,
    /// What this status needs from the user.
    pub need: Option<Need>,
    /// The roles for whose work this status waits.
    pub working_roles: Vec<Role>,
    /// The roles that this status expects and whose agents can be respawned in it.
    pub respawnable: Vec<Role>,
    pub branch: String,
    pub summary: String,
    /// The number of reviews so far.
    pub round: i64,
    /// Since when it is in this status; `None` when unknown.
    pub entered_at: Option<Timestamp>,
    /// Why it needs the user's attention.
    pub attention: Vec<String>,
    /// The latest run of each role.
    pub runs: BTreeMap<Role, Run>,
    /// The subtasks it waits for; zero where it does not wait.
    pub children: ChildCount,
    /// The task that it is a part of.
    pub parent: Option<TaskId>,
}

/// How many subtasks a task has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChildCount {
    pub ended: usize,
    pub all: usize,
}

impl TaskRow {
    /// The status, and for a task that waits for its subtasks how many have ended.
    pub fn status_text(&self) -> String {
        let ChildCount { ended, all } = self.children;
        match all {
            0 => self.status.to_string(),
            _ => format!("{} ({ended}/{all} done)", self.status),
        }
    }

    /// A row for a deleted task; the database keeps none for it. Only a finished task can be
    /// deleted.
    pub fn of_deleted(task: &Task) -> TaskRow {
        TaskRow {
            id: task.id.clone(),
            project: task.project.clone(),
            status: task.status.clone(),
            kind: Some(Kind::Terminal),
            need: None,
            working_roles: Vec::new(),
            respawnable: Vec::new(),
            branch: task.branch.to_string(),
            summary: task.summary.clone(),
            round: task.value(&FieldName::new(REVIEW_ROUND_FIELD)),
            entered_at: Some(task.entered.at),
            attention: Vec::new(),
            runs: BTreeMap::new(),
            children: ChildCount::default(),
            parent: task.queueing.parent.clone(),
        }
    }

    /// Whether an agent that the status expects is missing and can be respawned; one that the user
    /// stopped does not count.
    pub fn is_agent_missing(&self) -> bool {
        let is_gone = |role: &Role| match self.runs.get(role) {
            None => true,
            Some(run) => run.state.has_ended() && !run.state.is_stopped(),
        };
        self.respawnable.iter().any(is_gone)
    }
}

/// Which rows to return; the default is all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowFilter {
    pub project: Option<ProjectName>,
    pub status: Option<Status>,
    /// Leaves out those that have ended, unless they need the user's attention.
    pub without_ended: bool,
    /// Tasks to include for another reason, even when they have ended.
    pub extra_tasks: BTreeSet<TaskId>,
}

/// Rows as of one commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskRows {
    /// The last commit it includes.
    pub sequence: u64,
    /// The rows, ordered by id.
    pub rows: Vec<TaskRow>,
}

/// The rows written since an earlier commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedRows {
    /// The last commit it includes.
    pub sequence: u64,
    pub rows: Vec<TaskRow>,
    /// The tasks that no longer have a row.
    pub removed: Vec<TaskId>,
}

/// What a workflow says about a status; only the name if the workflow is no longer valid.
#[derive(Clone, Debug)]
struct KnownStatus {
    name: Status,
    kind: Option<Kind>,
    need: Option<Need>,
    working_roles: Vec<Role>,
    respawnable: Vec<Role>,
}

/// The statuses of each workflow, by the hash of its text. Both are few, so a list is fast enough.
#[derive(Debug, Default)]
pub struct StatusKinds(Vec<(String, Vec<KnownStatus>)>);

impl Store {
    /// The rows that match the filter, all as of one commit.
    pub fn rows(&self, filter: &RowFilter) -> Result<TaskRows, StoreError> {
        let attempt = || failed("list tasks");
        let snapshot = self.connection.unchecked_transaction();
        let snapshot = snapshot.map_err(attempt())?;
        let sequence = self.sequence()?;
        let mut kinds = StatusKinds::default();
        let project = filter.project.as_ref().map(ProjectName::as_str);
        let status = filter.status.as_ref().map(Status::as_str);
        let parents = parents(&snapshot).map_err(attempt())?;
        // An index on these few columns would cost each commit more than it saves a list.
        let sql = "SELECT task, project, status, workflow_hash, branch, summary, round,
                   entered_at, attention, runs, '', '' FROM task_rows
                   WHERE (?1 IS NULL OR project = ?1) AND (?2 IS NULL OR status = ?2)";
        let mut statement = snapshot.prepare(sql).map_err(attempt())?;
        let mut found = statement
            .query(params![project, status])
            .map_err(attempt())?;
        let mut rows = Vec::new();
        while let Some(row) = found.next().map_err(attempt())? {
            let status = kinds.find(&snapshot, text(row, 3), text(row, 2))?;
            let is_ended = status.kind == Some(Kind::Terminal) && text(row, 8) == "[]";
            let is_left_out = filter.without_ended && is_ended;
            if !is_left_out || filter.extra_tasks.contains(&TaskId::new(text(row, 0))) {
                let last = rows.last().map(|it: &TaskRow| &it.project);
                let project = last.filter(|it| it.as_str() == text(row, 1)).cloned();
                let project = project.unwrap_or_else(|| ProjectName::new(text(row, 1)));
                let mut row = read(row, project, status).map_err(attempt())?;
                row.children = children(&snapshot, &row)?;
                row.parent = parents.get(&row.id).cloned();
                rows.push(row);
            }
        }
        Ok(TaskRows { sequence, rows })
    }
}

impl Store {
    /// A number that changes when another connection has written since the last call.
    pub fn data_version(&self) -> Result<i64, StoreError> {
        self.connection
            .query_row("PRAGMA data_version", [], |row| row.get(0))
            .map_err(failed("find changes"))
    }

    /// The changes since an earlier commit, all as of one commit.
    pub fn rows_since(
        &self,
        sequence: u64,
        kinds: &mut StatusKinds,
    ) -> Result<ChangedRows, StoreError> {
        let attempt = || failed("list changed tasks");
        let snapshot = self.connection.unchecked_transaction();
        let snapshot = snapshot.map_err(attempt())?;
        let last = self.sequence()?;
        let sql = "SELECT tasks.id, task_rows.project, task_rows.status, task_rows.workflow_hash,
                   branch, summary, round, entered_at, attention, runs, task_rows.task, tasks.parent
                   FROM tasks LEFT JOIN task_rows ON task_rows.task = tasks.id
                   WHERE tasks.sequence > ?1";
        let mut statement = snapshot.prepare(sql).map_err(attempt())?;
        let mut found = statement.query([sequence]).map_err(attempt())?;
        let (mut rows, mut removed) = (Vec::new(), Vec::new());
        while let Some(row) = found.next().map_err(attempt())? {
            if text(row, 10).is_empty() {
                removed.push(TaskId::new(text(row, 0)));
                continue;
            }
            let status = kinds.find(&snapshot, text(row, 3), text(row, 2))?;
            let last = rows.last().map(|it: &TaskRow| &it.project);
            let project = last.filter(|it| it.as_str() == text(row, 1)).cloned();
            let project = project.unwrap_or_else(|| ProjectName::new(text(row, 1)));
            let mut row = read(row, project, status).map_err(attempt())?;
            row.children = children(&snapshot, &row)?;
            rows.push(row);
        }
        Ok(ChangedRows {
            sequence: last,
            rows,
            removed,
        })
    }
}

fn text<'row>(row: &'row Row<'_>, column: usize) -> &'row str {
    match row.get_ref(column) {
        Ok(ValueRef::Text(bytes)) => std::str::from_utf8(bytes).unwrap_or_default(),
        _ => "",
    }
}

fn read(row: &Row<'_>, project: ProjectName, status: KnownStatus) -> rusqlite::Result<TaskRow> {
    let (mut attention, is_attention_valid) = parse_column::<Vec<String>>(text(row, 8), "[]");
    let (runs, are_runs_valid) = parse_column(text(row, 9), "{}");
    if !(is_attention_valid && are_runs_valid) {
        // A task with unreadable data must not look as if it needed no attention.
        attention.push(String::from(DAMAGED));
    }
    Ok(TaskRow {
        id: TaskId::new(text(row, 0)),
        project,
        status: status.name,
        kind: status.kind,
        need: status.need,
        working_roles: status.working_roles,
        respawnable: status.respawnable,
        branch: text(row, 4).to_owned(),
        summary: text(row, 5).to_owned(),
        round: row.get(6)?,
        entered_at: Timestamp::parse(text(row, 7)).ok(),
        attention,
        runs,
        children: ChildCount::default(),
        parent: Some(text(row, 11))
            .filter(|id| !id.is_empty())
            .map(TaskId::new),
    })
}

/// The parents of all subtasks. Few tasks have one, and the index finds them; looking into `tasks`
/// for each row would read the snapshots of all tasks.
fn parents(connection: &Connection) -> rusqlite::Result<BTreeMap<TaskId, TaskId>> {
    let sql = "SELECT id, parent FROM tasks WHERE parent IS NOT NULL";
    let mut statement = connection.prepare(sql)?;
    let id = |row: &Row<'_>, column| row.get::<_, String>(column).map(TaskId::new);
    let found = statement.query_map([], |row| Ok((id(row, 0)?, id(row, 1)?)))?;
    found.collect()
}

/// The subtasks that a waiting task waits for. Few tasks wait, so a lookup for each is cheap.
fn children(connection: &Connection, row: &TaskRow) -> Result<ChildCount, StoreError> {
    if row.kind != Some(Kind::Waiting) {
        return Ok(ChildCount::default());
    }
    let task = tasks::find(connection, &row.id)?;
    Ok(task.map_or_else(ChildCount::default, |task| ChildCount {
        ended: task.children.values().flatten().count(),
        all: task.children.len(),
    }))
}

/// The value of a column, and whether it could be parsed; most are empty, which is quick to check.
fn parse_column<T: DeserializeOwned + Default>(json: &str, empty: &str) -> (T, bool) {
    if json == empty {
        return (T::default(), true);
    }
    let read: Result<T, _> = serde_json::from_str(json);
    let is_read = read.is_ok();
    (read.unwrap_or_default(), is_read)
}

impl StatusKinds {
    /// A status and its kind; reads a workflow on its first use.
    fn find(
        &mut self,
        connection: &Connection,
        hash: &str,
        status: &str,
    ) -> Result<KnownStatus, StoreError> {
        let known = self.0.iter().position(|(known, _)| known == hash);
        let at = if let Some(at) = known {
            at
        } else {
            let source = texts::find(connection, hash)?.unwrap_or_default();
            let workflow = load(&source).workflow;
            let states = workflow.iter().flat_map(|workflow| {
                let states = workflow.states.iter();
                states.map(|it| KnownStatus::new(workflow, it))
            });
            self.0.push((hash.to_owned(), states.collect()));
            self.0.len() - 1
        };
        let mut states = self.0[at].1.iter();
        let found = states.find(|it| it.name.as_str() == status);
        Ok(found.cloned().unwrap_or_else(|| KnownStatus {
            name: Status::new(status),
            kind: None,
            need: None,
            working_roles: Vec::new(),
            respawnable: Vec::new(),
        }))
    }
}

impl KnownStatus {
    fn new(workflow: &Workflow, state: &State) -> KnownStatus {
        let expected = state.expects.iter();
        let respawnable = expected.filter(|role| state.respawn.contains_key(*role));
        KnownStatus {
            name: state.name.clone(),
            kind: Some(state.kind),
            need: need(workflow, state),
            working_roles: working_roles(workflow, state),
            respawnable: respawnable.cloned().collect(),
        }
    }
}

/// Writes the row of a task whose snapshot is being written; removes that of a deleted task.
pub(crate) fn keep(connection: &Connection, task: &Task) -> Result<(), StoreError> {
    if task.is_deleted {
        let sql = "DELETE FROM task_rows WHERE task = ?1";
        let deleted = connection.execute(sql, [task.id.as_str()]);
        deleted.map_err(failed("write a task's row"))?;
        return Ok(());
    }
    let json = |error| StoreError::json("the row", &task.id, &error);
    let attention = serde_json::to_string(&task.attention).map_err(json)?;
    let runs = serde_json::to_string(&task.runs).map_err(json)?;
    connection
        .execute(
            "INSERT INTO task_rows
             SELECT ?1, ?2, ?3, workflow_hash, ?4, ?5, ?6, ?7, ?8, ?9 FROM tasks WHERE id = ?1
             ON CONFLICT (task) DO UPDATE SET status = excluded.status,
                 workflow_hash = excluded.workflow_hash, summary = excluded.summary,
                 round = excluded.round, entered_at = excluded.entered_at,
                 attention = excluded.attention, runs = excluded.runs",
            params![
                task.id.as_str(),
                task.project.as_str(),
                task.status.as_str(),
                task.branch.as_str(),
                task.summary,
                task.value(&FieldName::new(REVIEW_ROUND_FIELD)),
                task.entered.at.to_string(),
                attention,
                runs,
            ],
        )
        .map_err(failed("write a task's row"))?;
    // The branch is updated separately, because naming it above would rewrite its index with every
    // commit.
    let sql = "UPDATE task_rows SET branch = ?2 WHERE task = ?1 AND branch <> ?2";
    connection
        .execute(sql, params![task.id.as_str(), task.branch.as_str()])
        .map_err(failed("write a task's row"))?;
    Ok(())
}

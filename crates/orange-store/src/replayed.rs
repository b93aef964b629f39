//! Takes over a task's events from another machine, without its workspace.
//!
//! A workspace, a performer's notes and how a run was started are facts about one machine. The
//! events name the workspace that was bound there; the one of that name here is another, so it must
//! not be bound. The task may be continued once an observation `Moved` is recorded.

use orange_config::Home;
use orange_engine::Task;
use orange_engine::apply::task_from_first_event;
use orange_engine::document::Document;
use orange_engine::event::Event;
use orange_engine::names::TaskId;
use rusqlite::Connection;

use super::Store;
use super::error::StoreError;
use super::record::{apply_next, derive_anywhere, gap};
use crate::files::task_directory::TaskDirectory;
use crate::tables::imports::Import;
use crate::tables::{
    delegations, events, imports, issue_tasks, jobs, pending, tasks, texts, workspaces,
};

/// A task as another machine recorded it.
#[derive(Clone, Copy, Debug)]
pub struct ReplayedTask<'a> {
    /// All its events, beginning with `task.created`.
    pub events: &'a [Event],
    /// The text of the workflow it is pinned to.
    pub workflow_text: &'a str,
    /// The text of its last import; the events do not contain it.
    pub document: Option<&'a Document>,
}

impl Store {
    /// Inserts a task that another machine held, or appends the events that a task lacks because it
    /// was held elsewhere since. Fails if the task here has another history, or still has a
    /// workspace.
    ///
    /// Repeating it changes nothing, also after further events were recorded here.
    pub fn insert_replayed(&mut self, replayed: &ReplayedTask<'_>) -> Result<Task, StoreError> {
        let home = self.home.clone();
        let id = created_id(replayed)?;
        let writing = self.write("take over a task")?;
        let (connection, sequence) = (&writing.transaction, writing.sequence);
        let task = if let Some(task) = tasks::find(connection, &id)? {
            let same = require_same_beginning(connection, &id, replayed.events)?;
            let missing = replayed.events.get(same..).unwrap_or_default();
            if missing.is_empty() {
                // Dropping the transaction leaves everything as it is.
                return Ok(task);
            }
            if let Some(workspace) = workspaces::held_by(connection, &id)? {
                return Err(StoreError::StillBound {
                    task: id,
                    workspace: workspace.name,
                });
            }
            continue_with(connection, sequence, task, missing, replayed)?
        } else {
            insert_new(connection, sequence, &home, replayed)?
        };
        writing.commit()?;
        Ok(task)
    }
}

fn created_id(replayed: &ReplayedTask<'_>) -> Result<TaskId, StoreError> {
    let created = replayed.events.first().and_then(task_from_first_event);
    let created = created.ok_or(StoreError::FirstEventInvalid(
        "the first event is not `task.created`",
    ))?;
    Ok(created.id)
}

/// Writes a task that is not here.
pub(super) fn insert_new(
    connection: &Connection,
    sequence: u64,
    home: &Home,
    replayed: &ReplayedTask<'_>,
) -> Result<Task, StoreError> {
    let first = replayed.events.first();
    let created = first.and_then(task_from_first_event);
    let created = created.ok_or(StoreError::FirstEventInvalid(
        "the first event is not `task.created`",
    ))?;
    let directory = TaskDirectory::new(home, &created.project, &created.id)?;
    let text = replayed.workflow_text;
    let task = insert_first(connection, sequence, first, text, &directory)?;
    let missing = replayed.events.get(1..).unwrap_or_default();
    continue_with(connection, sequence, task, missing, replayed)
}

/// Appends the events that a task lacks, with what follows from them on any machine.
fn continue_with(
    connection: &Connection,
    sequence: u64,
    task: Task,
    missing: &[Event],
    replayed: &ReplayedTask<'_>,
) -> Result<Task, StoreError> {
    let numbered = missing.iter().map(|event| (sequence, event));
    let task = extend(connection, task, numbered)?;
    let backwards = replayed.events.iter().rev();
    let document = replayed.document;
    if let Some(import) = document.and_then(|text| Import::last_of(backwards, text)) {
        imports::insert(connection, &task.id, &import)?;
    }
    let hash = texts::keep(connection, replayed.workflow_text)?;
    tasks::set_workflow(connection, &task.id, &hash)?;
    pending::keep(connection, &task, &[])?;
    if let Some(last) = replayed.events.last() {
        pending::mark_as_started(connection, &task.id, "another machine", last.at)?;
    }
    tasks::update(connection, &task, sequence)?;
    Ok(task)
}

/// How many of the events are recorded here. Fails if the recorded ones are others.
fn require_same_beginning(
    connection: &Connection,
    task: &TaskId,
    given: &[Event],
) -> Result<usize, StoreError> {
    let recorded = events::of_task(connection, task, 0)?;
    for (recorded, given) in recorded.iter().zip(given) {
        if recorded.event != *given {
            return Err(StoreError::AnotherHistory {
                task: task.clone(),
                version: recorded.event.version,
            });
        }
    }
    Ok(recorded.len())
}

/// Writes the row of a task that begins with this event.
pub(super) fn insert_first(
    connection: &Connection,
    sequence: u64,
    first: Option<&Event>,
    workflow_text: &str,
    directory: &TaskDirectory,
) -> Result<Task, StoreError> {
    let created = first.and_then(|event| Some((event, task_from_first_event(event)?)));
    let (first, task) = created.ok_or(StoreError::FirstEventInvalid(
        "the history does not begin with `task.created`",
    ))?;
    if first.version != 1 {
        return Err(gap(&task.id, 1, first.version));
    }
    let hash = texts::keep(connection, workflow_text)?;
    tasks::insert(connection, &task, &hash, directory.below_home(), sequence)?;
    issue_tasks::insert(connection, &task)?;
    // Another task may have taken the instant or the request here; this one exists all the same.
    jobs::insert(connection, &task)?;
    delegations::insert(connection, &task)?;
    events::append(connection, &task.id, sequence, first)?;
    Ok(task)
}

/// Appends events with what is derived from them, apart from workspaces and imported texts.
pub(super) fn extend<'event>(
    connection: &Connection,
    mut task: Task,
    new: impl Iterator<Item = (u64, &'event Event)>,
) -> Result<Task, StoreError> {
    let mut planned = pending::planned(connection, &task.id)?;
    for (sequence, event) in new {
        task = apply_next(task, event)?;
        events::append(connection, &task.id, sequence, event)?;
        derive_anywhere(connection, &task, event, &mut planned)?;
    }
    Ok(task)
}

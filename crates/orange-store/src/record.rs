//! One commit: check the version, append events, derive the rest.
//!
//! Invariant: a task's state follows from its events alone. The new state is computed here, from
//! the stored task and the given events, never taken from the caller; pending effects, runs,
//! workspaces and imports are derived in the same transaction.

use std::collections::BTreeMap;

use orange_engine::Task;
use orange_engine::apply::{apply, task_from_first_event};
use orange_engine::document::Document;
use orange_engine::effect::{EffectId, PlannedEffect};
use orange_engine::event::{Event, Fact};
use orange_engine::names::{TaskId, WorkspaceName};
use orange_engine::parking::Parking;
use orange_engine::schedule::{Limits, Wait};
use orange_fleet::ids::MailId;
use rusqlite::Connection;

use super::Store;
use super::error::StoreError;
use crate::files::task_directory::TaskDirectory;
use crate::fleet;
use crate::tables::chat::{self, ChatKey};
use crate::tables::workspaces::Reservation;
use crate::tables::{
    delegations, events, imports, issue_tasks, jobs, parkings, pending, queue, runs, tasks, texts,
    workspaces,
};

/// Events to record, and the version they were decided for.
#[derive(Clone, Copy, Debug)]
pub struct Commit<'a> {
    pub task: &'a TaskId,
    /// The version of the task that the decision was based on.
    pub version: u64,
    pub events: &'a [Event],
    /// The document that the decision was based on; an import event needs it.
    pub document: Option<&'a Document>,
    /// A free workspace to reserve for the task.
    pub reserve: Option<&'a WorkspaceName>,
    /// The text of the workflow; required by an event that changes it.
    pub workflow_text: Option<&'a str>,
    /// The limits that a start must respect; `None` when nothing starts.
    pub limits: Option<&'a Limits>,
}

/// A new task.
#[derive(Clone, Copy, Debug)]
pub struct Creation<'a> {
    /// Its events, beginning with `task.created`.
    pub events: &'a [Event],
    /// The text of the workflow it is pinned to.
    pub workflow_text: &'a str,
    /// The initial TASK.md.
    pub document: Option<&'a Document>,
    /// The issue that it is for, as the agent reads it.
    pub issue_text: Option<&'a str>,
}

/// The result of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommitOutcome {
    Recorded(Box<CommittedTask>),
    /// Another commit came first; decide again.
    Stale {
        /// The current version of the task.
        version: u64,
    },
    /// The workspace is not free; choose another.
    Taken {
        /// The task that holds it; `None` when it is retired.
        by: Option<TaskId>,
    },
    /// A limit or a dependency prevents the start.
    HeldBack {
        /// Everything that prevents the start.
        waits: Vec<Wait>,
    },
}

/// A successful commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommittedTask {
    pub sequence: u64,
    /// The task after the commit.
    pub task: Task,
    /// The harness that this commit parked, if it was not parked before.
    pub parked: Option<Parking>,
}

impl Store {
    /// Records a new task. Fails if the id exists, or if an unfinished task has the branch or the
    /// issue. Also fails if orange itself asks for a task for a text of an issue that already had
    /// one or that the user ignores.
    pub fn create(&mut self, creation: &Creation<'_>) -> Result<CommittedTask, StoreError> {
        self.create_for(creation, None)
    }

    /// Like `create`, for a message of a chat; fails if the message was acted on before.
    pub fn create_for(
        &mut self,
        creation: &Creation<'_>,
        message: Option<&ChatKey>,
    ) -> Result<CommittedTask, StoreError> {
        let home = self.home.clone();
        let first = creation.events.first();
        let task = first
            .and_then(task_from_first_event)
            .ok_or(StoreError::FirstEventInvalid(
                "the first event is not `task.created`",
            ))?;
        let directory = TaskDirectory::new(&home, &task.project, &task.id)?;
        let writing = self.write("create a task")?;
        let connection = &writing.transaction;
        if writing.is_joined {
            fleet::require_unjoined(connection)?;
        }
        if tasks::find(connection, &task.id)?.is_some() {
            return Err(StoreError::DuplicateTask { task: task.id });
        }
        require_free_branch(connection, &task, creation.events)?;
        if let Some(Fact::TaskCreated(created)) = first.map(|it| &it.fact) {
            issue_tasks::require_free(connection, &task, &created.by)?;
        }
        let task = insert(connection, writing.sequence, creation, &directory)?;
        if let Some(message) = message {
            chat::claim(connection, message, &task.id)?;
        }
        let sequence = writing.commit()?;
        Ok(CommittedTask {
            sequence,
            task,
            parked: None,
        })
    }

    /// Records a decision, unless the task's version has changed.
    ///
    /// In a home that belongs to a fleet, fails unless this machine holds the task.
    pub fn record(&mut self, commit: &Commit<'_>) -> Result<CommitOutcome, StoreError> {
        self.record_for(commit, None)
    }

    /// Like `record`, for a decision about mail of a fleet's server; fails if a commit has decided
    /// that mail before.
    pub fn record_for(
        &mut self,
        commit: &Commit<'_>,
        mail: Option<&MailId>,
    ) -> Result<CommitOutcome, StoreError> {
        let writing = self.write("record a decision")?;
        let connection = &writing.transaction;
        let id = commit.task;
        let task = tasks::find(connection, id)?
            .ok_or_else(|| StoreError::UnknownTask { task: id.clone() })?;
        if task.version != commit.version {
            let version = task.version;
            return Ok(CommitOutcome::Stale { version });
        }
        if writing.is_joined {
            fleet::require_held(connection, id, commit.events)?;
        }
        if let Some(limits) = commit.limits {
            let waits = queue::start_blockers(connection, &task, limits)?;
            if !waits.is_empty() {
                return Ok(CommitOutcome::HeldBack { waits });
            }
        }
        if let Some(workspace) = commit.reserve
            && let Reservation::Taken { by } = workspaces::reserve(connection, workspace, id)?
        {
            return Ok(CommitOutcome::Taken { by });
        }
        require_free_branch(connection, &task, commit.events)?;
        let mut planned = pending::planned(connection, id)?;
        let mut folded = task;
        let mut newly_parked = None;
        for event in commit.events {
            folded = apply_next(folded, event)?;
            events::append(connection, id, writing.sequence, event)?;
            derive(connection, &folded, event, commit.document, &mut planned)?;
            newly_parked = parkings::park_after_death(connection, id, event)?.or(newly_parked);
        }
        pending::keep(connection, &folded, commit.events)?;
        if let Some(text) = commit.workflow_text {
            fleet::keep_former_workflow(connection, id, folded.version)?;
            let hash = texts::keep(connection, text)?;
            tasks::set_workflow(connection, id, &hash)?;
        }
        if let Some(mail) = mail {
            fleet::decide_mail(connection, id, folded.version, mail)?;
        }
        tasks::update(connection, &folded, writing.sequence)?;
        let sequence = writing.commit()?;
        Ok(CommitOutcome::Recorded(Box::new(CommittedTask {
            sequence,
            task: folded,
            parked: newly_parked,
        })))
    }
}

/// Refuses events that would give a task the branch of another task that has not ended.
fn require_free_branch(
    connection: &Connection,
    task: &Task,
    events: &[Event],
) -> Result<(), StoreError> {
    for event in events {
        let branch = match &event.fact {
            Fact::TaskCreated(created) => &created.branch,
            Fact::TaskAmended {
                branch: Some(branch),
                ..
            } => branch,
            Fact::TaskReopened { .. } => &task.branch,
            _ => continue,
        };
        if let Some(other) = tasks::on_branch(connection, task, branch)? {
            return Err(StoreError::BranchTaken {
                branch: branch.clone(),
                task: other.id,
                status: other.status,
            });
        }
    }
    Ok(())
}

/// Writes a new task, with everything derived from its events.
pub(super) fn insert(
    connection: &Connection,
    sequence: u64,
    creation: &Creation<'_>,
    directory: &TaskDirectory,
) -> Result<Task, StoreError> {
    let hash = texts::keep(connection, creation.workflow_text)?;
    let mut rest = creation.events.iter();
    let first = rest
        .next()
        .and_then(|event| Some((event, task_from_first_event(event)?)));
    let (first, mut task) = first.ok_or(StoreError::FirstEventInvalid(
        "the first event is not `task.created`",
    ))?;
    if first.version != 1 {
        return Err(gap(&task.id, 1, first.version));
    }
    tasks::insert(connection, &task, &hash, directory.below_home(), sequence)?;
    issue_tasks::insert(connection, &task)?;
    if let (false, Some(job)) = (jobs::insert(connection, &task)?, &task.job) {
        return Err(StoreError::JobInstantTaken(job.clone()));
    }
    if !delegations::insert(connection, &task)? {
        return Err(StoreError::DelegationTaken);
    }
    if let Some(text) = creation.issue_text {
        issue_tasks::keep_text(connection, &task.id, text)?;
    }
    if let (Some(document), Fact::TaskCreated(created)) = (creation.document, &first.fact) {
        imports::insert(
            connection,
            &task.id,
            &imports::Import {
                version: 1,
                by: created.by.clone(),
                with_request: false,
                stray: false,
                text: document.text(),
                at: first.at,
            },
        )?;
    }
    events::append(connection, &task.id, sequence, first)?;
    let mut planned = BTreeMap::new();
    for event in rest {
        task = apply_next(task, event)?;
        events::append(connection, &task.id, sequence, event)?;
        derive(connection, &task, event, creation.document, &mut planned)?;
    }
    pending::keep(connection, &task, creation.events)?;
    tasks::update(connection, &task, sequence)?;
    Ok(task)
}

/// Applies an event, which must follow the task's version and must not create a task.
pub(super) fn apply_next(task: Task, event: &Event) -> Result<Task, StoreError> {
    let expected = task.version + 1;
    if event.version != expected {
        return Err(gap(&task.id, expected, event.version));
    }
    if matches!(event.fact, Fact::TaskCreated(_)) {
        return Err(StoreError::FirstEventInvalid(
            "only the first event may be `task.created`",
        ));
    }
    Ok(apply(task, event))
}

/// Writes what is derived from an event on whatever machine it was recorded.
pub(super) fn derive_anywhere(
    connection: &Connection,
    task: &Task,
    event: &Event,
    planned: &mut BTreeMap<EffectId, PlannedEffect>,
) -> Result<(), StoreError> {
    if let Fact::EffectPlanned(effect) = &event.fact {
        planned.insert(effect.id, effect.clone());
    }
    let effect = |id: &EffectId| planned.get(id).map(|planned| &planned.effect);
    runs::derive(connection, &task.id, event, effect)
}

/// Writes everything derived from an event, except the task and the pending effects, which the
/// caller writes at the end.
fn derive(
    connection: &Connection,
    task: &Task,
    event: &Event,
    document: Option<&Document>,
    planned: &mut BTreeMap<EffectId, PlannedEffect>,
) -> Result<(), StoreError> {
    derive_anywhere(connection, task, event, planned)?;
    let effect = |id: &EffectId| planned.get(id).map(|planned| &planned.effect);
    workspaces::derive(connection, &task.id, event, effect)?;
    if let Fact::DocumentImported { by, is_request, .. } = &event.fact {
        let document = document.ok_or_else(|| StoreError::ImportWithoutText {
            task: task.id.clone(),
        })?;
        imports::insert(
            connection,
            &task.id,
            &imports::Import {
                version: event.version,
                by: by.clone(),
                with_request: *is_request,
                stray: false,
                text: document.text(),
                at: event.at,
            },
        )?;
    }
    Ok(())
}

pub(super) fn gap(task: &TaskId, expected: u64, found: u64) -> StoreError {
    StoreError::VersionGap {
        task: task.clone(),
        expected,
        found,
    }
}

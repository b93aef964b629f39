//! What the supervisor has to know about each task.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use orange_config::clock;
use orange_effects::tmux::{Control, ControlEvent, Pane};
use orange_engine::effect::Effect;
use orange_engine::names::{RunId, TaskId};
use orange_engine::role::Role;
use orange_engine::task::RunState;
use orange_engine::time::Timestamp;
use orange_store::{Store, StoreError};

use crate::DriverError;
use crate::context::Context;
use crate::context::run_location;
use crate::due::{Next, is_waiting, next};
use crate::steps::pinned_workflow;
use crate::views::Views;

/// A task, reduced to what watching it needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchedTask {
    pub task: TaskId,
    /// Whether it has ended.
    pub is_over: bool,
    /// The agents that are recorded as alive.
    pub runs: Vec<WatchedRun>,
    /// The folder of its TASK.md while a workspace is bound.
    pub worktree: Option<PathBuf>,
    /// When its next effect is due.
    pub due: Option<Timestamp>,
    /// The run that would start next.
    pub next_start: Option<RunId>,
    /// Whether its first due effect ends an agent or releases a workspace.
    pub is_end: bool,
    /// Whether something waits that cannot be performed now.
    pub is_held: bool,
    /// When its status times out.
    pub timeout_at: Option<Timestamp>,
}

/// An agent that is recorded as alive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchedRun {
    pub run: RunId,
    pub role: Role,
    /// Its pane; `None` when the process that started it died before recording it.
    pub pane: Option<Pane>,
    /// The folder that its events are written to.
    pub directory: PathBuf,
}

/// A task that has changed.
#[derive(Debug)]
pub struct Change {
    pub task: TaskId,
    /// Its current state; a task that cannot be read does not block the others.
    pub watched: Result<WatchedTask, DriverError>,
}

/// Reports what has changed since the last call.
#[derive(Debug)]
pub struct Watcher {
    context: Arc<Context>,
    store: Store,
    sequence: u64,
    /// Tasks that could not be read; every call tries them again.
    unread: BTreeSet<TaskId>,
}

impl Views {
    /// Starts to watch: everything counts as changed.
    pub fn watcher(&self) -> Result<Watcher, DriverError> {
        // A home in which nothing was ever created has no database; this creates it.
        drop(self.context.store()?);
        Ok(Watcher {
            context: Arc::clone(&self.context),
            store: Store::open_read_only(&self.context.home)?,
            sequence: 0,
            unread: BTreeSet::new(),
        })
    }

    /// Connects to tmux; calls `on_event` with everything that tmux reports.
    pub fn control(
        &self,
        on_event: impl Fn(ControlEvent) + Send + 'static,
    ) -> Result<Control, DriverError> {
        Ok(self.context.tmux.control(on_event)?)
    }
}

impl Watcher {
    /// Fails when a newer orange has migrated the database: this process can no longer write.
    pub fn require_known_schema(&self) -> Result<(), DriverError> {
        match self.store.require_known_schema() {
            Err(error @ StoreError::Newer { .. }) => Err(error.into()),
            // If the database is busy, the next call checks again.
            _ => Ok(()),
        }
    }

    /// The tasks that have changed since the last call.
    pub fn changes(&mut self) -> Result<Vec<Change>, DriverError> {
        if self.store.is_replaced() {
            // A rebuild has replaced the database, and the new one counts from zero.
            self.store = Store::open_read_only(&self.context.home)?;
            self.sequence = 0;
        }
        let (sequence, changed) = self.store.changed_since(self.sequence)?;
        let mut all = std::mem::take(&mut self.unread);
        all.extend(changed);
        let mut tasks = Vec::new();
        for id in all {
            let watched = self.read_task(&id);
            if watched.is_err() {
                self.unread.insert(id.clone());
            }
            tasks.push(Change { task: id, watched });
        }
        self.sequence = sequence;
        Ok(tasks)
    }

    /// When the next parked harness is unparked automatically, if any.
    pub fn next_unparking(&self) -> Result<Option<Timestamp>, DriverError> {
        let parked = self.store.parkings(clock::now())?.into_iter();
        Ok(parked.filter_map(|parking| parking.until).min())
    }

    fn read_task(&self, id: &TaskId) -> Result<WatchedTask, DriverError> {
        let stored = self.store.require(id)?;
        let task = &stored.task;
        let alive = task.runs.iter();
        let mut alive = alive
            .filter(|(_, run)| run.state == RunState::Alive)
            .peekable();
        let records = match alive.peek() {
            Some(_) => self.store.runs(id)?,
            None => Vec::new(),
        };
        let mut runs = Vec::new();
        for (role, run) in alive {
            let record = records.iter().find(|record| record.id == run.id);
            let folder = self.context.launch_directory(&task.project, id, &run.id)?;
            let run_file = run_location::run_file(&folder);
            runs.push(WatchedRun {
                run: run.id.clone(),
                role: role.clone(),
                pane: record.and_then(|record| run_location::recorded_pane(record, &run_file)),
                directory: self.context.run_directory(&task.project, id, &run.id)?,
            });
        }
        let next = next(&self.store, id, clock::now())?;
        let is_end = match &next {
            Next::Now(pending) => matches!(
                pending.planned.effect,
                Effect::Kill(_) | Effect::ReleaseWorkspace { .. }
            ),
            Next::At(_) | Next::Never => false,
        };
        let is_held =
            !matches!(next, Next::Now(_)) && self.store.pending(id)?.iter().any(is_waiting);
        let (due, next_start) = match next {
            Next::Never => (None, None),
            Next::At(then) => (Some(then), self.start_in(id)?),
            Next::Now(_) => (Some(Timestamp::default()), self.start_in(id)?),
        };
        let worktree = self.store.workspace_of(id)?.map(|it| it.path);
        let workflow = pinned_workflow(&stored)?;
        let timeout = workflow.state(&task.status);
        let timeout = timeout.and_then(|state| state.timeout.as_ref());
        Ok(WatchedTask {
            is_over: workflow.is_terminal(&task.status),
            timeout_at: timeout.map(|timeout| add_seconds(task.entered.at, timeout.after)),
            task: id.clone(),
            runs,
            worktree,
            due,
            next_start,
            is_end,
            is_held,
        })
    }

    /// The run that the task starts next, unless an effect other than acquiring a workspace comes
    /// first.
    fn start_in(&self, id: &TaskId) -> Result<Option<RunId>, DriverError> {
        let pending = self.store.pending(id)?;
        let mut waiting = pending.into_iter().filter(is_waiting).peekable();
        let is_start =
            |effect: &Effect| matches!(effect, Effect::Spawn(_) | Effect::AcquireWorkspace { .. });
        let first = waiting.peek();
        if !first.is_some_and(|first| is_start(&first.planned.effect)) {
            return Ok(None);
        }
        let mut starts = waiting.filter_map(|pending| match pending.planned.effect {
            Effect::Spawn(spawn) => Some(spawn.run),
            _ => None,
        });
        Ok(starts.next())
    }
}

fn add_seconds(at: Timestamp, seconds: u64) -> Timestamp {
    let seconds = i64::try_from(seconds).unwrap_or(i64::MAX);
    Timestamp::from_millis(at.millis().saturating_add(seconds.saturating_mul(1000)))
}

//! How the supervisor reacts to events, task by task.

use std::path::PathBuf;
use std::time::Duration;

use orange_config::clock::{self, Deadline};
use orange_effects::process::ProcessError;
use orange_effects::tmux::ControlEvent;
use orange_engine::names::TaskId;
use orange_engine::time::Timestamp;

use super::Supervisor;
use super::server::Reaction;
use crate::{DriverError, PerformResult, StartConfirmation, TaskCheck, WatchedTask};

/// How soon to try again when another performer is at work, or when a performer has failed.
const RETRY_DELAY: Duration = Duration::from_secs(2);

/// How many tasks a sweep reads: reading all of a thousand would take a few percent of a core.
const MAX_SWEPT: usize = 200;

impl Supervisor {
    /// Reads the changed tasks. A change may let a queued task start, so scheduling is requested.
    pub(super) fn reload(&mut self) {
        // A busy database is ignored: the next commit or sweep tries again.
        self.unpark_at = self.watcher.next_unparking().unwrap_or_default();
        let changes = self.watcher.changes().unwrap_or_default();
        // Schedule only after a change: scheduling opens the database, which causes a file event,
        // so scheduling after every file event would never end.
        if !changes.is_empty() {
            self.scheduling.request();
            self.notifying.request();
        }
        for change in changes {
            match change.watched {
                Ok(watched) => self.update(watched),
                Err(error) => self.log(&change.task, &error),
            }
        }
    }

    fn update(&mut self, watched: WatchedTask) {
        let (task, due, is_held) = (watched.task.clone(), watched.due, watched.is_held);
        self.timeouts.clear(&task);
        if let Some(at) = watched.timeout_at.filter(|_| !watched.is_over) {
            self.timeouts.set(&task, at);
        }
        if watched.next_start.is_none() {
            self.starts.forget(&task);
        }
        let worktree = watched.worktree.clone();
        let directories: Vec<PathBuf> =
            watched.runs.iter().map(|it| it.directory.clone()).collect();
        let is_missing = self.watch_processes(&watched);
        let before = self.tasks.update(watched);
        let earlier = before.as_ref().and_then(|it| it.worktree.as_deref());
        self.files.follow(&task, earlier, worktree.as_deref());
        for run in before.iter().flat_map(|it| &it.runs) {
            let is_there = directories.contains(&run.directory);
            let now = Some(run.directory.as_path()).filter(|_| is_there);
            self.files.follow(&task, Some(&run.directory), now);
        }
        for directory in &directories {
            self.files.follow(&task, None, Some(directory));
        }
        // Read what was reported or written before supervision began, because no file event comes
        // for it.
        if before.is_none() && !directories.is_empty() {
            self.event_workers.add(task.clone());
            self.notifying.request();
        }
        if before.is_none() && worktree.is_some() {
            self.readers.add(task.clone());
        }
        if is_missing {
            self.checkers.add(task.clone());
        }
        match due {
            // Another harness may take over a start that waits; a supervisor that was killed may
            // not have come to that.
            _ if before.is_none() && is_held => self.timers.set(&task, Timestamp::default()),
            Some(at) => self.timers.set(&task, at),
            None => self.timers.clear(&task),
        }
    }

    /// Watches the process of every agent; returns whether one is already gone.
    fn watch_processes(&mut self, watched: &WatchedTask) -> bool {
        let mut is_missing = false;
        for run in &watched.runs {
            let process = run.pane.as_ref().and_then(|pane| pane.process.as_ref());
            let Some(process) = process else {
                is_missing = true;
                continue;
            };
            let is_known = self.tasks.task_of(process.pid).as_ref() == Some(&watched.task);
            if is_known && !self.unwatched.contains(&process.pid) {
                continue;
            }
            match self.exits.watch(process) {
                Ok(is_there) => {
                    self.unwatched.remove(&process.pid);
                    is_missing |= !is_there;
                }
                // If the system cannot report exits at all, ticks have to suffice; if it only had
                // no handle left, the next sweep tries again.
                Err(ProcessError::Unsupported(_)) => {}
                Err(_) => {
                    self.unwatched.insert(process.pid);
                }
            }
        }
        is_missing
    }

    /// Hands out the tasks with due effects; limits how fast agents are started.
    pub(super) fn dispatch_due(&mut self) {
        let mut due = self.timers.due();
        self.starts.sort_by_wait(&mut due);
        for task in due {
            let is_start = self.tasks.is_start(&task);
            // A task that is being performed is not started twice, so it needs no second slot.
            let is_being_performed = self.performers.has(&task) || self.enders.has(&task);
            let slot = if is_start && !is_being_performed {
                self.starts.ask(&task)
            } else {
                Ok(())
            };
            match slot {
                Ok(()) => self.dispatch(task),
                Err(later) => self.timers.set(&task, later),
            }
        }
        for task in self.timeouts.due() {
            self.readers.add(task);
        }
        if self.unpark_at.is_some_and(|at| at <= clock::now()) {
            self.unpark_at = self.watcher.next_unparking().unwrap_or_default();
            self.scheduling.request();
        }
    }

    /// Hands a task to the performer that already works on it, if there is one.
    fn dispatch(&mut self, task: TaskId) {
        let is_end = self.tasks.is_end(&task) && !self.performers.has(&task);
        if is_end || self.enders.has(&task) {
            self.enders.add(task);
        } else {
            self.performers.add(task);
        }
    }

    /// Asks tmux for every pane, if there should be agents in them.
    pub(super) fn query_server(&mut self) {
        if self.tasks.has_runs() || self.tasks.has_starts() {
            self.server.poll(&self.driver);
        } else {
            self.server.disconnect();
        }
    }

    /// Handles output of tmux.
    pub(super) fn handle_output(&mut self, connection: u64, event: ControlEvent) {
        match self.server.handle_output(connection, event) {
            Reaction::Nothing => {}
            Reaction::Panes(snapshot) => {
                for task in self.tasks.suspects(&snapshot) {
                    self.checkers.add(task);
                }
                // A start that has already happened only needs to be confirmed, so it is not paced.
                for task in self.tasks.started(&snapshot) {
                    if !self.performers.has(&task) && !self.enders.has(&task) {
                        self.timers.clear(&task);
                        self.confirmers.add(task);
                    }
                }
            }
            Reaction::Lost { had_answered } => {
                // Ask again at once, but not if no server ever answered: there will be none now
                // either.
                if had_answered {
                    self.tick = Deadline::after(Duration::ZERO);
                }
                for task in self.tasks.with_runs() {
                    self.checkers.add(task.clone());
                }
            }
        }
    }

    pub(super) fn record_checks(&mut self, checks: Vec<TaskCheck>) {
        for check in checks {
            if let Some(problem) = &check.problem {
                self.log(&check.task, problem);
            }
            if check.needs_recheck {
                self.tasks.mark_doubtful(&check.task);
            } else {
                self.tasks.mark_determined(&check.task);
            }
        }
    }

    pub(super) fn note_performed(
        &mut self,
        task: &TaskId,
        performed: Result<PerformResult, DriverError>,
    ) {
        let retry_at = match performed {
            Ok(PerformResult::All) => return,
            Ok(PerformResult::Waits(then)) => then,
            Ok(PerformResult::Elsewhere) => clock::after(RETRY_DELAY),
            Err(error) => {
                self.log(task, &error);
                clock::after(RETRY_DELAY)
            }
        };
        self.timers.set(task, retry_at);
    }

    /// Leaves unrecorded starts to a performer; recorded ones cause a commit, which is noticed
    /// anyway.
    pub(super) fn note_confirmed(&mut self, confirmed: Vec<StartConfirmation>) {
        for it in confirmed {
            match it.is_recorded {
                Ok(true) => {}
                Ok(false) => self.timers.set(&it.task, clock::now()),
                Err(error) => self.note_performed(&it.task, Err(error)),
            }
        }
    }

    /// Checks everything, to find missed events; of many tasks, a part in turn.
    pub(super) fn sweep_all(&mut self) {
        self.reload();
        // A task that waits until a certain time becomes startable without a commit.
        self.scheduling.request();
        self.notifying.request();
        self.cleanup.request();
        if !self.unwatched.is_empty() {
            let tasks = &self.tasks;
            self.unwatched.retain(|pid| tasks.task_of(*pid).is_some());
            let all: Vec<WatchedTask> = tasks.all().cloned().collect();
            for watched in all {
                if self.watch_processes(&watched) {
                    self.checkers.add(watched.task);
                }
            }
        }
        for task in self.tasks.all() {
            if let Some(due) = task.due {
                self.timers.set(&task.task, due);
            }
        }
        let last = self.swept.take();
        for task in self.tasks.next_in_turn(last.as_ref(), MAX_SWEPT) {
            let worktree = task.worktree.as_deref();
            self.files.follow(&task.task, worktree, worktree);
            for run in &task.runs {
                self.files.follow(&task.task, None, Some(&run.directory));
                self.event_workers.add(task.task.clone());
            }
            if task.worktree.is_some() || task.timeout_at.is_some() {
                self.readers.add(task.task.clone());
            }
            self.swept = Some(task.task.clone());
        }
    }
}

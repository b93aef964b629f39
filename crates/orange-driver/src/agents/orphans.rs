//! Ends what is left of runs that no task needs.
//!
//! A kill returns only when nothing of its run is left, so this finds what escaped: a child that
//! outlived an agent which exited on its own, or the pane of a start that was cancelled halfway. It
//! touches only runs that this home's store knows. It ignores a process that carries the id of any
//! other run or says that it belongs to another home.

use std::collections::BTreeMap;
use std::time::Duration;

use orange_config::LogLevel;
use orange_config::clock;
use orange_effects::process::marked_runs;
use orange_engine::Task;
use orange_engine::names::{RunId, TaskId};
use orange_store::{RunRecord, Store, StoredTask};
use serde_json::json;

use crate::DriverError;
use crate::agents::Agents;
use crate::context::lock::Lock;
use crate::steps::pinned_workflow;

/// How long after its end a run is left alone: the process that judged it may be about to clean up.
const GRACE: Duration = Duration::from_secs(3);

/// A run of which a pane or a process was left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Orphan {
    pub task: TaskId,
    pub run: RunId,
}

/// What is left of a run.
#[derive(Clone, Copy, Debug, Default)]
struct Remains {
    has_pane: bool,
    has_process: bool,
}

impl Agents {
    /// Ends the processes and closes the panes of runs that no task needs; returns the runs of
    /// which something was left. A failure with one does not stop the others.
    pub fn end_orphans(&self) -> Result<Vec<Orphan>, DriverError> {
        // Do this first: a tmux server that waits for an abandoned client to exit shows its panes
        // to no client.
        if let Ok(count @ 1..) = self.context.tmux.end_abandoned_clients() {
            self.context
                .log_for_all(LogLevel::Warn, "clients.ended", json!({ "count": count }));
        }
        let store = self.context.store()?;
        let mut ended = Vec::new();
        for (run, remains) in self.find_remains() {
            // Skip a run id that is unknown, or that several tasks have: it cannot be attributed to
            // one task.
            let Ok([record]) = <[RunRecord; 1]>::try_from(store.runs_named(&run)?) else {
                continue;
            };
            let task = record.task.clone();
            match self.end_orphan(&store, &record, remains) {
                Ok(false) => {}
                Ok(true) => {
                    let more = json!({ "run": run });
                    self.context
                        .log(LogLevel::Warn, &task, "orphan.ended", more);
                    ended.push(Orphan { task, run });
                }
                Err(error) => {
                    let more = json!({ "run": run, "error": error });
                    self.context
                        .log(LogLevel::Warn, &task, "orphan.failed", more);
                }
            }
        }
        Ok(ended)
    }

    /// The runs of which `end_orphans` would end something. Changes nothing.
    pub(crate) fn orphans(&self, store: &Store) -> Result<Vec<Orphan>, DriverError> {
        let mut found = Vec::new();
        for (run, remains) in self.find_remains() {
            let Ok([record]) = <[RunRecord; 1]>::try_from(store.runs_named(&run)?) else {
                continue;
            };
            let stored = store.require(&record.task)?;
            if is_orphan(&stored, &record, remains)? {
                let task = record.task;
                found.push(Orphan { task, run });
            }
        }
        Ok(found)
    }

    /// The panes and processes that can be seen, by run. If a listing fails, nothing from it is
    /// ended.
    fn find_remains(&self) -> BTreeMap<RunId, Remains> {
        let mut found: BTreeMap<RunId, Remains> = BTreeMap::new();
        let panes = self.context.tmux.list().map(|listing| listing.panes);
        for run in panes
            .unwrap_or_default()
            .into_iter()
            .filter_map(|it| it.run)
        {
            found.entry(run).or_default().has_pane = true;
        }
        for (run, home) in marked_runs().unwrap_or_default() {
            if home.as_deref() == Some(self.context.home.path().as_os_str()) {
                found.entry(run).or_default().has_process = true;
            }
        }
        found
    }

    /// Ends one orphan while holding its task's performer lock; returns whether there was something
    /// to end.
    fn end_orphan(
        &self,
        store: &Store,
        record: &RunRecord,
        remains: Remains,
    ) -> Result<bool, String> {
        let is_orphan = |stored: &StoredTask| is_orphan(stored, record, remains);
        let text = |error: DriverError| error.to_string();
        let require = || {
            store
                .require(&record.task)
                .map_err(|error| error.to_string())
        };
        let stored = require()?;
        if !is_orphan(&stored).map_err(text)? {
            return Ok(false);
        }
        // A deleted task has no directory and no performer.
        let lock = if stored.directory.exists() {
            let lock = Lock::to_perform(&stored.directory).map_err(text)?;
            let Some(lock) = lock else { return Ok(false) };
            Some(lock)
        } else {
            None
        };
        // The task may have started to need the run before the lock was taken.
        let stored = require()?;
        if !is_orphan(&stored).map_err(text)? {
            return Ok(false);
        }
        let ended = self.end_run(store, &stored.task, &record.id);
        drop(lock);
        ended.map(|()| true).map_err(|failure| failure.error)
    }
}

/// Whether to end what is left of a run.
fn is_orphan(
    stored: &StoredTask,
    record: &RunRecord,
    remains: Remains,
) -> Result<bool, DriverError> {
    let task: &Task = &stored.task;
    let last_seen = record.ended_at.unwrap_or(record.created_at);
    let age = clock::now().millis().saturating_sub(last_seen.millis());
    if u128::try_from(age).unwrap_or(0) < GRACE.as_millis() || task.needs_run(&record.id) {
        return Ok(false);
    }
    // The output of an agent that died in an unfinished task stays for the user.
    let is_shown = task.runs.values().any(|run| run.id == record.id)
        && !pinned_workflow(stored)?.is_terminal(&task.status);
    Ok(remains.has_process || remains.has_pane && !is_shown)
}

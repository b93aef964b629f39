//! Freezes agents while the lease is over, in its own process.
//!
//! Agents outlive the runner's process, so what freezes them must not depend on it: this process
//! only reads the lease that the runner has stored. Agents are frozen when the lease ends, continue
//! after the next acknowledged beat, and are killed when the server was not heard for too long.

use std::collections::BTreeSet;
use std::thread;
use std::time::Duration;

use orange_config::LogLevel;
use orange_effects::process::{self, RunProcesses};
use orange_effects::tmux::{Listing, TmuxError};
use orange_engine::Task;
use orange_engine::names::RunId;
use orange_engine::task::RunState;
use orange_fleet::link::Phase;
use orange_store::{Store, TaskFilter};
use serde_json::json;

use crate::context::Context;
use crate::context::run_location::{find_pane, recorded_pane, run_file};
use crate::{Driver, DriverError};

/// How often the lease is read.
const PAUSE: Duration = Duration::from_millis(250);

/// How long the processes of a run may take to stop or continue.
const TIMEOUT: Duration = Duration::from_secs(5);

impl Context {
    /// Makes sure that a process freezes the agents of this home.
    pub(crate) fn start_freezer(&self) -> Result<(), DriverError> {
        if !self.has_freezer() {
            self.start_detached(&["freeze-agents"])?;
        }
        Ok(())
    }
}

impl Driver {
    /// Freezes and thaws the agents of this home as its lease says, until it has neither a runner
    /// nor an agent. Does nothing if another process does it.
    pub fn freeze_by_lease(&self) -> Result<(), DriverError> {
        let Some(_lock) = self.context.take_freezer()? else {
            return Ok(());
        };
        let mut last = None;
        loop {
            let followed = self.follow_lease(&mut last);
            match followed {
                Ok(true) => {}
                Ok(false) => return Ok(()),
                Err(error) => {
                    let more = json!({ "job": "freeze", "error": error.to_string() });
                    self.context
                        .log_for_all(LogLevel::Warn, "fleet.failed", more);
                }
            }
            thread::sleep(PAUSE);
        }
    }

    /// Applies the current phase; returns whether there is anything left to do in this home.
    fn follow_lease(&self, last: &mut Option<Phase>) -> Result<bool, DriverError> {
        let store = Store::open_read_only(&self.context.home)?;
        let Some(known) = store.membership()? else {
            return Ok(false);
        };
        let phase = known.phase();
        // Running agents need no look: only a change does, and what is started while frozen.
        if phase != Phase::Running || *last != Some(Phase::Running) {
            let failures = self.apply(&store, phase)?;
            // What did not stop or continue is tried again.
            *last = (failures == 0).then_some(phase);
        }
        if self.context.has_runner() {
            return Ok(true);
        }
        let tasks = store.list(&TaskFilter::default())?.tasks;
        Ok(tasks.iter().any(|it| !live_runs(&it.task).is_empty()))
    }

    /// Freezes, thaws or kills every agent of this home; returns how many did not react.
    fn apply(&self, store: &Store, phase: Phase) -> Result<usize, DriverError> {
        let listing = match self.context.tmux.list() {
            Ok(listing) => listing,
            Err(TmuxError::NoServer(_)) => return Ok(0),
            Err(error) => return Err(error.into()),
        };
        let mut failures = 0;
        for summary in store.list(&TaskFilter::default())?.tasks {
            let task = summary.task;
            for run in live_runs(&task) {
                let applied = self.apply_to_run(store, &listing, &task, &run, phase);
                if let Err(error) = applied {
                    failures += 1;
                    let more = json!({ "run": run, "phase": format!("{phase:?}"), "error": error });
                    self.context
                        .log(LogLevel::Warn, &task.id, "fleet.not_frozen", more);
                }
            }
        }
        Ok(failures)
    }

    fn apply_to_run(
        &self,
        store: &Store,
        listing: &Listing,
        task: &Task,
        run: &RunId,
        phase: Phase,
    ) -> Result<(), String> {
        let text = |error: &dyn std::fmt::Display| error.to_string();
        if phase == Phase::Expired {
            let ended = self.agents.end_run(store, task, run);
            return ended.map_err(|failure| failure.error);
        }
        let folder = self.context.launch_directory(&task.project, &task.id, run);
        let file = run_file(&folder.map_err(|error| text(&error))?);
        let records = store.runs(&task.id).map_err(|error| text(&error))?;
        let record = records.iter().find(|it| it.id == *run);
        let recorded = record.and_then(|it| recorded_pane(it, &file));
        let pane = recorded.or_else(|| find_pane(listing, run, &file));
        let Some(pane) = pane.and_then(|it| it.process) else {
            return Ok(());
        };
        let processes = RunProcesses {
            run,
            pane: &pane,
            orange: &self.context.orange,
        };
        let result = match phase {
            Phase::Running => process::thaw(processes, TIMEOUT),
            Phase::Frozen | Phase::Expired => process::freeze(processes, TIMEOUT),
        };
        match result {
            Ok(_) => Ok(()),
            // It cannot be stopped where it is, so it must end: it might overlap with another one.
            Err(process::FreezeError::NotFreezable { .. }) => {
                let ended = self.agents.end_run(store, task, run);
                ended.map_err(|failure| failure.error)
            }
            Err(error) => Err(text(&error)),
        }
    }
}

fn live_runs(task: &Task) -> BTreeSet<RunId> {
    let runs = task.runs.values();
    let alive = runs.filter(|run| run.state == RunState::Alive);
    alive.map(|run| run.id.clone()).collect()
}

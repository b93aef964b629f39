//! Finds agents that have ended; commands and the supervisor judge alike.

use std::cell::LazyCell;
use std::time::Duration;

use orange_config::clock;
use orange_effects::tmux::{Listing, Observation, TmuxError};
use orange_engine::Task;
use orange_engine::death::Judgement;
use orange_engine::evidence::Evidence;
use orange_engine::input::{Cause, Observation as Observed};
use orange_engine::names::{RunId, TaskId};
use orange_engine::task::RunState;
use orange_store::{RunRecord, Store};

use super::Agents;
use crate::DriverError;
use crate::context::run_location;

/// The interval between two checks that have to agree.
const RECHECK_DELAY: Duration = Duration::from_millis(300);

/// How long a run that was just started may be missing.
const GRACE: Duration = Duration::from_secs(2);

/// The result of checking a task.
#[derive(Debug)]
pub struct TaskCheck {
    pub task: TaskId,
    /// The deaths that were judged.
    pub deaths: Vec<(RunId, Evidence)>,
    /// Whether to check again soon, because the state could not be determined.
    pub needs_recheck: bool,
    /// The error, if any; other tasks are unaffected.
    pub problem: Option<DriverError>,
}

type ListingResult = Result<Listing, TmuxError>;

impl Agents {
    /// Checks every agent that these tasks believe alive; judges each death once.
    pub fn observe_each(&self, tasks: &[TaskId]) -> Result<Vec<TaskCheck>, DriverError> {
        let mut store = self.context.store()?;
        let mut found: Vec<TaskCheck> = tasks.iter().map(TaskCheck::new).collect();
        self.judge_deaths(&mut store, &mut found);
        for looked in found.iter_mut().filter(|it| !it.deaths.is_empty()) {
            let synced = self.steps.sync_files(&mut store, &looked.task);
            looked.note_error(synced);
        }
        Ok(found)
    }

    /// Like `observe_each`, for one task and before a request to it is decided. Leaves syncing the
    /// task's files to that decision.
    pub(crate) fn observe(&self, store: &mut Store, task: &TaskId) -> Result<(), DriverError> {
        self.end_exhausted_runs(store, task)?;
        let mut found = [TaskCheck::new(task)];
        self.judge_deaths(store, &mut found);
        let [looked] = found;
        looked.problem.map_or(Ok(()), Err)
    }

    /// Judges the deaths of all tasks from one listing of the tmux server. An end that the system
    /// has recorded counts at once; a missing agent counts as dead only when a second check agrees.
    fn judge_deaths(&self, store: &mut Store, found: &mut [TaskCheck]) {
        let look = LazyCell::new(|| self.context.tmux.list());
        let mut missing = Vec::new();
        for looked in &mut *found {
            let first = self.check_first(store, &look, looked);
            missing.push(looked.note_error(first).unwrap_or_default());
        }
        if missing.iter().any(|it| !it.is_empty()) {
            clock::sleep_until(clock::after(RECHECK_DELAY), RECHECK_DELAY);
            let look = self.context.tmux.list();
            for (looked, missing) in found.iter_mut().zip(missing) {
                let agreed = self.check_again(store, &look, looked, &missing);
                looked.note_error(agreed);
            }
        }
    }

    /// Judges the recorded ends; returns the runs that are missing.
    fn check_first(
        &self,
        store: &mut Store,
        look: &LazyCell<ListingResult, impl FnOnce() -> ListingResult>,
        looked: &mut TaskCheck,
    ) -> Result<Vec<(RunId, Evidence)>, DriverError> {
        let task = store.require(&looked.task)?.task;
        let alive = live_runs(&task);
        let mut missing = Vec::new();
        if alive.is_empty() {
            return Ok(missing);
        }
        let records = store.runs(&task.id)?;
        for run in alive {
            let seen = self.check_in_listing(look, &task.project, &task.id, &records, &run)?;
            if let Some(pane) = seen.found_pane() {
                store.set_run_place(&task.id, &run, &run_location::place_of(pane))?;
            }
            match seen.observation {
                Observation::Alive => {}
                Observation::Unknown(_) => looked.needs_recheck = true,
                Observation::Dead(evidence) if is_recorded(&evidence) => {
                    self.judge(store, looked, run, evidence)?;
                }
                Observation::Dead(evidence) => {
                    let record = records.iter().find(|record| record.id == run);
                    if record.is_some_and(is_just_starting) {
                        looked.needs_recheck = true;
                    } else {
                        missing.push((run, evidence));
                    }
                }
            }
        }
        Ok(missing)
    }

    /// Judges the runs that are still missing with the same evidence, or whose end is recorded by
    /// now.
    fn check_again(
        &self,
        store: &mut Store,
        look: &ListingResult,
        looked: &mut TaskCheck,
        missing: &[(RunId, Evidence)],
    ) -> Result<(), DriverError> {
        if missing.is_empty() {
            return Ok(());
        }
        let task = store.require(&looked.task)?.task;
        let records = store.runs(&task.id)?;
        for run in live_runs(&task) {
            let Some((_, before)) = missing.iter().find(|(missing, _)| *missing == run) else {
                continue;
            };
            let seen = self.check_in_listing(look, &task.project, &task.id, &records, &run)?;
            match seen.observation {
                Observation::Dead(evidence) if evidence == *before || is_recorded(&evidence) => {
                    self.judge(store, looked, run, evidence)?;
                }
                _ => looked.needs_recheck = true,
            }
        }
        Ok(())
    }

    /// Decides what follows from an end.
    ///
    /// Leaves the decision for the next check while a gate runs, while TASK.md is being written, or
    /// when the agent's last output cannot be read.
    fn judge(
        &self,
        store: &mut Store,
        looked: &mut TaskCheck,
        run: RunId,
        evidence: Evidence,
    ) -> Result<(), DriverError> {
        if let Some(judged) = self.classify_death(store, &looked.task, &run, &evidence)? {
            self.record_end(store, &looked.task, &run, judged)?;
        }
        if live_runs(&store.require(&looked.task)?.task).contains(&run) {
            looked.needs_recheck = true;
        } else {
            looked.deaths.push((run, evidence));
        }
        Ok(())
    }

    /// Records an end; one that cannot be decided now is left for the next check.
    pub(crate) fn record_end(
        &self,
        store: &mut Store,
        id: &TaskId,
        run: &RunId,
        judged: Judgement,
    ) -> Result<(), DriverError> {
        let ended = Observed::RunEnded {
            run: run.clone(),
            evidence: judged.evidence,
            output_line: judged.output_line,
        };
        let step = self.steps.step(store, id, &Cause::Observation(ended));
        self.record_usage_of_ended(store, id, run);
        match step {
            Ok(_)
            | Err(
                DriverError::DocumentUnknown { .. }
                | DriverError::FactUnknown { .. }
                | DriverError::GateRunning { .. },
            ) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

impl TaskCheck {
    fn new(task: &TaskId) -> TaskCheck {
        TaskCheck {
            task: task.clone(),
            deaths: Vec::new(),
            needs_recheck: false,
            problem: None,
        }
    }

    /// Keeps the first failure; the other tasks are checked all the same.
    fn note_error<T>(&mut self, result: Result<T, DriverError>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(error) => {
                self.needs_recheck = true;
                self.problem.get_or_insert(error);
                None
            }
        }
    }
}

fn live_runs(task: &Task) -> Vec<RunId> {
    let runs = task.runs.values();
    let alive = runs.filter(|run| run.state == RunState::Alive);
    alive.map(|run| run.id.clone()).collect()
}

/// Whether a run was prepared a moment ago and its pane is not recorded yet.
fn is_just_starting(record: &RunRecord) -> bool {
    let grace = i64::try_from(GRACE.as_millis()).unwrap_or(i64::MAX);
    let prepared = record.setup.as_ref().map(|setup| setup.at.millis());
    let age = prepared.map(|at| clock::now().millis().saturating_sub(at));
    record.place.is_none() && age.is_some_and(|age| age < grace)
}

/// Whether the end itself was recorded, rather than the agent being missing.
fn is_recorded(evidence: &Evidence) -> bool {
    !matches!(evidence, Evidence::Closed | Evidence::Environment)
}

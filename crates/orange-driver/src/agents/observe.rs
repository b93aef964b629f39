//! Finds agents that have ended, for commands and for the supervisor.

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
    /// Checks every agent that is recorded as alive in these tasks; judges each death once.
    pub fn observe_each(&self, tasks: &[TaskId]) -> Result<Vec<TaskCheck>, DriverError> {
        let mut store = self.context.store()?;
        let mut checks: Vec<TaskCheck> = tasks.iter().map(TaskCheck::new).collect();
        self.judge_deaths(&mut store, &mut checks);
        for check in checks.iter_mut().filter(|it| !it.deaths.is_empty()) {
            let synced = self.steps.sync_files(&mut store, &check.task);
            check.note_error(synced);
        }
        Ok(checks)
    }

    /// Like `observe_each`, for one task and before a request to it is decided. The request syncs
    /// the task's files, so this does not.
    pub(crate) fn observe(&self, store: &mut Store, task: &TaskId) -> Result<(), DriverError> {
        self.end_exhausted_runs(store, task)?;
        let mut checks = [TaskCheck::new(task)];
        self.judge_deaths(store, &mut checks);
        let [check] = checks;
        check.problem.map_or(Ok(()), Err)
    }

    /// Judges the deaths of all tasks from one listing of the tmux server. An end that the system
    /// has recorded counts at once; a missing agent counts as dead only when a second check agrees.
    fn judge_deaths(&self, store: &mut Store, checks: &mut [TaskCheck]) {
        let listing = LazyCell::new(|| self.context.tmux.list());
        let mut missing = Vec::new();
        for check in &mut *checks {
            let first = self.check_first(store, &listing, check);
            missing.push(check.note_error(first).unwrap_or_default());
        }
        if missing.iter().any(|it| !it.is_empty()) {
            clock::sleep_until(clock::after(RECHECK_DELAY), RECHECK_DELAY);
            let listing = self.context.tmux.list();
            for (check, missing) in checks.iter_mut().zip(missing) {
                let result = self.check_again(store, &listing, check, &missing);
                check.note_error(result);
            }
        }
    }

    /// Judges the recorded ends; returns the runs that are missing.
    fn check_first(
        &self,
        store: &mut Store,
        listing: &LazyCell<ListingResult, impl FnOnce() -> ListingResult>,
        check: &mut TaskCheck,
    ) -> Result<Vec<(RunId, Evidence)>, DriverError> {
        let task = store.require(&check.task)?.task;
        let alive = live_runs(&task);
        let mut missing = Vec::new();
        if alive.is_empty() {
            return Ok(missing);
        }
        let records = store.runs(&task.id)?;
        for run in alive {
            let run_check =
                self.check_in_listing(listing, &task.project, &task.id, &records, &run)?;
            if let Some(pane) = run_check.found_pane() {
                store.set_run_place(&task.id, &run, &run_location::place_of(pane))?;
            }
            match run_check.observation {
                Observation::Alive => {}
                Observation::Unknown(_) => check.needs_recheck = true,
                Observation::Dead(evidence) if is_recorded(&evidence) => {
                    self.judge(store, check, run, evidence)?;
                }
                Observation::Dead(evidence) => {
                    let record = records.iter().find(|record| record.id == run);
                    if record.is_some_and(is_just_starting) {
                        check.needs_recheck = true;
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
        listing: &ListingResult,
        check: &mut TaskCheck,
        missing: &[(RunId, Evidence)],
    ) -> Result<(), DriverError> {
        if missing.is_empty() {
            return Ok(());
        }
        let task = store.require(&check.task)?.task;
        let records = store.runs(&task.id)?;
        for run in live_runs(&task) {
            let Some((_, before)) = missing.iter().find(|(missing, _)| *missing == run) else {
                continue;
            };
            let run_check =
                self.check_in_listing(listing, &task.project, &task.id, &records, &run)?;
            match run_check.observation {
                Observation::Dead(evidence) if evidence == *before || is_recorded(&evidence) => {
                    self.judge(store, check, run, evidence)?;
                }
                _ => check.needs_recheck = true,
            }
        }
        Ok(())
    }

    /// Decides what the end of a run means for its task.
    ///
    /// Leaves the decision for the next check while a gate runs, while TASK.md is being written, or
    /// when the agent's last output cannot be read.
    fn judge(
        &self,
        store: &mut Store,
        check: &mut TaskCheck,
        run: RunId,
        evidence: Evidence,
    ) -> Result<(), DriverError> {
        if let Some(judgement) = self.classify_death(store, &check.task, &run, &evidence)? {
            self.save_output(store, &check.task, &run);
            self.record_end(store, &check.task, &run, judgement)?;
        }
        if live_runs(&store.require(&check.task)?.task).contains(&run) {
            check.needs_recheck = true;
        } else {
            check.deaths.push((run, evidence));
        }
        Ok(())
    }

    /// Records the end of a run. If nothing can be decided about it now, the next check tries
    /// again.
    pub(crate) fn record_end(
        &self,
        store: &mut Store,
        id: &TaskId,
        run: &RunId,
        judgement: Judgement,
    ) -> Result<(), DriverError> {
        let ended = Observed::RunEnded {
            run: run.clone(),
            evidence: judgement.evidence,
            output_line: judgement.output_line,
        };
        // First, because the end makes room for the next start, which the cost may hold back.
        self.record_usage_of_ended(store, id, run);
        let step = self.steps.step(store, id, &Cause::Observation(ended));
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

//! Looks at the agents of many tasks at once.

use std::time::Duration;

use orange_config::clock;
use orange_effects::tmux::{Listing, Observation, TmuxError};
use orange_engine::Task;
use orange_engine::evidence::Evidence;
use orange_engine::names::{RunId, TaskId};
use orange_engine::task::RunState;
use orange_store::{RunRecord, Store};

use crate::{Driver, DriverError};

/// How far apart two looks are that have to agree.
const BETWEEN_LOOKS: Duration = Duration::from_millis(300);

/// How long a run that was just started is not missed.
const GRACE: Duration = Duration::from_secs(2);

/// What came of looking at a task.
#[derive(Debug)]
pub struct Looked {
    /// The task.
    pub task: TaskId,
    /// The deaths that were judged.
    pub deaths: Vec<(RunId, Evidence)>,
    /// Whether somebody should look again soon, because it could not be told.
    pub is_open: bool,
    /// What stood in the way; other tasks are none the worse for it.
    pub problem: Option<DriverError>,
}

impl Driver {
    /// Looks at every agent that these tasks believe alive; each death is judged once.
    ///
    /// One look at the server is for all of them. An end that the system has recorded counts at
    /// once; that somebody is missing counts when a second look agrees.
    pub fn observe_each(&self, tasks: &[TaskId]) -> Result<Vec<Looked>, DriverError> {
        let mut store = self.store()?;
        let mut found: Vec<Looked> = tasks.iter().map(Looked::none).collect();
        let look = self.tmux.list();
        let mut missing = Vec::new();
        for looked in &mut found {
            let first = self.look_once(&mut store, &look, looked);
            missing.push(looked.noting(first).unwrap_or_default());
        }
        if missing.iter().any(|it| !it.is_empty()) {
            clock::rest_until(clock::after(BETWEEN_LOOKS), BETWEEN_LOOKS);
            let look = self.tmux.list();
            for (looked, missing) in found.iter_mut().zip(missing) {
                let agreed = self.look_again(&mut store, &look, looked, &missing);
                looked.noting(agreed);
            }
        }
        for looked in found.iter_mut().filter(|it| !it.deaths.is_empty()) {
            let projected = self.project_files(&mut store, &looked.task);
            looked.noting(projected);
        }
        Ok(found)
    }

    /// Judges the ends that were recorded; whom nobody can find any more.
    fn look_once(
        &self,
        store: &mut Store,
        look: &Result<Listing, TmuxError>,
        looked: &mut Looked,
    ) -> Result<Vec<(RunId, Evidence)>, DriverError> {
        let task = store.require(&looked.task)?.task;
        let records = store.runs(&task.id)?;
        let mut missing = Vec::new();
        for run in alive(&task) {
            match self
                .look_with(look, &task.project, &task.id, &records, &run)?
                .observation
            {
                Observation::Alive => {}
                Observation::Unknown(_) => looked.is_open = true,
                Observation::Dead(evidence) if is_recorded(&evidence) => {
                    self.judge_one(store, looked, run, evidence)?;
                }
                Observation::Dead(evidence) => {
                    let record = records.iter().find(|record| record.id == run);
                    if record.is_some_and(is_just_starting) {
                        looked.is_open = true;
                    } else {
                        missing.push((run, evidence));
                    }
                }
            }
        }
        Ok(missing)
    }

    /// Judges those who are missing still, and for the same reason.
    fn look_again(
        &self,
        store: &mut Store,
        look: &Result<Listing, TmuxError>,
        looked: &mut Looked,
        missing: &[(RunId, Evidence)],
    ) -> Result<(), DriverError> {
        if missing.is_empty() {
            return Ok(());
        }
        let task = store.require(&looked.task)?.task;
        let records = store.runs(&task.id)?;
        for run in alive(&task) {
            let Some((_, before)) = missing.iter().find(|(missing, _)| *missing == run) else {
                continue;
            };
            match self
                .look_with(look, &task.project, &task.id, &records, &run)?
                .observation
            {
                Observation::Dead(evidence) if evidence == *before || is_recorded(&evidence) => {
                    self.judge_one(store, looked, run, evidence)?;
                }
                _ => looked.is_open = true,
            }
        }
        Ok(())
    }

    fn judge_one(
        &self,
        store: &mut Store,
        looked: &mut Looked,
        run: RunId,
        evidence: Evidence,
    ) -> Result<(), DriverError> {
        self.judge(store, &looked.task, &run, &evidence)?;
        // A gate that still runs, or a file that is just being written, leaves it to the next look.
        if alive(&store.require(&looked.task)?.task).contains(&run) {
            looked.is_open = true;
        } else {
            looked.deaths.push((run, evidence));
        }
        Ok(())
    }
}

impl Looked {
    fn none(task: &TaskId) -> Looked {
        Looked {
            task: task.clone(),
            deaths: Vec::new(),
            is_open: false,
            problem: None,
        }
    }

    /// Keeps the first failure; one task that fails keeps no other from being looked at.
    fn noting<T>(&mut self, result: Result<T, DriverError>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(error) => {
                self.is_open = true;
                self.problem.get_or_insert(error);
                None
            }
        }
    }
}

fn alive(task: &Task) -> Vec<RunId> {
    let runs = task.runs.values();
    let alive = runs.filter(|run| run.state == RunState::Alive);
    alive.map(|run| run.id.clone()).collect()
}

/// Whether a run was prepared a moment ago and nobody has said yet where it is.
fn is_just_starting(record: &RunRecord) -> bool {
    let grace = i64::try_from(GRACE.as_millis()).unwrap_or(i64::MAX);
    let prepared = record.setup.as_ref().map(|setup| setup.at.millis());
    let age = prepared.map(|at| clock::now().millis().saturating_sub(at));
    record.place.is_none() && age.is_some_and(|age| age < grace)
}

/// Whether the end itself was seen, rather than that somebody is missing.
fn is_recorded(evidence: &Evidence) -> bool {
    !matches!(evidence, Evidence::Closed | Evidence::Environment)
}

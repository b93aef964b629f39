//! The state of runs, from a listing of the tmux server.

use orange_effects::process::processes_of_run;
use orange_effects::tmux::{Listing, Observation, Pane, TmuxError, observe};
use orange_engine::Task;
use orange_engine::evidence::Evidence;
use orange_engine::names::{ProjectName, RunId, TaskId};
use orange_engine::role::Role;
use orange_engine::task::RunState;
use orange_store::{RunRecord, Store};

use crate::DriverError;
use crate::agents::Agents;
use crate::context::run_location;

/// The result of checking one agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunObservation {
    pub role: Role,
    pub run: RunId,
    /// The observation; a failed check counts as unknown, which changes nothing.
    pub observation: Observation,
}

/// Whether a run was found dead.
pub(crate) fn is_dead(observations: &[RunObservation], run: &RunId) -> bool {
    let mut dead = observations.iter().filter(|it| it.is_dead());
    dead.any(|it| it.run == *run)
}

impl RunObservation {
    pub fn is_dead(&self) -> bool {
        matches!(self.observation, Observation::Dead(_))
    }
}

/// The result of checking a run, and its pane.
pub(crate) struct RunCheck {
    pub(crate) observation: Observation,
    pane: Option<Pane>,
    /// Whether the store has no record of the pane, so that it had to be found on the server.
    is_found: bool,
}

impl RunCheck {
    /// The pane, if only the server knew it, because the performer died before it recorded the
    /// pane.
    pub(crate) fn found_pane(&self) -> Option<&Pane> {
        self.pane.as_ref().filter(|_| self.is_found)
    }
}

impl Agents {
    /// Checks every agent that is recorded as alive in a task, once, and records nothing.
    pub(crate) fn check_runs(
        &self,
        task: &Task,
        records: &[RunRecord],
    ) -> Result<Vec<RunObservation>, DriverError> {
        let alive = task.runs.iter();
        let mut alive = alive
            .filter(|(_, run)| run.state == RunState::Alive)
            .peekable();
        if alive.peek().is_none() {
            return Ok(Vec::new());
        }
        let listing = self.context.tmux.list();
        let observations = alive.map(|(role, run)| {
            Ok(RunObservation {
                role: role.clone(),
                run: run.id.clone(),
                observation: self.observe_in(
                    &listing,
                    &task.project,
                    &task.id,
                    records,
                    &run.id,
                )?,
            })
        });
        observations.collect()
    }

    /// The state of a run, from a listing of the server.
    pub(crate) fn observe_in(
        &self,
        listing: &Result<Listing, TmuxError>,
        project: &ProjectName,
        task: &TaskId,
        records: &[RunRecord],
        run: &RunId,
    ) -> Result<Observation, DriverError> {
        let result = self.check_in_listing(listing, project, task, records, run)?;
        Ok(result.observation)
    }

    /// The state and pane of one run, from a new listing.
    pub(crate) fn check_run(
        &self,
        store: &mut Store,
        task: &Task,
        run: &RunId,
    ) -> Result<(Observation, Option<Pane>), DriverError> {
        let records = store.runs(&task.id)?;
        let result = self.check_in_listing(
            &self.context.tmux.list(),
            &task.project,
            &task.id,
            &records,
            run,
        )?;
        if let Some(pane) = result.found_pane() {
            store.set_run_place(&task.id, run, &run_location::place_of(pane))?;
        }
        Ok((result.observation, result.pane))
    }

    /// The state and pane of a run, from a listing of the server; writes nothing.
    pub(crate) fn check_in_listing(
        &self,
        listing: &Result<Listing, TmuxError>,
        project: &ProjectName,
        task: &TaskId,
        records: &[RunRecord],
        run: &RunId,
    ) -> Result<RunCheck, DriverError> {
        let folder = self.context.launch_directory(project, task, run)?;
        let run_file = run_location::run_file(&folder);
        let record = records.iter().find(|record| record.id == *run);
        let recorded = record.and_then(|record| run_location::recorded_pane(record, &run_file));
        let is_found = recorded.is_none();
        // A performer may have died after the start, before it could record where the run is.
        let found = || run_location::find_pane(listing.as_ref().ok()?, run, &run_file);
        let pane = recorded.or_else(found);
        let observation = match (&pane, listing) {
            (Some(pane), listing) => observe(pane, listing),
            (None, Err(error)) if !matches!(error, TmuxError::NoServer(_)) => {
                Observation::Unknown(error.to_string())
            }
            (None, _) => without_pane(run),
        };
        Ok(RunCheck {
            observation,
            pane,
            is_found,
        })
    }
}

/// The state of a run without a pane: it counts as dead only when no process of it is left.
fn without_pane(run: &RunId) -> Observation {
    match processes_of_run(run) {
        Ok(found) if found.is_empty() => Observation::Dead(Evidence::Environment),
        Ok(_) => Observation::Unknown(format!("run `{run}` has no pane, but processes remain")),
        Err(error) => Observation::Unknown(error.to_string()),
    }
}

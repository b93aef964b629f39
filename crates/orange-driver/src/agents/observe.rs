//! Looks at the agents of a task, and turns deaths into decisions.

use orange_effects::process::carrying;
use orange_effects::tmux::{Listing, Observation, Pane, TmuxError, observe};
use orange_engine::Task;
use orange_engine::death::Judged;
use orange_engine::evidence::Evidence;
use orange_engine::input::{Cause, Observation as Observed};
use orange_engine::names::{ProjectName, RunId, TaskId};
use orange_engine::role::Role;
use orange_engine::task::RunState;
use orange_store::{RunRecord, Store};

use super::location;
use crate::step::Stepped;
use crate::{Driver, DriverError};

/// What a look at one agent showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// As what it runs.
    pub role: Role,
    /// Which start of it.
    pub run: RunId,
    /// What was seen; a failed look is unknown, which changes nothing.
    pub observation: Observation,
}

/// What a look at a run showed, and where.
pub(crate) struct Look {
    pub(crate) observation: Observation,
    pane: Option<Pane>,
    /// Whether the pane was found, not remembered.
    is_found: bool,
}

impl Driver {
    /// Looks at every agent that a task believes alive; each death is judged once.
    pub fn observe(&self, task: &TaskId) -> Result<Vec<Seen>, DriverError> {
        let mut store = self.store()?;
        let seen = self.observe_in(&mut store, task)?;
        if seen
            .iter()
            .any(|it| matches!(it.observation, Observation::Dead(_)))
        {
            self.project_files(&mut store, task)?;
        }
        Ok(seen)
    }

    /// The same, for who has a store open.
    pub(crate) fn observe_in(
        &self,
        store: &mut Store,
        id: &TaskId,
    ) -> Result<Vec<Seen>, DriverError> {
        self.end_who_gave_up(store, id)?;
        let task = store.require(id)?.task;
        let alive = task.runs.iter();
        let alive = alive.filter(|(_, run)| run.state == RunState::Alive);
        let alive: Vec<(Role, RunId)> = alive
            .map(|(role, run)| (role.clone(), run.id.clone()))
            .collect();
        let mut seen = Vec::new();
        for (role, run) in alive {
            let (observation, _) = self.look_at(store, &task, &run)?;
            if let Observation::Dead(evidence) = &observation {
                self.judge(store, id, &run, evidence)?;
            }
            seen.push(Seen {
                role,
                run,
                observation,
            });
        }
        Ok(seen)
    }

    /// A death is left for the next look when nobody can tell what TASK.md says now, or what the
    /// agent said last.
    pub(crate) fn judge(
        &self,
        store: &mut Store,
        id: &TaskId,
        run: &RunId,
        evidence: &Evidence,
    ) -> Result<(), DriverError> {
        match self.meaning(store, id, run, evidence)? {
            Some(judged) => self.judged(store, id, run, judged),
            None => Ok(()),
        }
    }

    /// Has decided what follows from an end.
    pub(crate) fn judged(
        &self,
        store: &mut Store,
        id: &TaskId,
        run: &RunId,
        judged: Judged,
    ) -> Result<(), DriverError> {
        let ended = Observed::RunEnded {
            run: run.clone(),
            evidence: judged.evidence,
            said: judged.said,
        };
        match self.step(store, id, &Cause::Observation(ended)) {
            Ok(Stepped::Recorded { .. } | Stepped::Nothing { .. } | Stepped::Refused(_))
            | Err(
                DriverError::DocumentUnknown { .. }
                | DriverError::FactUnknown { .. }
                | DriverError::GateRunning { .. },
            ) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Looks at every agent that a task believes alive, once, and leaves it at that.
    pub(crate) fn look_only(
        &self,
        task: &Task,
        records: &[RunRecord],
    ) -> Result<Vec<Seen>, DriverError> {
        let alive = task.runs.iter();
        let mut alive = alive
            .filter(|(_, run)| run.state == RunState::Alive)
            .peekable();
        if alive.peek().is_none() {
            return Ok(Vec::new());
        }
        let look = self.tmux.list();
        let seen = alive.map(|(role, run)| {
            Ok(Seen {
                role: role.clone(),
                run: run.id.clone(),
                observation: self.look_from(&look, &task.project, &task.id, records, &run.id)?,
            })
        });
        seen.collect()
    }

    /// What one look at the server shows of a run.
    pub(crate) fn look_from(
        &self,
        look: &Result<Listing, TmuxError>,
        project: &ProjectName,
        task: &TaskId,
        records: &[RunRecord],
        run: &RunId,
    ) -> Result<Observation, DriverError> {
        let looked = self.look_with(look, project, task, records, run)?;
        Ok(looked.observation)
    }

    /// What one run looks like, and where it is.
    pub(crate) fn look_at(
        &self,
        store: &mut Store,
        task: &Task,
        run: &RunId,
    ) -> Result<(Observation, Option<Pane>), DriverError> {
        let records = store.runs(&task.id)?;
        let looked = self.look_with(&self.tmux.list(), &task.project, &task.id, &records, run)?;
        if let Some(pane) = looked.pane.as_ref().filter(|_| looked.is_found) {
            store.set_run_place(&task.id, run, &location::remembered(pane))?;
        }
        Ok((looked.observation, looked.pane))
    }

    /// What one look at the server says about a run; nothing is written.
    pub(crate) fn look_with(
        &self,
        look: &Result<Listing, TmuxError>,
        project: &ProjectName,
        task: &TaskId,
        records: &[RunRecord],
        run: &RunId,
    ) -> Result<Look, DriverError> {
        let folder = self.launch_directory(project, task, run)?;
        let run_file = location::run_file(&folder);
        let record = records.iter().find(|record| record.id == *run);
        let remembered = record.and_then(|record| location::pane(record, &run_file));
        let is_found = remembered.is_none();
        // A performer may have died after the start, before it could say where the run is.
        let found = || location::found(look.as_ref().ok()?, run, &run_file);
        let pane = remembered.or_else(found);
        let observation = match (&pane, look) {
            (Some(pane), look) => observe(pane, look),
            (None, Err(error)) if !matches!(error, TmuxError::NoServer(_)) => {
                Observation::Unknown(error.to_string())
            }
            (None, _) => without_pane(run),
        };
        Ok(Look {
            observation,
            pane,
            is_found,
        })
    }
}

/// What is known of a run that has no pane: only that nothing of it is left counts.
fn without_pane(run: &RunId) -> Observation {
    match carrying(run) {
        Ok(found) if found.is_empty() => Observation::Dead(Evidence::Environment),
        Ok(_) => Observation::Unknown(format!("run `{run}` has no pane, but processes remain")),
        Err(error) => Observation::Unknown(error.to_string()),
    }
}

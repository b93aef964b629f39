//! Who asks: a run, by proof, tree or directory; else the person.

use std::path::{Path, PathBuf};

use orange_engine::names::{RunId, TaskId};
use orange_engine::role::Role;

use super::{Driver, DriverError, ids};
use crate::config::{ORANGE_EFFECT_ID, ORANGE_RUN_ID, ORANGE_RUN_PROOF, ORANGE_TASK_ID};
use crate::effects::process::{ProcessError, run_above};
use crate::store::{RunRecord, Store, StoreError};

/// Who asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// As what.
    pub role: Role,
    /// The only task it may speak for; a person may speak for all.
    pub task: Option<TaskId>,
}

impl Identity {
    fn human() -> Identity {
        Identity {
            role: Role::Human,
            task: None,
        }
    }

    fn of(record: &RunRecord) -> Identity {
        Identity {
            role: record.role.clone(),
            task: Some(record.task.clone()),
        }
    }
}

impl Driver {
    /// Who calls this process.
    ///
    /// This keeps honest agents in their lane; against a hostile one only a sandbox helps.
    pub fn identify(&self) -> Result<Identity, DriverError> {
        match Store::open_read_only(&self.home) {
            Ok(store) => self.identify_in(&store),
            // Without a memory there is no run that could ask.
            Err(StoreError::Missing { .. }) => Ok(Identity::human()),
            // An agent that outlived an update of orange is still that agent.
            Err(StoreError::Older { .. }) => self.identify_in(&self.store()?),
            Err(error) => Err(error.into()),
        }
    }

    /// The same, for who has a store open.
    pub(super) fn identify_in(&self, store: &Store) -> Result<Identity, DriverError> {
        let variable = |name: &str| self.environment.variable(name)?.to_str();
        if let (Some(run), Some(proof)) = (variable(ORANGE_RUN_ID), variable(ORANGE_RUN_PROOF)) {
            return proven(store, &RunId::new(run), proof, variable(ORANGE_TASK_ID));
        }
        // A process above that hides what it is does not make its child a person.
        let above = match variable(ORANGE_RUN_ID) {
            Some(run) => Some(RunId::new(run)),
            None => run_above().unwrap_or(None),
        };
        if let Some(run) = above
            && let Some(record) = store.runs_named(&run)?.first()
        {
            return Ok(Identity::of(record));
        }
        match self.directory() {
            Some(directory) => in_workspace(store, directory),
            None => Ok(Identity::human()),
        }
    }

    /// Whether an agent calls, or something that runs for a task; told without the database, so
    /// that it can be asked when that is lost. What cannot be told is no person.
    pub(super) fn is_called_by_agent(&self) -> bool {
        let marked = [ORANGE_RUN_ID, ORANGE_EFFECT_ID];
        let is_marked = |name: &&str| self.environment.variable(name).is_some();
        let is_below = match run_above() {
            Ok(run) => run.is_some(),
            Err(ProcessError::Unsupported(_)) => false,
            Err(_) => true,
        };
        let workspaces = real(&self.home.workspaces());
        let is_inside = |directory: &Path| real(directory).starts_with(&workspaces);
        marked.iter().any(is_marked) || is_below || self.directory().is_some_and(is_inside)
    }

    /// Refuses a call that carries a run's mark: what is started apart has none, and an agent's own
    /// call would run programs by that agent's `PATH`.
    pub fn refuse_runs(&self, what: &'static str) -> Result<(), DriverError> {
        match self.environment.variable(ORANGE_RUN_ID) {
            Some(_) => Err(DriverError::ForAPerson(what)),
            None => Ok(()),
        }
    }

    /// Refuses an agent what is a person's to ask for.
    pub fn require_person(&self, what: &'static str) -> Result<(), DriverError> {
        // Whom nothing connects with a run need not wait for the database to say so.
        if !self.is_called_by_agent() || self.identify()?.role == Role::Human {
            return Ok(());
        }
        Err(DriverError::ForAPerson(what))
    }

    /// Who asks about a task, if they may: an agent about its own only, a hook about none.
    pub fn identify_for(&self, task: &TaskId) -> Result<Identity, DriverError> {
        self.may_ask(task, || self.identify())
    }

    /// The same, for who has a store open.
    pub(super) fn identify_for_in(
        &self,
        store: &Store,
        task: &TaskId,
    ) -> Result<Identity, DriverError> {
        self.may_ask(task, || self.identify_in(store))
    }

    fn may_ask(
        &self,
        task: &TaskId,
        identify: impl FnOnce() -> Result<Identity, DriverError>,
    ) -> Result<Identity, DriverError> {
        let own = self.environment.variable(ORANGE_TASK_ID);
        let inside_effect = self.environment.variable(ORANGE_EFFECT_ID).is_some();
        if inside_effect && own.is_some_and(|own| own == task.as_str()) {
            return Err(DriverError::InsideEffect { task: task.clone() });
        }
        let identity = identify()?;
        match &identity.task {
            Some(own) if own != task => Err(DriverError::OtherTask {
                role: identity.role,
                own: own.clone(),
                asked: task.clone(),
            }),
            _ => Ok(identity),
        }
    }
}

/// The run that knows its secret.
fn proven(
    store: &Store,
    run: &RunId,
    proof: &str,
    task: Option<&str>,
) -> Result<Identity, DriverError> {
    let hash = ids::hash(proof);
    let runs = store.runs_named(run)?;
    let found = runs.iter().find(|record| {
        let secret = record.setup.as_ref().map(|setup| &setup.secret_hash);
        secret == Some(&hash) && task.is_none_or(|task| record.task.as_str() == task)
    });
    found
        .map(Identity::of)
        .ok_or_else(|| DriverError::ProofInvalid(run.clone()))
}

/// Whoever stands in a bound worktree is its worker, never the person.
fn in_workspace(store: &Store, directory: &Path) -> Result<Identity, DriverError> {
    let directory = real(directory);
    let bound = store.bound_workspaces()?;
    let inside = bound
        .into_iter()
        .find(|(_, workspace)| directory.starts_with(real(&workspace.path)));
    Ok(match inside {
        Some((task, _)) => Identity {
            role: Role::Worker,
            task: Some(task),
        },
        None => Identity::human(),
    })
}

fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

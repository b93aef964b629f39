//! Identifies the caller: a run, by process or proof, or the user.
//!
//! The caller's parent processes, variables and directory determine its identity. A process below a
//! run's own process in the process tree is that run, and so is a process with a run's id and proof
//! while the run lives. A script of a task, or a process in its worktree, is the task's worker.
//! Contradictions are refused, and so is any other process below something that orange started.
//! Only a process that nothing connects with a task is the user.

use std::path::Path;

use orange_config::{ORANGE_EFFECT_ID, ORANGE_TASK_ID};
use orange_engine::names::{RunId, TaskId};
use orange_engine::role::Role;
use orange_store::{RunRecord, Store, StoreError};

use crate::DriverError;
use crate::callers::Callers;
use crate::context::caller::{Caller, Mark, canonical_path};
use crate::context::ids;
use crate::context::run_location;

/// The caller's identity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    pub role: Role,
    /// The only task that the caller may act for; `None` if it may act for all.
    pub task: Option<TaskId>,
    /// Whether the caller counts as the worker only because it is in a task's worktree.
    pub is_by_directory: bool,
}

impl Identity {
    fn human() -> Identity {
        Identity {
            role: Role::Human,
            task: None,
            is_by_directory: false,
        }
    }

    fn worker(task: TaskId) -> Identity {
        Identity {
            role: Role::Worker,
            task: Some(task),
            is_by_directory: false,
        }
    }

    fn assistant() -> Identity {
        Identity {
            role: Role::assistant(),
            task: None,
            is_by_directory: false,
        }
    }

    /// Whether the caller is the agent of `orange chat`, which works on no task.
    pub fn is_assistant(&self) -> bool {
        *self == Identity::assistant()
    }

    /// The identity of a run. Fails once the run has ended.
    fn of(record: &RunRecord) -> Result<Identity, DriverError> {
        if record.ended_at.is_some() {
            let reason = format!("run `{}` has ended", record.id);
            return Err(DriverError::CallerUnknown(reason));
        }
        Ok(Identity {
            role: record.role.clone(),
            task: Some(record.task.clone()),
            is_by_directory: false,
        })
    }
}

/// The nearest process above the caller that orange started.
enum Origin {
    Run(Box<RunRecord>),
    /// A tmux server, a performer or the supervisor of this home.
    Background,
}

impl Callers {
    /// Identifies the process that called this one.
    ///
    /// Without a sandbox, an agent that detaches from its parents and drops its variables, or takes
    /// another process's proof, cannot be distinguished from other callers; `docs/security.md`
    /// lists these limits.
    pub fn identify(&self) -> Result<Identity, DriverError> {
        match self.context.read_store() {
            Ok(store) => self.identify_in(&store),
            // Without a database there is no run that could ask.
            Err(StoreError::Missing { .. }) if !self.context.is_called_by_agent() => {
                Ok(Identity::human())
            }
            Err(StoreError::Missing { .. }) if self.is_only_assistant() => {
                Ok(Identity::assistant())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Whether the assistant's mark is all that connects the caller with orange.
    fn is_only_assistant(&self) -> bool {
        let run = self.context.assistant_run();
        let is_assistant = |mark: &Mark| mark.proof.is_none() && mark.run.as_ref() == Some(&run);
        self.context.caller().is_ok_and(|caller| {
            let marks = caller.parents.iter().filter_map(|it| it.mark.as_ref());
            let mut marks = marks.chain(&caller.mark);
            marks.all(is_assistant) && !caller.parents.iter().any(|it| it.is_background)
        })
    }

    /// Like `identify`, with an open store.
    pub(crate) fn identify_in(&self, store: &Store) -> Result<Identity, DriverError> {
        let caller = self.context.caller()?;
        self.identify_from(store, &caller, self.context.directory())
    }

    /// Identifies a process by what is known about it and by the directory that it works in.
    pub(crate) fn identify_from(
        &self,
        store: &Store,
        caller: &Caller,
        directory: Option<&Path>,
    ) -> Result<Identity, DriverError> {
        let origin = self.origin(store, caller)?;
        let (count, origin) = match origin {
            Some((index, origin)) => (index + 1, Some(origin)),
            None => (caller.parents.len(), None),
        };
        let run = match &origin {
            Some(Origin::Run(record)) => Some(record.as_ref()),
            _ => None,
        };
        let mut identity = run.map(Identity::of).transpose()?;
        // Ignore marks above the process that orange started: they belong to the process that ran
        // orange then, not to this caller.
        let parents = caller.parents.iter().take(count);
        let marks = caller.mark.iter();
        for mark in marks.chain(parents.filter_map(|parent| parent.mark.as_ref())) {
            let claim = self.resolve(store, mark, run)?;
            identity = Some(combine(identity, claim)?);
        }
        match (identity, origin) {
            (Some(identity), _) => Ok(identity),
            (None, origin) => {
                let found = directory.map(|it| worker_in_workspace(store, it));
                match (found.transpose()?.flatten(), origin) {
                    (Some(identity), _) => Ok(identity),
                    (None, None) => Ok(Identity::human()),
                    (None, Some(_)) => Err(DriverError::CallerUnknown(String::from(
                        "this process was started by orange or runs in orange's tmux server, but \
                         belongs to no agent",
                    ))),
                }
            }
        }
    }

    /// The nearest process above the caller that orange started, and its index in the chain.
    fn origin(
        &self,
        store: &Store,
        caller: &Caller,
    ) -> Result<Option<(usize, Origin)>, DriverError> {
        let pids: Vec<u32> = caller.parents.iter().map(|it| it.process.pid).collect();
        let runs = store.runs_of_processes(&pids)?;
        let servers = store.places_of_servers(&pids)?;
        let socket = self.context.tmux.socket();
        for (index, parent) in caller.parents.iter().enumerate() {
            let process = &parent.process;
            let mut run = runs
                .iter()
                .filter(|run| run_location::is_process(run, process));
            if let Some(run) = run.next() {
                return Ok(Some((index, Origin::Run(Box::new(run.clone())))));
            }
            let is_server = |it| run_location::is_server(it, socket, process);
            if parent.is_background || servers.iter().any(is_server) {
                return Ok(Some((index, Origin::Background)));
            }
        }
        Ok(None)
    }

    /// The identity that a mark stands for, if its proof or the process tree confirms it. Code that
    /// a gate, a hook or a script of the project runs is the worker at most.
    fn resolve(
        &self,
        store: &Store,
        mark: &Mark,
        run: Option<&RunRecord>,
    ) -> Result<Claim, DriverError> {
        if mark.proof.is_none() && mark.run.as_ref() == Some(&self.context.assistant_run()) {
            return Ok(Claim::Run(Identity::assistant()));
        }
        let script = match &mark.run {
            Some(run) => self.context.task_of_script(run),
            None => mark.task.clone().filter(|_| mark.is_in_effect),
        };
        if let Some(task) = script.filter(|_| mark.proof.is_none()) {
            store.require(&task)?;
            return Ok(Claim::Script(task));
        }
        let identity = match (&mark.run, &mark.proof) {
            (Some(id), Some(proof)) => run_by_proof(store, id, proof, mark.task.as_ref())?,
            (id, _) => match run {
                Some(run) if id.as_ref().is_none_or(|id| *id == run.id) => Identity::of(run)?,
                _ => {
                    let reason = id.as_ref().map_or_else(
                        || String::from("variables of a run are set, but `ORANGE_RUN_ID` is not"),
                        |id| format!("`ORANGE_RUN_ID` is `{id}`, but its proof is missing"),
                    );
                    return Err(DriverError::CallerUnknown(reason));
                }
            },
        };
        Ok(Claim::Run(identity))
    }

    /// Returns an error if an agent asks for an action that only the user may do.
    pub fn require_user(&self, action: &'static str) -> Result<(), DriverError> {
        // A caller that nothing connects with a task need not wait for the database.
        if !self.context.is_called_by_agent() {
            return Ok(());
        }
        match self.identify()? {
            Identity {
                role: Role::Human, ..
            } => Ok(()),
            Identity {
                task,
                is_by_directory: true,
                ..
            } => Err(DriverError::UserOnly {
                action,
                worktree_of: task,
            }),
            _ => Err(DriverError::user_only(action)),
        }
    }

    /// Identifies a caller that asks about a task. An agent may ask only about its own task, and a
    /// hook about none.
    pub fn identify_for(&self, task: &TaskId) -> Result<Identity, DriverError> {
        self.check_access(task, || self.identify())
            .and_then(refuse_assistant)
    }

    /// Like `identify_for`, with an open store.
    pub(crate) fn identify_for_in(
        &self,
        store: &Store,
        task: &TaskId,
    ) -> Result<Identity, DriverError> {
        self.check_access(task, || self.identify_in(store))
            .and_then(refuse_assistant)
    }

    /// Like `identify_for_in`, also for the agent of `orange chat`; the caller checks what it asks.
    pub(crate) fn identify_with_assistant(
        &self,
        store: &Store,
        task: &TaskId,
    ) -> Result<Identity, DriverError> {
        self.check_access(task, || self.identify_in(store))
    }

    fn check_access(
        &self,
        task: &TaskId,
        identify: impl FnOnce() -> Result<Identity, DriverError>,
    ) -> Result<Identity, DriverError> {
        let own = self.context.environment.variable(ORANGE_TASK_ID);
        let inside_effect = self
            .context
            .environment
            .variable(ORANGE_EFFECT_ID)
            .is_some();
        if inside_effect && own.is_some_and(|own| own == task.as_str()) {
            return Err(DriverError::InsideEffect { task: task.clone() });
        }
        let identity = identify()?;
        match &identity.task {
            Some(own) if own != task => Err(DriverError::OtherTask {
                role: identity.role,
                own: own.clone(),
                requested: task.clone(),
                is_by_directory: identity.is_by_directory,
            }),
            _ => Ok(identity),
        }
    }
}

/// Fails for the agent of `orange chat`: it may change no task.
fn refuse_assistant(identity: Identity) -> Result<Identity, DriverError> {
    if identity.is_assistant() {
        return Err(DriverError::user_only("change a task"));
    }
    Ok(identity)
}

/// What one mark claims about the caller.
#[derive(Clone, Debug)]
enum Claim {
    Run(Identity),
    /// Code that runs for this task.
    Script(TaskId),
}

/// Combines two pieces of evidence: code of a task counts as the task's worker, whatever started
/// it; two different runs are a contradiction.
fn combine(known: Option<Identity>, claim: Claim) -> Result<Identity, DriverError> {
    let (claim, is_script) = match claim {
        Claim::Run(identity) => (identity, false),
        Claim::Script(task) => (Identity::worker(task), true),
    };
    match known {
        None => Ok(claim),
        Some(known) if known == claim => Ok(known),
        Some(known) if is_script && known.task == claim.task => Ok(claim),
        Some(known) => {
            let describe = |it: &Identity| match &it.task {
                Some(task) => format!("the {} of task `{task}`", it.role),
                None => format!("the {}", it.role),
            };
            Err(DriverError::CallerUnknown(format!(
                "it could be {} or {}",
                describe(&known),
                describe(&claim)
            )))
        }
    }
}

/// The run whose secret the caller knows.
fn run_by_proof(
    store: &Store,
    run: &RunId,
    proof: &str,
    task: Option<&TaskId>,
) -> Result<Identity, DriverError> {
    let hash = ids::hash(proof);
    let runs = store.runs_named(run)?;
    let found = runs.iter().find(|record| {
        let secret = record.setup.as_ref().map(|setup| &setup.secret_hash);
        secret == Some(&hash) && task.is_none_or(|task| record.task == *task)
    });
    found.map_or_else(|| Err(DriverError::ProofInvalid(run.clone())), Identity::of)
}

/// A caller in a task's worktree is the task's worker, never the user.
fn worker_in_workspace(store: &Store, directory: &Path) -> Result<Option<Identity>, DriverError> {
    let directory = canonical_path(directory);
    let bound = store.bound_workspaces()?;
    let mut inside = bound
        .into_iter()
        .filter(|(_, workspace)| directory.starts_with(canonical_path(&workspace.path)));
    Ok(inside.next().map(|(task, _)| Identity {
        is_by_directory: true,
        ..Identity::worker(task)
    }))
}

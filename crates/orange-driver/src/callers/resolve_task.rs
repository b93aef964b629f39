//! Resolves the task: by id, prefix, branch, or the caller's own.

use orange_config::ORANGE_TASK_ID;
use orange_engine::Task;
use orange_engine::names::TaskId;
use orange_engine::role::Role;
use orange_store::{Store, StoreError};

use crate::DriverError;
use crate::callers::Callers;
use crate::callers::identity::Identity;
use crate::error::Candidate;
use crate::steps::pinned_workflow;

impl Callers {
    /// The task that was given, else the caller's own.
    ///
    /// A name is tried as an id, a branch, and the beginning of an id, in this order. If several
    /// tasks are on the branch, a task of this project is preferred over one of another, then an
    /// unfinished task over a finished one.
    pub fn resolve_task(&self, name: Option<&str>) -> Result<TaskId, DriverError> {
        if let Some(name) = name {
            return match self.context.read_store() {
                Ok(store) => self.find_named(&store, name),
                Err(StoreError::Missing { .. }) => {
                    let task = TaskId::new(name);
                    Err(StoreError::UnknownTask { task }.into())
                }
                Err(error) => Err(error.into()),
            };
        }
        let own = self.context.environment.variable(ORANGE_TASK_ID);
        if let Some(own) = own.and_then(|own| own.to_str()) {
            return Ok(TaskId::new(own));
        }
        self.identify()?.task.ok_or(DriverError::TaskUnclear)
    }

    fn find_named(&self, store: &Store, name: &str) -> Result<TaskId, DriverError> {
        let id = TaskId::new(name);
        if store.load(&id)?.is_some() || name.is_empty() {
            return Ok(id);
        }
        // Ids have lowercase letters only; a branch name may have any.
        let lowercase = TaskId::new(name.to_lowercase());
        if store.load(&lowercase)?.is_some() {
            return Ok(lowercase);
        }
        let on_branch = store.tasks_on_branch(name)?;
        if !on_branch.is_empty() {
            return require_one(name, &self.nearest(store, on_branch.iter().collect())?);
        }
        let with_prefix = store.tasks_beginning_with(name)?;
        if with_prefix.is_empty() {
            return Ok(id);
        }
        require_one(name, &with_prefix.iter().collect::<Vec<&Task>>())
    }

    /// The task with exactly this id, deleted or not. Else the deleted task with this branch or
    /// beginning of an id, else any task that `name` fits.
    pub fn resolve_deleted(&self, name: &str) -> Result<TaskId, DriverError> {
        let id = TaskId::new(name);
        let store = self.context.read_store()?;
        if store.load(&id)?.is_some() {
            return Ok(id);
        }
        let deleted = store.deleted_tasks()?;
        let on_branch = |task: &&Task| task.branch.as_str() == name;
        let has_prefix = |task: &&Task| task.id.as_str().starts_with(name);
        let mut found: Vec<&Task> = deleted.iter().filter(on_branch).collect();
        if found.is_empty() {
            found = deleted.iter().filter(has_prefix).collect();
        }
        match found.as_slice() {
            [] => self.find_named(&store, name),
            found => require_one(name, found),
        }
    }

    /// The tasks of this project, if any; of these the unfinished ones, if any.
    fn nearest<'a>(
        &self,
        store: &Store,
        found: Vec<&'a Task>,
    ) -> Result<Vec<&'a Task>, DriverError> {
        let here = self.project_here(None)?;
        let here = here.map(|project| project.name);
        let found = prefer(found, |task| Some(&task.project) == here.as_ref());
        let mut open = Vec::new();
        for task in &found {
            let stored = store.require(&task.id)?;
            let has_ended = pinned_workflow(&stored).is_ok_and(|it| it.is_terminal(&task.status));
            open.push(!has_ended);
        }
        let mut open = open.into_iter();
        Ok(prefer(found, |_| open.next().unwrap_or(false)))
    }
}

/// The preferred tasks, or all when there are none.
fn prefer(found: Vec<&Task>, mut is_preferred: impl FnMut(&Task) -> bool) -> Vec<&Task> {
    let preferred: Vec<&Task> = found
        .iter()
        .copied()
        .filter(|task| is_preferred(task))
        .collect();
    if preferred.is_empty() {
        found
    } else {
        preferred
    }
}

fn require_one(name: &str, found: &[&Task]) -> Result<TaskId, DriverError> {
    if let [only] = found {
        return Ok(only.id.clone());
    }
    let candidates = found.iter().map(|task| Candidate {
        task: task.id.clone(),
        project: task.project.clone(),
        status: task.status.clone(),
        summary: task.summary.clone(),
    });
    Err(DriverError::TaskAmbiguous {
        name: name.to_owned(),
        candidates: candidates.collect(),
    })
}

impl Callers {
    /// The parent of a new task: the one that was given, else the worker's own.
    pub fn resolve_parent(
        &self,
        name: Option<&str>,
        caller: &Identity,
    ) -> Result<Option<TaskId>, DriverError> {
        let Some(name) = name else {
            let own = caller.task.clone();
            return Ok(own.filter(|_| caller.role == Role::Worker));
        };
        if caller.is_assistant() {
            return Err(DriverError::user_only("add a child to a task"));
        }
        let name = self.resolve_task(Some(name))?;
        match &caller.task {
            Some(own) if *own != name => Err(DriverError::OtherTask {
                role: caller.role.clone(),
                own: own.clone(),
                requested: name,
                is_by_directory: caller.is_by_directory,
            }),
            _ => Ok(Some(name)),
        }
    }
}

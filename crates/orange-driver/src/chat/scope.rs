//! Which tasks a chat may see.

use std::collections::BTreeSet;

use orange_engine::Task;
use orange_engine::names::{ProjectName, TaskId};
use orange_store::Store;

use crate::DriverError;

/// Which tasks a chat may see, and where it may add one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scope {
    /// If empty, all projects.
    pub(crate) projects: Vec<ProjectName>,
    /// Whether the answers can be read by others, so that only tasks are shown that the forge shows
    /// anyway, or that were created there.
    pub(crate) is_public: bool,
    /// The tasks that were created there.
    pub(crate) created: BTreeSet<TaskId>,
    /// The tasks that the message is written under.
    pub(crate) here: Vec<TaskId>,
}

impl Scope {
    pub(crate) fn has_project(&self, project: &ProjectName) -> bool {
        self.projects.is_empty() || self.projects.contains(project)
    }

    pub(crate) fn shows(&self, task: &Task) -> bool {
        let is_known_there =
            task.issue.is_some() || task.pull_request.is_some() || self.created.contains(&task.id);
        !task.is_deleted && self.has_project(&task.project) && (!self.is_public || is_known_there)
    }

    /// The task with this id, branch, or beginning of an id, among those that are shown.
    pub(crate) fn find(&self, store: &Store, name: &str) -> Result<Option<TaskId>, DriverError> {
        let id = TaskId::new(name.to_ascii_lowercase());
        let exact = store.load(&id)?.map(|it| it.task);
        if let Some(task) = exact.filter(|it| self.shows(it)) {
            return Ok(Some(task.id));
        }
        let on_branch = store.tasks_on_branch(name)?;
        let with_prefix = store.tasks_beginning_with(id.as_str())?;
        for found in [on_branch, with_prefix] {
            let mut found = found.into_iter().filter(|it| self.shows(it));
            if let (Some(task), None) = (found.next(), found.next()) {
                return Ok(Some(task.id));
            }
        }
        Ok(None)
    }
}

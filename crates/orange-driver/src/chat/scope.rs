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
    /// The page of a repository whose readers can read the answers. If set, only tasks are shown
    /// that have an issue or a pull request there, or that were created there.
    pub(crate) page: Option<String>,
    /// The tasks that were created there.
    pub(crate) created: BTreeSet<TaskId>,
    /// The tasks that the message is written under.
    pub(crate) here: Vec<TaskId>,
}

impl Scope {
    pub(crate) fn has_project(&self, project: &ProjectName) -> bool {
        self.projects.is_empty() || self.projects.contains(project)
    }

    /// Whether others can read the answers.
    pub(crate) fn is_public(&self) -> bool {
        self.page.is_some()
    }

    pub(crate) fn shows(&self, task: &Task) -> bool {
        let is_known = |page: &String| {
            self.created.contains(&task.id) || numbers_on(task, page).next().is_some()
        };
        let is_visible = self.page.as_ref().is_none_or(is_known);
        !task.is_deleted && self.has_project(&task.project) && is_visible
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

/// The numbers of a task's issue and pull request in the repository with this page.
pub(crate) fn numbers_on(task: &Task, page: &str) -> impl Iterator<Item = u64> {
    let issue = task.issue.as_ref().map(|it| (it.number, &it.url));
    let pull_request = task.pull_request.as_ref().map(|it| (it.number, &it.url));
    let page = format!("{}/", page.to_lowercase());
    let links = issue.into_iter().chain(pull_request);
    let links = links.filter(move |(_, url)| url.to_lowercase().starts_with(&page));
    links.map(|(number, _)| number)
}

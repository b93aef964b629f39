//! Whether a repository changed during a run that may only read it.

use std::collections::{BTreeMap, BTreeSet};

use orange_config::Project;
use orange_engine::Task;
use orange_engine::names::CommitId;
use orange_store::Store;
use serde::{Deserialize, Serialize};

use crate::DriverError;
use crate::workspaces::Workspaces;

/// What a run without a worktree must leave as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RepositoryState {
    /// A hash of HEAD, the index and the files of the user's checkout.
    checkout: String,
    /// Branches and tags, by their full names.
    refs: BTreeMap<String, CommitId>,
}

impl Workspaces {
    pub(crate) fn repository_state(
        &self,
        project: &Project,
    ) -> Result<RepositoryState, DriverError> {
        let git = self.open_repository(project)?;
        Ok(RepositoryState {
            checkout: git.worktree(&project.path)?.state_hash()?,
            refs: git.branches_and_tags()?,
        })
    }

    /// What differs from an earlier state, in a sentence; `None` if nothing does. The branches of
    /// tasks do not count, because other agents work on them.
    pub(crate) fn repository_changes(
        &self,
        store: &Store,
        task: &Task,
        before: &RepositoryState,
    ) -> Result<Option<String>, DriverError> {
        let projects = self.context.projects()?;
        let project = projects.require(&task.project)?;
        let now = self.repository_state(project)?;
        if now == *before {
            return Ok(None);
        }
        let mut found = Vec::new();
        if now.checkout != before.checkout {
            let path = project.path.display();
            found.push(format!("HEAD, the index or files of `{path}`"));
        }
        let names: BTreeSet<&String> = before.refs.keys().chain(now.refs.keys()).collect();
        for name in names {
            let branch = name.strip_prefix("refs/heads/").unwrap_or_default();
            let is_changed = before.refs.get(name) != now.refs.get(name);
            if is_changed && !is_branch_of_task(store, task, branch)? {
                found.push(format!("`{name}`"));
            }
        }
        Ok((!found.is_empty()).then(|| found.join(", ")))
    }
}

fn is_branch_of_task(store: &Store, task: &Task, branch: &str) -> Result<bool, DriverError> {
    let mut tasks = store.tasks_on_branch(branch)?.into_iter();
    Ok(tasks.any(|it| it.project == task.project))
}

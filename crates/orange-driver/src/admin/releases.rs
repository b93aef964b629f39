//! Retries workspace releases that failed.

use orange_config::Project;
use orange_engine::effect::Effect;
use orange_engine::input::{Request, RequestKind};
use orange_engine::names::TaskId;
use orange_engine::role::Role;
use orange_store::{PendingProgress, Store, TaskFilter};

use crate::DriverError;
use crate::admin::Admin;
use crate::request::answer::Answer;
use crate::request::ask::TaskRequest;
use crate::request::wait::WaitPolicy;

impl Admin {
    /// Requests a retry of every failed release; returns the tasks. Another process performs the
    /// releases.
    pub fn retry_failed_releases(&self) -> Result<Vec<TaskId>, DriverError> {
        let mut retried = Vec::new();
        let mut store = self.context.store()?;
        for project in self.workspaces.select_projects(None)? {
            self.retry_releases(&mut store, &project, WaitPolicy::Skip, &mut retried)?;
        }
        Ok(retried)
    }

    /// Retries the failed releases of a project's tasks, because a finished task must never keep a
    /// workspace.
    pub(crate) fn retry_releases(
        &self,
        store: &mut Store,
        project: &Project,
        waiting: WaitPolicy,
        retried: &mut Vec<TaskId>,
    ) -> Result<(), DriverError> {
        for id in tasks_of(store, project)? {
            let pending = store.pending(&id)?;
            let has_failed_release = pending.iter().any(|it| {
                matches!(it.planned.effect, Effect::ReleaseWorkspace { .. })
                    && matches!(it.mark, PendingProgress::Failed | PendingProgress::Stopped)
            });
            if !has_failed_release {
                continue;
            }
            let answer = self.requests.ask(&TaskRequest {
                task: id.clone(),
                request: Request::new(Role::Human, RequestKind::RetryReleases),
                waiting,
            })?;
            // A refusal is no error: another process may have retried the release meanwhile.
            if !matches!(answer, Answer::Refused(_)) {
                retried.push(id);
            }
        }
        Ok(())
    }
}

fn tasks_of(store: &Store, project: &Project) -> Result<Vec<TaskId>, DriverError> {
    let filter = TaskFilter {
        project: Some(project.name.clone()),
        status: None,
    };
    let listing = store.list(&filter)?;
    let ids = listing.tasks.into_iter().map(|summary| summary.task.id);
    Ok(ids.collect())
}

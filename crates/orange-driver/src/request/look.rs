//! Looks at a task's pull request, and lets the task react.

use orange_engine::Task;
use orange_engine::forge::pull_request::{ConcernKind, PullRequest, PullRequestReading};
use orange_engine::forge::reaction::{Fingerprint, ReactionKind};
use orange_engine::input::{Cause, Observation};
use orange_engine::names::{ProjectName, TaskId};
use orange_store::{Store, TaskFilter};
use serde::Serialize;

use crate::DriverError;
use crate::forge::look::Look;
use crate::forge::snapshot::PullRequestSnapshot;
use crate::request::Requests;
use crate::steps::StepResult;

/// What a look at a task's pull request led to.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct LookReport {
    /// The task.
    pub task: TaskId,
    /// What was seen; absent if it has no pull request, or nothing could be seen.
    pub pull_request: Option<PullRequestSnapshot>,
    /// Whether the forge said something new.
    pub is_new: bool,
    /// Whether the task reacted.
    pub has_reacted: bool,
    /// Why nothing could be seen.
    pub problem: Option<String>,
}

impl Requests {
    /// Fails if the project of a task has no repository on a forge.
    pub fn require_forge(&self, task: &TaskId) -> Result<(), DriverError> {
        let store = Store::open_read_only(&self.context.home)?;
        let project = store.require(task)?.task.project;
        let projects = self.context.projects()?;
        match self.forge.repository(projects.require(&project)?)? {
            Some(_) => Ok(()),
            None => Err(DriverError::NoForge { project }),
        }
    }

    /// The tasks that have not ended, of one project or of all.
    pub fn unfinished_tasks(
        &self,
        project: Option<&ProjectName>,
    ) -> Result<Vec<TaskId>, DriverError> {
        let store = Store::open_read_only(&self.context.home)?;
        let filter = TaskFilter {
            project: project.cloned(),
            ..TaskFilter::default()
        };
        let mut unfinished = Vec::new();
        for listed in store.list(&filter)?.tasks {
            let stored = store.require(&listed.task.id)?;
            if !stored.has_ended() && !stored.task.is_deleted {
                unfinished.push(listed.task.id);
            }
        }
        Ok(unfinished)
    }

    /// Looks at the pull request of a task, or searches for that of its branch, and lets the task
    /// react. A look that fails changes nothing.
    pub fn look_at_pull_request(&self, task: &TaskId) -> Result<LookReport, DriverError> {
        self.look_from(task, None)
    }

    /// Like `look_at_pull_request`, after a cheap look that has been made already.
    pub(crate) fn look_from(
        &self,
        id: &TaskId,
        seen: Option<&PullRequest>,
    ) -> Result<LookReport, DriverError> {
        let mut store = self.context.store()?;
        let task = store.require(id)?.task;
        let mut report = LookReport {
            task: id.clone(),
            pull_request: None,
            is_new: false,
            has_reacted: false,
            problem: None,
        };
        match self.forge.look(&store, &task, seen) {
            Ok(None) => {}
            Ok(Some(look)) => {
                report.is_new = self
                    .forge
                    .remember(&mut store, id, &look)
                    .map_err(|failure| failure.into_driver_error(id))?;
                report.has_reacted = self.react(&mut store, &task, &look, report.is_new)?;
                report.pull_request = Some(look.snapshot);
            }
            Err(failure) => report.problem = Some(failure.to_string()),
        }
        Ok(report)
    }

    /// Lets the task react to what was seen; returns whether it did.
    fn react(
        &self,
        store: &mut Store,
        task: &Task,
        look: &Look,
        is_new: bool,
    ) -> Result<bool, DriverError> {
        if let Some(notice) = look.notice.as_ref().filter(|_| is_new) {
            self.steps.notice(store, &task.id, notice.clone())?;
        }
        let Some(reading) = &look.reading else {
            return Ok(false);
        };
        let cause = Cause::Observation(Observation::PullRequest(reading.clone()));
        let step = self.steps.step(store, &task.id, &cause)?;
        // Do this even if nothing was decided now: an earlier look may have been killed between its
        // decision and this line.
        if are_points_given(&store.require(&task.id)?.task, reading) {
            let marked = look.mark_handled(store, &task.id);
            marked.map_err(|failure| failure.into_driver_error(&task.id))?;
        }
        if !matches!(step, StepResult::Recorded { .. }) {
            return Ok(false);
        }
        self.context.leave_to_performer(store, &task.id)?;
        Ok(true)
    }
}

/// Whether an agent was given the points of reviewers in this reading.
fn are_points_given(task: &Task, reading: &PullRequestReading) -> bool {
    let concern = reading.concern.as_ref();
    concern.is_some_and(|concern| {
        let details = concern.details.iter().map(String::as_str);
        let fingerprint = Fingerprint::new(ReactionKind::Feedback, &reading.head, details);
        matches!(concern.kind, ConcernKind::Feedback { .. })
            && task.reactions.is_answered(&fingerprint)
    })
}

//! Deletes a task; the deletion can be undone.

use std::path::PathBuf;

use orange_config::LogLevel;
use orange_engine::Task;
use orange_engine::input::{Cause, Request, RequestKind};
use orange_engine::names::TaskId;
use orange_engine::{Refusal, address_caller_in_worktree};
use orange_store::{Store, TaskFilter};
use serde_json::json;

use crate::DriverError;
use crate::request::Requests;
use crate::steps::StepResult;

/// The result of deleting or restoring a task.
#[derive(Debug)]
pub enum DeleteResult {
    /// The task is deleted or restored; its directory is kept.
    Done {
        /// Where the task's directory is now, if it had one.
        directory: Option<PathBuf>,
        /// Whether the task had been deleted or restored already.
        already: bool,
    },
    /// Nothing was changed.
    Refused(Box<Refusal>),
}

impl Requests {
    /// Deletes a finished task, if the user has confirmed it. Records the deletion first, then
    /// moves the task's directory to the trash. If the process is killed in between, deleting again
    /// finishes the deletion.
    pub fn delete(&self, task: &TaskId, is_confirmed: bool) -> Result<DeleteResult, DriverError> {
        let mut store = self.context.store()?;
        let stepped = self.request_change(&mut store, task, RequestKind::Delete, is_confirmed)?;
        let already = match stepped {
            StepResult::Refused(refusal) => return Ok(DeleteResult::Refused(refusal)),
            StepResult::Nothing { .. } => true,
            StepResult::Recorded { .. } => false,
        };
        let stored = store.require(task)?;
        if stored.directory.exists() {
            // The copies record the deletion too, so that they are complete in the trash.
            self.steps.sync_files(&mut store, task)?;
        }
        let directory = orange_store::move_to_trash(&store, task)?;
        self.forget_pull_request(&store, &stored.task)?;
        Ok(DeleteResult::Done { directory, already })
    }

    /// Removes the head of its pull request that was fetched for a deleted task. The remote has it,
    /// so a task of the same pull request can fetch it again. What does not work is left to
    /// `orange uninstall`.
    fn forget_pull_request(&self, store: &Store, task: &Task) -> Result<(), DriverError> {
        let Some(link) = &task.pull_request else {
            return Ok(());
        };
        let filter = TaskFilter {
            project: Some(task.project.clone()),
            ..TaskFilter::default()
        };
        let tasks = store.list(&filter)?.tasks.into_iter();
        let mut others = tasks.map(|it| it.task).filter(|it| it.id != task.id);
        let is_same = |it: &Task| it.pull_request.as_ref().is_some_and(|it| it.id == link.id);
        if others.any(|it| !it.is_deleted && is_same(&it)) {
            return Ok(());
        }
        let forgotten = self
            .workspaces
            .repository_of(task)
            .and_then(|(_, git)| Ok(git.forget_pull_request(link.number)?));
        if let Err(error) = forgotten {
            let more = json!({ "error": error.to_string() });
            self.context
                .log(LogLevel::Warn, &task.id, "pull_request.not_forgotten", more);
        }
        Ok(())
    }

    /// Restores a deleted task: its directory first, so that no new directory is created in its
    /// place.
    pub fn undelete(&self, task: &TaskId) -> Result<DeleteResult, DriverError> {
        let mut store = self.context.store()?;
        if store.require(task)?.task.is_deleted {
            orange_store::restore_from_trash(&store, task)?;
        }
        let already = match self.request_change(&mut store, task, RequestKind::Restore, true)? {
            StepResult::Refused(refusal) => return Ok(DeleteResult::Refused(refusal)),
            StepResult::Nothing { .. } => true,
            StepResult::Recorded { .. } => false,
        };
        self.steps.sync_files(&mut store, task)?;
        let directory = Some(store.require(task)?.directory);
        Ok(DeleteResult::Done { directory, already })
    }

    fn request_change(
        &self,
        store: &mut Store,
        task: &TaskId,
        kind: RequestKind,
        is_confirmed: bool,
    ) -> Result<StepResult, DriverError> {
        let caller = self.callers.identify_for_in(store, task)?;
        let request = Request {
            is_confirmed,
            ..Request::new(caller.role, kind)
        };
        let mut result = self.steps.step(store, task, &Cause::Request(request))?;
        if let StepResult::Refused(refusal) = &mut result
            && caller.is_by_directory
        {
            address_caller_in_worktree(refusal);
        }
        Ok(result)
    }
}

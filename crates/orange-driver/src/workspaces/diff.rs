//! The diff of a task, for its reviewers.

use orange_config::LogLevel;
use orange_effects::git::{BranchDiff, DiffRequest, DiffSize};
use orange_engine::Task;
use orange_engine::event::Fact;
use orange_engine::language::workflow::Trigger;
use orange_engine::names::{CommitId, TaskId};
use orange_store::Store;
use serde_json::json;

use crate::DriverError;
use crate::workspaces::Workspaces;
use crate::workspaces::repository::{branch_error, ready_workspace};

impl Workspaces {
    /// How much a task has changed, including uncommitted work.
    pub fn diff_size(&self, task: &TaskId) -> Result<DiffSize, DriverError> {
        let store = self.context.read_store()?;
        let task = store.require(task)?.task;
        let (project, git) = self.repository_of(&task)?;
        let workspace = ready_workspace(&store, &task)?;
        let merged = match task.entered.trigger {
            Some(Trigger::Merged) => last_merge(&store, &task.id)?,
            _ => None,
        };
        let delegation = task.queueing.delegation.as_ref();
        let request = DiffRequest {
            branch: &task.branch,
            default: &project.default_branch,
            start: delegation.and_then(|it| it.start.as_ref()),
            merged: merged.as_ref().map(|(base, head)| (base, head)),
            stat: true,
            colour: false,
        };
        Ok(match workspace {
            Some(workspace) => git.worktree(&workspace.path)?.diff_size(&request)?,
            None => git.diff_size(&request)?,
        })
    }

    /// The paths of all files of a task's branch; none before the branch exists.
    pub(crate) fn files_of_branch(&self, task: &Task) -> Result<Vec<String>, DriverError> {
        let (_, git) = self.repository_of(task)?;
        let Some(commit) = git.branch(&task.branch)? else {
            return Ok(Vec::new());
        };
        let files = git.files_of(&commit)?.into_iter();
        Ok(files.map(|it| it.display().to_string()).collect())
    }

    /// The diff between a task's branch and its starting point, and the uncommitted work in its
    /// worktree.
    pub fn diff(&self, task: &TaskId, stat: bool, colour: bool) -> Result<BranchDiff, DriverError> {
        let store = self.context.read_store()?;
        let task = store.require(task)?.task;
        if let Err(error) = self.import_commits(&store, &task) {
            // The files are in the diff nevertheless, as uncommitted work.
            let more = json!({ "error": error.to_string() });
            let context = &self.context;
            context.log(LogLevel::Warn, &task.id, "commits.not_imported", more);
        }
        let (project, git) = self.repository_of(&task)?;
        let workspace = ready_workspace(&store, &task)?;
        let merged = last_merge(&store, &task.id)?;
        let delegation = task.queueing.delegation.as_ref();
        let request = DiffRequest {
            branch: &task.branch,
            default: &project.default_branch,
            start: delegation.and_then(|it| it.start.as_ref()),
            merged: merged.as_ref().map(|(base, head)| (base, head)),
            stat,
            colour,
        };
        let diff = match workspace {
            Some(workspace) => git.worktree(&workspace.path)?.diff(&request),
            None => git.diff(&request),
        };
        diff.map_err(|error| branch_error(&store, &task, error))
    }
}

/// The commits of the last merge that was decided: the default branch's and the task's.
fn last_merge(store: &Store, task: &TaskId) -> Result<Option<(CommitId, CommitId)>, DriverError> {
    let events = store.events(task, 0)?.into_iter().rev();
    let mut merges = events.filter_map(|it| match it.event.fact {
        Fact::MergeStarted { base, head, .. } => Some((base, head)),
        _ => None,
    });
    Ok(merges.next())
}

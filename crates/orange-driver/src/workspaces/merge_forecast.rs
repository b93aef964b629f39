//! What a merge of a task would do now.

use orange_config::clock;
use orange_effects::git::{GitError, MergePreview, MergeRequest};
use orange_engine::effect::MergeStrategy;
use orange_engine::names::{BranchName, CommitId, TaskId};
use orange_store::Store;

use crate::DriverError;
use crate::workspaces::Workspaces;
use crate::workspaces::repository::{BranchQuestion, branch_error};

/// What a merge of a task would do now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergeForecast {
    /// The branch that the task would be merged into.
    pub into: BranchName,
    pub strategy: MergeStrategy,
    pub preview: MergePreview,
    /// The commit at the tip of the branch, if it is not the submitted one. The preview is about
    /// this commit, and only a merge that names it is accepted.
    pub new_head: Option<CommitId>,
    /// How many commits the branch has after the submitted one; `None` if it does not contain that
    /// one.
    pub new_commits: Option<u64>,
    /// Files in the worktree that are not committed. Most workflows refuse to merge then, unless
    /// the request names the commit.
    pub uncommitted: Vec<String>,
    /// The command that has to succeed on the result.
    pub verify: Option<String>,
}

impl Workspaces {
    /// Computes a merge with the configured strategy, without changing anything.
    pub fn forecast_merge(&self, task: &TaskId) -> Result<MergeForecast, DriverError> {
        let store = Store::open_read_only(&self.context.home)?;
        let task = store.require(task)?.task;
        let (project, git) = self.repository_of(&task)?;
        let settings = self.context.settings(Some(&project))?.merge;
        let tip = git.branch(&task.branch)?.ok_or_else(|| {
            let branch = task.branch.to_string();
            branch_error(&store, &task, GitError::NoCommit { branch })
        })?;
        let facts = self.git_facts(&store, &task, BranchQuestion::default())?;
        let submitted = task.submission.as_ref().map(|it| &it.commit);
        let submitted = submitted.filter(|submitted| **submitted != tip);
        let new_commits = match submitted {
            Some(submitted) => git.commits_since(submitted, &tip)?,
            None => None,
        };
        let head = &tip;
        let preview = git.preview_merge(&MergeRequest {
            task: &task.id,
            summary: &task.summary,
            assisted_by: &[],
            strategy: settings.strategy,
            branch: &task.branch,
            head,
            tip: &tip,
            default: &project.default_branch,
            base: head,
            task_file: &project.task_file,
            at: clock::now(),
            push: false,
            is_cancelled: &|| false,
            verify: None,
            is_trial: true,
        })?;
        Ok(MergeForecast {
            into: project.default_branch,
            strategy: settings.strategy,
            preview,
            new_head: submitted.map(|_| tip.clone()),
            new_commits,
            uncommitted: facts.uncommitted.files,
            verify: settings.verify,
        })
    }
}

//! Pushes a branch; deletes one that is contained elsewhere.

use orange_effects::git::{Deletion, Pushed};
use orange_engine::Task;
use orange_engine::effect::EffectOutcome;
use orange_engine::names::BranchName;

use crate::failure::Failure;
use crate::perform::Performer;

impl Performer {
    /// Pushes the branch; a repository without a remote has nothing to do, which is fine.
    pub(crate) fn push(&self, task: &Task, branch: &BranchName) -> Result<EffectOutcome, Failure> {
        let (_, git) = self
            .workspaces
            .repository_of(task)
            .map_err(Failure::passing)?;
        match git.push_branch(branch).map_err(Failure::passing)? {
            Pushed::There | Pushed::NoRemote => Ok(EffectOutcome::Done),
            Pushed::Rejected(words) => Err(Failure::for_good(format!(
                "the remote does not take `{branch}`: {words}; look with `git fetch` and \
                 `git log {branch}..@{{upstream}}`"
            ))),
        }
    }

    /// Deletes the remote's branch if this repository has its commits; also deletes the local one
    /// if the project wants that and the default branch contains it.
    pub(crate) fn delete_remote(
        &self,
        task: &Task,
        branch: &BranchName,
    ) -> Result<EffectOutcome, Failure> {
        let (project, git) = self
            .workspaces
            .repository_of(task)
            .map_err(Failure::passing)?;
        let default = &project.default_branch;
        let deletion = git.delete_remote_branch(branch, default);
        let kept = match deletion.map_err(Failure::passing)? {
            Deletion::Deleted(_) | Deletion::Absent | Deletion::CheckedOut(_) => None,
            Deletion::IsDefault => Some(String::from("it is the default branch")),
            Deletion::NotContained(commit) => Some(format!(
                "it has commits up to {commit} that nothing else has; look with `git fetch`"
            )),
            Deletion::Rejected(words) => Some(words),
        };
        if let Some(reason) = kept {
            let error = format!("the remote's `{branch}` is kept: {reason}");
            return Err(Failure::for_good(error));
        }
        if project.delete_branch {
            // A branch with more commits than the default branch, as after a squash, stays.
            git.delete_branch(branch, default)
                .map_err(Failure::passing)?;
        }
        Ok(EffectOutcome::Done)
    }
}

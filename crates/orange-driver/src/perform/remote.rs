//! Pushes branches, and deletes branches whose commits are contained elsewhere.

use orange_effects::git::{Deletion, PushResult};
use orange_engine::Task;
use orange_engine::effect::EffectOutcome;
use orange_engine::event::Fact;
use orange_engine::language::gates::PullRequestState;
use orange_engine::names::BranchName;

use crate::failure::Failure;
use crate::perform::Performer;
use crate::perform::pull_request::outside;

impl Performer {
    /// Pushes the branch; succeeds without a push if the repository has no remote.
    pub(crate) fn push(&self, task: &Task, branch: &BranchName) -> Result<EffectOutcome, Failure> {
        if let Some(link) = outside(task) {
            return Err(Failure::permanent(format!(
                "`{branch}` was not pushed: {link} belongs to others, and its code would run in \
                 your own checks"
            )));
        }
        let (_, git) = self
            .workspaces
            .repository_of(task)
            .map_err(Failure::temporary)?;
        match git.push_branch(branch).map_err(Failure::temporary)? {
            PushResult::Done | PushResult::NoRemote => Ok(EffectOutcome::Done),
            PushResult::Rejected(message) => Err(Failure::permanent(format!(
                "the push of `{branch}` was rejected: {message}; check with `git fetch` and \
                 `git log {branch}..@{{upstream}}`"
            ))),
        }
    }

    /// Deletes the remote's branch if the merge is at the remote too and this repository has all of
    /// the branch's commits; also deletes the local branch if the project wants that and the default
    /// branch contains it.
    pub(crate) fn delete_remote(
        &self,
        task: &Task,
        branch: &BranchName,
    ) -> Result<EffectOutcome, Failure> {
        let (project, git) = self
            .workspaces
            .repository_of(task)
            .map_err(Failure::temporary)?;
        let default = &project.default_branch;
        // For a pull request of others, a remote branch of the same name has nothing to do with the
        // task. After a merge that was not pushed, the remote has the work only in that branch.
        let is_superfluous = outside(task).is_none() && self.is_merged_at_remote(task)?;
        let deletion = if is_superfluous {
            git.delete_remote_branch(branch, default)
        } else {
            Ok(Deletion::Absent)
        };
        let kept = match deletion.map_err(Failure::temporary)? {
            Deletion::Deleted(_) | Deletion::Absent | Deletion::CheckedOut(_) => None,
            Deletion::IsDefault => Some(String::from("it is the default branch")),
            Deletion::NotContained(commit) => Some(format!(
                "no branch here contains its commit {commit}; run `git fetch` and check what it has"
            )),
            Deletion::Rejected(message) => Some(message),
        };
        if let Some(reason) = kept {
            let error = format!("the remote's `{branch}` was not deleted: {reason}");
            return Err(Failure::permanent(error));
        }
        if project.delete_branch {
            // A branch with more commits than the default branch, as after a squash, stays.
            git.delete_branch(branch, default)
                .map_err(Failure::temporary)?;
        }
        Ok(EffectOutcome::Done)
    }

    /// Whether the last merge of a task was pushed, or made by the forge.
    fn is_merged_at_remote(&self, task: &Task) -> Result<bool, Failure> {
        let store = self.context.store().map_err(Failure::temporary)?;
        let events = store.events(&task.id, 0).map_err(Failure::temporary)?;
        let mut facts = events.iter().rev().map(|it| &it.event.fact);
        let last = facts.find_map(|fact| match fact {
            Fact::EffectDone {
                outcome: EffectOutcome::Merged(merged),
                ..
            } => Some(merged.pushed_to.is_some()),
            Fact::PullRequestObserved {
                state: PullRequestState::Merged,
            } => Some(true),
            _ => None,
        });
        Ok(last.unwrap_or(false))
    }
}

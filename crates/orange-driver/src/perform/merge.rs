//! Merges a task's branch into the default branch.

use orange_effects::git::{GitError, MergeBranch, Merging};
use orange_engine::Task;
use orange_engine::effect::{EffectOutcome, Merge};
use orange_engine::merged::{Merged, Origin};
use orange_store::{Pending, Store};

use crate::due::planned_at;
use crate::failure::Failure;
use crate::perform::Performer;

impl Performer {
    /// Makes sure that the default branch has the branch's commit, as decided.
    ///
    /// A retry helps only if the machine or the network failed. The user has to resolve anything
    /// else and start the next attempt.
    pub(crate) fn merge(
        &self,
        store: &Store,
        task: &Task,
        pending: &Pending,
        merge: &Merge,
    ) -> Result<EffectOutcome, Failure> {
        let (project, git) = self
            .workspaces
            .repository_of(task)
            .map_err(Failure::passing)?;
        let at = planned_at(store, pending).map_err(Failure::passing)?;
        let merging = git.merge(&MergeBranch {
            task: &task.id,
            summary: &task.summary,
            strategy: merge.strategy,
            branch: &merge.branch,
            head: &merge.head,
            tip: merge.tip.as_ref().unwrap_or(&merge.head),
            default: &project.default_branch,
            base: &merge.base,
            task_file: &project.task_file,
            at: at.unwrap_or_default(),
            push: project.push && !merge.local,
            is_called_off: &|| is_called_off(store, pending),
        });
        match merging {
            Ok(Merging::Merged {
                commit,
                was_there,
                pushed_to,
                forwarded,
            }) => {
                let origin = match (merge.was_in_base, was_there) {
                    (true, _) => Origin::Before,
                    (false, true) => Origin::EarlierAttempt,
                    (false, false) => Origin::ThisMerge,
                };
                let forwarded = forwarded.iter().map(|it| it.display().to_string());
                Ok(EffectOutcome::Merged(Merged {
                    commit,
                    head: Some(merge.head.clone()),
                    origin,
                    into: Some(project.default_branch),
                    pushed_to,
                    forwarded: forwarded.collect(),
                    left_out: merge.left_out.clone(),
                }))
            }
            Ok(Merging::Refused(refusal)) => Err(Failure::for_good(refusal)),
            Err(
                error @ (GitError::NoIdentity(_)
                | GitError::TooOld { .. }
                | GitError::RemoteChanged { .. }),
            ) => Err(Failure::for_good(error)),
            Err(error) => Err(Failure::passing(error)),
        }
    }
}

/// Whether the task has dropped this effect; if that cannot be read, the merge continues.
fn is_called_off(store: &Store, pending: &Pending) -> bool {
    let task = store.require(&pending.task);
    task.is_ok_and(|stored| stored.task.pending_effect(pending.planned.id).is_none())
}

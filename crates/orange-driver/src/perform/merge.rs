//! Merges a task's branch into the default branch.

use orange_effects::git::{GitError, MergeOutcome, MergeRequest};
use orange_engine::Task;
use orange_engine::effect::{EffectOutcome, Merge};
use orange_engine::merge_result::{MergeResult, Origin};
use orange_store::{Pending, Store};

use crate::due::planned_at;
use crate::failure::Failure;
use crate::perform::Performer;

impl Performer {
    /// Makes sure that the default branch has the branch's changes, as decided.
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
            .map_err(Failure::temporary)?;
        let at = planned_at(store, pending).map_err(Failure::temporary)?;
        let merging = git.merge(&MergeRequest {
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
            is_cancelled: &|| is_cancelled(store, pending),
        });
        match merging {
            Ok(MergeOutcome::Merged {
                commit,
                was_there,
                pushed_to,
                forwarded,
            }) => {
                let origin = match (merge.was_in_base, was_there) {
                    (true, _) => Origin::AlreadyMerged,
                    (false, true) => Origin::EarlierAttempt,
                    (false, false) => Origin::ThisMerge,
                };
                let forwarded = forwarded.iter().map(|it| it.display().to_string());
                Ok(EffectOutcome::Merged(MergeResult {
                    commit,
                    head: Some(merge.head.clone()),
                    origin,
                    into: Some(project.default_branch),
                    pushed_to,
                    fast_forwarded: forwarded.collect(),
                    left_out: merge.left_out.clone(),
                }))
            }
            Ok(MergeOutcome::Refused(refusal)) => Err(Failure::permanent(refusal)),
            Err(
                error @ (GitError::NoIdentity(_)
                | GitError::TooOld { .. }
                | GitError::RemoteChanged { .. }),
            ) => Err(Failure::permanent(error)),
            Err(error) => Err(Failure::temporary(error)),
        }
    }
}

/// Whether the task has dropped this effect; if that cannot be read, the merge continues.
fn is_cancelled(store: &Store, pending: &Pending) -> bool {
    let task = store.require(&pending.task);
    task.is_ok_and(|stored| stored.task.pending_effect(pending.planned.id).is_none())
}

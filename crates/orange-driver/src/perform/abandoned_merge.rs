//! Merges that were left half done.

use orange_effects::git::MergeObstacle;
use orange_engine::effect::Effect;
use orange_engine::names::TaskId;
use orange_store::{Pending, PendingProgress, Store};

use crate::DriverError;
use crate::context::lock::Lock;
use crate::perform::Performer;

impl Performer {
    /// Brings a merge to an end that no process performs any more, before a request drops it: half
    /// a merge would stay at the remote, in a branch or in a checkout, and nothing would say so.
    /// Returns a notice for the user if it cannot be brought to an end.
    pub(crate) fn end_abandoned_merge(
        &self,
        store: &mut Store,
        id: &TaskId,
    ) -> Result<Option<String>, DriverError> {
        if begun_merge(store, id)?.is_none() {
            return Ok(None);
        }
        // A process that performs it notices by itself that it was cancelled.
        let Some(_lock) = Lock::to_perform(&store.require(id)?.directory)? else {
            return Ok(None);
        };
        // It may have ended before this process got the lock.
        let Some(pending) = begun_merge(store, id)? else {
            return Ok(None);
        };
        let Effect::Merge(merge) = &pending.planned.effect else {
            return Ok(None);
        };
        // What prevented a merge that was not interrupted is known.
        let was_interrupted = pending.mark != PendingProgress::Failed;
        let task = store.require(id)?.task;
        self.workspaces.end_verification(&task)?;
        let reason = match self.finish_merge(store, &task, &pending, merge) {
            Ok(None) => return Ok(None),
            Ok(Some(Ok(outcome))) => {
                self.record_done(store, &pending, outcome)?;
                return Ok(None);
            }
            Ok(Some(Err(refusal))) => {
                let may_be_half_done = match refusal.obstacle {
                    MergeObstacle::UncommittedChanges { .. } | MergeObstacle::Diverged => {
                        was_interrupted
                    }
                    _ => false,
                };
                let is_half_done = refusal.pushed_remote.is_some() || may_be_half_done;
                is_half_done.then(|| refusal.to_string())
            }
            Err(failure) => was_interrupted.then_some(failure.error),
        };
        let branch = &merge.branch;
        Ok(reason.map(|reason| {
            format!("a merge of `{branch}` may be half done and cannot be finished: {reason}")
        }))
    }
}

/// The merge of a task that some process has begun.
pub(crate) fn begun_merge(store: &Store, id: &TaskId) -> Result<Option<Pending>, DriverError> {
    let mut pending = store.pending(id)?.into_iter();
    Ok(pending.find(|it| {
        let has_begun = match it.mark {
            PendingProgress::Started { .. } | PendingProgress::Failed => true,
            PendingProgress::Waiting => it.attempts > 0,
            PendingProgress::Stopped => false,
        };
        has_begun && matches!(it.planned.effect, Effect::Merge(_))
    }))
}

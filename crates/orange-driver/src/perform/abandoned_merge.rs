//! Merges that a killed process left half done.

use orange_engine::effect::Effect;
use orange_engine::names::TaskId;
use orange_store::{Pending, PendingProgress, Store};

use crate::DriverError;
use crate::context::lock::Lock;
use crate::perform::Performer;

impl Performer {
    /// Brings a merge to an end that no process performs any more, before a request drops it: half
    /// a merge would stay at the remote, in a branch or in a checkout, and nothing would say so.
    pub(crate) fn end_abandoned_merge(
        &self,
        store: &mut Store,
        id: &TaskId,
    ) -> Result<(), DriverError> {
        if begun_merge(store, id)?.is_none() {
            return Ok(());
        }
        // A process that performs it notices by itself that it was cancelled.
        let Some(_lock) = Lock::to_perform(&store.require(id)?.directory)? else {
            return Ok(());
        };
        // It may have ended before this process got the lock.
        let Some(pending) = begun_merge(store, id)? else {
            return Ok(());
        };
        let Effect::Merge(merge) = &pending.planned.effect else {
            return Ok(());
        };
        let task = store.require(id)?.task;
        match self.finish_merge(store, &task, &pending, merge) {
            Ok(Some(outcome)) => self.record_done(store, &pending, outcome),
            Ok(None) => Ok(()),
            Err(failure) => {
                let what = format!(
                    "a merge of `{}` was interrupted and cannot be brought to an end: {}",
                    merge.branch, failure.error
                );
                self.steps.notice(store, id, what)?;
                Ok(())
            }
        }
    }
}

/// The merge of a task that some process has begun.
fn begun_merge(store: &Store, id: &TaskId) -> Result<Option<Pending>, DriverError> {
    let mut pending = store.pending(id)?.into_iter();
    Ok(pending.find(|it| {
        let has_begun = match it.mark {
            PendingProgress::Started { .. } => true,
            PendingProgress::Waiting => it.attempts > 0,
            _ => false,
        };
        has_begun && matches!(it.planned.effect, Effect::Merge(_))
    }))
}

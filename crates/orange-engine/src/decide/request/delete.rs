//! Deletes and restores finished tasks, and clears their attention items.

use super::{RequestDecision, already_done, blocked_by};
use crate::decision::Decision;
use crate::effect::Effect;
use crate::event::Fact;
use crate::refusal::{Attempt, Blocker};
use crate::task::{PendingState, Workspace};

impl RequestDecision<'_> {
    /// Only a task that has ended and has no pending effects can be deleted.
    pub(super) fn delete(mut self) -> Decision {
        let task = &self.steps.task;
        if let Some(missing) = self.check_human() {
            return self.refuse(Attempt::Delete, blocked_by(missing));
        }
        if task.is_deleted {
            return already_done();
        }
        let waits = |it: &PendingState| *it == PendingState::Waiting;
        let missing = if self.check_not_ended().is_none() {
            let status = task.status.clone();
            Some(Blocker::NotEnded { status })
        } else if task.pending.iter().any(|it| waits(&it.state)) {
            Some(Blocker::EffectsRunning)
        } else {
            (task.workspace != Workspace::None).then_some(Blocker::HoldsWorkspace)
        };
        let missing = missing.or_else(|| {
            let question = format!(
                "Delete {}, `{}`? Its directory is moved to the trash; branch `{}`, saved work and \
                 history are kept.",
                task.id, task.summary, task.branch
            );
            (!self.request.is_confirmed).then_some(Blocker::ConfirmationNeeded { question })
        });
        if let Some(missing) = missing {
            return self.refuse(Attempt::Delete, blocked_by(missing));
        }
        let by = self.request.by.clone();
        self.steps.record(Fact::TaskDeleted { by });
        self.steps.finish()
    }

    /// Clears the attention items of an ended task and cancels its failed effects. A failed kill or
    /// release is kept and stays listed, because the task may still hold its workspace.
    pub(super) fn clear_attention(mut self) -> Decision {
        let attempt = Attempt::ClearAttention;
        if let Some(missing) = self.check_human() {
            return self.refuse(attempt, blocked_by(missing));
        }
        let task = &self.steps.task;
        if self.check_not_ended().is_none() {
            let status = task.status.clone();
            return self.refuse(attempt, blocked_by(Blocker::NotEnded { status }));
        }
        if task.attention.is_empty() {
            return already_done();
        }
        self.steps.cancel_pending(|effect, state| {
            let is_release = matches!(effect, Effect::Kill(_) | Effect::ReleaseWorkspace { .. });
            *state != PendingState::Waiting && !is_release
        });
        let by = self.request.by.clone();
        self.steps.record(Fact::AttentionCleared { by });
        self.steps.finish()
    }

    pub(super) fn restore(mut self) -> Decision {
        if let Some(missing) = self.check_human() {
            return self.refuse(Attempt::Restore, blocked_by(missing));
        }
        if !self.steps.task.is_deleted {
            return already_done();
        }
        let by = self.request.by.clone();
        self.steps.record(Fact::TaskRestored { by });
        self.steps.finish()
    }
}

//! Informs parents and waiting tasks about created and ended tasks.

use orange_config::LogLevel;
use orange_engine::event::{Event, Fact};
use orange_engine::input::{Cause, Observation};
use orange_engine::names::TaskId;
use orange_engine::schedule::{SchedulePlace, ScheduledTask, Wait, find_cycle};
use orange_engine::task::Queueing;
use orange_engine::{Task, Workflow};
use orange_store::Store;
use serde_json::json;

use super::{StepResult, Steps, pinned_workflow};
use crate::DriverError;

impl Steps {
    /// Informs a task about every created, reopened or ended child that it does not know of yet;
    /// returns whether there was one.
    ///
    /// Reports created children first, so that the parent does not wake up before it knows all its
    /// children.
    pub(crate) fn notify_of_children(
        &self,
        store: &mut Store,
        parent: &TaskId,
    ) -> Result<bool, DriverError> {
        let children = store.children(parent)?;
        if children.is_empty() {
            return Ok(false);
        }
        let known = store.require(parent)?.task.children;
        let is_unknown = |child: &&ScheduledTask| !known.contains_key(&child.task);
        let added = children.iter().filter(is_unknown).map(|child| {
            let child = child.task.clone();
            Observation::ChildAdded { child }
        });
        let is_reopened = |child: &&ScheduledTask| {
            let was_reported = matches!(known.get(&child.task), Some(Some(_)));
            was_reported && !matches!(child.place, SchedulePlace::Ended { .. })
        };
        let reopened = children.iter().filter(is_reopened).map(|child| {
            let child = child.task.clone();
            Observation::ChildReopened { child }
        });
        let is_unreported_end = |child: &&ScheduledTask| {
            let was_reported = matches!(known.get(&child.task), Some(Some(_)));
            matches!(child.place, SchedulePlace::Ended { .. }) && !was_reported
        };
        let ended = children.iter().filter(is_unreported_end).map(|child| {
            let (child, status) = (child.task.clone(), child.status.clone());
            Observation::ChildEnded { child, status }
        });
        let mut has_changed = false;
        for observation in added.chain(reopened).chain(ended) {
            let step_result = self.step(store, parent, &Cause::Observation(observation))?;
            has_changed |= matches!(step_result, StepResult::Recorded { .. });
        }
        if has_changed {
            self.context.leave_to_performer(store, parent)?;
            self.sync_files(store, parent)?;
        }
        Ok(has_changed)
    }

    /// Informs other tasks if this task has ended or was reopened; a reopened task also learns what
    /// its children did in the meantime.
    pub(crate) fn inform_others(
        &self,
        store: &mut Store,
        workflow: &Workflow,
        task: &Task,
        events: &[Event],
    ) {
        if workflow.is_terminal(&task.status) {
            self.notify_of_end(store, &ScheduledTask::of(workflow, task));
        }
        let is_reopening = |event: &Event| matches!(event.fact, Fact::TaskReopened { .. });
        if events.iter().any(is_reopening) {
            for related in task.queueing.parent.iter().chain([&task.id]) {
                let result = self.notify_of_children(store, related);
                self.log_failure(related, result.map(|_| ()));
            }
            let result = self.withdraw_dead_ends(store, task, events);
            self.log_failure(&task.id, result);
        }
    }

    /// Tells the tasks that wait for a reopened one that it may be done after all.
    fn withdraw_dead_ends(
        &self,
        store: &mut Store,
        task: &Task,
        events: &[Event],
    ) -> Result<(), DriverError> {
        let status = events.iter().find_map(|event| match &event.fact {
            Fact::StatusChanged(change) => Some(change.from.clone()),
            _ => None,
        });
        let Some(status) = status else {
            return Ok(());
        };
        let id = task.id.clone();
        let reason = Wait::Cancelled { task: id, status }.to_string();
        for dependent in store.dependents(&task.id)? {
            let reason = reason.clone();
            let over = Cause::Observation(Observation::AttentionOver { reason });
            if let StepResult::Recorded { .. } = self.step(store, &dependent.task, &over)? {
                self.sync_files(store, &dependent.task)?;
            }
        }
        Ok(())
    }

    /// Handles what the end of a task means for others: its parent is informed, and a task that
    /// waits for a cancelled one needs the user. If this process dies before that, the next command
    /// about the parent or the next scheduling does it.
    fn notify_of_end(&self, store: &mut Store, ended: &ScheduledTask) {
        if let Some(parent) = &ended.parent {
            let result = self.notify_of_children(store, parent);
            self.log_failure(parent, result.map(|_| ()));
        }
        if ended.place == (SchedulePlace::Ended { cancelled: true }) {
            let result = self.notify_dependents(store, &ended.task);
            self.log_failure(&ended.task, result);
        }
    }

    fn notify_dependents(&self, store: &mut Store, ended: &TaskId) -> Result<(), DriverError> {
        for dependent in store.dependents(ended)? {
            if matches!(dependent.place, SchedulePlace::Queued(_)) {
                let wait = Wait::Cancelled {
                    task: ended.clone(),
                    status: store.require(ended)?.task.status,
                };
                self.notice_dead_ends(store, &dependent.task, &[wait])?;
            }
        }
        Ok(())
    }

    /// Notifies the user that a task waits for something that will never happen.
    pub(crate) fn notice_dead_ends(
        &self,
        store: &mut Store,
        task: &TaskId,
        waits: &[Wait],
    ) -> Result<(), DriverError> {
        for wait in waits {
            if matches!(wait, Wait::Cancelled { .. } | Wait::UnknownTask { .. }) {
                let what = wait.to_string();
                if let StepResult::Recorded { .. } = self.notice(store, task, what)? {
                    self.sync_files(store, task)?;
                }
            }
        }
        Ok(())
    }

    pub(crate) fn log_failure(&self, task: &TaskId, done: Result<(), DriverError>) {
        if let Err(error) = done {
            let error = json!({ "error": error.to_string() });
            self.context
                .log(LogLevel::Warn, task, "schedule.failed", error);
        }
    }
}

/// The checked queueing of a new task; a child inherits its parent's priority unless one was given.
pub(crate) fn resolve_queueing(store: &Store, new: &Queueing) -> Result<Queueing, DriverError> {
    let mut queueing = new.clone();
    for after in &new.after {
        store.require(after)?;
    }
    let Some(parent) = &new.parent else {
        return Ok(queueing);
    };
    let stored = store.require(parent)?;
    if pinned_workflow(&stored)?.is_terminal(&stored.task.status) {
        return Err(DriverError::ParentEnded {
            task: parent.clone(),
            status: stored.task.status,
        });
    }
    // A new task can close a cycle only through the tasks that it starts after.
    let others = if new.after.is_empty() {
        Vec::new()
    } else {
        store.standings()?
    };
    if let Some(cycle) = find_cycle(&others, Some(parent), &new.after) {
        return Err(DriverError::WaitsForItself {
            parent: parent.clone(),
            cycle,
        });
    }
    queueing.parent_summary = Some(stored.task.summary.clone());
    queueing.depth = stored.task.queueing.ancestors().saturating_add(1);
    if queueing.priority == 0 {
        queueing.priority = stored.task.queueing.priority;
    }
    Ok(queueing)
}

//! Waits until a task reaches a status; changes nothing.

use std::time::Duration;

use orange_config::clock::{self, Deadline};
use orange_engine::Task;
use orange_engine::language::workflow::Kind;
use orange_engine::names::{Status, TaskId};
use orange_store::StoredTask;

use crate::DriverError;
use crate::steps::pinned_workflow;
use crate::views::Views;

const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// What to wait for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WaitTarget {
    Status(Status),
    /// Any terminal status.
    Terminal,
    /// Any status that asks the user, or a task that needs the user.
    Human,
}

/// The result of waiting.
#[derive(Clone, Debug)]
pub enum WaitResult {
    /// The task has reached a target.
    Reached(Box<Task>),
    /// The task has ended in another status.
    Ended(Box<Task>),
    /// The task has not reached a target yet.
    NotYet(Box<Task>),
}

impl Views {
    /// Waits until a task reaches a target or ends in another status, the time is up, or waiting
    /// should stop.
    pub fn await_status(
        &self,
        task: &TaskId,
        targets: &[WaitTarget],
        bound: Option<Duration>,
    ) -> Result<WaitResult, DriverError> {
        let deadline = bound.map(Deadline::after);
        let mut last_sequence = None;
        loop {
            let stored = self.context.read_store()?.require(task)?;
            // The workflow is parsed again only when something has happened.
            if last_sequence != Some(stored.sequence) {
                last_sequence = Some(stored.sequence);
                if let Some(result) = judge(&stored, targets)? {
                    return Ok(result);
                }
                let text = format!("{task}: in `{}`", stored.task.status);
                self.context.progress.report(text);
            }
            if deadline.is_some_and(Deadline::has_passed) || self.context.progress.is_over() {
                return Ok(WaitResult::NotYet(Box::new(stored.task)));
            }
            let pause = deadline.map_or(POLL_INTERVAL, |deadline| {
                POLL_INTERVAL.min(deadline.remaining())
            });
            clock::sleep_until(clock::after(pause), pause);
        }
    }
}

fn judge(stored: &StoredTask, targets: &[WaitTarget]) -> Result<Option<WaitResult>, DriverError> {
    let workflow = pinned_workflow(stored)?;
    let task = &stored.task;
    for target in targets {
        if let WaitTarget::Status(status) = target
            && workflow.state(status).is_none()
        {
            let states = workflow.states.iter();
            return Err(DriverError::StatusUnknown {
                task: task.id.clone(),
                status: status.clone(),
                statuses: states.map(|state| state.name.clone()).collect(),
            });
        }
    }
    let kind = workflow.state(&task.status).map(|state| state.kind);
    let is_reached = targets.iter().any(|target| match target {
        WaitTarget::Status(status) => *status == task.status,
        WaitTarget::Terminal => kind == Some(Kind::Terminal),
        WaitTarget::Human => kind == Some(Kind::Human) || needs_user(task),
    });
    let task = || Box::new(task.clone());
    Ok(if is_reached {
        Some(WaitResult::Reached(task()))
    } else if kind == Some(Kind::Terminal) {
        Some(WaitResult::Ended(task()))
    } else {
        None
    })
}

/// Whether the task waits for the user in a status of an agent: something went wrong, or the user
/// has stopped the agent.
fn needs_user(task: &Task) -> bool {
    !task.attention.is_empty() || task.runs.values().any(|run| run.state.is_stopped())
}

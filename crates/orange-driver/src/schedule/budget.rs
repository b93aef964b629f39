//! What a used-up budget means for agents that run or start.

use orange_engine::Task;
use orange_engine::budget::{Budget, Start};
use orange_engine::effect::{Effect, Spawn};
use orange_engine::input::{Cause, Request, RequestKind};
use orange_engine::names::TaskId;
use orange_engine::role::Role;
use orange_engine::schedule::{ScheduledTask, Wait};
use orange_store::Store;

use crate::DriverError;
use crate::due::is_waiting;
use crate::schedule::Scheduler;
use crate::steps::StepResult;

/// A start of a task's agent, as a budget judges it.
pub(crate) fn start_of<'a>(task: &'a Task, spawn: &'a Spawn) -> Start<'a> {
    let model = task.agent_settings.model.as_deref();
    Start {
        task: &task.id,
        project: &task.project,
        job: task.job.as_ref().map(|link| &link.name),
        harness: &spawn.harness,
        model: model.filter(|_| task.harness == spawn.harness),
    }
}

impl Scheduler {
    /// Which budgets hold back the agents of a task that left its queue.
    pub(super) fn budget_waits_of_starts(
        &self,
        store: &Store,
        id: &TaskId,
    ) -> Result<Vec<Wait>, DriverError> {
        let pending = store.pending(id)?;
        let starts = pending.iter().filter(|it| is_waiting(it));
        let mut starts = starts.filter_map(|it| match &it.planned.effect {
            Effect::Spawn(spawn) => Some(spawn),
            _ => None,
        });
        let Some(spawn) = starts.next() else {
            return Ok(Vec::new());
        };
        let limits = self.steps.current_limits(store)?;
        let task = store.require(id)?.task;
        Ok(Wait::from_budget(&limits.budget, &start_of(&task, spawn)))
    }

    /// Stops agents whose budget is used up, where the settings say so. Their work stays in their
    /// worktrees.
    pub(super) fn stop_over_budget(&self, store: &mut Store) -> Result<(), DriverError> {
        let budget = self.steps.current_limits(store)?.budget;
        if budget.is_empty() {
            return Ok(());
        }
        let standings = store.standings()?;
        for standing in standings.iter().filter(|it| is_over_budget(&budget, it)) {
            let request = Request::new(Role::Engine, RequestKind::Stop { role: None });
            let result = self
                .steps
                .step(store, &standing.task, &Cause::Request(request));
            let result = result.and_then(|result| match result {
                StepResult::Recorded { .. } => {
                    self.context.leave_to_performer(store, &standing.task)?;
                    self.steps.sync_files(store, &standing.task)
                }
                StepResult::Nothing { .. } | StepResult::Refused(_) => Ok(()),
            });
            self.steps.log_failure(&standing.task, result);
        }
        Ok(())
    }
}

fn is_over_budget(budget: &Budget, standing: &ScheduledTask) -> bool {
    budget.is_hard(&standing.project)
        && !standing.agents.is_empty()
        && !budget.reached(&standing.start()).is_empty()
}

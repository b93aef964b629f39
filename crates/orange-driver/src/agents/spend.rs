//! Counts for budgets what runs used.
//!
//! A run that has ended is counted before its end is recorded, so that no start overtakes its cost.

use orange_config::clock;
use orange_engine::Task;
use orange_engine::budget::{RunCost, cost_of_run};
use orange_engine::names::ProjectName;
use orange_engine::role::Role;
use orange_engine::time::Timestamp;
use orange_engine::usage::{RunUsage, TokenCount};
use orange_store::{RunRecord, RunSpend, SkippedTask, Store, TaskFilter};

use crate::DriverError;
use crate::agents::Agents;

impl Agents {
    /// Counts for budgets what the running agents had used at the end of their last turns. Does
    /// nothing without a budget.
    pub(crate) fn record_live_spend(&self) -> Result<(), DriverError> {
        if self.steps.limits(&Role::Engine)?.budget.is_empty() {
            return Ok(());
        }
        let mut store = self.context.store()?;
        for standing in store.standings()? {
            if standing.agents.is_empty() {
                continue;
            }
            let runs = store.runs(&standing.task)?;
            for run in runs.iter().filter(|it| it.ended_at.is_none()) {
                let counted = self.counted_usage(&standing.project, &standing.task, &run.id)?;
                if let Some((usage, _)) = counted {
                    record_spend(&mut store, run, &usage, clock::now())?;
                }
            }
        }
        Ok(())
    }

    /// Counts the runs of all tasks again, after the database was rebuilt; returns the files that
    /// cannot be read.
    pub(crate) fn restore_spend(&self, store: &mut Store) -> Result<Vec<SkippedTask>, DriverError> {
        let mut skipped = Vec::new();
        for summary in store.list(&TaskFilter::default())?.tasks {
            match self.restore_spend_of(store, &summary.task) {
                // One unreadable file must not block the others.
                Err(DriverError::File { path, reason, .. }) => skipped.push(SkippedTask {
                    path,
                    reason: format!("what it records does not count for budgets: {reason}"),
                }),
                restored => restored?,
            }
        }
        Ok(skipped)
    }

    fn restore_spend_of(&self, store: &mut Store, task: &Task) -> Result<(), DriverError> {
        for run in store.runs(&task.id)? {
            let counted = self.counted_usage(&task.project, &task.id, &run.id)?;
            if let Some((usage, since)) = counted {
                let at = run.ended_at.unwrap_or(since);
                record_spend(store, &run, &usage, at)?;
            }
        }
        self.restore_router_spend(store, task)
    }

    /// Counts for budgets what a run used that has ended.
    pub(super) fn record_spend_of_ended(
        &self,
        project: &ProjectName,
        run: &RunRecord,
    ) -> Result<(), DriverError> {
        // A run that was never prepared has used nothing.
        if run.setup.is_none() {
            return Ok(());
        }
        let counted = self.counted_usage(project, &run.task, &run.id)?;
        let usage = counted.map(|(usage, _)| usage).unwrap_or_default();
        let ended = RunRecord {
            ended_at: Some(run.ended_at.unwrap_or_else(clock::now)),
            ..run.clone()
        };
        let mut store = self.context.store()?;
        record_spend(&mut store, &ended, &usage, clock::now())
    }
}

/// Counts for budgets what a run has used so far. A run that has not ended and has not reported
/// anything is not counted yet.
fn record_spend(
    store: &mut Store,
    run: &RunRecord,
    usage: &RunUsage,
    at: Timestamp,
) -> Result<(), DriverError> {
    let task = store.require(&run.task)?.task;
    // The task's model is for the agents of its harness.
    let model = task.agent_settings.model;
    let model = model.filter(|_| task.harness == run.harness);
    let cost = cost_of_run(usage, model.as_deref(), &orange_config::prices());
    if cost == RunCost::Unknown && run.ended_at.is_none() {
        return Ok(());
    }
    store.record_spend(&RunSpend {
        task: run.task.clone(),
        run: run.id.clone(),
        harness: run.harness.clone(),
        model,
        tokens: usage.tokens().map(TokenCount::total),
        cost,
        at,
    })?;
    Ok(())
}

//! Counts the calls of the router and what they used.
//!
//! A router that starts is counted in a file of its task first, so a process that dies does not
//! make it start more often than a task may cause. What a call used counts for budgets like a run.

use std::path::PathBuf;

use orange_config::reason;
use orange_effects::private_file;
use orange_engine::Task;
use orange_engine::budget::cost_of_run;
use orange_engine::effect::EffectId;
use orange_engine::names::{HarnessName, ProjectName, RunId, TaskId};
use orange_engine::time::Timestamp;
use orange_engine::usage::{Cost, RunUsage, TokenCount};
use orange_store::{RunSpend, Store};
use serde::{Deserialize, Serialize};

use crate::DriverError;
use crate::agents::Agents;

/// The largest file that is read.
const MAX_FILE: u64 = 1024 * 1024;

/// A call of the router.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RouterCall {
    /// The effect that needs the choice; the user's next start of the task has another one.
    pub(crate) effect: EffectId,
    pub(crate) harness: HarnessName,
    #[serde(default)]
    pub(crate) model: Option<String>,
    pub(crate) at: Timestamp,
    /// What it used, once it has ended; unknown until then.
    #[serde(default)]
    pub(crate) used: RunUsage,
}

impl Agents {
    /// How often the router was called for this effect.
    pub(crate) fn router_calls(&self, task: &Task, effect: EffectId) -> Result<usize, DriverError> {
        let calls = self.load_calls(&task.project, &task.id)?;
        Ok(calls.iter().filter(|it| it.effect == effect).count())
    }

    /// Counts a call that is about to begin; returns its number.
    pub(crate) fn begin_router_call(
        &self,
        task: &Task,
        call: RouterCall,
    ) -> Result<usize, DriverError> {
        let mut calls = self.load_calls(&task.project, &task.id)?;
        let number = calls.len();
        record_spend(&mut self.context.store()?, &task.id, number, &call)?;
        calls.push(call);
        self.save_calls(task, &calls)?;
        Ok(number)
    }

    /// Records what a call used.
    pub(crate) fn end_router_call(
        &self,
        task: &Task,
        number: usize,
        used: RunUsage,
    ) -> Result<(), DriverError> {
        let mut calls = self.load_calls(&task.project, &task.id)?;
        let Some(call) = calls.get_mut(number) else {
            return Ok(());
        };
        call.used = used;
        // An agent reports a cost of zero for a model whose price it does not know.
        call.used.cost = call.used.cost.filter(|it| *it > Cost::default());
        record_spend(&mut self.context.store()?, &task.id, number, call)?;
        self.save_calls(task, &calls)
    }

    /// Counts the calls for a task again, after the database was rebuilt.
    pub(super) fn restore_router_spend(
        &self,
        store: &mut Store,
        task: &Task,
    ) -> Result<(), DriverError> {
        let calls = self.load_calls(&task.project, &task.id)?;
        for (number, call) in calls.iter().enumerate() {
            record_spend(store, &task.id, number, call)?;
        }
        Ok(())
    }

    fn calls_file(&self, project: &ProjectName, task: &TaskId) -> Result<PathBuf, DriverError> {
        let directory = self
            .context
            .run_directory(project, task, &RunId::new("router"))?;
        Ok(directory.join("calls.json"))
    }

    fn load_calls(
        &self,
        project: &ProjectName,
        task: &TaskId,
    ) -> Result<Vec<RouterCall>, DriverError> {
        let path = self.calls_file(project, task)?;
        if !path.exists() {
            return Ok(Vec::new());
        }
        let failed = |reason: String| DriverError::File {
            attempt: "read",
            path: path.clone(),
            reason,
        };
        let bytes = private_file::read(&path, MAX_FILE).map_err(|it| failed(it.to_string()))?;
        serde_json::from_slice(&bytes).map_err(|it| failed(it.to_string()))
    }

    fn save_calls(&self, task: &Task, calls: &[RouterCall]) -> Result<(), DriverError> {
        let path = self.calls_file(&task.project, &task.id)?;
        let failed = |reason: String| DriverError::File {
            attempt: "write",
            path: path.clone(),
            reason,
        };
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(|error| failed(reason(&error)))?;
        }
        let json = serde_json::to_vec(calls).map_err(|it| failed(it.to_string()))?;
        private_file::write(&path, &json).map_err(|it| failed(it.to_string()))
    }
}

fn record_spend(
    store: &mut Store,
    task: &TaskId,
    number: usize,
    call: &RouterCall,
) -> Result<(), DriverError> {
    let cost = cost_of_run(&call.used, call.model.as_deref(), &orange_config::prices());
    store.record_spend(&RunSpend {
        task: task.clone(),
        run: RunId::new(format!("router-{number}")),
        harness: call.harness.clone(),
        model: call.model.clone(),
        tokens: call.used.tokens().map(TokenCount::total),
        cost,
        at: call.at,
    })?;
    Ok(())
}

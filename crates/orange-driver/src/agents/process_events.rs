//! Processes agent events: received messages, and agents that cannot continue.

use orange_engine::activity::AgentEventKind;
use orange_engine::names::TaskId;
use orange_store::{Delivery, Store};

use crate::agents::Agents;
use crate::{CatchUpError, DriverError};

impl Agents {
    /// Records which messages the agents of these tasks have received, and ends runs that reported
    /// they cannot continue.
    pub fn process_events(&self, tasks: &[TaskId]) -> Result<Vec<CatchUpError>, DriverError> {
        let store = Store::open_read_only(&self.context.home)?;
        let failures = tasks.iter().filter_map(|task| {
            let result = self.process_task_events(&store, task);
            Some((task.clone(), result.err()?))
        });
        Ok(failures.collect())
    }

    fn process_task_events(&self, store: &Store, task: &TaskId) -> Result<(), DriverError> {
        let inbox = store.inbox(task)?;
        let open = inbox.iter().filter(|it| {
            let delivery = &it.delivery;
            it.read_at.is_none() && delivery.sent_at.is_some() && delivery.confirmed_at.is_none()
        });
        let mut confirmed = Vec::new();
        for entry in open {
            let delivery = &entry.delivery;
            let (Some(run), Some(typed_at)) = (&delivery.typed_run, delivery.typed_at) else {
                continue;
            };
            let project = store.require(task)?.task.project;
            let events = self.events_of(&project, task, run);
            let receipt = events
                .iter()
                .find(|it| it.kind == AgentEventKind::PromptSubmitted && it.at >= typed_at);
            if let Some(receipt) = receipt {
                let confirmed_at = Some(receipt.at);
                let delivery = Delivery {
                    confirmed_at,
                    problem: None,
                    ..delivery.clone()
                };
                confirmed.push((entry.id, delivery));
            }
        }
        let exhausted = self.exhausted_runs(store, task)?;
        if confirmed.is_empty() && exhausted.is_empty() {
            return Ok(());
        }
        let mut store = self.context.store()?;
        if !exhausted.is_empty() {
            self.end_exhausted_runs(&mut store, task)?;
            self.steps.sync_files(&mut store, task)?;
        }
        for (entry, delivery) in confirmed {
            store.set_delivery(entry, &delivery)?;
        }
        Ok(())
    }
}

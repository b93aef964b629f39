//! Lets another harness take over from a parked one.

use orange_config::clock;
use orange_engine::effect::{Effect, Spawn};
use orange_engine::failover::stand_in;
use orange_engine::input::{Cause, Observation};
use orange_engine::names::TaskId;
use orange_store::{PendingProgress, Store};

use super::Performer;
use crate::DriverError;

impl Performer {
    /// Plans each start that waits for a parked harness again, if the settings name a harness that
    /// can take over; the caller holds the lock. A start that was begun is left alone, because it
    /// may have happened.
    pub(super) fn take_over(&self, store: &mut Store, task: &TaskId) -> Result<(), DriverError> {
        let waiting = store.pending(task)?.into_iter();
        let waiting = waiting.filter(|it| matches!(it.mark, PendingProgress::Waiting));
        let starts: Vec<Spawn> = waiting
            .filter_map(|pending| match pending.planned.effect {
                Effect::Spawn(spawn) => Some(spawn),
                _ => None,
            })
            .collect();
        if starts.is_empty() {
            return Ok(());
        }
        let parked = store.parkings(clock::now())?;
        for spawn in starts {
            let Some(parking) = parked.iter().find(|it| it.harness == spawn.harness) else {
                continue;
            };
            let order = self.steps.failover()?;
            if let Some(harness) = stand_in(parking, &order, &parked) {
                let observation = Observation::StandIn {
                    run: spawn.run,
                    harness: harness.clone(),
                    reason: parking.to_string(),
                };
                self.steps
                    .step(store, task, &Cause::Observation(observation))?;
            }
        }
        Ok(())
    }
}

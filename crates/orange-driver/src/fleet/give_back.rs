//! Gives tasks back that need no machine.

use std::time::Duration;

use orange_config::clock;
use orange_engine::summary::{Place, Summary};
use orange_fleet::link::TaskLink;
use orange_fleet::message::Rest;
use orange_fleet::time::Timestamp;
use orange_store::steps::reach;
use orange_store::{Store, StoredTask};

use super::{Runner, engine_task};
use crate::DriverError;
use crate::steps::pinned_workflow;

/// How long a task that could start may wait for room here before another runner may take it.
const PATIENCE: Duration = Duration::from_secs(30);

impl Runner {
    /// Gives back every task that has no agent, pending effect or workspace, and whose commits are
    /// all in the log.
    pub(super) fn give_back(&self, store: &mut Store) -> Result<(), DriverError> {
        let known = self.membership()?;
        let arriving = store.arrivals()?;
        for (task, link) in known.link.tasks() {
            let id = engine_task(task);
            if arriving.iter().any(|it| it.task == id) {
                continue;
            }
            let Some(stored) = store.load(&id)? else {
                continue;
            };
            let is_shipped = link.acknowledged().version.0 == stored.task.version;
            if !is_shipped || link.is_halted() {
                continue;
            }
            if let Some(rest) = rest_of(&stored, link, known.is_draining)? {
                self.give_one_back(store, &id, rest)?;
            }
        }
        Ok(())
    }

    fn give_one_back(
        &self,
        store: &mut Store,
        id: &orange_engine::names::TaskId,
        rest: Rest,
    ) -> Result<(), DriverError> {
        let Some(call) = store.begin_give_back(id, rest)? else {
            return Ok(());
        };
        reach("before a task is given back");
        let answer = self.server.give_back(&call)?;
        reach("before the answer to a task that was given back is stored");
        store.update_membership(|known| {
            known
                .link
                .give_back_answered(&call.task, call.epoch, answer);
            if known.link.task(&call.task).is_none() {
                known.dropped.insert(call.task.clone(), call.epoch);
            }
        })?;
        Ok(())
    }
}

/// How a task waits at the server; `None` while it stays here.
fn rest_of(
    stored: &StoredTask,
    link: &TaskLink,
    is_draining: bool,
) -> Result<Option<Rest>, DriverError> {
    let workflow = pinned_workflow(stored)?;
    let summary = Summary::of(&workflow, &stored.task);
    let now = clock::now().millis();
    let waited = now.saturating_sub(summary.since.millis());
    let has_waited = u128::try_from(waited).is_ok_and(|it| it >= PATIENCE.as_millis());
    Ok(match summary.place {
        Place::Held | Place::Ended => None,
        Place::Idle => Some(Rest::Idle),
        Place::Queued => match summary.wake_at {
            Some(wake_at) if wake_at.millis() > now => {
                let until = u64::try_from(wake_at.millis()).unwrap_or(0);
                Some(Rest::Paused {
                    until: Timestamp(until),
                })
            }
            _ if has_waited || is_draining || link.is_giving_back() => Some(Rest::Offered),
            _ => None,
        },
    })
}

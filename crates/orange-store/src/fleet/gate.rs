//! What the fleet's server allows: which commits are recorded, which effects start.

use orange_engine::effect::{Effect, EffectId};
use orange_engine::event::{Event, Fact};
use orange_engine::names::TaskId;
use orange_fleet::ids::Version;
use orange_fleet::link::{Gate, Phase};
use rusqlite::{Connection, OptionalExtension as _};

use super::membership::{self, fleet_now, fleet_task};
use crate::error::{StoreError, failed};

/// Why an effect has to wait for the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EffectGate {
    /// The commit that planned it is not in the server's log yet.
    Unacknowledged,
    /// The server has not been heard for too long.
    Frozen,
    /// This machine does not hold the task.
    NotHeld,
    /// The task came from another machine, whose effects these are.
    Arriving,
}

impl EffectGate {
    /// Whether a text is one of the reasons.
    pub(crate) fn is_reason(text: &str) -> bool {
        let all = [
            EffectGate::Unacknowledged,
            EffectGate::Frozen,
            EffectGate::NotHeld,
            EffectGate::Arriving,
        ];
        all.iter().any(|it| it.reason() == text)
    }

    /// The reason, as the user reads it.
    pub fn reason(self) -> &'static str {
        match self {
            EffectGate::Unacknowledged => "waits for the fleet's server to acknowledge the task",
            EffectGate::Frozen => {
                "waits for the fleet's server, which has not answered for a while"
            }
            EffectGate::NotHeld => "waits because this machine does not hold the task",
            EffectGate::Arriving => "waits until the task has moved to this machine",
        }
    }
}

/// Why an effect may not start yet; read in the transaction that marks it as started.
///
/// An effect starts only after the server's log has the commit that planned it: otherwise another
/// machine could continue the task without knowing what this one has done.
///
/// Only killing an agent needs no acknowledgement. It changes nothing outside, and whatever the log
/// will say, the agent has to stop: you want it to stop while the server is away, and a task that was
/// taken away must not go on. A release is gated like the rest, because it runs the project's
/// teardown, which may reach the world; the worktree of a task that was taken away is released
/// without it. While a task arrives, its effects are those of the other machine, and all wait.
pub(crate) fn wait_of(
    connection: &Connection,
    task: &TaskId,
    id: EffectId,
    effect: &Effect,
) -> Result<Option<EffectGate>, StoreError> {
    let Some(membership) = membership::find(connection)? else {
        return Ok(None);
    };
    if is_moved(connection, task)?.is_some() {
        return Ok(Some(EffectGate::Arriving));
    }
    if matches!(effect, Effect::Kill(_)) {
        return Ok(None);
    }
    let gate = membership
        .link
        .gate(&fleet_task(task), Version(id.0), fleet_now());
    Ok(match gate {
        Gate::Open if membership.phase() != Phase::Running => Some(EffectGate::Frozen),
        Gate::Open => None,
        Gate::Unacknowledged => Some(EffectGate::Unacknowledged),
        Gate::Frozen => Some(EffectGate::Frozen),
        Gate::NotHeld => Some(EffectGate::NotHeld),
    })
}

/// Fails unless this machine holds the task and may add these events: others would never reach the
/// server's log.
pub(crate) fn require_held(
    connection: &Connection,
    task: &TaskId,
    events: &[Event],
) -> Result<(), StoreError> {
    let membership = membership::find(connection)?;
    let is_held = membership.is_some_and(|it| {
        let held = it.link.task(&fleet_task(task));
        held.is_some_and(orange_fleet::link::TaskLink::is_active)
    });
    if !is_held {
        return Err(StoreError::NotHeld { task: task.clone() });
    }
    let moves = events.iter().any(|it| matches!(it.fact, Fact::TaskMoved));
    match is_moved(connection, task)? {
        Some(false) if !moves => Err(StoreError::Arriving { task: task.clone() }),
        Some(false) => {
            connection
                .execute(
                    "UPDATE arrivals SET is_moved = 1 WHERE task = ?1",
                    [task.as_str()],
                )
                .map_err(failed("record that a task moved"))?;
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Whether a task that arrives is recorded as moved; `None` when it does not arrive.
fn is_moved(connection: &Connection, task: &TaskId) -> Result<Option<bool>, StoreError> {
    let sql = "SELECT is_moved FROM arrivals WHERE task = ?1";
    connection
        .query_row(sql, [task.as_str()], |row| row.get(0))
        .optional()
        .map_err(failed("read which tasks arrive"))
}

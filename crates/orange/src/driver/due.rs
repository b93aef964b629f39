//! Which effect of a task comes next, and when.

use std::collections::BTreeSet;

use orange_engine::effect::Effect;
use orange_engine::event::Event;
use orange_engine::language::hooks::OnError;
use orange_engine::names::TaskId;
use orange_engine::time::Timestamp;

use super::DriverError;
use crate::store::{Pending, PendingMark, Store};

/// What a performer does next.
#[derive(Debug)]
pub(super) enum Next {
    /// This one.
    Now(Box<Pending>),
    /// Nothing before then.
    At(Timestamp),
    /// Nothing at all.
    Never,
}

/// The first effect that may be performed now.
///
/// One that failed and waits for its next try holds back everything later of the task, because a
/// release must not overtake a kill. A start that waits for its delay holds back its own plan only.
pub(super) fn next(store: &Store, task: &TaskId, now: Timestamp) -> Result<Next, DriverError> {
    let mut waiting_plans: BTreeSet<u64> = BTreeSet::new();
    let mut earliest: Option<Timestamp> = None;
    for pending in store.pending(task)? {
        if !is_waiting(&pending) || waiting_plans.contains(&pending.planned.plan) {
            continue;
        }
        let not_before = not_before(store, &pending)?;
        if not_before <= now {
            return Ok(Next::Now(Box::new(pending)));
        }
        earliest = Some(earliest.map_or(not_before, |known| known.min(not_before)));
        let failed = pending.attempts > 0;
        if failed && pending.planned.on_error == OnError::Stop {
            break;
        }
        if pending.planned.on_error == OnError::Stop {
            waiting_plans.insert(pending.planned.plan);
        }
    }
    Ok(earliest.map_or(Next::Never, Next::At))
}

/// Whether somebody should wait for it: it is to be performed, and not only much later.
///
/// A message that an agent cannot be told of now is in its inbox nevertheless.
pub(super) fn is_awaited(
    store: &Store,
    pending: &Pending,
    now: Timestamp,
) -> Result<bool, DriverError> {
    let is_message = matches!(pending.planned.effect, Effect::NotifyRole(_));
    let is_put_off = is_message && pending.attempts > 0;
    Ok(is_waiting(pending) && !is_put_off && delayed_until(store, pending)? <= now)
}

/// Whether it is to be performed.
pub(super) fn is_waiting(pending: &Pending) -> bool {
    matches!(
        pending.mark,
        PendingMark::Waiting | PendingMark::Started { .. }
    )
}

fn not_before(store: &Store, pending: &Pending) -> Result<Timestamp, DriverError> {
    let delayed = delayed_until(store, pending)?;
    Ok(pending
        .next_try_at
        .map_or(delayed, |next| next.max(delayed)))
}

/// When a start may happen at the earliest: so long after it was planned.
fn delayed_until(store: &Store, pending: &Pending) -> Result<Timestamp, DriverError> {
    let Effect::Spawn(spawn) = &pending.planned.effect else {
        return Ok(Timestamp::default());
    };
    if spawn.delay == 0 {
        return Ok(Timestamp::default());
    }
    let planned = planned_at(store, pending)?;
    let millis = i64::try_from(spawn.delay.saturating_mul(1000)).unwrap_or(i64::MAX);
    Ok(planned.map_or_else(Timestamp::default, |at| {
        Timestamp::from_millis(at.millis().saturating_add(millis))
    }))
}

/// When an effect was planned.
pub(super) fn planned_at(
    store: &Store,
    pending: &Pending,
) -> Result<Option<Timestamp>, DriverError> {
    let id = pending.planned.id.0;
    let events = store.events(&pending.task, id.saturating_sub(1))?;
    let planned: Option<&Event> = events.first().map(|recorded| &recorded.event);
    let planned = planned.filter(|event| event.version == id);
    Ok(planned.map(|event| event.at))
}

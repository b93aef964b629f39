//! Which effect of a task is next, and when.

use std::collections::BTreeSet;

use orange_engine::effect::Effect;
use orange_engine::event::Event;
use orange_engine::language::hooks::OnError;
use orange_engine::names::TaskId;
use orange_engine::time::Timestamp;
use orange_store::{Pending, PendingProgress, Store};

use crate::DriverError;

/// What a performer does next.
#[derive(Debug)]
pub(crate) enum Next {
    Now(Box<Pending>),
    /// Nothing can be performed before then.
    At(Timestamp),
    /// Nothing is left to perform, or all of it waits until the user unparks a harness.
    Never,
}

/// When an effect may be performed at the earliest.
enum Earliest {
    /// At this instant.
    At(Timestamp),
    /// When the user unparks the effect's harness, which is parked without an end.
    Open,
}

/// The first effect that may be performed now.
///
/// An effect that failed and waits for its retry holds back everything later in the task, because a
/// release must not overtake a kill. A start that waits for its delay or its harness holds back
/// only its own plan.
pub(crate) fn next(store: &Store, task: &TaskId, now: Timestamp) -> Result<Next, DriverError> {
    let mut waiting_plans: BTreeSet<u64> = BTreeSet::new();
    let mut earliest: Option<Timestamp> = None;
    let mut is_gated = false;
    for pending in store.pending(task)? {
        // An effect that the fleet's server does not allow yet is overtaken by kills alone: a later
        // effect may rely on it, whatever its failure would mean.
        if is_gated && !matches!(pending.planned.effect, Effect::Kill(_)) {
            continue;
        }
        is_gated |= pending.is_gated();
        if !is_waiting(&pending) || waiting_plans.contains(&pending.planned.plan) {
            continue;
        }
        match not_before(store, &pending, now)? {
            Earliest::At(then) if then <= now => return Ok(Next::Now(Box::new(pending))),
            Earliest::At(then) => {
                earliest = Some(earliest.map_or(then, |known| known.min(then)));
            }
            Earliest::Open => {}
        }
        let has_failed = pending.attempts > 0;
        if has_failed && pending.planned.on_error == OnError::Stop {
            break;
        }
        if pending.planned.on_error == OnError::Stop {
            waiting_plans.insert(pending.planned.plan);
        }
    }
    Ok(earliest.map_or(Next::Never, Next::At))
}

/// Whether a caller should wait for an effect: it will be performed, and without a long delay.
///
/// A caller does not wait for a notification that is retried, because the message is already in the
/// agent's inbox.
pub(crate) fn is_awaited(
    store: &Store,
    pending: &Pending,
    now: Timestamp,
) -> Result<bool, DriverError> {
    let is_message = matches!(pending.planned.effect, Effect::NotifyRole(_));
    let is_late = pending.next_attempt_at.is_some_and(|next| next > now);
    let is_put_off = if pending.attempts == 0 {
        // A merge that waits for its turn is not late.
        is_late && !matches!(pending.planned.effect, Effect::Merge(_))
    } else {
        is_message
    };
    if !is_waiting(pending) || is_put_off {
        return Ok(false);
    }
    Ok(match delayed_until(store, pending, now)? {
        Earliest::At(then) => then <= now,
        Earliest::Open => false,
    })
}

/// Whether an effect still has to be performed.
pub(crate) fn is_waiting(pending: &Pending) -> bool {
    matches!(
        pending.mark,
        PendingProgress::Waiting | PendingProgress::Started { .. }
    )
}

fn not_before(store: &Store, pending: &Pending, now: Timestamp) -> Result<Earliest, DriverError> {
    let delayed = delayed_until(store, pending, now)?;
    Ok(match (delayed, pending.next_attempt_at) {
        (Earliest::At(delayed), Some(next)) => Earliest::At(next.max(delayed)),
        (delayed, _) => delayed,
    })
}

/// The earliest time for a start: after its delay from when it was planned, and not while its
/// harness is parked.
fn delayed_until(
    store: &Store,
    pending: &Pending,
    now: Timestamp,
) -> Result<Earliest, DriverError> {
    let Effect::Spawn(spawn) = &pending.planned.effect else {
        return Ok(Earliest::At(Timestamp::default()));
    };
    // Parking does not delay a start that was begun: it may have happened already, and performing
    // it again finds out.
    let parked = match pending.mark {
        PendingProgress::Started { .. } => Vec::new(),
        _ => store.parkings(now)?,
    };
    let parked = parked.into_iter().find(|it| it.harness == spawn.harness);
    let parked = match parked.map(|parking| parking.until) {
        Some(None) => return Ok(Earliest::Open),
        Some(Some(until)) => until,
        None => Timestamp::default(),
    };
    if spawn.delay == 0 {
        return Ok(Earliest::At(parked));
    }
    let planned = planned_at(store, pending)?;
    let millis = i64::try_from(spawn.delay.saturating_mul(1000)).unwrap_or(i64::MAX);
    let delayed = planned.map_or_else(Timestamp::default, |at| {
        Timestamp::from_millis(at.millis().saturating_add(millis))
    });
    Ok(Earliest::At(delayed.max(parked)))
}

/// When an effect was planned.
pub(crate) fn planned_at(
    store: &Store,
    pending: &Pending,
) -> Result<Option<Timestamp>, DriverError> {
    let id = pending.planned.id.0;
    let events = store.events(&pending.task, id.saturating_sub(1))?;
    let planned: Option<&Event> = events.first().map(|recorded| &recorded.event);
    let planned = planned.filter(|event| event.version == id);
    Ok(planned.map(|event| event.at))
}

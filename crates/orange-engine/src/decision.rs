//! The answers of `decide`: plan, refusal, or need for facts.

use crate::effect::PlannedEffect;
use crate::event::{Event, Fact};
use crate::input::FactNeeded;
use crate::refusal::Refusal;

/// What follows from an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Record these events, then perform their effects.
    Plan(Plan),
    /// Do nothing and tell the caller why.
    Refusal(Refusal),
    /// Gather these facts without holding a lock, then ask again.
    Needs(Needs),
}

/// Events to record in one transaction.
///
/// A plan without events changes nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// What happened, in order.
    pub events: Vec<Event>,
    /// Whether the caller's request was already fulfilled.
    pub is_already_done: bool,
}

/// Facts that are missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Needs {
    /// The task's version when it entered the status for which the facts are needed.
    pub entered: u64,
    /// The facts, without duplicates.
    pub facts: Vec<FactNeeded>,
}

impl Plan {
    /// A plan that changes nothing.
    pub fn empty() -> Plan {
        Plan::default()
    }

    /// The effects to perform, in order.
    ///
    /// They are part of the events, so the history alone is enough to resume them after a crash.
    pub fn effects(&self) -> impl Iterator<Item = &PlannedEffect> {
        self.events.iter().filter_map(|event| match &event.fact {
            Fact::EffectPlanned(planned) => Some(planned),
            _ => None,
        })
    }
}

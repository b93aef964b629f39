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
    /// Nothing; tell the asker why.
    Refusal(Refusal),
    /// Gather these facts without holding a lock, then ask again.
    Needs(Needs),
}

/// Events to record in one commit.
///
/// A plan without events means that nothing has to be remembered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// What happened, in order.
    pub events: Vec<Event>,
    /// Whether the asker had got what it asks for before.
    pub already: bool,
}

/// Facts that are missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Needs {
    /// The version at which the status was entered that they are needed for.
    pub entered: u64,
    /// Which ones, without repetition.
    pub facts: Vec<FactNeeded>,
}

impl Plan {
    /// A plan that changes nothing.
    pub fn nothing() -> Plan {
        Plan::default()
    }

    /// The effects to perform, in order.
    ///
    /// They stand in the events, so that a history alone is enough to go on after a loss.
    pub fn effects(&self) -> impl Iterator<Item = &PlannedEffect> {
        self.events.iter().filter_map(|event| match &event.fact {
            Fact::EffectPlanned(planned) => Some(planned),
            _ => None,
        })
    }
}

//! The real `orange serve`: it misses no death and invents none.

mod agent_events;
mod budget;
pub mod chaos;
mod exits;
mod handover;
mod lessons;
mod load;
mod orphans;
mod parked_harnesses;
mod probes;
mod releases;
mod report;

use std::time::Duration;

use orange_engine::event::Fact;
use orange_engine::names::TaskId;
use orange_engine::time::Timestamp;

use crate::support::Stage;

/// How many deaths of a task were judged.
pub fn deaths(stage: &Stage, id: &TaskId) -> usize {
    let events = stage.store().events(id, 0).unwrap();
    let deaths = events.iter();
    let deaths = deaths.filter(|it| matches!(it.event.fact, Fact::RunEnded { .. }));
    deaths.count()
}

/// How long after an instant the last death was judged.
pub fn time_to_notice(stage: &Stage, id: &TaskId, then: Timestamp) -> Duration {
    let events = stage.store().events(id, 0).unwrap();
    let mut deaths = events.iter().rev();
    let death = deaths.find(|it| matches!(it.event.fact, Fact::RunEnded { .. }));
    let millis = death.unwrap().event.at.millis() - then.millis();
    Duration::from_millis(u64::try_from(millis).unwrap_or(0))
}

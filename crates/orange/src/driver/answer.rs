//! What asking came to.

use orange_engine::effect::EffectId;
use orange_engine::event::{Event, Fact};
use orange_engine::names::TaskId;
use orange_engine::{Refusal, Task};

use super::DriverError;
use crate::store::Store;

/// What asking came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It happened, and nothing of what it had planned is left to wait for.
    Done(Box<Changed>),
    /// It happened; what it had planned is still on its way. Asking again tells.
    StillRunning(Box<Changed>),
    /// It had happened before.
    Already(Box<Task>),
    /// It did not happen.
    Refused(Box<Refusal>),
}

/// A task and what happened to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    /// The task as it is now.
    pub task: Task,
    /// What was recorded for the request itself.
    pub events: Vec<Event>,
    /// What the request had planned and did not come about.
    pub given_up: Vec<GivenUp>,
    /// Why the files in the task directory could not be brought up to date, if so. The change is
    /// recorded all the same.
    pub copies_failed: Option<String>,
}

/// Something that was planned and did not come about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GivenUp {
    /// What, as a workflow names it.
    pub effect: &'static str,
    /// What stood in the way.
    pub error: String,
}

impl Answer {
    /// The same answer, with what came of writing the files last.
    pub(super) fn noting(mut self, copies: &Result<(), DriverError>) -> Answer {
        if let Answer::Done(changed) | Answer::StillRunning(changed) = &mut self {
            changed.copies_failed = copies.as_ref().err().map(ToString::to_string);
        }
        self
    }
}

impl Changed {
    /// The task as it is now, and what became of what these events have planned.
    pub(super) fn since(
        store: &Store,
        id: &TaskId,
        events: Vec<Event>,
    ) -> Result<Changed, DriverError> {
        let task = store.require(id)?.task;
        let given_up = given_up(store, id, &events)?;
        Ok(Changed {
            task,
            events,
            given_up,
            copies_failed: None,
        })
    }
}

/// What was planned, given up, and not tried again since.
fn given_up(store: &Store, id: &TaskId, events: &[Event]) -> Result<Vec<GivenUp>, DriverError> {
    let planned = events.iter().filter_map(|event| match &event.fact {
        Fact::EffectPlanned(planned) => Some((planned.id, planned.effect.label())),
        _ => None,
    });
    let planned: Vec<(EffectId, &'static str)> = planned.collect();
    let Some((first, _)) = planned.first() else {
        return Ok(Vec::new());
    };
    let mut found: Vec<(EffectId, GivenUp)> = Vec::new();
    for recorded in store.events(id, first.0)? {
        match recorded.event.fact {
            Fact::EffectGivenUp { effect, error } => {
                if let Some((_, label)) = planned.iter().find(|(id, _)| *id == effect) {
                    let given_up = GivenUp {
                        effect: label,
                        error,
                    };
                    found.push((effect, given_up));
                }
            }
            Fact::EffectRetried { effect } => found.retain(|(id, _)| *id != effect),
            _ => {}
        }
    }
    Ok(found.into_iter().map(|(_, given_up)| given_up).collect())
}

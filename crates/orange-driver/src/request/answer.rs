//! The result of a request.

use std::collections::BTreeMap;

use orange_engine::effect::{Effect, EffectId};
use orange_engine::event::{Event, Fact};
use orange_engine::names::TaskId;
use orange_engine::{Refusal, Task};
use orange_store::Store;

use crate::DriverError;
use crate::workspaces::kept::KeptWorktree;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The change was made, and no planned effect is left to wait for.
    Done(Box<ChangeReport>),
    /// The change was made; planned effects are still in flight. Ask again for the result.
    StillRunning(Box<ChangeReport>),
    /// The change had already been made.
    AlreadyDone(Box<Task>),
    /// The change was not made.
    Refused(Box<Refusal>),
}

impl Answer {
    /// Combines the answers of two steps: returns the later one, with the events of both.
    #[must_use]
    pub fn followed_by(self, mut later: Answer) -> Answer {
        if let (
            Answer::Done(first) | Answer::StillRunning(first),
            Answer::Done(second) | Answer::StillRunning(second),
        ) = (self, &mut later)
        {
            let events = std::mem::take(&mut second.events);
            second.events = first.events.into_iter().chain(events).collect();
        }
        later
    }
}

/// A task and what happened to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangeReport {
    /// The task as it is now.
    pub task: Task,
    /// The events recorded for the request itself.
    pub events: Vec<Event>,
    /// The effects that the request planned and that failed.
    pub failed_effects: Vec<FailedEffect>,
    /// Why the files in the task directory could not be updated, if so. The change is recorded all
    /// the same.
    pub copies_failed: Option<String>,
    /// The worktrees that could not be released without losing work, if the request releases any.
    pub kept_worktrees: Vec<KeptWorktree>,
}

/// A planned effect that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedEffect {
    /// The effect's name in workflows.
    pub effect: &'static str,
    pub error: String,
    /// What the task's agent needs to know to remove the cause, if the agent can remove it.
    pub feedback: Option<String>,
}

impl Answer {
    /// This answer, with the result of the latest attempt to write the files.
    pub(crate) fn with_copies(mut self, copies: &Result<(), DriverError>) -> Answer {
        if let Answer::Done(changed) | Answer::StillRunning(changed) = &mut self {
            changed.copies_failed = copies.as_ref().err().map(ToString::to_string);
        }
        self
    }
}

impl ChangeReport {
    /// The task as it is now, and the failed effects among those that these events planned.
    pub(crate) fn since(
        store: &Store,
        id: &TaskId,
        events: Vec<Event>,
    ) -> Result<ChangeReport, DriverError> {
        let task = store.require(id)?.task;
        let failed_effects = failed_effects(store, id, &events)?;
        Ok(ChangeReport {
            task,
            events,
            failed_effects,
            copies_failed: None,
            kept_worktrees: Vec::new(),
        })
    }
}

/// Whether these events planned a release, directly or at the end of a merge.
pub(crate) fn releases(events: &[Event]) -> bool {
    events.iter().any(|event| {
        matches!(&event.fact, Fact::EffectPlanned(planned)
            if matches!(planned.effect, Effect::ReleaseWorkspace { .. } | Effect::Merge(_)))
    })
}

/// The effects that were planned or retried, failed, and have not been retried since.
fn failed_effects(
    store: &Store,
    id: &TaskId,
    events: &[Event],
) -> Result<Vec<FailedEffect>, DriverError> {
    let required = events.iter().filter_map(|event| match &event.fact {
        Fact::EffectPlanned(planned) => Some((planned.id, event.version)),
        Fact::EffectRetried { effect } => Some((*effect, event.version)),
        _ => None,
    });
    let required: Vec<(EffectId, u64)> = required.collect();
    let Some((_, first)) = required.first() else {
        return Ok(Vec::new());
    };
    let mut labels: BTreeMap<EffectId, &'static str> = BTreeMap::new();
    let mut found: Vec<(EffectId, FailedEffect)> = Vec::new();
    // The id of an effect is the version of the event that planned it.
    let oldest = required.iter().map(|(effect, _)| effect.0).min();
    for recorded in store.events(id, oldest.unwrap_or_default().saturating_sub(1))? {
        let version = recorded.event.version;
        match recorded.event.fact {
            Fact::EffectPlanned(planned) => {
                labels.insert(planned.id, planned.effect.label());
            }
            Fact::EffectFailed {
                effect,
                error,
                feedback,
            } if version > *first => {
                let is_required = required.iter().any(|(id, _)| *id == effect);
                if let Some(label) = labels.get(&effect).filter(|_| is_required) {
                    let failed_effect = FailedEffect {
                        effect: label,
                        error,
                        feedback,
                    };
                    found.push((effect, failed_effect));
                }
            }
            Fact::EffectRetried { effect } => found.retain(|(id, _)| *id != effect),
            _ => {}
        }
    }
    Ok(found
        .into_iter()
        .map(|(_, failed_effect)| failed_effect)
        .collect())
}

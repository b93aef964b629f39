//! Stories: the shortest path to where something is wrong.

use orange_engine::effect::Effect;
use orange_engine::event::Fact;
use orange_engine::language::Workflow;
use orange_engine::language::gates::Gate;
use orange_engine::names::Status;
use orange_engine::role::Role;
use serde::Serialize;

use crate::explore::{Playing, Step};

/// What happens, step by step, from the beginning of a task.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct Story {
    /// The steps, as a person reads them.
    pub told: Vec<Told>,
    /// From this step on it happens again and again, counted from zero.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub again_from: Option<usize>,
    /// The same steps, to be taken again.
    #[serde(skip)]
    pub steps: Vec<Step>,
}

/// One step of a story.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct Told {
    /// What happens.
    pub what: String,
    /// Where the task is afterwards.
    pub status: Status,
    /// What orange does about it, in order.
    pub effects: Vec<String>,
}

impl Story {
    /// Tells these steps. Each is played again, so the story is what really happens.
    pub(super) fn tell(workflow: &Workflow, steps: Vec<Step>) -> Story {
        let mut playing = Playing::new(workflow);
        let mut told = Vec::new();
        let mut old: Vec<&Gate> = Vec::new();
        for step in &steps {
            let what = as_told(step, &old).to_string();
            old.extend(&step.shown.kept);
            let effects = match playing.take(step) {
                Ok(played) => {
                    let events = played.events.iter();
                    events
                        .filter_map(|event| match &event.fact {
                            Fact::EffectPlanned(planned) => Some(named(&planned.effect)),
                            _ => None,
                        })
                        .collect()
                }
                Err(_) => Vec::new(),
            };
            if let Some(task) = &playing.task {
                told.push(Told {
                    what,
                    status: task.status.clone(),
                    effects,
                });
            }
        }
        Story {
            told,
            again_from: None,
            steps,
        }
    }
}

/// A kept section counts as new the first time it is shown.
fn as_told(step: &Step, old: &[&Gate]) -> Step {
    let mut step = step.clone();
    let (kept, new) = step
        .shown
        .kept
        .drain(..)
        .partition(|gate| old.contains(&gate));
    step.shown.kept = kept;
    let new: Vec<Gate> = new;
    step.shown.gates.extend(new);
    step
}

/// The name of an effect; for a start, also the role that it starts.
fn named(effect: &Effect) -> String {
    let label = effect.label();
    match effect {
        Effect::Spawn(spawn) if spawn.role != Role::Reviewer => format!("{label} {}", spawn.role),
        _ => label.to_owned(),
    }
}

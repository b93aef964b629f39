//! Stories: the shortest path to where something is wrong.

use orange_engine::effect::Effect;
use orange_engine::event::Fact;
use orange_engine::language::Workflow;
use orange_engine::language::gates::Gate;
use orange_engine::names::Status;
use orange_engine::role::Role;
use serde::Serialize;

use crate::explore::{Replay, Step};

/// The steps from the creation of a task to a finding.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct Story {
    /// The steps, in words.
    pub steps: Vec<StoryStep>,
    /// The index of the first step that repeats forever.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeats_from: Option<usize>,
    /// The same steps, ready to be played again.
    #[serde(skip)]
    pub played_steps: Vec<Step>,
}

/// One step of a story.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct StoryStep {
    /// What happens.
    pub what: String,
    /// The status of the task afterwards.
    pub status: Status,
    /// The effects that follow, in order.
    pub effects: Vec<String>,
}

impl Story {
    /// The story of these steps. Each step is played again, so the story is what really happens.
    pub(super) fn from_steps(workflow: &Workflow, steps: Vec<Step>) -> Story {
        let mut replay = Replay::new(workflow);
        let mut lines = Vec::new();
        let mut old: Vec<&Gate> = Vec::new();
        for step in &steps {
            let what = as_narrated(step, &old).to_string();
            old.extend(&step.evidence.kept);
            let effects = match replay.take(step) {
                Ok(played) => {
                    let events = played.events.iter();
                    events
                        .filter_map(|event| match &event.fact {
                            Fact::EffectPlanned(planned) => Some(effect_name(&planned.effect)),
                            _ => None,
                        })
                        .collect()
                }
                Err(_) => Vec::new(),
            };
            if let Some(task) = &replay.task {
                lines.push(StoryStep {
                    what,
                    status: task.status.clone(),
                    effects,
                });
            }
        }
        Story {
            steps: lines,
            repeats_from: None,
            played_steps: steps,
        }
    }
}

/// The step as the story tells it. The search treats a section that was written earlier as kept; a
/// story says that it was written, in the first step that mentions it.
fn as_narrated(step: &Step, old: &[&Gate]) -> Step {
    let mut step = step.clone();
    let (kept, new) = step
        .evidence
        .kept
        .drain(..)
        .partition(|gate| old.contains(&gate));
    step.evidence.kept = kept;
    let new: Vec<Gate> = new;
    step.evidence.gates.extend(new);
    step
}

/// The name of an effect; for a start, also the role that it starts.
fn effect_name(effect: &Effect) -> String {
    let label = effect.label();
    match effect {
        Effect::Spawn(spawn) if spawn.role != Role::Reviewer => format!("{label} {}", spawn.role),
        _ => label.to_owned(),
    }
}

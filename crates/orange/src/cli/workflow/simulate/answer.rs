//! The result of a simulated step, as data.

use std::collections::{BTreeMap, BTreeSet};

use orange_check::explore::{Notice, StepOutcome, StepRefusal};
use orange_engine::Workflow;
use orange_engine::effect::{Effect, EffectId};
use orange_engine::event::{Event, Fact};
use orange_engine::language::workflow::Trigger;
use orange_engine::names::{FieldName, Status};
use orange_engine::refusal::Refusal;
use orange_engine::role::Role;
use orange_engine::task::Task;
use serde::Serialize;

use super::effect_words;

#[derive(Clone, Debug)]
pub enum Answer {
    Decided(Decision),
    Refused(Box<Refusal>),
    /// The step had no effect.
    Nothing,
}

/// The result of a step.
#[derive(Clone, Debug, Default, Serialize, schemars::JsonSchema)]
#[schemars(rename = "SimulatedDecision")]
pub struct Decision {
    /// The statuses that were entered, in order.
    pub entered: Vec<StatusChange>,
    /// The fields that changed, in order.
    pub fields: Vec<FieldChange>,
    /// The effects that would run, in order.
    pub effects: Vec<SimulatedEffect>,
    /// Other remarks, in order.
    pub remarks: Vec<String>,
}

/// A status that was entered.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
#[schemars(rename = "SimulatedStatusChange")]
pub struct StatusChange {
    /// The status before; absent at the beginning.
    pub from: Option<Status>,
    /// The status that was entered.
    pub to: Status,
    /// The trigger; absent at the beginning.
    pub trigger: Option<Trigger>,
    /// The role that requested it.
    pub by: Role,
    /// The evidence.
    pub because: Vec<String>,
}

/// A field that changed.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct FieldChange {
    /// The field.
    pub field: FieldName,
    /// The old value.
    pub from: i64,
    /// The new value.
    pub to: i64,
}

/// An effect that would run.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct SimulatedEffect {
    /// The hook's name.
    pub effect: &'static str,
    /// What it would do.
    pub does: String,
    /// Its outcome.
    pub outcome: Outcome,
    #[serde(skip)]
    id: EffectId,
}

/// The outcome of an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "SimulatedOutcome")]
pub enum Outcome {
    /// It succeeded.
    Done,
    /// It failed permanently.
    Failed,
    /// It was not started, because an earlier one failed.
    NotStarted,
    /// It was cancelled.
    Cancelled,
}

impl Answer {
    /// The result of a step; `before` is the task before the step, if it existed.
    pub fn of(
        workflow: &Workflow,
        before: Option<&Task>,
        it: &Result<StepOutcome, StepRefusal>,
    ) -> Answer {
        match it {
            Ok(outcome) => Answer::Decided(Decision::of(workflow, before, outcome)),
            Err(StepRefusal::Refusal(refusal)) => Answer::Refused(refusal.clone()),
            Err(StepRefusal::NoEffect) => Answer::Nothing,
        }
    }
}

impl Decision {
    fn of(workflow: &Workflow, before: Option<&Task>, outcome: &StepOutcome) -> Decision {
        let live = before.into_iter().flat_map(|task| &task.runs);
        let live = live.filter(|(_, run)| run.state.is_live());
        let mut builder = DecisionBuilder {
            alive: live.map(|(role, _)| role.clone()).collect(),
            starting: BTreeMap::new(),
            fields: before.map_or(&workflow.fields, |task| &task.fields).clone(),
            decision: Decision::default(),
        };
        builder.add_confirmations(workflow, outcome);
        for event in &outcome.events {
            builder.add_event(event);
        }
        builder.decision
    }
}

struct DecisionBuilder {
    alive: BTreeSet<Role>,
    /// The role that each planned start would start.
    starting: BTreeMap<EffectId, Role>,
    fields: BTreeMap<FieldName, i64>,
    decision: Decision,
}

impl DecisionBuilder {
    /// Adds each question that the user would be asked; the simulation always answers yes.
    fn add_confirmations(&mut self, workflow: &Workflow, outcome: &StepOutcome) {
        for notice in &outcome.notices {
            if let Notice::EdgeTaken { edge } = notice
                && let Some(edge) = workflow.edges.get(*edge)
                && let Some(question) = &edge.confirm
                && matches!(edge.trigger, Trigger::Request | Trigger::Merged)
            {
                self.remark(format!(
                    "you are asked first: {question} (the simulation answers yes)"
                ));
            }
        }
    }

    fn add_event(&mut self, event: &Event) {
        match &event.fact {
            Fact::TaskCreated(created) => self.decision.entered.push(StatusChange {
                from: None,
                to: created.status.clone(),
                trigger: None,
                by: created.by.clone(),
                because: Vec::new(),
            }),
            Fact::StatusChanged(changed) => self.decision.entered.push(StatusChange {
                from: Some(changed.from.clone()),
                to: changed.to.clone(),
                trigger: Some(changed.trigger),
                by: changed.by.clone(),
                because: changed.evidence.clone(),
            }),
            Fact::FieldSet { field, value } => self.set(field, *value),
            Fact::EffectPlanned(planned) => {
                if let Effect::Spawn(spawn) = &planned.effect {
                    self.starting.insert(planned.id, spawn.role.clone());
                }
                self.decision.effects.push(SimulatedEffect {
                    effect: planned.effect.label(),
                    does: effect_words::describe_effect(&planned.effect, &mut self.alive),
                    outcome: Outcome::Done,
                    id: planned.id,
                });
            }
            Fact::EffectFailed { effect, .. } => {
                if let Some(role) = self.starting.get(effect) {
                    self.alive.remove(role);
                }
                self.mark(*effect, Outcome::Failed);
            }
            Fact::EffectStopped { effect, .. } => self.mark(*effect, Outcome::NotStarted),
            Fact::EffectCancelled { effect } => self.mark(*effect, Outcome::Cancelled),
            Fact::RunEnded { role, evidence, .. } => {
                self.alive.remove(role);
                self.remark(format!("the {role} {evidence}"));
            }
            Fact::AgentCrashed { role, crash_count } => self.remark(format!(
                "that is crash {crash_count} of the {role} in this status"
            )),
            Fact::AttentionRaised { reason } => {
                self.remark(format!("needs your attention: {reason}"));
            }
            _ => {}
        }
    }

    fn set(&mut self, field: &FieldName, value: i64) {
        let before = self.fields.insert(field.clone(), value).unwrap_or(0);
        if before != value {
            self.decision.fields.push(FieldChange {
                field: field.clone(),
                from: before,
                to: value,
            });
        }
    }

    fn mark(&mut self, effect: EffectId, outcome: Outcome) {
        let mut effects = self.decision.effects.iter_mut();
        if let Some(simulated) = effects.find(|simulated| simulated.id == effect)
            // A failed effect is also cancelled; keep the outcome that says more.
            && simulated.outcome == Outcome::Done
        {
            simulated.outcome = outcome;
        }
    }

    fn remark(&mut self, remark: String) {
        self.decision.remarks.push(remark);
    }
}

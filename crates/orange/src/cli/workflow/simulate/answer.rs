//! The result of a simulated step, as data.

use std::collections::{BTreeMap, BTreeSet};

use orange_check::explore::{Notice, Played, Refused};
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
    Decided(Decided),
    Refused(Box<Refusal>),
    Nothing,
}

/// What follows from a step.
#[derive(Clone, Debug, Default, Serialize, schemars::JsonSchema)]
pub struct Decided {
    /// The statuses that were entered, in order.
    pub entered: Vec<Entered>,
    /// Fields that changed, in order.
    pub fields: Vec<FieldChange>,
    /// What would be done, in order.
    pub effects: Vec<Doing>,
    /// What else is worth knowing, in order.
    pub remarks: Vec<String>,
}

/// A status that was entered.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct Entered {
    /// From where; nothing at the beginning.
    pub from: Option<Status>,
    /// To where.
    pub to: Status,
    /// What set it off; nothing at the beginning.
    pub trigger: Option<Trigger>,
    /// Who asked.
    pub by: Role,
    /// What was shown.
    pub because: Vec<String>,
}

/// A field that changed.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct FieldChange {
    /// The field.
    pub field: FieldName,
    /// What it was.
    pub from: i64,
    /// What it is.
    pub to: i64,
}

/// Something that would be done.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct Doing {
    /// The hook's name.
    pub effect: &'static str,
    /// What it would do.
    pub does: String,
    /// What became of it.
    pub outcome: Outcome,
    #[serde(skip)]
    id: EffectId,
}

/// What became of an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It succeeded.
    Done,
    /// It failed for good.
    Failed,
    /// An earlier one failed.
    NotStarted,
    /// It was no longer wanted.
    CalledOff,
}

impl Answer {
    /// The result of a step; `before` is the task as it was, if there was one.
    pub fn of(workflow: &Workflow, before: Option<&Task>, it: &Result<Played, Refused>) -> Answer {
        match it {
            Ok(played) => Answer::Decided(Decided::of(workflow, before, played)),
            Err(Refused::Refusal(refusal)) => Answer::Refused(refusal.clone()),
            Err(Refused::Nothing) => Answer::Nothing,
        }
    }
}

impl Decided {
    fn of(workflow: &Workflow, before: Option<&Task>, played: &Played) -> Decided {
        let live = before.into_iter().flat_map(|task| &task.runs);
        let live = live.filter(|(_, run)| run.state.is_live());
        let mut telling = Telling {
            alive: live.map(|(role, _)| role.clone()).collect(),
            starting: BTreeMap::new(),
            fields: before.map_or(&workflow.fields, |task| &task.fields).clone(),
            decided: Decided::default(),
        };
        telling.questions(workflow, played);
        for event in &played.events {
            telling.tell(event);
        }
        telling.decided
    }
}

struct Telling {
    alive: BTreeSet<Role>,
    starting: BTreeMap<EffectId, Role>,
    fields: BTreeMap<FieldName, i64>,
    decided: Decided,
}

impl Telling {
    /// Adds each question that the user would have to confirm; the simulation always says yes.
    fn questions(&mut self, workflow: &Workflow, played: &Played) {
        for notice in &played.notices {
            if let Notice::Took { edge } = notice
                && let Some(edge) = workflow.edges.get(*edge)
                && let Some(question) = &edge.confirm
                && matches!(edge.trigger, Trigger::Request | Trigger::Merged)
            {
                self.remark(format!("a person is asked first: {question} (yes)"));
            }
        }
    }

    fn tell(&mut self, event: &Event) {
        match &event.fact {
            Fact::TaskCreated(created) => self.decided.entered.push(Entered {
                from: None,
                to: created.status.clone(),
                trigger: None,
                by: created.by.clone(),
                because: Vec::new(),
            }),
            Fact::StatusChanged(changed) => self.decided.entered.push(Entered {
                from: Some(changed.from.clone()),
                to: changed.to.clone(),
                trigger: Some(changed.trigger),
                by: changed.by.clone(),
                because: changed.because.clone(),
            }),
            Fact::FieldSet { field, value } => self.set(field, *value),
            Fact::EffectPlanned(planned) => {
                if let Effect::Spawn(spawn) = &planned.effect {
                    self.starting.insert(planned.id, spawn.role.clone());
                }
                self.decided.effects.push(Doing {
                    effect: planned.effect.label(),
                    does: effect_words::tell(&planned.effect, &mut self.alive),
                    outcome: Outcome::Done,
                    id: planned.id,
                });
            }
            Fact::EffectGivenUp { effect, .. } => {
                if let Some(role) = self.starting.get(effect) {
                    self.alive.remove(role);
                }
                self.mark(*effect, Outcome::Failed);
            }
            Fact::EffectStopped { effect, .. } => self.mark(*effect, Outcome::NotStarted),
            Fact::EffectCancelled { effect } => self.mark(*effect, Outcome::CalledOff),
            Fact::RunEnded { role, evidence, .. } => {
                self.alive.remove(role);
                self.remark(format!("the {role} {evidence}"));
            }
            Fact::AgentCrashed { role, crash_count } => self.remark(format!(
                "that is crash {crash_count} of the {role} in this status"
            )),
            Fact::AttentionRaised { reason } => {
                self.remark(format!("a person should look: {reason}"));
            }
            _ => {}
        }
    }

    fn set(&mut self, field: &FieldName, value: i64) {
        let before = self.fields.insert(field.clone(), value).unwrap_or(0);
        if before != value {
            self.decided.fields.push(FieldChange {
                field: field.clone(),
                from: before,
                to: value,
            });
        }
    }

    fn mark(&mut self, effect: EffectId, outcome: Outcome) {
        let mut effects = self.decided.effects.iter_mut();
        if let Some(doing) = effects.find(|doing| doing.id == effect)
            // A failed effect is also cancelled; keep the outcome that says more.
            && doing.outcome == Outcome::Done
        {
            doing.outcome = outcome;
        }
    }

    fn remark(&mut self, remark: String) {
        self.decided.remarks.push(remark);
    }
}

//! A plan in the making: each fact is applied when recorded.

use std::collections::BTreeMap;

use crate::apply::fold;
use crate::decision::{Decision, Plan};
use crate::document::{Document, Section};
use crate::effect::{Effect, EffectId, PlannedEffect};
use crate::event::{Event, Fact};
use crate::input::{Facts, Input};
use crate::language::Workflow;
use crate::language::hooks::OnError;
use crate::names::RunId;
use crate::role::Role;
use crate::task::{PendingState, Task};

/// The task as the events recorded so far make it.
#[derive(Clone)]
pub(super) struct Steps<'a> {
    pub(super) workflow: &'a Workflow,
    pub(super) input: &'a Input,
    pub(super) task: Task,
    /// The version the input was decided for; facts for another one do not count.
    version: u64,
    events: Vec<Event>,
    runs: usize,
}

impl<'a> Steps<'a> {
    pub(super) fn new(workflow: &'a Workflow, task: &Task, input: &'a Input) -> Self {
        Self {
            workflow,
            input,
            task: task.clone(),
            version: task.version,
            events: Vec::new(),
            runs: 0,
        }
    }

    /// Steps of a task that begins with this event.
    pub(super) fn begin(
        workflow: &'a Workflow,
        task: Task,
        first: Event,
        input: &'a Input,
    ) -> Self {
        Self {
            workflow,
            input,
            version: task.version,
            task,
            events: vec![first],
            runs: 0,
        }
    }

    pub(super) fn record(&mut self, fact: Fact) {
        let event = Event {
            version: self.task.version + 1,
            at: self.input.at,
            fact,
        };
        fold(&mut self.task, &event);
        self.events.push(event);
    }

    /// Remembers what the document's gated sections are, and on whose call.
    pub(super) fn import(&mut self, by: &Role) {
        if let Some(document) = &self.input.document {
            let sections = self.workflow.gated_sections().iter();
            let sections: BTreeMap<_, _> = sections
                .map(|name| {
                    let section = document.section(name);
                    (name.clone(), section.map(Section::hash))
                })
                .collect();
            let by = by.clone();
            self.record(Fact::DocumentImported { by, sections });
        }
    }

    pub(super) fn plan_effect(&mut self, plan: u64, effect: Effect, on_error: OnError) {
        self.plan_timed_effect(plan, effect, on_error, None);
    }

    pub(super) fn plan_timed_effect(
        &mut self,
        plan: u64,
        effect: Effect,
        on_error: OnError,
        timeout: Option<u64>,
    ) {
        self.record(Fact::EffectPlanned(PlannedEffect {
            id: EffectId(self.task.version + 1),
            plan,
            effect,
            timeout,
            on_error,
        }));
    }

    pub(super) fn raise_attention(&mut self, reason: String) {
        self.record(Fact::AttentionRaised { reason });
    }

    /// The transition is a success once none of its effects is left.
    pub(super) fn settle(&mut self) {
        let Some(plan) = self.task.unsettled else {
            return;
        };
        let open = self.task.pending.iter();
        if open.clone().all(|pending| pending.planned.plan != plan) {
            self.record(Fact::HooksFinished);
        }
    }

    /// Calls pending effects off that this says so of.
    pub(super) fn cancel_pending(&mut self, unwanted: impl Fn(&Effect, &PendingState) -> bool) {
        let unwanted: Vec<EffectId> = self
            .task
            .pending
            .iter()
            .filter(|pending| unwanted(&pending.planned.effect, &pending.state))
            .map(|pending| pending.planned.id)
            .collect();
        for effect in unwanted {
            self.record(Fact::EffectCancelled { effect });
        }
    }

    /// An identity no run had before.
    pub(super) fn fresh_run(&mut self) -> RunId {
        self.runs += 1;
        match self.runs {
            1 => RunId::new(self.input.fresh.as_str()),
            number => RunId::new(format!("{}-{number}", self.input.fresh)),
        }
    }

    pub(super) fn document(&self) -> Option<&'a Document> {
        self.input.document.as_ref()
    }

    /// The facts, if they were gathered for the task as it is.
    pub(super) fn facts(&self) -> Option<&'a Facts> {
        (self.input.facts.version == self.version).then_some(&self.input.facts)
    }

    /// The version that facts must be gathered for.
    pub(super) fn version(&self) -> u64 {
        self.version
    }

    /// The version the next event will have: the identity of a plan without a transition.
    pub(super) fn next_version(&self) -> u64 {
        self.task.version + 1
    }

    pub(super) fn finish(self) -> Decision {
        Decision::Plan(Plan {
            events: self.events,
            already: false,
        })
    }
}

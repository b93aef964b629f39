//! A plan being built: each fact is applied when recorded.

use std::collections::BTreeMap;

use crate::apply::fold;
use crate::decision::{Decision, Needs, Plan};
use crate::document::{Document, Section};
use crate::effect::{Effect, EffectId, EffectOutcome, Kill, KillScope, PlannedEffect};
use crate::event::{Event, Fact};
use crate::input::{Cause, DecisionContext, FactNeeded, Facts};
use crate::language::Workflow;
use crate::language::hooks::OnError;
use crate::names::RunId;
use crate::role::Role;
use crate::task::{PendingEffect, PendingState, RunState, Task};

pub(super) type NeededFacts = Vec<FactNeeded>;

/// A task, and the events recorded for it so far. Each event is already applied to the task.
#[derive(Clone)]
pub(super) struct PlanBuilder<'a> {
    pub(super) workflow: &'a Workflow,
    pub(super) context: &'a DecisionContext,
    /// What is being decided; `None` when a task begins or is only inspected.
    pub(super) cause: Option<&'a Cause>,
    pub(super) task: Task,
    /// The task's version when it entered its status, before this plan; facts for an earlier status
    /// are ignored.
    entered: u64,
    events: Vec<Event>,
    /// How many run ids this plan has made.
    runs: usize,
}

impl<'a> PlanBuilder<'a> {
    pub(super) fn new(
        workflow: &'a Workflow,
        task: &Task,
        context: &'a DecisionContext,
        cause: Option<&'a Cause>,
    ) -> Self {
        Self {
            workflow,
            context,
            cause,
            task: task.clone(),
            entered: task.entered.version,
            events: Vec::new(),
            runs: 0,
        }
    }

    /// Begins with a task that this event created.
    pub(super) fn begin(
        workflow: &'a Workflow,
        task: Task,
        first: Event,
        context: &'a DecisionContext,
    ) -> Self {
        Self {
            workflow,
            context,
            cause: None,
            entered: task.entered.version,
            task,
            events: vec![first],
            runs: 0,
        }
    }

    pub(super) fn record_error(&mut self, error: String) {
        self.record(Fact::ErrorRecorded {
            error,
            unchanged_at: None,
        });
    }

    pub(super) fn record(&mut self, fact: Fact) {
        let event = Event {
            version: self.task.version + 1,
            at: self.context.at,
            fact,
        };
        fold(&mut self.task, &event);
        self.events.push(event);
    }

    /// Whether these steps have changed summary, branch or priority.
    pub(super) fn is_amended(&self) -> bool {
        let mut facts = self.events.iter().map(|event| &event.fact);
        facts.any(|fact| matches!(fact, Fact::TaskAmended { .. }))
    }

    /// Records the document's gated sections for a role that requests a status and so vouches for
    /// them.
    pub(super) fn import_for_request(&mut self, by: &Role) {
        self.import(by, true);
    }

    /// Records the document's gated sections; no role vouches for them.
    pub(super) fn import_for_observation(&mut self, by: &Role) {
        self.import(by, false);
    }

    fn import(&mut self, by: &Role, is_request: bool) {
        if let Some(document) = &self.context.document {
            let sections = self.workflow.gated_sections().iter();
            let sections: BTreeMap<_, _> = sections
                .map(|name| (name.clone(), document.section(name).map(Section::hash)))
                .collect();
            let by = by.clone();
            self.record(Fact::DocumentImported {
                by,
                is_request,
                sections,
            });
        }
    }

    /// Records the start of the agent that makes the request, if that is not recorded yet: the
    /// request proves that the agent was started.
    pub(super) fn confirm_start(&mut self, role: &Role) {
        let starting = self.task.runs.get(role);
        let Some(run) = starting.filter(|run| run.state == RunState::Starting) else {
            return;
        };
        let spawn = self.task.pending.iter().find(
            |pending| matches!(&pending.planned.effect, Effect::Spawn(spawn) if spawn.run == run.id),
        );
        if let Some(effect) = spawn.map(|pending| pending.planned.id) {
            let outcome = EffectOutcome::Done;
            self.record(Fact::EffectDone { effect, outcome });
            self.settle();
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

    /// Plans to kill what a dead agent of this role may have left running, before another agent
    /// starts.
    ///
    /// The new run replaces the dead one in the task, so a later kill would not name the dead one.
    pub(super) fn end_leftovers(&mut self, plan: u64, role: &Role) {
        let Some(run) = self.task.runs.get(role) else {
            return;
        };
        let is_dead = run.state.has_ended();
        let is_named = self.task.pending.iter().any(|pending| {
            matches!(&pending.planned.effect, Effect::Kill(kill) if kill.runs.contains(&run.id))
        });
        if is_dead && !is_named {
            let runs = vec![run.id.clone()];
            self.kill_runs(plan, runs);
        }
    }

    /// Plans to kill these runs, if there are any.
    pub(super) fn kill_runs(&mut self, plan: u64, runs: Vec<RunId>) {
        if !runs.is_empty() {
            let kill = Kill {
                scope: KillScope::Runs,
                runs,
            };
            self.plan_effect(plan, Effect::Kill(kill), OnError::Stop);
        }
    }

    pub(super) fn raise_attention(&mut self, reason: String) {
        self.record(Fact::AttentionRaised { reason });
    }

    /// Records that the latest transition has succeeded, once none of its effects is left. An
    /// effect that has failed and is allowed to fail does not count.
    pub(super) fn settle(&mut self) {
        let Some(plan) = self.task.unfinished_plan else {
            return;
        };
        let is_left = |pending: &PendingEffect| {
            let may_fail = pending.planned.on_error == OnError::Continue;
            let has_failed = matches!(pending.state, PendingState::Failed { .. });
            pending.planned.plan == plan && !(may_fail && has_failed)
        };
        if !self.task.pending.iter().any(is_left) {
            self.record(Fact::HooksFinished);
        }
    }

    /// Cancels the pending effects that `unwanted` selects.
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

    /// An id that no run had before.
    pub(super) fn fresh_run(&mut self) -> RunId {
        self.runs += 1;
        match self.runs {
            1 => RunId::new(self.context.fresh.as_str()),
            number => RunId::new(format!("{}-{number}", self.context.fresh)),
        }
    }

    pub(super) fn document(&self) -> Option<&'a Document> {
        self.context.document.as_ref()
    }

    /// The facts, if they were gathered for the current status.
    pub(super) fn facts(&self) -> Option<&'a Facts> {
        (self.context.facts.entered == self.entered).then_some(&self.context.facts)
    }

    /// The decision that these facts are needed.
    pub(super) fn need(&self, facts: NeededFacts) -> Decision {
        Decision::Needs(Needs {
            entered: self.entered,
            facts,
        })
    }

    /// The version of the next event, which identifies a plan without a transition.
    pub(super) fn next_version(&self) -> u64 {
        self.task.version + 1
    }

    pub(super) fn finish(self) -> Decision {
        Decision::Plan(Plan {
            events: self.events,
            is_already_done: false,
        })
    }
}

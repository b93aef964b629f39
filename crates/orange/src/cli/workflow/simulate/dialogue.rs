//! Walks a task through a workflow step by step, with undo.

use orange_check::explore::{Occurrence, Rehearsal, Relevance, Step};
use orange_engine::Workflow;
use orange_engine::event::Fact;
use orange_engine::names::FieldName;
use orange_engine::refusal::{Blocker, GateFailure};

use super::answer::{Answer, Decision};
use super::menu::{self, Choice};
use super::place::Place;

/// The line that empties TASK.md.
pub const EMPTY_TASK_FILE_LINE: &str = "TASK.md is emptied";

/// The state of a walk: where the task is and the steps that led there.
#[derive(Clone, Debug)]
pub struct Dialogue<'w> {
    pub workflow: &'w Workflow,
    relevance: Relevance,
    rehearsal: Rehearsal<'w>,
    past: Vec<PastStep<'w>>,
}

#[derive(Clone, Debug)]
pub struct PastStep<'w> {
    /// The state before the step, for undo.
    before: Rehearsal<'w>,
    pub line: String,
    pub answer: Answer,
    pub note: Option<String>,
}

impl<'w> Dialogue<'w> {
    pub fn new(workflow: &'w Workflow) -> Dialogue<'w> {
        Dialogue {
            workflow,
            relevance: Relevance::of(workflow),
            rehearsal: Rehearsal::new(workflow),
            past: Vec::new(),
        }
    }

    /// Where the task is; `None` before it has begun.
    pub fn place(&self) -> Option<Place> {
        let task = self.rehearsal.task()?;
        Some(Place::of(self.workflow, task))
    }

    pub fn value(&self, field: &FieldName) -> Option<i64> {
        Some(self.rehearsal.task()?.value(field))
    }

    pub fn choices(&self) -> Vec<Choice> {
        menu::choices(self.workflow, &self.relevance, &self.rehearsal)
    }

    /// Every step that may be tried next, even if it would be refused.
    pub fn possible_steps(&self) -> Vec<Step> {
        menu::steps_to_try(self.workflow, &self.relevance, &self.rehearsal)
    }

    pub fn past(&self) -> &[PastStep<'w>] {
        &self.past
    }

    pub fn take(&mut self, step: &Step) -> &PastStep<'w> {
        let before = self.rehearsal.clone();
        let outcome = self.rehearsal.take(step);
        let answer = Answer::of(self.workflow, before.task(), &outcome);
        let note =
            absent_agent_note(&before, &step.occurrence).or_else(|| unnamed_gate_note(&answer));
        self.remember(before, step.to_string(), answer, note)
    }

    pub fn empty_task_file(&mut self) -> &PastStep<'w> {
        let before = self.rehearsal.clone();
        self.rehearsal.empty_document();
        let decision = Decision {
            remarks: vec!["the next call imports the empty TASK.md".to_owned()],
            ..Decision::default()
        };
        self.remember(
            before,
            EMPTY_TASK_FILE_LINE.to_owned(),
            Answer::Decided(decision),
            None,
        )
    }

    /// Undoes the last line, and returns it.
    pub fn undo(&mut self) -> Option<String> {
        let last = self.past.pop()?;
        self.rehearsal = last.before;
        Some(last.line)
    }

    pub fn restart(&mut self) {
        *self = Dialogue::new(self.workflow);
    }

    /// The names of the effects of a step, in the order in which they run.
    pub fn effects_of(&self, step: &Step) -> Vec<&'static str> {
        let Ok(outcome) = self.rehearsal.clone().take(step) else {
            return Vec::new();
        };
        let label = |id| {
            outcome.events.iter().find_map(|event| match &event.fact {
                Fact::EffectPlanned(planned) if planned.id == id => Some(planned.effect.label()),
                _ => None,
            })
        };
        let done = outcome.events.iter().filter_map(|event| match event.fact {
            Fact::EffectDone { effect, .. } => label(effect),
            _ => None,
        });
        done.collect()
    }

    fn remember(
        &mut self,
        before: Rehearsal<'w>,
        line: String,
        answer: Answer,
        note: Option<String>,
    ) -> &PastStep<'w> {
        let at = self.past.len();
        self.past.push(PastStep {
            before,
            line,
            answer,
            note,
        });
        &self.past[at]
    }
}

/// A note that the agent that makes this request is not running. The engine does not check that,
/// but the reader should know it.
fn absent_agent_note(rehearsal: &Rehearsal<'_>, occurrence: &Occurrence) -> Option<String> {
    let (Occurrence::Request { by, .. } | Occurrence::Merge { by }) = occurrence else {
        return None;
    };
    let is_running = rehearsal.task().is_some_and(|task| task.is_live(by));
    (by.is_agent() && !is_running)
        .then(|| format!("no {by} is running here; this is what a {by} would see"))
}

/// A note that a gate about git, a pull request or a command passes only if the line names it. The
/// refusal cannot say so, because gates are named only in a simulation.
fn unnamed_gate_note(answer: &Answer) -> Option<String> {
    let Answer::Refused(refusal) = answer else {
        return None;
    };
    let about_world = |missing: &Blocker| {
        matches!(
            missing,
            Blocker::GateFailed {
                failure: GateFailure::Git { .. }
                    | GateFailure::PullRequestMissing
                    | GateFailure::PullRequestState { .. }
                    | GateFailure::PullRequestHead { .. }
                    | GateFailure::PullRequestDraft { .. }
                    | GateFailure::PullRequestChecks { .. }
                    | GateFailure::PullRequestReview { .. }
                    | GateFailure::PullRequestMergeable { .. }
                    | GateFailure::PullRequestThreads { .. }
                    | GateFailure::PullRequestUnknown { .. }
                    | GateFailure::Command { .. },
            }
        )
    };
    let is_unnamed = refusal.missing.iter().any(about_world);
    is_unnamed.then(|| {
        "a gate about git, a pull request or a command passes only if the line names it after \
         `with`"
            .to_owned()
    })
}

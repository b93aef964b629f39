//! Walks a task through a workflow step by step, with undo.

use orange_check::explore::{Happening, Rehearsal, Relevance, Step};
use orange_engine::Workflow;
use orange_engine::event::Fact;
use orange_engine::names::FieldName;
use orange_engine::refusal::{GateFailure, Missing};

use super::answer::{Answer, Decided};
use super::menu::{self, Choice};
use super::place::Place;

/// The line that empties TASK.md.
pub const EMPTIED: &str = "TASK.md is emptied";

/// The state of a walk: where the task is and the steps that led there.
#[derive(Clone, Debug)]
pub struct Dialogue<'w> {
    pub workflow: &'w Workflow,
    relevance: Relevance,
    rehearsal: Rehearsal<'w>,
    past: Vec<Past<'w>>,
}

#[derive(Clone, Debug)]
pub struct Past<'w> {
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

    /// Where the task is, once it has begun.
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
    pub fn tries(&self) -> Vec<Step> {
        menu::tries(self.workflow, &self.relevance, &self.rehearsal)
    }

    pub fn past(&self) -> &[Past<'w>] {
        &self.past
    }

    pub fn take(&mut self, step: &Step) -> &Past<'w> {
        let before = self.rehearsal.clone();
        let played = self.rehearsal.take(step);
        let answer = Answer::of(self.workflow, before.task(), &played);
        let note = absent(&before, &step.happening).or_else(|| unshown(&answer));
        self.remember(before, step.to_string(), answer, note)
    }

    pub fn empty_task_file(&mut self) -> &Past<'w> {
        let before = self.rehearsal.clone();
        self.rehearsal.empty_document();
        let decided = Decided {
            remarks: vec!["whoever is next to call brings the empty TASK.md".to_owned()],
            ..Decided::default()
        };
        self.remember(before, EMPTIED.to_owned(), Answer::Decided(decided), None)
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
        let Ok(played) = self.rehearsal.clone().take(step) else {
            return Vec::new();
        };
        let label = |id| {
            played.events.iter().find_map(|event| match &event.fact {
                Fact::EffectPlanned(planned) if planned.id == id => Some(planned.effect.label()),
                _ => None,
            })
        };
        let done = played.events.iter().filter_map(|event| match event.fact {
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
    ) -> &Past<'w> {
        let at = self.past.len();
        self.past.push(Past {
            before,
            line,
            answer,
            note,
        });
        &self.past[at]
    }
}

/// A note that the agent making this request is not running: the engine cannot know that, but the
/// reader should.
fn absent(rehearsal: &Rehearsal<'_>, happening: &Happening) -> Option<String> {
    let (Happening::Ask { by, .. } | Happening::Merge { by }) = happening else {
        return None;
    };
    let is_there = rehearsal.task().is_some_and(|task| task.is_live(by));
    (by.is_agent() && !is_there)
        .then(|| format!("no {by} is alive here; this is what one would be told"))
}

/// A note that gates about the world fail unless the line shows them; the refusal cannot say so.
fn unshown(answer: &Answer) -> Option<String> {
    let Answer::Refused(refusal) = answer else {
        return None;
    };
    let about_world = |missing: &Missing| {
        matches!(
            missing,
            Missing::GateFailed {
                failure: GateFailure::Git { .. }
                    | GateFailure::PullRequestMissing
                    | GateFailure::PullRequestState { .. }
                    | GateFailure::PullRequestChecks { .. }
                    | GateFailure::Command { .. },
            }
        )
    };
    let is_unshown = refusal.missing.iter().any(about_world);
    is_unshown.then(|| {
        "what a gate asks of git, a forge or a command holds only when the line shows it".to_owned()
    })
}

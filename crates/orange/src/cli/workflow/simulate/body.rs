//! The results of `orange workflow simulate`, as JSON.

use orange_engine::Workflow;
use orange_engine::names::Status;
use orange_engine::refusal::{Blocker, Refusal};
use serde::Serialize;

use super::answer::{Answer, Decision};
use super::dialogue::Dialogue;
use super::menu::Choice;
use super::place::Place;
use super::script::{Event, Failure, Walk};
use crate::cli::workflow::source::SourceBody;

/// The result of a script.
#[derive(Serialize, schemars::JsonSchema)]
pub struct WalkBody<'a> {
    #[serde(flatten)]
    pub source: SourceBody<'a>,
    ok: bool,
    steps: Vec<StepBody<'a>>,
    expectations: Vec<ExpectationBody<'a>>,
    failed: Vec<FailedBody<'a>>,
    situation: Option<Place>,
}

#[derive(Serialize, schemars::JsonSchema)]
struct StepBody<'a> {
    line: usize,
    step: &'a str,
    status: Option<&'a Status>,
    decided: Option<&'a Decision>,
    refusal: Option<RefusalBody<'a>>,
    note: Option<&'a str>,
}

#[derive(Serialize, schemars::JsonSchema)]
struct RefusalBody<'a> {
    codes: Vec<&'static str>,
    message: String,
    hints: &'a [String],
    missing: &'a [Blocker],
}

#[derive(Serialize, schemars::JsonSchema)]
struct ExpectationBody<'a> {
    line: usize,
    expected: &'a str,
    met: bool,
}

#[derive(Serialize, schemars::JsonSchema)]
struct FailedBody<'a> {
    line: usize,
    #[serde(flatten)]
    failure: &'a Failure,
}

/// The result without a script: how a task can begin, and what can happen then.
#[derive(Serialize, schemars::JsonSchema)]
pub struct StartBody<'a> {
    #[serde(flatten)]
    pub source: SourceBody<'a>,
    beginnings: Vec<BeginningBody>,
}

#[derive(Serialize, schemars::JsonSchema)]
struct BeginningBody {
    step: String,
    situation: Option<Place>,
    next: Vec<Choice>,
}

impl<'a> WalkBody<'a> {
    pub fn of(source: SourceBody<'a>, walk: &'a Walk<'_>) -> WalkBody<'a> {
        let mut body = WalkBody {
            source,
            ok: walk.failures().next().is_none(),
            steps: Vec::new(),
            expectations: Vec::new(),
            failed: Vec::new(),
            situation: walk.dialogue.place(),
        };
        for line_event in &walk.events {
            body.push(line_event.line, &line_event.event);
        }
        body
    }

    fn push(&mut self, line: usize, event: &'a Event) {
        let expectation = |expected, met| ExpectationBody {
            line,
            expected,
            met,
        };
        let step_without_answer = |step| StepBody {
            line,
            step,
            status: None,
            decided: None,
            refusal: None,
            note: None,
        };
        match event {
            Event::Step {
                step,
                answer,
                note,
                status,
            } => self.steps.push(StepBody {
                line,
                step,
                status: status.as_ref(),
                decided: match answer {
                    Answer::Decided(decided) => Some(decided),
                    Answer::Refused(_) | Answer::Nothing => None,
                },
                refusal: match answer {
                    Answer::Refused(refusal) => Some(RefusalBody::from(refusal.as_ref())),
                    Answer::Decided(_) | Answer::Nothing => None,
                },
                note: note.as_deref(),
            }),
            Event::Met(expected) => self.expectations.push(expectation(expected, true)),
            Event::Failed(failure) => {
                self.expectations
                    .push(expectation(&failure.expected, false));
                self.failed.push(FailedBody { line, failure });
            }
            Event::Undone(_) => self.steps.push(step_without_answer("undo")),
            Event::Restarted => self.steps.push(step_without_answer("restart")),
        }
    }
}

impl<'a> From<&'a Refusal> for RefusalBody<'a> {
    fn from(refusal: &'a Refusal) -> Self {
        Self {
            codes: refusal.missing.iter().map(Blocker::code).collect(),
            message: refusal.to_string(),
            hints: &refusal.hints,
            missing: &refusal.missing,
        }
    }
}

impl<'a> StartBody<'a> {
    /// The answer for a workflow without a script.
    pub fn of(source: SourceBody<'a>, workflow: &Workflow) -> StartBody<'a> {
        let begin = |choice: Choice| {
            let mut dialogue = Dialogue::new(workflow);
            dialogue.take(&choice.step);
            BeginningBody {
                step: choice.line,
                situation: dialogue.place(),
                next: dialogue.choices(),
            }
        };
        let beginnings = Dialogue::new(workflow).choices();
        StartBody {
            source,
            beginnings: beginnings.into_iter().map(begin).collect(),
        }
    }
}

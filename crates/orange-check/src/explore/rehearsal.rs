//! A task whose TASK.md keeps what was written.
//!
//! The search lets every step show its own document, because anyone can write anything at any time.
//! A user that simulates a task by hand expects sections to stay in the document. So here a step
//! writes the sections that it shows, and every other section stays.

use orange_engine::document::Document;
use orange_engine::effect::{Effect, EffectId};
use orange_engine::event::Fact;
use orange_engine::input::{Cause, Input, Observation};
use orange_engine::language::Workflow;
use orange_engine::role::Role;
use orange_engine::task::Task;

use super::artifact;
use super::replay::{StepOutcome, StepRefusal, begin, failing_effect, inputs, new_task_of, play};
use super::step::{Occurrence, Step};

/// A task and its document, played step by step.
#[derive(Clone, Debug)]
pub struct Rehearsal<'w> {
    workflow: &'w Workflow,
    task: Option<Task>,
    document: Option<Document>,
    number: usize,
}

impl<'w> Rehearsal<'w> {
    /// Before the first step, with an empty TASK.md.
    pub fn new(workflow: &'w Workflow) -> Rehearsal<'w> {
        Rehearsal {
            workflow,
            task: None,
            document: empty(),
            number: 0,
        }
    }

    /// The task, once it has begun.
    pub fn task(&self) -> Option<&Task> {
        self.task.as_ref()
    }

    /// Removes everything from TASK.md, before anything has read it.
    pub fn empty_document(&mut self) {
        self.document = empty();
    }

    /// Takes a step and returns its result, or why nothing came of it.
    ///
    /// A refused call has still imported the document, as in real use.
    pub fn take(&mut self, step: &Step) -> Result<StepOutcome, StepRefusal> {
        self.number += 1;
        let Some(task) = &self.task else {
            let (new, context) = new_task_of(step).ok_or(StepRefusal::NoEffect)?;
            let played = begin(self.workflow, &new, &context, failing_effect(step))?;
            self.settle(&played);
            return Ok(played);
        };
        if let Some(document) = &self.document {
            self.document = Some(artifact::write(document, &step.evidence, self.number));
        }
        let mut inputs = inputs(self.workflow, task, step, self.number);
        for input in &mut inputs {
            input.context.document.clone_from(&self.document);
        }
        match play(self.workflow, task, &inputs, failing_effect(step)) {
            Ok(played) => {
                self.settle(&played);
                Ok(played)
            }
            Err(refused) => {
                if let (StepRefusal::Refusal(_), Some(by)) = (&refused, requester(&step.occurrence))
                {
                    self.read(inputs, by.clone());
                }
                Err(refused)
            }
        }
    }

    fn settle(&mut self, played: &StepOutcome) {
        for event in &played.events {
            if let Fact::EffectDone { effect, .. } = event.fact
                && let Some(Effect::ArchiveSection { section }) = planned(played, effect)
            {
                let document = self.document.take();
                self.document = document.map(|it| it.with_section_archived(section));
            }
        }
        self.task = Some(played.task.clone());
    }

    /// Records a document that came with a refused request.
    fn read(&mut self, mut inputs: Vec<Input>, by: Role) {
        if let Some(last) = inputs.last_mut() {
            last.cause = Cause::Observation(Observation::DocumentRead {
                by,
                is_request: true,
            });
        }
        if let Some(task) = &self.task
            && let Ok(played) = play(self.workflow, task, &inputs, None)
        {
            self.task = Some(played.task);
        }
    }
}

fn empty() -> Option<Document> {
    Document::parse(b"").ok()
}

fn requester(occurrence: &Occurrence) -> Option<&Role> {
    match occurrence {
        Occurrence::Request { by, .. } | Occurrence::Merge { by } => Some(by),
        _ => None,
    }
}

fn planned(played: &StepOutcome, id: EffectId) -> Option<&Effect> {
    played.events.iter().find_map(|event| match &event.fact {
        Fact::EffectPlanned(planned) if planned.id == id => Some(&planned.effect),
        _ => None,
    })
}

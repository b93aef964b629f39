//! Moves a task to another workflow without changing its status.

use std::collections::BTreeMap;

use super::{RequestDecision, already_done, blocked_by};
use crate::decide::create::existing_sections;
use crate::decide::transition::report_absent_agents;
use crate::decision::Decision;
use crate::document::{SectionHash, SectionName};
use crate::event::Fact;
use crate::input::FactNeeded;
use crate::language::Workflow;
use crate::language::workflow::Kind;
use crate::names::Status;
use crate::refusal::{Attempt, Blocker};
use crate::task::PendingState;

impl<'a> RequestDecision<'a> {
    /// The new workflow must have the same status with the same kind. No effect may be pending,
    /// because a planned effect belongs to the workflow that planned it.
    pub(super) fn adopt(mut self, workflow: &'a Workflow) -> Decision {
        let attempt = Attempt::ChangeWorkflow {
            workflow: workflow.name.clone(),
        };
        let blocker = self
            .check_human()
            .or_else(|| self.check_not_ended())
            .or_else(|| self.check_fits(workflow));
        if let Some(missing) = blocker {
            return self.refuse(attempt, blocked_by(missing));
        }
        if *workflow == *self.steps.workflow {
            return already_done();
        }
        if self.steps.document().is_none() {
            return self.steps.need(vec![FactNeeded::Document]);
        }
        let known = &self.steps.task.sections;
        let sections = existing_sections(workflow, self.steps.context).into_iter();
        let sections: BTreeMap<SectionName, SectionHash> = sections
            .filter(|(name, _)| !known.contains_key(name))
            .collect();
        self.steps.record(Fact::WorkflowChanged {
            by: self.request.by.clone(),
            from: self.steps.task.workflow.clone(),
            to: workflow.name.clone(),
            fields: workflow.fields.clone(),
            sections,
        });
        self.steps.workflow = workflow;
        report_absent_agents(&mut self.steps);
        self.steps.finish()
    }

    /// Why the task could not continue in the new workflow.
    fn check_fits(&self, workflow: &Workflow) -> Option<Blocker> {
        let task = &self.steps.task;
        let mut pending = task.pending.iter();
        if pending.any(|it| it.state == PendingState::Waiting) {
            return Some(Blocker::EffectsRunning);
        }
        let (name, status) = (workflow.name.clone(), task.status.clone());
        let Some(other_state) = workflow.state(&status) else {
            let kind_here = |name: &Status| self.steps.workflow.state(name).map(|it| it.kind);
            let common = workflow
                .states
                .iter()
                .filter(|it| it.kind != Kind::Terminal);
            let common = common.filter(|it| kind_here(&it.name) == Some(it.kind));
            return Some(Blocker::StatusAbsent {
                workflow: name,
                status,
                statuses: common.map(|state| state.name.clone()).collect(),
            });
        };
        let current_kind = self.steps.workflow.state(&status)?.kind;
        (current_kind != other_state.kind).then_some(Blocker::KindDiffers {
            workflow: name,
            status,
            current_kind,
            other_kind: other_state.kind,
        })
    }
}

//! Moves a task to another workflow without changing its status.

use std::collections::BTreeMap;

use super::{Asking, already, closed_by};
use crate::decide::create::existing_sections;
use crate::decide::transition::notice_absent;
use crate::decision::Decision;
use crate::document::{SectionHash, SectionName};
use crate::event::Fact;
use crate::input::FactNeeded;
use crate::language::Workflow;
use crate::language::workflow::Kind;
use crate::names::Status;
use crate::refusal::{Attempt, Missing};
use crate::task::PendingState;

impl<'a> Asking<'a> {
    /// The new workflow must have the status with the same meaning. No effect may be pending,
    /// because a planned effect belongs to the workflow that planned it.
    pub(super) fn adopt(mut self, workflow: &'a Workflow) -> Decision {
        let attempt = Attempt::Adopt {
            workflow: workflow.name.clone(),
        };
        let in_the_way = self
            .only_human()
            .or_else(|| self.terminal())
            .or_else(|| self.unfit(workflow));
        if let Some(missing) = in_the_way {
            return self.refuse(attempt, closed_by(missing));
        }
        if *workflow == *self.steps.workflow {
            return already();
        }
        if self.steps.document().is_none() {
            return self.steps.need(vec![FactNeeded::Document]);
        }
        let known = &self.steps.task.sections;
        let sections = existing_sections(workflow, self.steps.known).into_iter();
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
        notice_absent(&mut self.steps);
        self.steps.finish()
    }

    /// Why the task could not continue in the new workflow.
    fn unfit(&self, workflow: &Workflow) -> Option<Missing> {
        let task = &self.steps.task;
        let mut pending = task.pending.iter();
        if pending.any(|it| it.state == PendingState::Waiting) {
            return Some(Missing::NotSettled);
        }
        let (name, status) = (workflow.name.clone(), task.status.clone());
        let Some(there) = workflow.state(&status) else {
            let here = |name: &Status| self.steps.workflow.state(name).map(|it| it.kind);
            let open = workflow
                .states
                .iter()
                .filter(|it| it.kind != Kind::Terminal);
            let open = open.filter(|it| here(&it.name) == Some(it.kind));
            return Some(Missing::StatusAbsent {
                workflow: name,
                status,
                statuses: open.map(|state| state.name.clone()).collect(),
            });
        };
        let here = self.steps.workflow.state(&status)?.kind;
        (here != there.kind).then_some(Missing::KindDiffers {
            workflow: name,
            status,
            here,
            there: there.kind,
        })
    }
}

//! Where in a workflow something happens, and what to call it.

use orange_engine::language::hooks::Hook;
use orange_engine::language::workflow::Target;
use orange_engine::language::{Position, Workflow};
use orange_engine::names::Status;

use crate::explore::{Notice, Occurrence, Step, Visit};

/// The edge or entry on which something happened.
pub(super) struct Place<'w> {
    pub(super) at: Option<Position>,
    pub(super) description: String,
    hooks: Vec<&'w Hook>,
}

impl<'w> Place<'w> {
    /// The place of what happens before any status change.
    fn of_step(workflow: &'w Workflow, step: &Step) -> Place<'w> {
        let entry = match &step.occurrence {
            Occurrence::Create { entry, .. } => {
                let mut entries = workflow.entries.iter();
                entries.find(|known| known.status == *entry)
            }
            _ => None,
        };
        match entry {
            Some(entry) => Place {
                at: Some(entry.at),
                description: format!("the entry `{}`", entry.status),
                hooks: entry
                    .hooks
                    .iter()
                    .chain(on_enter(workflow, &entry.status))
                    .collect(),
            },
            None => Place {
                at: None,
                description: step.occurrence.to_string(),
                hooks: Vec::new(),
            },
        }
    }

    fn of_edge(workflow: &'w Workflow, number: usize) -> Place<'w> {
        let Some(edge) = workflow.edges.get(number) else {
            return Place {
                at: None,
                description: String::new(),
                hooks: Vec::new(),
            };
        };
        let on_enter = match &edge.to {
            Target::Status(status) => on_enter(workflow, status),
            Target::Previous => &[],
        };
        Place {
            at: Some(edge.at),
            description: format!("the transition from `{}` to `{}`", edge.from, edge.to),
            hooks: edge.hooks.iter().chain(on_enter).collect(),
        }
    }

    /// The last edge that was taken, else the entry.
    pub(super) fn of_visit(workflow: &'w Workflow, visit: &Visit<'_>) -> Place<'w> {
        let mut notices = visit.outcome.notices.iter().rev();
        let taken = notices.find_map(|notice| match notice {
            Notice::EdgeTaken { edge } => Some(*edge),
            _ => None,
        });
        Place::of(workflow, visit.step, taken)
    }

    /// The edge that was taken, else the entry.
    pub(super) fn of(workflow: &'w Workflow, step: &Step, taken: Option<usize>) -> Place<'w> {
        match taken {
            Some(edge) => Place::of_edge(workflow, edge),
            None => Place::of_step(workflow, step),
        }
    }

    pub(super) fn key(&self) -> String {
        match self.at {
            Some(at) => at.to_string(),
            None => self.description.clone(),
        }
    }

    /// The position of the hook with this label, else of the edge or entry itself.
    pub(super) fn hook(&self, label: &str) -> Option<Position> {
        let mut hooks = self.hooks.iter();
        hooks
            .find(|hook| hook.action.label() == label)
            .map(|hook| hook.at)
            .or(self.at)
    }
}

fn on_enter<'w>(workflow: &'w Workflow, status: &Status) -> &'w [Hook] {
    workflow.state(status).map_or(&[], |state| &state.on_enter)
}

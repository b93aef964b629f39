//! Creates a task.

use std::collections::BTreeMap;

use super::hints;
use super::hooks;
use super::plan_builder::PlanBuilder;
use super::transition::{self, change_fields};
use crate::apply::task_from_creation;
use crate::decision::Decision;
use crate::document::{SectionHash, SectionName};
use crate::event::{Event, Fact, TaskCreation};
use crate::input::{DecisionContext, NewTask};
use crate::language::Workflow;
use crate::language::hooks::Hook;
use crate::language::workflow::Entry;
use crate::names::{FieldName, Status};
use crate::refusal::{Attempt, Blocker, Refusal};
use crate::role::Role;
use crate::task::Task;

/// Decides whether a task can be created, and in which status. The plan starts with `task.created`.
pub fn create(workflow: &Workflow, new: &NewTask, context: &DecisionContext) -> Decision {
    let mut first_blocker = None;
    for entry in &workflow.entries {
        if new
            .status
            .as_ref()
            .is_some_and(|status| *status != entry.status)
        {
            continue;
        }
        let (event, task) = create_at(workflow, new, entry, context);
        match failed_guard(entry, &task) {
            None => return enter(workflow, entry, task, event, context),
            Some(missing) => {
                first_blocker.get_or_insert(missing);
            }
        }
    }
    let missing = first_blocker.unwrap_or_else(|| no_entry(workflow, new));
    let mut refusal = Refusal {
        task: new.id.clone(),
        by: new.by.clone(),
        attempt: Attempt::Create {
            status: new.status.clone(),
        },
        missing: vec![missing],
        unchecked: Vec::new(),
        hints: Vec::new(),
    };
    refusal.hints = hints::hints_for(&refusal);
    Decision::Refusal(refusal)
}

fn create_at(
    workflow: &Workflow,
    new: &NewTask,
    entry: &Entry,
    context: &DecisionContext,
) -> (Event, Task) {
    let created = TaskCreation {
        id: new.id.clone(),
        project: new.project.clone(),
        workflow: workflow.name.clone(),
        by: new.by.clone(),
        status: entry.status.clone(),
        summary: new.summary.clone(),
        branch: new.branch.clone(),
        harness: new.harness.clone(),
        review_harness: new.review_harness.clone(),
        agent_settings: new.agent_settings.clone(),
        routing: new.routing.clone(),
        queueing: new.queueing.clone(),
        issue: new.issue.clone(),
        job: new.job.clone(),
        pull_request: new.pull_request.clone(),
        fields: workflow.fields.clone(),
        sections: existing_sections(workflow, context),
    };
    let event = Event {
        version: 1,
        at: context.at,
        fact: Fact::TaskCreated(Box::new(created.clone())),
    };
    let task = task_from_creation(&created, &event);
    (event, task)
}

/// The hashes of the gated sections that TASK.md already has. These sections do not count as fresh.
pub(super) fn existing_sections(
    workflow: &Workflow,
    context: &DecisionContext,
) -> BTreeMap<SectionName, SectionHash> {
    let names = workflow.gated_sections().iter();
    names
        .filter_map(|name| {
            let section = context.document.as_ref()?.section(name)?;
            Some((name.clone(), section.hash()))
        })
        .collect()
}

fn failed_guard(entry: &Entry, task: &Task) -> Option<Blocker> {
    let when = entry.when.as_ref()?;
    if when.holds(|field| task.value(field)) {
        return None;
    }
    let values: Vec<(FieldName, i64)> = when
        .comparisons()
        .iter()
        .map(|comparison| (comparison.field.clone(), task.value(&comparison.field)))
        .collect();
    let when = when.text().to_owned();
    Some(Blocker::GuardFailed { when, values })
}

fn enter(
    workflow: &Workflow,
    entry: &Entry,
    task: Task,
    event: Event,
    context: &DecisionContext,
) -> Decision {
    let plan = event.version;
    let mut steps = PlanBuilder::begin(workflow, task, event, context);
    change_fields(&mut steps, &entry.set);
    let state = workflow.state(&entry.status);
    let on_enter = state.map_or(&[] as &[Hook], |state| &state.on_enter);
    let all: Vec<&Hook> = entry.hooks.iter().chain(on_enter).collect();
    hooks::plan(
        &mut steps,
        &all,
        &hooks::Context {
            plan,
            message: "",
            by: &Role::Engine,
            known: &[],
        },
    );
    transition::report_absent_agents(&mut steps);
    steps.settle();
    steps.finish()
}

fn no_entry(workflow: &Workflow, new: &NewTask) -> Blocker {
    match &new.status {
        Some(status) if workflow.state(status).is_none() => Blocker::UnknownStatus {
            status: status.clone(),
            allowed: entry_names(workflow),
        },
        _ => Blocker::NoEntry {
            entries: entry_names(workflow),
        },
    }
}

fn entry_names(workflow: &Workflow) -> Vec<Status> {
    let entries = workflow.entries.iter();
    entries.map(|entry| entry.status.clone()).collect()
}

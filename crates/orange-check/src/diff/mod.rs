//! How a change to a workflow changes its behaviour.
//!
//! Each workflow becomes a table of what can happen in a status, which roles may request it, what
//! it requires and what follows. Workflows with equal tables behave the same; where the tables
//! differ, each difference is a value that prints as one sentence.

mod change;
mod compare;
mod lines;
mod steps;
mod table;
mod wording;

pub use change::{ChangeKind, Route, Sign, WorkflowChange};
pub use lines::lines;

use std::collections::BTreeSet;

use orange_engine::language::Workflow;
use orange_engine::language::workflow::State;
use orange_engine::role::Role;

/// Every difference in behaviour: status by status in the order of the new workflow, then removed
/// statuses, then what concerns the whole workflow.
pub fn diff(old: &Workflow, new: &Workflow) -> Vec<WorkflowChange> {
    let built_in = [Role::Human, Role::Engine, Role::Worker, Role::Reviewer];
    let own = old.roles.iter().chain(&new.roles).cloned();
    let roles: BTreeSet<Role> = built_in.into_iter().chain(own).collect();
    let rows = |workflow: &Workflow, state: &State| table::rows(workflow, state, &roles);
    let mut differences = Vec::new();
    for state in &new.states {
        let before = old.state(&state.name).map(|it| rows(old, it));
        let before = before.unwrap_or_default();
        differences.extend(compare::compare(&state.name, &before, &rows(new, state)));
    }
    let states = old.states.iter();
    for gone in states.filter(|it| new.state(&it.name).is_none()) {
        // Removing a state removes everything that could happen there, so only the removal itself is
        // reported.
        let found = compare::compare(&gone.name, &rows(old, gone), &[]);
        differences.extend(found.into_iter().filter(|it| it.kind == ChangeKind::State));
    }
    differences.extend(global_changes(old, new));
    differences
}

/// What concerns no single status. If only one workflow has a prompt, the difference is
/// reported at the status that uses it.
fn global_changes(old: &Workflow, new: &Workflow) -> Vec<WorkflowChange> {
    let entries = |workflow: &Workflow| -> Vec<String> {
        let entries = workflow.entries.iter();
        entries.map(|entry| format!("`{}`", entry.status)).collect()
    };
    let subject = "the order of statuses to start in";
    let order = compare::order_change(subject, &entries(old), &entries(new));
    let mut facts = compare::facts(&table::global_row(old).facts, &table::global_row(new).facts);
    facts.retain(|it| it.kind != ChangeKind::Prompt || it.sign() == Sign::Changed);
    order.into_iter().chain(facts).collect()
}

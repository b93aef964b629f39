//! Where a task is, for text and JSON.

use orange_engine::document::SectionName;
use orange_engine::language::exit_rules::ExitOutcome;
use orange_engine::language::when::When;
use orange_engine::language::workflow::Kind;
use orange_engine::names::{FieldName, Status};
use orange_engine::role::Role;
use orange_engine::task::{Task, Workspace};
use orange_engine::{Workflow, language};
use serde::Serialize;

/// Everything about a task that decides what can happen to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Place {
    /// The status.
    pub status: Status,
    /// The kind of the status.
    pub kind: Option<Kind>,
    /// Numbers that guards of this status read, and others that are not zero.
    pub counters: Vec<Counter>,
    /// The sections of TASK.md that gates read.
    pub sections: Vec<SectionState>,
    /// Agents that are running.
    pub alive: Vec<Role>,
    /// Agents that the status expects, but that are not running.
    pub missing: Vec<Role>,
    /// Whether the task holds a workspace.
    pub workspace: bool,
    /// Why it needs your attention.
    pub attention: Vec<String>,
}

/// A number that guards read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[schemars(rename = "SimulatedCounter")]
pub struct Counter {
    /// The field.
    pub field: FieldName,
    /// Its value.
    pub value: i64,
    /// The limits that it is compared with in this status.
    pub limits: Vec<Limit>,
}

/// A limit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[schemars(rename = "SimulatedLimit")]
pub struct Limit {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: i64,
}

/// A section that gates read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct SectionState {
    /// Its name.
    pub section: SectionName,
    /// Whether it has changed since the status was entered.
    pub fresh: bool,
    /// The roles that requested a status with its current content.
    pub vouched_by: Vec<Role>,
}

impl Place {
    pub fn of(workflow: &Workflow, task: &Task) -> Place {
        let state = workflow.state(&task.status);
        let expected = state.map_or(&[] as &[Role], |state| &state.expects);
        let sections = task.sections.iter();
        let alive = task.runs.iter().filter(|(_, run)| run.state.is_live());
        Place {
            status: task.status.clone(),
            kind: state.map(|state| state.kind),
            counters: counters(workflow, task),
            sections: sections
                .filter(|(_, memory)| memory.hash.is_some())
                .map(|(name, memory)| SectionState {
                    section: name.clone(),
                    fresh: memory.is_fresh(),
                    vouched_by: memory.submitted_by.iter().cloned().collect(),
                })
                .collect(),
            alive: alive.map(|(role, _)| role.clone()).collect(),
            missing: expected
                .iter()
                .filter(|role| !task.is_live(role))
                .cloned()
                .collect(),
            workspace: task.workspace != Workspace::None,
            attention: task.attention.clone(),
        }
    }
}

/// Every field that a task of this workflow has.
pub fn fields(workflow: &Workflow) -> impl Iterator<Item = FieldName> {
    let derived = language::DERIVED_FIELDS.map(FieldName::new);
    workflow.fields.keys().cloned().chain(derived)
}

fn counters(workflow: &Workflow, task: &Task) -> Vec<Counter> {
    let guards = guards(workflow, &task.status);
    let all = fields(workflow).filter_map(|field| {
        let comparisons = guards.iter().flat_map(|guard| guard.comparisons());
        let is_read = comparisons.into_iter().any(|it| it.field == field);
        let limits = limits(workflow, task, &field, &guards);
        let value = task.value(&field);
        // The summary's length is worth showing only where a guard reads it.
        let is_worth_showing = value != 0 && field.as_str() != "summary_chars";
        (is_read || is_worth_showing || !limits.is_empty()).then_some(Counter {
            field,
            value,
            limits,
        })
    });
    all.collect()
}

/// The guards of the edges and exit rules of a status.
fn guards<'a>(workflow: &'a Workflow, status: &'a Status) -> Vec<&'a When> {
    let edges = workflow.edges_from(status);
    let rules = workflow.exit_rules.iter();
    let cases = rules
        .filter(|rule| rule.status == *status)
        .flat_map(|rule| {
            let cases = match &rule.outcome {
                ExitOutcome::Advance(cases) => cases.as_slice(),
                ExitOutcome::Crash(_) | ExitOutcome::MarkDead => &[],
            };
            cases.iter().filter_map(|case| case.when.as_ref())
        });
    let edges = edges.filter_map(|edge| edge.when.as_ref());
    edges.chain(cases).collect()
}

/// The limits that a field is compared with: declared ones, and the maximum number of crashes.
fn limits(workflow: &Workflow, task: &Task, field: &FieldName, guards: &[&When]) -> Vec<Limit> {
    let texts = guards.iter().flat_map(|guard| guard.text().split(" and "));
    let compared_names: Vec<&str> = texts
        .filter(|text| text.split_whitespace().next() == Some(field.as_str()))
        .filter_map(|text| text.split_whitespace().last())
        .collect();
    let declared = workflow.limits.iter();
    let declared = declared.filter(|(name, _)| compared_names.contains(&name.as_str()));
    let mut found: Vec<Limit> = declared
        .map(|(name, value)| Limit {
            name: name.to_string(),
            value: *value,
        })
        .collect();
    let rules = workflow.exit_rules.iter();
    let crashes = rules.filter_map(|rule| match &rule.outcome {
        ExitOutcome::Crash(crash) if rule.status == task.status => crash.stuck_after,
        _ => None,
    });
    if field.as_str() == "crash_count"
        && let Some(value) = crashes.min()
    {
        let name = "stuck_after".to_owned();
        found.push(Limit { name, value });
    }
    found
}

//! The steps of a workflow, worded for each role.

use std::fmt::Write as _;

use crate::language::Workflow;
use crate::language::verbs::Verb;
use crate::language::workflow::{Edge, Target, Trigger};
use crate::role::Role;
use crate::wording::requirements;
use crate::wording::{join_and, join_or};

/// What a role may request, status by status.
pub(super) fn steps_for_role(workflow: &Workflow, role: &Role) -> Vec<String> {
    let mut lines = Vec::new();
    for state in &workflow.states {
        let edges = workflow.edges_from(&state.name);
        let open = edges.filter(|it| it.trigger == Trigger::Request && it.is_open_to(role));
        let open: Vec<&Edge> = open.collect();
        let status = &state.name;
        if open.is_empty() && state.expects.contains(role) {
            lines.push(format!(
                "in `{status}`: request no step; follow your prompt and the user"
            ));
        }
        for edge in open {
            lines.push(format!("in `{status}`: {}", step(edge)));
        }
    }
    lines
}

fn step(edge: &Edge) -> String {
    let mut step = match &edge.to {
        Target::Status(to) => format!("`orange task update --status {to}`"),
        Target::Previous => {
            String::from("`orange task update --status STATUS`, with the status it came from")
        }
    };
    if let Some(when) = &edge.when {
        let _ = write!(step, ", only while `{when}`");
    }
    let needs = requirements(&edge.gates).into_iter().map(|need| need.text);
    let needed = join_and(needs);
    if !needed.is_empty() {
        let _ = write!(step, "; needs {needed}");
    }
    if edge.confirm.is_some() {
        step.push_str("; the user must confirm");
    }
    step
}

/// One line for each command-line verb that has a target.
pub(super) fn verbs(workflow: &Workflow) -> Vec<String> {
    let leading = workflow.verbs.iter().filter(|(_, to)| !to.is_empty());
    let line = |(verb, to): (&Verb, &Vec<Target>)| {
        let to = join_or(to.iter().map(|it| format!("`{it}`")));
        let message = match verb {
            Verb::RequestChanges => " -m \"TEXT\"",
            _ => "",
        };
        let from = workflow.verb_sources.get(verb).map(|places| {
            let places = join_or(places.iter().map(|it| format!("`{it}`")));
            format!(" from {places}")
        });
        let from = from.unwrap_or_default();
        format!("`orange task {verb} TASK{message}` leads{from} to {to}")
    };
    leading.map(line).collect()
}

//! Load rules that need the whole workflow.

use std::collections::{BTreeMap, BTreeSet};

use super::intervals::{self, Witness};
use super::problem::{ProblemCode, Problems};
use super::workflow::{Edge, Target, Trigger, Workflow};
use crate::names::Status;

/// Reports conflicts between the parts of a workflow.
pub(super) fn check(workflow: &Workflow, problems: &mut Problems<'_>) {
    check_ambiguity(workflow, problems);
    check_timeouts(workflow, problems);
    check_confirm(workflow, problems);
}

/// Load rule 7: of the edges with the same source, target and trigger, no two may apply at once for
/// the same role.
///
/// For triggers other than a request, the first edge in the file is taken. Two edges to the same
/// target are still an error, because the second would be meaningless.
fn check_ambiguity(workflow: &Workflow, problems: &mut Problems<'_>) {
    let mut groups: BTreeMap<(&str, &str, Trigger), Vec<&Edge>> = BTreeMap::new();
    for edge in &workflow.edges {
        for to in possible_targets(edge, workflow) {
            let key = (edge.from.as_str(), to.as_str(), edge.trigger);
            groups.entry(key).or_default().push(edge);
        }
    }
    for ((from, to, _), edges) in groups {
        for (index, edge) in edges.iter().enumerate() {
            let clash = edges[..index].iter().find_map(|earlier| {
                let witness = intervals::find_overlap(edge.when.as_ref(), earlier.when.as_ref())?;
                share_a_role(edge, earlier).then_some((earlier, witness))
            });
            if let Some((earlier, witness)) = clash {
                let when = if witness.is_empty() {
                    String::from("always")
                } else {
                    format!("when {}", format_witness(&witness))
                };
                let message = format!(
                    "transitions `{from}` -> `{to}` are ambiguous: this one and the one in line {} \
                     both apply {when}",
                    earlier.at.line
                );
                let hint = "give each a `when`, so that only one can be true, or a different `by`";
                let code = ProblemCode::TransitionAmbiguous;
                problems.add_with_hint(code, edge.at, message, hint);
            }
        }
    }
}

/// Where an edge may lead; for `@previous`, every status that its source can be entered from.
fn possible_targets<'a>(edge: &'a Edge, workflow: &'a Workflow) -> BTreeSet<&'a Status> {
    match &edge.to {
        Target::Status(status) => BTreeSet::from([status]),
        Target::Previous => workflow
            .edges
            .iter()
            .filter(|other| matches!(&other.to, Target::Status(to) if *to == edge.from))
            .map(|other| &other.from)
            .collect(),
    }
}

fn share_a_role(one: &Edge, other: &Edge) -> bool {
    one.by.is_empty() || other.by.is_empty() || one.by.iter().any(|role| other.by.contains(role))
}

/// Only a request can be confirmed, because only a request has a caller to ask.
fn check_confirm(workflow: &Workflow, problems: &mut Problems<'_>) {
    for edge in workflow.edges.iter().filter(|edge| edge.confirm.is_some()) {
        if !matches!(edge.trigger, Trigger::Request | Trigger::Merged) {
            let message = format!(
                "transition `{}` -> `{}`: `trigger: {}` is not a request, so `confirm` is never \
                 asked",
                edge.from,
                edge.to,
                edge.trigger.as_str()
            );
            problems.add(ProblemCode::InvalidValue, edge.at, message);
        }
    }
}

/// A timeout takes an edge, so the edge must exist.
fn check_timeouts(workflow: &Workflow, problems: &mut Problems<'_>) {
    for edge in &workflow.edges {
        let state = workflow.state(&edge.from);
        let has_timeout = state.is_some_and(|state| state.timeout.is_some());
        if edge.trigger == Trigger::Timeout && !has_timeout {
            let message = format!(
                "state `{}` has no `timeout` to trigger this transition",
                edge.from
            );
            problems.add(ProblemCode::InvalidValue, edge.at, message);
        }
    }
    for state in &workflow.states {
        let Some(timeout) = &state.timeout else {
            continue;
        };
        let has_edge = workflow.edges_from(&state.name).any(|edge| {
            edge.trigger == Trigger::Timeout
                && matches!(&edge.to, Target::Status(to) if *to == timeout.then)
        });
        if !has_edge {
            let message = format!(
                "state `{}` times out to `{}`, but no transition with `trigger: timeout` leads there",
                state.name, timeout.then
            );
            problems.add(ProblemCode::StateUnknown, state.at, message);
        }
    }
}

/// `review_round = 2 and crash_count = 0`.
pub(super) fn format_witness(witness: &Witness) -> String {
    let values: Vec<String> = witness
        .iter()
        .map(|(field, value)| format!("{field} = {value}"))
        .collect();
    values.join(" and ")
}

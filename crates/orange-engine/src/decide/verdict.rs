//! Whether a refused request still vouches for the verdicts it found.

use crate::document::Document;
use crate::document::reading::{self, Verdict, VerdictReading};
use crate::input::RequestKind;
use crate::language::Workflow;
use crate::language::gates::{Gate, GateKind, SectionGate};
use crate::language::verbs::Verb;
use crate::language::workflow::{Edge, Target};
use crate::task::Task;

/// Whether a request that was refused vouches for what the document says.
///
/// TASK.md has many writers, so a verdict may differ from what its author wrote. A request for an
/// edge that requires `FAIL` does not vouch for a `PASS`, and a request that has nothing to do with
/// a verdict vouches for none.
pub fn vouches_for_document(
    workflow: &Workflow,
    task: &Task,
    document: &Document,
    request: &RequestKind,
) -> bool {
    let edges_here = || {
        let edges = workflow.edges.iter();
        edges.filter(|edge| edge.from == task.status)
    };
    let rules = workflow.exit_rules.iter();
    let rules = rules.filter(|rule| rule.status == task.status);
    let artifacts = rules.flat_map(|rule| &rule.has_artifact);
    let requested = edges_here().filter(|edge| is_requested(workflow, task, request, edge));
    let requested: Vec<&SectionGate> =
        verdict_gates(requested.flat_map(|edge| &edge.gates)).collect();
    verdict_gates(edges_here().flat_map(|edge| &edge.gates).chain(artifacts)).all(|gate| {
        verdict_in(gate, document).is_none_or(|verdict| {
            let mut requested = requested.iter();
            requested.any(|requested| {
                requested.section == gate.section && requested.verdict == Some(verdict)
            })
        })
    })
}

/// The gates that accept a verdict from certain roles only.
fn verdict_gates<'a>(
    gates: impl Iterator<Item = &'a Gate>,
) -> impl Iterator<Item = &'a SectionGate> {
    gates.filter_map(|gate| match &gate.kind {
        GateKind::Section(gate) if gate.verdict.is_some() && !gate.from_role.is_empty() => {
            Some(gate)
        }
        _ => None,
    })
}

fn is_requested(workflow: &Workflow, task: &Task, request: &RequestKind, edge: &Edge) -> bool {
    let verb = match request {
        RequestKind::Move { to } => {
            return match &edge.to {
                Target::Status(status) => status == to,
                Target::Previous => task.entered.from.as_ref() == Some(to),
            };
        }
        RequestKind::Verb(verb) => *verb,
        RequestKind::Merge { .. } => Verb::Merge,
        _ => return false,
    };
    let targets = workflow.verbs.get(&verb);
    targets.is_some_and(|targets| targets.contains(&edge.to))
}

fn verdict_in(gate: &SectionGate, document: &Document) -> Option<Verdict> {
    let content = document.content(document.section(&gate.section)?);
    match reading::verdict(content, gate.verdict_mode) {
        VerdictReading::Found(verdict) => Some(verdict),
        _ => None,
    }
}

/// Whether a gate requires the verdict PASS.
pub(super) fn is_approval(gate: &Gate) -> bool {
    matches!(&gate.kind, GateKind::Section(gate) if gate.verdict == Some(Verdict::Pass))
}

//! Evidence from one round must not decide the next.
//!
//! A gate without `fresh` accepts a section that was already in the document. That is harmless
//! while the same agents continue, but wrong if the gate requires a verdict or hands the work over.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use orange_engine::document::SectionName;
use orange_engine::language::Workflow;
use orange_engine::language::gates::{Gate, GateKind, SectionGate};
use orange_engine::language::hooks::Action;
use orange_engine::language::workflow::{Edge, Target};
use orange_engine::names::Status;
use orange_engine::role::Role;

use super::finding::{Finding, FindingCode};
use super::story::Story;
use crate::explore::{Exploration, Notice, Occurrence, Replay, Step};

/// How many first rounds are tried for one gate.
const MAX_FIRST_ROUNDS: usize = 20;

pub(super) fn find(workflow: &Workflow, explored: &Exploration) -> Vec<Finding> {
    let mut reported: BTreeSet<(SectionName, String)> = BTreeSet::new();
    let mut findings = Vec::new();
    for (number, edge) in workflow.edges.iter().enumerate() {
        for gate in &edge.gates {
            let GateKind::Section(section) = &gate.kind else {
                continue;
            };
            let verdict = section.verdict.map(|verdict| verdict.to_string());
            let key = (section.section.clone(), verdict.unwrap_or_default());
            if section.fresh || reported.contains(&key) || !decides(workflow, edge, section) {
                continue;
            }
            if let Some(steps) = second_round(workflow, explored, number, gate) {
                reported.insert(key);
                findings.push(finding(workflow, edge, gate, section, steps));
            }
        }
    }
    findings
}

/// Whether a gate judges the work or hands it to another role.
fn decides(workflow: &Workflow, edge: &Edge, gate: &SectionGate) -> bool {
    let expects = |status: &Status| -> BTreeSet<&Role> {
        let state = workflow.state(status);
        state.into_iter().flat_map(|state| &state.expects).collect()
    };
    let to = match &edge.to {
        Target::Status(status) => expects(status),
        Target::Previous => return gate.verdict.is_some(),
    };
    let from = expects(&edge.from);
    gate.verdict.is_some() || (!from.is_empty() && from != to)
}

/// A path on which the same edge is taken twice with the same section, without a decision by the
/// user.
fn second_round(
    workflow: &Workflow,
    explored: &Exploration,
    edge: usize,
    gate: &Gate,
) -> Option<Vec<Step>> {
    let source = &workflow.edges[edge].from;
    let section = match &gate.kind {
        GateKind::Section(gate) => &gate.section,
        _ => return None,
    };
    let nodes = explored.nodes.iter().enumerate();
    let here = nodes.filter(|(_, node)| node.situation.status == *source);
    let firsts = here.flat_map(|(number, node)| node.arcs.iter().map(move |arc| (number, *arc)));
    firsts
        .filter(|(_, arc)| {
            let step = &explored.steps[arc.step];
            let leaves = explored.nodes[arc.to].situation.status != *source;
            !step.is_by_user() && leaves && step.evidence.gates.contains(gate)
        })
        .take(MAX_FIRST_ROUNDS)
        .find_map(|(number, arc)| {
            let first = with_kept_gate(&explored.steps[arc.step], gate);
            let path = explored.path_to(number).into_iter();
            let mut steps: Vec<Step> = path.map(|step| explored.steps[step].clone()).collect();
            steps.push(first);
            let (back, at) = path_back(workflow, explored, arc.to, source, section)?;
            steps.extend(back.into_iter().map(|step| {
                let mut step = explored.steps[step].clone();
                step.evidence.kept.push(gate.clone());
                step
            }));
            let second_steps = explored.nodes[at].arcs.iter();
            let second_steps = second_steps
                .map(|arc| &explored.steps[arc.step])
                .filter(|step| {
                    !step.is_by_user()
                        && step.evidence.gates.contains(gate)
                        && step.failure.is_none()
                });
            // A death makes the better story, because it happens without a request.
            let mut second_steps: Vec<&Step> = second_steps.collect();
            second_steps.sort_by_key(|step| !matches!(step.occurrence, Occurrence::Die { .. }));
            second_steps.into_iter().find_map(|step| {
                let mut steps = steps.clone();
                let mut last = with_kept_gate(step, gate);
                // No role vouches for the old section again.
                last.evidence.submitted_by = None;
                steps.push(last);
                last_step_takes(workflow, &steps, gate).then_some(steps)
            })
        })
}

/// The step with the gate's section kept from before.
fn with_kept_gate(step: &Step, gate: &Gate) -> Step {
    let mut step = step.clone();
    step.evidence.gates.retain(|shown| shown != gate);
    step.evidence.kept.push(gate.clone());
    step
}

/// The shortest path back to a status without a step that archives the section: its steps, and the
/// situation that it reaches.
fn path_back(
    workflow: &Workflow,
    explored: &Exploration,
    from: usize,
    to: &Status,
    section: &SectionName,
) -> Option<(Vec<usize>, usize)> {
    let mut predecessors: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
    let mut queue = VecDeque::from([from]);
    while let Some(number) = queue.pop_front() {
        let status = &explored.nodes[number].situation.status;
        if status == to {
            let mut steps = Vec::new();
            let mut at = number;
            while at != from {
                let (before, step) = predecessors.get(&at)?;
                steps.push(*step);
                at = *before;
            }
            steps.reverse();
            return Some((steps, number));
        }
        for arc in &explored.nodes[number].arcs {
            let next = &explored.nodes[arc.to].situation.status;
            let fails = explored.steps[arc.step].failure.is_some();
            let archived = archives(workflow, status, next, section);
            if arc.to != from && !fails && !archived && !predecessors.contains_key(&arc.to) {
                predecessors.insert(arc.to, (number, arc.step));
                queue.push_back(arc.to);
            }
        }
    }
    None
}

fn archives(workflow: &Workflow, from: &Status, to: &Status, section: &SectionName) -> bool {
    let edges = workflow.edges_from(from);
    let mut edges = edges.filter(|edge| matches!(&edge.to, Target::Status(status) if status == to));
    edges.any(|edge| {
        let mut hooks = edge.hooks.iter();
        hooks.any(|hook| {
            matches!(&hook.action, Action::ArchiveSection { section: archived } if archived == section)
        })
    })
}

fn last_step_takes(workflow: &Workflow, steps: &[Step], gate: &Gate) -> bool {
    let mut replay = Replay::new(workflow);
    let mut taken = false;
    for step in steps {
        let Ok(played) = replay.take(step) else {
            return false;
        };
        taken = played.notices.iter().any(|notice| match notice {
            Notice::EdgeTaken { edge } => {
                let edge = workflow.edges.get(*edge);
                edge.is_some_and(|edge| edge.gates.contains(gate))
            }
            _ => false,
        });
    }
    taken
}

fn finding(
    workflow: &Workflow,
    edge: &Edge,
    gate: &Gate,
    kind: &SectionGate,
    steps: Vec<Step>,
) -> Finding {
    let section = &kind.section;
    let what = match kind.verdict {
        Some(verdict) => format!("an old {verdict} in `{section}`"),
        None => format!("an old `{section}`"),
    };
    let story = Story::from_steps(workflow, steps);
    let from = &edge.from;
    let to = story.steps.last().map(|last| format!("`{}`", last.status));
    let to = to.unwrap_or_else(|| format!("`{}`", edge.to));
    Finding::new(
        FindingCode::StaleArtifact,
        Some(edge.at),
        format!("{what} leads from `{from}` to {to} in a later round"),
        match &gate.name {
            Some(name) => format!("add `fresh: true` to the gate `{name}` under `gates:`"),
            None => String::from(
                "add `fresh: true` to this gate, also where an exit rule repeats the gate",
            ),
        },
    )
    .with_story(story)
}

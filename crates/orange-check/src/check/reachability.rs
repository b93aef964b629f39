//! Proofs 1 and 6: what can be reached, ended and taken.

use std::collections::{BTreeMap, BTreeSet};

use orange_engine::language::Workflow;
use orange_engine::language::workflow::Trigger;
use orange_engine::names::Status;

use super::finding::{Finding, FindingCode};
use super::story::Story;
use crate::explore::Exploration;

pub(super) fn find(
    workflow: &Workflow,
    explored: &Exploration,
    taken: &BTreeSet<usize>,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.extend(end_unreachable(workflow, explored));
    if explored.is_complete {
        findings.extend(unreachable_states(workflow, explored));
        findings.extend(dead_edges(workflow, explored, taken));
        findings.extend(dead_entries(workflow, explored));
    } else {
        findings.push(Finding::new(
            FindingCode::SearchIncomplete,
            None,
            format!(
                "the search stopped after {} situations; the rest is not proved",
                explored.nodes.len()
            ),
            "lower the limits that counters are compared with, or give the workflow fewer counters",
        ));
    }
    findings
}

fn unreachable_states(workflow: &Workflow, explored: &Exploration) -> Vec<Finding> {
    let seen: BTreeSet<_> = explored
        .nodes
        .iter()
        .map(|node| &node.situation.status)
        .collect();
    let states = workflow.states.iter();
    states
        .filter(|state| !seen.contains(&state.name))
        .map(|state| {
            let name = &state.name;
            Finding::new(
                FindingCode::StateUnreachable,
                Some(state.at),
                format!("no task can reach `{name}`"),
                format!("add a transition to `{name}` that can be taken, or remove the state"),
            )
        })
        .collect()
}

/// For each status from which no end can be reached, the nearest such situation. A status that
/// leads to another such status is left out.
fn end_unreachable(workflow: &Workflow, explored: &Exploration) -> Vec<Finding> {
    let nodes = &explored.nodes;
    let lost = situations_without_end(workflow, explored);
    let status = |number: usize| &nodes[number].situation.status;
    let mut first: BTreeMap<&Status, usize> = BTreeMap::new();
    for number in &lost {
        first.entry(status(*number)).or_insert(*number);
    }
    let lost_set: BTreeSet<usize> = lost.iter().copied().collect();
    // A status that leads to another lost status is lost because of that one.
    let leads_on = |lost: &Status| {
        let mut here = lost_set.iter().filter(|number| status(**number) == lost);
        here.any(|number| {
            let mut arcs = nodes[*number].arcs.iter();
            arcs.any(|arc| lost_set.contains(&arc.to) && status(arc.to) != lost)
        })
    };
    let mut found: Vec<usize> = first
        .iter()
        .filter(|(status, _)| !leads_on(status))
        .map(|(_, number)| *number)
        .collect();
    if found.is_empty() {
        found.extend(lost.first());
    }
    found
        .into_iter()
        .map(|number| {
            let status = status(number);
            let steps = explored.path_to(number).into_iter();
            let steps = steps.map(|step| explored.steps[step].clone());
            Finding::new(
                FindingCode::EndUnreachable,
                workflow.state(status).map(|state| state.at),
                format!("a task can reach `{status}` and never end from there"),
                format!(
                    "add a transition from `{status}` that the human may always request and that \
                     leads towards a terminal state"
                ),
            )
            .with_story(Story::from_steps(workflow, steps.collect()))
        })
        .collect()
}

/// The situations from which no end can be reached, nearest first.
fn situations_without_end(workflow: &Workflow, explored: &Exploration) -> Vec<usize> {
    let nodes = &explored.nodes;
    let mut predecessors: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
    for (number, node) in nodes.iter().enumerate() {
        for arc in &node.arcs {
            predecessors[arc.to].push(number);
        }
    }
    // If the search was stopped early, a situation that was not fully expanded may still lead to an
    // end.
    let counts_as_end = |number: &usize| {
        let node = &nodes[*number];
        workflow.is_terminal(&node.situation.status) || !node.is_complete
    };
    let mut can_end = vec![false; nodes.len()];
    let mut queue: Vec<usize> = (0..nodes.len()).filter(counts_as_end).collect();
    while let Some(number) = queue.pop() {
        if !std::mem::replace(&mut can_end[number], true) {
            queue.extend(predecessors[number].iter().copied());
        }
    }
    (0..nodes.len())
        .filter(|number| !can_end[*number])
        .collect()
}

/// Finds edges that are never taken. An edge with several sources is dead only if it is never taken
/// from any of them.
fn dead_edges(
    workflow: &Workflow,
    explored: &Exploration,
    taken: &BTreeSet<usize>,
) -> Vec<Finding> {
    let alive: BTreeSet<_> = taken
        .iter()
        .filter_map(|number| workflow.edges.get(*number))
        .map(|edge| edge.at)
        .collect();
    let seen: BTreeSet<_> = explored
        .nodes
        .iter()
        .map(|node| &node.situation.status)
        .collect();
    let mut reported = BTreeSet::new();
    let mut findings = Vec::new();
    for edge in &workflow.edges {
        let is_dead = !alive.contains(&edge.at);
        // An unreachable state is reported once, not again for each of its edges.
        let reached = workflow
            .edges
            .iter()
            .any(|other| other.at == edge.at && seen.contains(&other.from));
        if !is_dead || !reached || !reported.insert(edge.at) {
            continue;
        }
        let reason = match edge.trigger {
            Trigger::Exit | Trigger::Crash => {
                "no exit rule leads there, or a rule or transition above it is always taken first"
            }
            Trigger::Timeout => "the state has no `timeout` that leads there",
            Trigger::SpawnFailed => {
                "no transition into its source starts anything, or a transition above it is \
                 always taken first"
            }
            trigger if trigger.is_forge() => {
                "no pull request can be there before it, its guard is never true, or a transition \
                 above it is always taken first"
            }
            _ => {
                "no role that may request it is ever active there, its guard is never true, its \
                 gates contradict each other, or a transition above it is always taken first"
            }
        };
        let from = &edge.from;
        let to = &edge.to;
        let trigger = match edge.trigger {
            Trigger::Request => String::new(),
            trigger => format!(" on `{}`", trigger.as_str()),
        };
        findings.push(Finding::new(
            FindingCode::EdgeDead,
            Some(edge.at),
            format!("the transition from `{from}` to `{to}`{trigger} can never be taken: {reason}"),
            "make it possible, or remove it",
        ));
    }
    findings
}

fn dead_entries(workflow: &Workflow, explored: &Exploration) -> Vec<Finding> {
    let entries = workflow.entries.iter();
    entries
        .filter(|entry| !explored.entries.contains(&entry.status))
        .map(|entry| {
            let status = &entry.status;
            Finding::new(
                FindingCode::EntryDead,
                Some(entry.at),
                format!("no task can begin in `{status}`: its `when` is never true for a new task"),
                "change the `when` of the entry, or remove the entry",
            )
        })
        .collect()
}

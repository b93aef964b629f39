//! What can be seen in the file alone.

use std::collections::BTreeSet;

use super::finding::{Finding, FindingCode};
use crate::language::declared::Naming;
use crate::language::verbs::Verb;
use crate::language::workflow::{Edge, Kind, Target, Trigger};
use crate::language::{Position, Workflow};
use crate::role::Role;

pub(super) fn find(workflow: &Workflow) -> Vec<Finding> {
    let mut findings = unused(workflow);
    findings.extend(verbs(workflow));
    findings.extend(timeouts(workflow));
    findings
}

fn unused(workflow: &Workflow) -> Vec<Finding> {
    let declared = workflow.declared.iter().filter(|it| !it.is_used);
    declared
        .map(|declared| {
            let what = declared.what;
            let name = &declared.name;
            Finding::new(
                FindingCode::Unused,
                Some(declared.at),
                format!("{what} `{name}` is not used"),
                "use it, or remove it",
            )
        })
        .collect()
}

/// A verb must find an edge from somewhere it may be said.
fn verbs(workflow: &Workflow) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (verb, targets) in &workflow.verbs {
        let written = workflow
            .declared
            .iter()
            .find(|it| it.what == Naming::Verb && it.name == verb.as_str());
        let Some(written) = written else { continue };
        for target in targets {
            let found = workflow.edges.iter().any(|edge| {
                let kind = workflow.state(&edge.from).map(|state| state.kind);
                edge.to == *target && fits(*verb, edge, kind)
            });
            if !found {
                findings.push(leads_nowhere(*verb, target, written.at));
            }
        }
    }
    findings
}

fn fits(verb: Verb, edge: &Edge, from: Option<Kind>) -> bool {
    match verb {
        Verb::Spawn => edge.trigger == Trigger::Request && from == Some(Kind::Queued),
        Verb::RequestChanges => edge.trigger == Trigger::Request && from == Some(Kind::Human),
        Verb::Merge => matches!(edge.trigger, Trigger::Request | Trigger::Merged),
        _ => edge.trigger == Trigger::Request,
    }
}

fn leads_nowhere(verb: Verb, target: &Target, at: Position) -> Finding {
    let place = match verb {
        Verb::Spawn => "no queued state has a transition to it that can be asked for",
        Verb::RequestChanges => "no human state has a transition to it that can be asked for",
        Verb::Merge => "no transition on `merged`, and none that can be asked for, leads there",
        _ => "no transition to it can be asked for",
    };
    Finding::new(
        FindingCode::VerbLeadsNowhere,
        Some(at),
        format!("the verb `{verb}` leads to `{target}`, and {place}"),
        format!("add such a transition, or take `{target}` out of `{verb}`"),
    )
}

fn timeouts(workflow: &Workflow) -> Vec<Finding> {
    let states = workflow.states.iter();
    let timed = states.filter_map(|state| Some((state, state.timeout.as_ref()?)));
    timed
        .filter(|(state, timeout)| {
            let mut edges = workflow.edges_from(&state.name);
            !edges.any(|edge| {
                edge.trigger == Trigger::Timeout && edge.to == Target::Status(timeout.then.clone())
            })
        })
        .map(|(state, timeout)| {
            let (from, to) = (&state.name, &timeout.then);
            Finding::new(
                FindingCode::TimeoutTargetMissing,
                Some(state.at),
                format!("the timeout of `{from}` leads to `{to}`, and no transition goes there"),
                format!(
                    "add `- {{ from: {from}, to: {to}, trigger: timeout }}` to the transitions"
                ),
            )
        })
        .collect()
}

/// The agent roles that something starts or expects.
pub(super) fn every_agent(workflow: &Workflow) -> Vec<Role> {
    let spawned = workflow.every_hook().filter_map(|hook| hook.action.spawn());
    let spawned = spawned.map(|spawn| spawn.role.clone());
    let states = workflow.states.iter();
    let expected = states.flat_map(|state| state.expects.iter().chain(state.respawn.keys()));
    let all: BTreeSet<Role> = spawned.chain(expected.cloned()).collect();
    all.into_iter().collect()
}

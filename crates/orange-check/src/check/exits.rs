//! Proofs 4 and 8: the death of an agent leads somewhere.

use std::collections::BTreeSet;

use orange_engine::event::Fact;
use orange_engine::evidence::Evidence;
use orange_engine::language::exit_rules::{CrashRule, ExitOutcome, ExitRule};
use orange_engine::language::gates::Gate;
use orange_engine::language::workflow::{Edge, Kind, Target, Trigger};
use orange_engine::language::{Position, Workflow};
use orange_engine::names::Status;
use orange_engine::role::Role;

use super::finding::{Finding, FindingCode};
use crate::explore::{Exploration, Occurrence, Visit, rules};

pub(super) fn find(workflow: &Workflow) -> Vec<Finding> {
    let mut findings = Vec::new();
    for rule in &workflow.exit_rules {
        findings.extend(missing_targets(workflow, rule));
    }
    for state in &workflow.states {
        for role in &state.expects {
            let status = &state.name;
            if state.kind == Kind::Terminal {
                continue;
            }
            if rules(workflow, status, role).next().is_none() {
                findings.push(Finding::new(
                    FindingCode::ExitRuleMissing,
                    Some(state.at),
                    format!(
                        "`{status}` expects the {role}, but no exit rule says what its exit means"
                    ),
                    format!(
                        "add a rule for `{status}` under `exit_monitoring`, at least `- {{ status: \
                         {status}, action: mark_dead }}`"
                    ),
                ));
            }
            if !state.respawn.contains_key(role) {
                findings.push(Finding::new(
                    FindingCode::RespawnMissing,
                    Some(state.at),
                    format!("`{status}` expects the {role} but does not say how to respawn it"),
                    format!(
                        "add `respawn: {{ {role}: {{ prompt: NAME }} }}` to `{status}`, with the \
                         name of a prompt"
                    ),
                ));
            }
        }
    }
    findings
}

fn leads_to(edge: &Edge, to: &Status) -> bool {
    match &edge.to {
        Target::Status(status) => status == to,
        Target::Previous => true,
    }
}

/// The edges by which the engine could follow an exit rule: those with this trigger or, if there
/// are none, those with the trigger `request`.
fn exit_edges<'a>(
    workflow: &'a Workflow,
    from: &'a Status,
    to: &'a Status,
    trigger: Trigger,
) -> Vec<&'a Edge> {
    let with_trigger = |trigger: Trigger| {
        let edges = workflow.edges_from(from);
        edges.filter(move |edge| leads_to(edge, to) && edge.trigger == trigger)
    };
    let own: Vec<&Edge> = with_trigger(trigger).collect();
    let all = if own.is_empty() {
        with_trigger(Trigger::Request).collect()
    } else {
        own
    };
    let open = all
        .into_iter()
        .filter(|edge| edge.is_open_to(&Role::Engine));
    open.collect()
}

fn missing_targets(workflow: &Workflow, rule: &ExitRule) -> Vec<Finding> {
    let status = &rule.status;
    let (targets, trigger): (Vec<(&Status, Position)>, Trigger) = match &rule.outcome {
        ExitOutcome::Advance(cases) => {
            let cases = cases.iter().map(|case| (&case.then, case.at));
            (cases.collect(), Trigger::Exit)
        }
        ExitOutcome::Crash(crash) => {
            if let Some(finding) = missing_crash_target(rule, crash) {
                return vec![finding];
            }
            let then = crash.then.iter().filter(|_| crash.stuck_after.is_some());
            (then.map(|then| (then, rule.at)).collect(), Trigger::Crash)
        }
        ExitOutcome::MarkDead => return Vec::new(),
    };
    let closed = targets
        .into_iter()
        .filter(|(to, _)| exit_edges(workflow, status, to, trigger).is_empty());
    closed
        .map(|(to, at)| {
            let open = open_to_engine(workflow, status);
            let instead = if open.is_empty() {
                String::new()
            } else {
                format!("let the rule lead to {}, or ", open.join(" or "))
            };
            Finding::new(
                FindingCode::ExitTargetMissing,
                Some(at),
                format!(
                    "the exit rule of `{status}` leads to `{to}`, but no transition lets the \
                     engine go there"
                ),
                format!(
                    "{instead}add `- {{ from: {status}, to: {to}, trigger: {} }}` to the \
                     transitions",
                    trigger.as_str()
                ),
            )
        })
        .collect()
}

/// Where the engine may go from a status by a request.
fn open_to_engine(workflow: &Workflow, status: &Status) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for edge in workflow.edges_from(status) {
        let name = format!("`{}`", edge.to);
        if edge.trigger == Trigger::Request
            && edge.is_open_to(&Role::Engine)
            && !names.contains(&name)
        {
            names.push(name);
        }
    }
    names
}

fn missing_crash_target(rule: &ExitRule, crash: &CrashRule) -> Option<Finding> {
    let limit = crash.stuck_after?;
    if crash.then.is_some() {
        return None;
    }
    let status = &rule.status;
    Some(Finding::new(
        FindingCode::ExitTargetMissing,
        Some(rule.at),
        format!(
            "the exit rule of `{status}` counts crashes up to {limit}, but names no state to go \
             to after that"
        ),
        "name one with `then`, or leave out `stuck_after` and let the human decide",
    ))
}

/// The rules that never apply, or never lead where they say.
pub(super) fn find_dead_rules(
    workflow: &Workflow,
    explored: &Exploration,
    used_rules: &BTreeSet<(Position, Status)>,
) -> Vec<Finding> {
    let situations = || explored.nodes.iter().map(|node| &node.situation);
    let mut findings = Vec::new();
    for (number, rule) in workflow.exit_rules.iter().enumerate() {
        let status = &rule.status;
        let mut here = situations().filter(|situation| situation.status == *status);
        if let Some(finding) = shadowed_rule(workflow, number, rule) {
            findings.push(finding);
            continue;
        }
        // An unreachable state is reported once, not again for each of its rules.
        if !explored.is_complete || here.clone().next().is_none() {
            continue;
        }
        let state = workflow.state(status);
        let expected: Vec<&Role> = match &rule.role {
            Some(role) => vec![role],
            None => state.into_iter().flat_map(|state| &state.expects).collect(),
        };
        if here.any(|situation| expected.iter().any(|role| situation.has(role))) {
            findings.extend(unused_cases(workflow, rule, used_rules));
        } else {
            findings.push(rule_without_agent(rule, &expected));
        }
    }
    findings
}

fn rule_without_agent(rule: &ExitRule, expected: &[&Role]) -> Finding {
    let status = &rule.status;
    let reason = match expected.first() {
        Some(role) => format!("no {role} is ever alive there"),
        None => format!("`{status}` expects no agent, and the rule names no `role`"),
    };
    Finding::new(
        FindingCode::ExitRuleDead,
        Some(rule.at),
        format!("this exit rule of `{status}` is never used: {reason}"),
        "remove it, or name the `role` whose exit it handles",
    )
}

/// A case of a rule that never led where it says, although the engine has an edge there.
fn unused_cases(
    workflow: &Workflow,
    rule: &ExitRule,
    used_rules: &BTreeSet<(Position, Status)>,
) -> Vec<Finding> {
    let ExitOutcome::Advance(cases) = &rule.outcome else {
        return Vec::new();
    };
    let status = &rule.status;
    let unused = cases.iter().filter(|case| {
        let used_rule = (rule.at, case.then.clone());
        !used_rules.contains(&used_rule)
            && !exit_edges(workflow, status, &case.then, Trigger::Exit).is_empty()
    });
    unused
        .map(|case| {
            let to = &case.then;
            let mut own = workflow.edges_from(status);
            let own = own.any(|edge| edge.trigger == Trigger::Exit && leads_to(edge, to));
            let first = if own {
                "transitions on `exit` are tried before those that can be requested; "
            } else {
                ""
            };
            Finding::new(
                FindingCode::ExitRuleDead,
                Some(case.at),
                format!("this exit rule of `{status}` never leads to `{to}`"),
                format!(
                    "{first}let the rule require what the transition from `{status}` to `{to}` \
                     requires, with a `when` that can be true"
                ),
            )
        })
        .collect()
}

/// A rule that comes after one that always matches.
fn shadowed_rule(workflow: &Workflow, number: usize, rule: &ExitRule) -> Option<Finding> {
    let covers = |above: &&ExitRule| {
        let same_role = above.role.is_none() && rule.role.is_none() || above.role == rule.role;
        let expected = |role: &Role| {
            let state = workflow.state(&rule.status);
            state.is_some_and(|state| state.expects.contains(role))
        };
        let wider = above.role.is_none() && rule.role.as_ref().is_some_and(expected);
        above.status == rule.status
            && (same_role || wider)
            && above.has_artifact.is_empty()
            && !matches!(above.outcome, ExitOutcome::Advance(_))
    };
    let above = workflow.exit_rules.iter().take(number).find(covers)?;
    Some(Finding::new(
        FindingCode::ExitRuleDead,
        Some(rule.at),
        format!(
            "this exit rule of `{}` is never used: the rule in line {} always matches",
            rule.status, above.at.line
        ),
        "move it above that rule, or remove it",
    ))
}

/// An agent's death that matches a rule whose transition is then refused.
pub(super) fn find_refusal(
    workflow: &Workflow,
    visit: &Visit<'_>,
) -> Option<(Position, String, String)> {
    let Occurrence::Die { role, evidence } = &visit.step.occurrence else {
        return None;
    };
    let before = visit.before?;
    let changed = visit
        .outcome
        .events
        .iter()
        .any(|event| matches!(event.fact, Fact::StatusChanged(_)));
    if *evidence == Evidence::Environment || changed {
        return None;
    }
    let shown = &visit.step.evidence.gates;
    let is_shown = |gates: &[Gate]| gates.iter().all(|gate| shown.contains(gate));
    let status = &before.status;
    for rule in rules(workflow, status, role).filter(|rule| is_shown(&rule.has_artifact)) {
        match &rule.outcome {
            ExitOutcome::Advance(cases) => {
                let case = cases.iter().find(|case| {
                    let when = case.when.as_ref();
                    when.is_none_or(|when| when.holds(|field| visit.outcome.task.value(field)))
                })?;
                let edges = exit_edges(workflow, status, &case.then, Trigger::Exit);
                // If the transition requires evidence that was not shown, its refusal is expected,
                // and the rules after this one decide.
                let ready = |edge: &&Edge| is_shown(&edge.gates);
                if edges.iter().any(ready) {
                    let to = &case.then;
                    return Some((
                        case.at,
                        format!(
                            "the {role} dies in `{status}`, the exit rule leads to `{to}`, and \
                             the transition is refused"
                        ),
                        format!(
                            "make the guards agree: `then_when` of the rule and `when` of the \
                             transition from `{status}` to `{to}`"
                        ),
                    ));
                }
            }
            ExitOutcome::Crash(crash) => {
                let to = crash.then.as_ref()?;
                let limit = crash.stuck_after?;
                let count = crashes(visit)?;
                let edges = exit_edges(workflow, status, to, Trigger::Crash);
                if count >= limit && !edges.is_empty() {
                    return Some((
                        rule.at,
                        format!(
                            "the {role} crashes {count} times in `{status}`, the exit rule leads \
                             to `{to}`, and the transition is refused"
                        ),
                        format!(
                            "a crash brings no evidence, so give it its own transition: `- {{ \
                             from: {status}, to: {to}, trigger: crash }}`"
                        ),
                    ));
                }
                return None;
            }
            ExitOutcome::MarkDead => return None,
        }
    }
    None
}

fn crashes(visit: &Visit<'_>) -> Option<i64> {
    let mut events = visit.outcome.events.iter();
    events.find_map(|event| match &event.fact {
        Fact::AgentCrashed { crash_count, .. } => Some(*crash_count),
        _ => None,
    })
}

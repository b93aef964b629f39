//! Proofs 4 and 8: the death of an agent leads somewhere.

use super::finding::{Finding, FindingCode};
use crate::event::Fact;
use crate::evidence::Evidence;
use crate::explore::{Happening, Visit, rules};
use crate::language::exit_rules::{CrashRule, ExitOutcome, ExitRule};
use crate::language::gates::Gate;
use crate::language::workflow::{Edge, Kind, Target, Trigger};
use crate::language::{Position, Workflow};
use crate::names::Status;
use crate::role::Role;

pub(super) fn find(workflow: &Workflow) -> Vec<Finding> {
    let mut findings = Vec::new();
    for rule in &workflow.exit_rules {
        findings.extend(missing_targets(workflow, rule));
    }
    findings.extend(dead_rules(workflow));
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
                        "`{status}` expects the {role}, and no exit rule says what its death means"
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
                    format!("`{status}` expects the {role} and does not say how to bring it back"),
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

/// The edges by which the engine could follow a rule; its own trigger's first, else requests.
fn ways<'a>(
    workflow: &'a Workflow,
    from: &'a Status,
    to: &'a Status,
    trigger: Trigger,
) -> Vec<&'a Edge> {
    let leads = |edge: &&Edge| match &edge.to {
        Target::Status(status) => status == to,
        Target::Previous => true,
    };
    let by = |trigger: Trigger| {
        let edges = workflow.edges_from(from).filter(leads);
        edges.filter(move |edge| edge.trigger == trigger)
    };
    let own: Vec<&Edge> = by(trigger).collect();
    let all = if own.is_empty() {
        by(Trigger::Request).collect()
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
            if let Some(finding) = nowhere_to_crash(rule, crash) {
                return vec![finding];
            }
            let then = crash.then.iter().filter(|_| crash.stuck_after.is_some());
            (then.map(|then| (then, rule.at)).collect(), Trigger::Crash)
        }
        ExitOutcome::MarkDead => return Vec::new(),
    };
    let closed = targets
        .into_iter()
        .filter(|(to, _)| ways(workflow, status, to, trigger).is_empty());
    closed
        .map(|(to, at)| {
            Finding::new(
                FindingCode::ExitTargetMissing,
                Some(at),
                format!(
                    "the exit rule of `{status}` leads to `{to}`, and no transition lets the \
                     engine go there"
                ),
                format!(
                    "add `- {{ from: {status}, to: {to}, trigger: {} }}` to the transitions",
                    trigger.as_str()
                ),
            )
        })
        .collect()
}

fn nowhere_to_crash(rule: &ExitRule, crash: &CrashRule) -> Option<Finding> {
    let limit = crash.stuck_after?;
    if crash.then.is_some() {
        return None;
    }
    let status = &rule.status;
    Some(Finding::new(
        FindingCode::ExitTargetMissing,
        Some(rule.at),
        format!(
            "the exit rule of `{status}` counts crashes up to {limit}, and there is no state for \
             what comes then"
        ),
        "name one with `then`, or leave `stuck_after` away and let a person decide",
    ))
}

/// A rule after one that matches whatever was left behind.
fn dead_rules(workflow: &Workflow) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (number, rule) in workflow.exit_rules.iter().enumerate() {
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
        let above = workflow.exit_rules.iter().take(number).find(covers);
        if let Some(above) = above {
            findings.push(Finding::new(
                FindingCode::ExitRuleDead,
                Some(rule.at),
                format!(
                    "this exit rule of `{}` is never asked: the one in line {} always matches",
                    rule.status, above.at.line
                ),
                "put it above that one, or remove it",
            ));
        }
    }
    findings
}

/// A death that a rule was made for, and that led nowhere all the same.
pub(super) fn refused(
    workflow: &Workflow,
    visit: &Visit<'_>,
) -> Option<(Position, String, String)> {
    let Happening::Die { role, evidence } = &visit.step.happening else {
        return None;
    };
    let before = visit.before?;
    let changed = visit
        .played
        .events
        .iter()
        .any(|event| matches!(event.fact, Fact::StatusChanged(_)));
    if *evidence == Evidence::Environment || changed {
        return None;
    }
    let shown = &visit.step.shown.gates;
    let is_shown = |gates: &[Gate]| gates.iter().all(|gate| shown.contains(gate));
    let status = &before.status;
    for rule in rules(workflow, status, role).filter(|rule| is_shown(&rule.has_artifact)) {
        match &rule.outcome {
            ExitOutcome::Advance(cases) => {
                let case = cases.iter().find(|case| {
                    let when = case.when.as_ref();
                    when.is_none_or(|when| when.holds(|field| before.value(field)))
                })?;
                let ways = ways(workflow, status, &case.then, Trigger::Exit);
                // What else a transition asks for may be missing; then the rules below decide.
                let ready = |edge: &&Edge| is_shown(&edge.gates);
                if ways.iter().any(ready) {
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
                let ways = ways(workflow, status, to, Trigger::Crash);
                if count >= limit && !ways.is_empty() {
                    return Some((
                        rule.at,
                        format!(
                            "the {role} crashes {count} times in `{status}`, the exit rule leads \
                             to `{to}`, and the transition is refused"
                        ),
                        format!(
                            "a crash shows nothing, so give it an edge of its own: `- {{ from: \
                             {status}, to: {to}, trigger: crash }}`"
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
    let mut events = visit.played.events.iter();
    events.find_map(|event| match &event.fact {
        Fact::AgentCrashed { crash_count, .. } => Some(*crash_count),
        _ => None,
    })
}

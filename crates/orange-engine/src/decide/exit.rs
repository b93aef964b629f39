//! What the death of an agent means: exit rules, first match first.

use super::edges::{self, Asker, Choice};
use super::gates::{self, Answer};
use super::respawn;
use super::steps::Steps;
use super::transition::{self, Taken};
use crate::event::Fact;
use crate::evidence::Evidence;
use crate::input::FactNeeded;
use crate::language::exit_rules::{CrashRule, ExitCase, ExitOutcome, ExitRule, OnCrash};
use crate::language::gates::Gate;
use crate::language::workflow::Trigger;
use crate::names::{RunId, Status};
use crate::refusal::Missing;
use crate::role::Role;

/// Facts that a rule needs before it can be judged.
pub(super) type Needed = Vec<FactNeeded>;

/// Judges a death, once. The run is known to have been live until now.
pub(super) fn judge(
    steps: &mut Steps<'_>,
    run: &RunId,
    role: &Role,
    evidence: &Evidence,
) -> Result<(), Needed> {
    steps.import(&Role::Engine);
    steps.record(Fact::RunEnded {
        run: run.clone(),
        role: role.clone(),
        evidence: evidence.clone(),
    });
    let Some(state) = steps.workflow.state(&steps.task.status) else {
        return Ok(());
    };
    let expected = state.expects.contains(role);
    if *evidence == Evidence::Environment {
        if expected {
            steps.raise_attention(format!("the {role} {evidence}"));
        }
        return Ok(());
    }
    let mut noted = false;
    for rule in rules(steps, role, expected) {
        let unconditional = rule.has_artifact.is_empty();
        if unconditional && !evidence.is_the_agents_own() {
            break;
        }
        if !all_hold(&rule.has_artifact, steps)? {
            continue;
        }
        if unconditional && !noted && !matches!(rule.outcome, ExitOutcome::MarkDead) {
            noted = true;
            let error = format!("the {role} {evidence}");
            steps.record(Fact::ErrorNoted { error });
        }
        match &rule.outcome {
            // An advance that is refused leaves the matter to the rules below.
            ExitOutcome::Advance(cases) => {
                if advance(steps, cases, role, evidence)? {
                    return Ok(());
                }
            }
            ExitOutcome::Crash(crash) => return count_crash(steps, crash, role, evidence),
            ExitOutcome::MarkDead => break,
        }
    }
    if expected {
        steps.raise_attention(format!("the {role} {evidence}"));
    }
    Ok(())
}

/// The rules for the present status and this role, in order.
fn rules<'a>(steps: &Steps<'a>, role: &Role, expected: bool) -> Vec<&'a ExitRule> {
    let rules = steps.workflow.exit_rules.iter();
    rules
        .filter(|rule| {
            rule.status == steps.task.status
                && rule.role.as_ref().map_or(expected, |about| about == role)
        })
        .collect()
}

fn all_hold(gates: &[Gate], steps: &Steps<'_>) -> Result<bool, Needed> {
    let mut needed = Vec::new();
    for gate in gates {
        match gates::ask(gate, steps) {
            Answer::Holds(_) => {}
            Answer::Fails(_) => return Ok(false),
            Answer::Needs(fact) => needed.push(fact),
        }
    }
    if needed.is_empty() {
        Ok(true)
    } else {
        Err(needed)
    }
}

fn advance(
    steps: &mut Steps<'_>,
    cases: &[ExitCase],
    role: &Role,
    evidence: &Evidence,
) -> Result<bool, Needed> {
    let case = cases.iter().find(|case| {
        let when = case.when.as_ref();
        when.is_none_or(|when| when.holds(|field| steps.task.value(field)))
    });
    let Some(case) = case else {
        return Ok(false);
    };
    let reason = format!("the {role} {evidence}");
    let taken = by_rule(steps, &case.then, Trigger::Exit, reason)?;
    Ok(taken.is_ok())
}

/// Takes the full transition, gates and all, or says what stands in the way.
fn by_rule(
    steps: &mut Steps<'_>,
    to: &Status,
    trigger: Trigger,
    reason: String,
) -> Result<Result<(), Vec<Missing>>, Needed> {
    let edges = edges::leading_by_rule(steps, to, trigger);
    match edges::choose(&edges, Asker::ENGINE, steps) {
        Choice::Open { edge, mut because } => {
            because.insert(0, reason);
            let taken = Taken {
                edge,
                to: to.clone(),
                trigger,
                by: Role::Engine,
                because,
                message: None,
            };
            transition::take(steps, taken);
            Ok(Ok(()))
        }
        Choice::Closed(closed) if closed.missing.is_empty() => {
            let allowed = Vec::new();
            Ok(Err(vec![Missing::NoTransition { allowed }]))
        }
        Choice::Closed(closed) => Ok(Err(closed.missing)),
        Choice::Needs(facts) => Err(facts),
    }
}

fn count_crash(
    steps: &mut Steps<'_>,
    rule: &CrashRule,
    role: &Role,
    evidence: &Evidence,
) -> Result<(), Needed> {
    let crash_count = steps.task.crash_count.saturating_add(1);
    steps.record(Fact::AgentCrashed {
        role: role.clone(),
        crash_count,
    });
    let times = if crash_count == 1 {
        String::from("once")
    } else {
        format!("{crash_count} times")
    };
    let what = format!("the {role} {evidence}; it crashed {times} in this status");
    let too_many = rule.stuck_after.is_some_and(|limit| crash_count >= limit);
    let in_the_way = match (&rule.then, too_many) {
        (Some(to), true) => match by_rule(steps, to, Trigger::Crash, what.clone())? {
            Ok(()) => return Ok(()),
            Err(missing) => Some(missing),
        },
        (None, true) => Some(Vec::new()),
        (_, false) if rule.on_crash == OnCrash::Respawn => {
            match respawn::bring_back(steps, Some(role), delay(rule, crash_count)) {
                Ok(()) => return Ok(()),
                Err(missing) => Some(missing),
            }
        }
        (_, false) => None,
    };
    let reason = match in_the_way {
        None => what,
        Some(missing) if missing.is_empty() => {
            format!("{what}, and the workflow names no state for that")
        }
        Some(missing) => {
            let missing: Vec<String> = missing.iter().map(ToString::to_string).collect();
            format!("{what}, and nothing could be done: {}", missing.join("; "))
        }
    };
    steps.raise_attention(reason);
    Ok(())
}

/// Seconds before the respawn, doubled for each crash after the first, an hour at most.
fn delay(rule: &CrashRule, crash_count: i64) -> u64 {
    let doublings = u32::try_from(crash_count.saturating_sub(1)).unwrap_or(0);
    let factor = 1u64.checked_shl(doublings.min(32)).unwrap_or(u64::MAX);
    rule.backoff.saturating_mul(factor).min(3600)
}

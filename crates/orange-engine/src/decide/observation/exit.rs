//! What an agent's death means: the first matching exit rule decides.

use crate::decide::edges;
use crate::decide::gates::{self, GateResult};
use crate::decide::plan_builder::{NeededFacts, PlanBuilder};
use crate::decide::respawn;
use crate::decide::transition;
use crate::decide::verdict;
use crate::event::Fact;
use crate::evidence::Evidence;
use crate::language::exit_rules::{CrashRule, ExitCase, ExitOutcome, ExitRule, OnCrash};
use crate::language::gates::Gate;
use crate::language::workflow::Trigger;
use crate::names::{RunId, Status};
use crate::refusal::Blocker;
use crate::role::Role;

pub(super) struct Death<'a> {
    /// The run, which was live until now.
    pub(super) run: &'a RunId,
    pub(super) role: &'a Role,
    /// How the run ended.
    pub(super) evidence: &'a Evidence,
    /// The line of output that says why the agent stopped, if there is one.
    pub(super) output_line: Option<&'a String>,
}

/// How many runs in a row may end because their service failed before such an end counts like any
/// other. With the growing pauses between them, that is about five hours.
const MAX_POSTPONEMENTS: i64 = 24;

/// Judges a death, once.
///
/// A death that is not the agent's own fault matches no rule: it is not counted as a crash and does
/// not change the status. If the harness is the reason, the same plan brings the agent back; its
/// start waits, like every start on that harness, until the harness can be used again. A service
/// that never comes back must not start agents forever, so in the end its failure counts.
pub(super) fn judge(steps: &mut PlanBuilder<'_>, death: &Death<'_>) -> Result<(), NeededFacts> {
    let Death { role, evidence, .. } = *death;
    steps.import_for_observation(&Role::Engine);
    steps.record(Fact::RunEnded {
        run: death.run.clone(),
        role: role.clone(),
        evidence: evidence.clone(),
        output_line: death.output_line.cloned(),
    });
    // Its process is killed before anything else is done for the task.
    if *evidence == Evidence::NoExit {
        let plan_version = steps.next_version();
        steps.end_leftovers(plan_version, role);
    }
    let Some(state) = steps.workflow.state(&steps.task.status) else {
        return Ok(());
    };
    let expected = state.expects.contains(role);
    let counts = evidence.is_agent_failure() || steps.task.postponements > MAX_POSTPONEMENTS;
    if counts && follow_rules(steps, role, expected, evidence)? {
        return Ok(());
    }
    let what = format!("the {role} {evidence}");
    if !evidence.is_harness_failure() {
        if expected {
            steps.raise_attention(what);
        }
        return Ok(());
    }
    let respawned =
        expected.then(|| respawn::respawn(steps, &Role::Engine, Some(role), 0, Vec::new()));
    if respawned != Some(Ok(())) {
        // An agent that reported it cannot continue may still be running.
        let plan_version = steps.next_version();
        steps.end_leftovers(plan_version, role);
    }
    if let Some(Err(missing)) = respawned {
        steps.raise_attention(describe_failure(&what, &missing));
    }
    Ok(())
}

/// Applies the exit rules and returns whether they fully handled the death.
fn follow_rules(
    steps: &mut PlanBuilder<'_>,
    role: &Role,
    expected: bool,
    evidence: &Evidence,
) -> Result<bool, NeededFacts> {
    let mut is_recorded = false;
    for rule in rules(steps, role, expected) {
        let is_approval = rule.has_artifact.iter().any(verdict::is_approval);
        if is_approval && !may_approve(evidence) || !all_hold(&rule.has_artifact, steps)? {
            continue;
        }
        let counts_as_failure =
            rule.has_artifact.is_empty() && rule.outcome != ExitOutcome::MarkDead;
        if counts_as_failure && !is_recorded {
            is_recorded = true;
            steps.record_error(format!("the {role} {evidence}"));
        }
        match &rule.outcome {
            // An advance that is refused leaves the death to the rules after this one.
            ExitOutcome::Advance(cases) => {
                if advance(steps, cases, role, evidence)? {
                    if counts_as_failure && transition::is_waiting_for_user(steps) {
                        steps.raise_attention(format!("the {role} {evidence}"));
                    }
                    return Ok(true);
                }
            }
            ExitOutcome::Crash(crash) => {
                count_crash(steps, crash, role, evidence)?;
                return Ok(true);
            }
            ExitOutcome::MarkDead => return Ok(false),
        }
    }
    Ok(false)
}

/// Whether an agent that ended like this can count as having approved the work. Only one that
/// exited by itself can: if it was killed, the verdict may not be its own.
fn may_approve(evidence: &Evidence) -> bool {
    matches!(evidence, Evidence::Exit { .. })
}

/// The rules for the current status and this role, in order.
fn rules<'a>(steps: &PlanBuilder<'a>, role: &Role, expected: bool) -> Vec<&'a ExitRule> {
    let rules = steps.workflow.exit_rules.iter();
    rules
        .filter(|rule| {
            rule.status == steps.task.status
                && rule.role.as_ref().map_or(expected, |about| about == role)
        })
        .collect()
}

fn all_hold(gates: &[Gate], steps: &PlanBuilder<'_>) -> Result<bool, NeededFacts> {
    let mut needed = Vec::new();
    for gate in gates {
        match gates::check(gate, steps) {
            GateResult::Passes(_) => {}
            GateResult::Fails(_) => return Ok(false),
            GateResult::Needs(fact) => needed.push(fact),
        }
    }
    if needed.is_empty() {
        Ok(true)
    } else {
        Err(needed)
    }
}

fn advance(
    steps: &mut PlanBuilder<'_>,
    cases: &[ExitCase],
    role: &Role,
    evidence: &Evidence,
) -> Result<bool, NeededFacts> {
    let case = cases.iter().find(|case| {
        let when = case.when.as_ref();
        when.is_none_or(|when| when.holds(|field| steps.task.value(field)))
    });
    let Some(case) = case else {
        return Ok(false);
    };
    let reason = format!("the {role} {evidence}");
    let mut edges = edges::edges_to_or_requested(steps, &case.then, Trigger::Exit);
    edges.retain(|edge| may_approve(evidence) || !edge.gates.iter().any(verdict::is_approval));
    let taken = transition::take_by_engine(steps, &edges, &case.then, Trigger::Exit, &reason)?;
    Ok(taken.is_ok())
}

/// Takes the transition if its gates hold, or returns what is missing.
fn by_rule(
    steps: &mut PlanBuilder<'_>,
    to: &Status,
    trigger: Trigger,
    reason: &str,
) -> Result<Result<(), Vec<Blocker>>, NeededFacts> {
    let edges = edges::edges_to_or_requested(steps, to, trigger);
    transition::take_by_engine(steps, &edges, to, trigger, reason)
}

fn count_crash(
    steps: &mut PlanBuilder<'_>,
    rule: &CrashRule,
    role: &Role,
    evidence: &Evidence,
) -> Result<(), NeededFacts> {
    // A stale count belongs to the previous status, so counting starts again at 0. It is kept until
    // the hooks of the latest transition have finished.
    let before = if steps.task.crash_count_is_stale {
        0
    } else {
        steps.task.crash_count
    };
    let crash_count = before.saturating_add(1);
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
        (Some(to), true) => match by_rule(steps, to, Trigger::Crash, &what)? {
            Ok(()) => return Ok(()),
            Err(missing) => Some(missing),
        },
        (None, true) => Some(Vec::new()),
        (_, false) if rule.on_crash == OnCrash::Respawn => {
            let delay = delay(rule, crash_count);
            match respawn::respawn(steps, &Role::Engine, Some(role), delay, Vec::new()) {
                Ok(()) => return Ok(()),
                Err(missing) => Some(missing),
            }
        }
        (_, false) => None,
    };
    let reason = match in_the_way {
        None => what,
        Some(missing) if missing.is_empty() => {
            format!("{what}, which is the limit, but the workflow names no status to move to")
        }
        Some(missing) => describe_failure(&what, &missing),
    };
    steps.raise_attention(reason);
    Ok(())
}

fn describe_failure(what: &str, missing: &[Blocker]) -> String {
    let missing: Vec<String> = missing.iter().map(ToString::to_string).collect();
    format!("{what}, and orange cannot continue: {}", missing.join("; "))
}

/// Seconds before the respawn, doubled for each crash after the first, at most an hour.
fn delay(rule: &CrashRule, crash_count: i64) -> u64 {
    let doublings = u32::try_from(crash_count.saturating_sub(1)).unwrap_or(0);
    let factor = 1u64.checked_shl(doublings.min(32)).unwrap_or(u64::MAX);
    rule.backoff.saturating_mul(factor).min(3600)
}

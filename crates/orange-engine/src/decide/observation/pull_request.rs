//! What the state of a pull request means for its task.

use super::{has_ended, take_first_open_edge};
use crate::decide::edges::{self, Caller, Choice};
use crate::decide::plan_builder::{NeededFacts, PlanBuilder};
use crate::decide::transition::{self, TransitionPlan};
use crate::effect::Effect;
use crate::event::Fact;
use crate::forge::pull_request::{ConcernKind, PullRequestConcern, PullRequestReading};
use crate::forge::reaction::{
    Fingerprint, NextReaction, Offer, Reaction, ReactionKind, ReportReason,
};
use crate::input::FactNeeded;
use crate::language::gates::{GitCondition, PullRequestState};
use crate::language::hooks::OnError;
use crate::language::workflow::{Edge, Trigger};
use crate::names::{CommitId, Status};
use crate::role::Role;
use crate::task::PendingState;
use crate::wording::join_and;

/// How many failing checks or review points a reason names at most.
const MAX_NAMED_POINTS: usize = 5;

/// Reacts to a reading of the pull request. Ignores a reading of another pull request than the
/// task's, and a concern for which the workflow has no transition in this status: an agent may
/// already be working on it.
pub(super) fn observe(
    steps: &mut PlanBuilder<'_>,
    reading: &PullRequestReading,
) -> Result<(), NeededFacts> {
    let known = steps.task.pull_request.as_ref();
    if has_ended(steps) || known.is_some_and(|known| known.id != reading.link.id) {
        return Ok(());
    }
    if known != Some(&reading.link) {
        let link = reading.link.clone();
        steps.record(Fact::PullRequestLinked { link });
    }
    match (reading.state, &reading.concern) {
        (PullRequestState::Merged, _) => observe_merge(steps, reading),
        (PullRequestState::Closed, _) => {
            let (link, task) = (&reading.link, &steps.task.id);
            let reason = format!(
                "{link} was closed without a merge; open another one with `orange task pr {task}`, \
                 or cancel the task with `orange task cancel {task}`"
            );
            let triggers = [Trigger::PrClosed];
            observe_end(steps, reading, ReactionKind::Closed, &triggers, reason)
        }
        (PullRequestState::Open, None) => Ok(()),
        (PullRequestState::Open, Some(concern)) => match trigger(&concern.kind) {
            Some((kind, trigger)) => react(steps, reading, concern, kind, trigger),
            None => observe_ready(steps, reading),
        },
    }
}

/// Reacts to a merged pull request, but not while orange's own merge is running: the effect of that
/// merge reports the result.
fn observe_merge(
    steps: &mut PlanBuilder<'_>,
    reading: &PullRequestReading,
) -> Result<(), NeededFacts> {
    if steps.task.pending_merge().is_some() {
        return Ok(());
    }
    let link = &reading.link;
    // An agent or the user has committed since: ending the task would drop that work.
    if let Some(other) = other_commit(steps, reading)? {
        let (branch, head, task) = (&steps.task.branch, reading.head.short(), &steps.task.id);
        let reason = format!(
            "{link} was merged at {head}, but `{branch}` has other commits; see them with `orange \
             task diff {task}`"
        );
        let details = [link.id.as_str(), other.as_str()];
        let fingerprint = Fingerprint::new(ReactionKind::Merged, &reading.head, details);
        report(steps, reading.state, fingerprint, reason);
        return Ok(());
    }
    let reason = format!("{link} was merged, but the workflow has no transition for that");
    // If the workflow has no edge for a merged pull request, an edge for a merged branch is taken.
    let triggers = [Trigger::PrMerged, Trigger::Merged];
    observe_end(steps, reading, ReactionKind::Merged, &triggers, reason)
}

/// The branch's commit, if it has work that the merge did not take.
fn other_commit(
    steps: &PlanBuilder<'_>,
    reading: &PullRequestReading,
) -> Result<Option<CommitId>, NeededFacts> {
    if reading.is_branch_gone {
        return Ok(None);
    }
    let Some(git) = steps.facts().and_then(|facts| facts.git.as_ref()) else {
        return Err(vec![FactNeeded::Git]);
    };
    let has_work = git.met_conditions.contains(&GitCondition::CommitsAhead);
    Ok((has_work && git.head != reading.head).then(|| git.head.clone()))
}

/// Moves the task because its pull request was merged or closed, without checking gates. If the
/// workflow has no transition for that, the user is told once.
fn observe_end(
    steps: &mut PlanBuilder<'_>,
    reading: &PullRequestReading,
    kind: ReactionKind,
    triggers: &[Trigger],
    reason: String,
) -> Result<(), NeededFacts> {
    let state = reading.state;
    let edge = triggers.iter().find_map(|trigger| {
        let edges = edges::edges_by_trigger(steps, *trigger);
        edges
            .into_iter()
            .find(|edge| edges::guard_holds(edge, steps))
    });
    let target = edge.and_then(|edge| edges::target(edge, steps));
    if let (Some(edge), Some(to)) = (edge, target) {
        let link = &reading.link;
        let description = match kind {
            ReactionKind::Merged => format!("{link} was merged"),
            _ => format!("{link} was closed without a merge"),
        };
        steps.import_for_observation(&Role::Engine);
        steps.record(Fact::PullRequestObserved { state });
        let taken = TransitionPlan {
            edge,
            to,
            trigger: edge.trigger,
            by: Role::Engine,
            because: vec![description],
            message: None,
        };
        return transition::take(steps, taken);
    }
    let fingerprint = Fingerprint::new(kind, &reading.head, [reading.link.id.as_str()]);
    report(steps, state, fingerprint, reason);
    Ok(())
}

/// Tells the user, once.
fn report(
    steps: &mut PlanBuilder<'_>,
    state: PullRequestState,
    fingerprint: Fingerprint,
    reason: String,
) {
    if !steps.task.reactions.is_reported(&fingerprint) {
        steps.record(Fact::PullRequestObserved { state });
        record(steps, fingerprint, Reaction::Report, None);
        steps.raise_attention(reason);
    }
}

/// Takes an edge for a pull request that leaves nothing to fix. If no such edge is open, nothing is
/// recorded, and the next reading tries again.
fn observe_ready(
    steps: &mut PlanBuilder<'_>,
    reading: &PullRequestReading,
) -> Result<(), NeededFacts> {
    let mut trial = steps.clone();
    trial.import_for_observation(&Role::Engine);
    let reason = format!("{} leaves nothing to fix", reading.link);
    if take_first_open_edge(&mut trial, Trigger::PrReady, &reason)? {
        *steps = trial;
    }
    Ok(())
}

fn trigger(kind: &ConcernKind) -> Option<(ReactionKind, Trigger)> {
    match kind {
        ConcernKind::Conflicting => Some((ReactionKind::Conflicting, Trigger::PrConflicting)),
        ConcernKind::Failing { .. } => Some((ReactionKind::Failing, Trigger::PrFailing)),
        ConcernKind::Feedback { .. } => Some((ReactionKind::Feedback, Trigger::PrFeedback)),
        ConcernKind::Settled => None,
    }
}

/// A transition that is open to the engine.
struct OpenEdge<'a> {
    edge: &'a Edge,
    to: Status,
    because: Vec<String>,
}

fn react(
    steps: &mut PlanBuilder<'_>,
    reading: &PullRequestReading,
    concern: &PullRequestConcern,
    kind: ReactionKind,
    trigger: Trigger,
) -> Result<(), NeededFacts> {
    let edges = edges::edges_by_trigger(steps, trigger);
    if edges.is_empty() || is_running_checks_again(steps) {
        return Ok(());
    }
    let mut trial = steps.clone();
    trial.import_for_observation(&Role::Engine);
    let open = find_open(&trial, &edges)?;
    let offer = match &open {
        None => Offer::Closed,
        Some(open) if has_agent(steps, &open.to) => Offer::Round,
        Some(_) => Offer::Move,
    };
    let details = concern.details.iter().map(String::as_str);
    let fingerprint = Fingerprint::new(kind, &reading.head, details);
    let description = describe(reading, &concern.kind);
    let can_rerun = matches!(
        concern.kind,
        ConcernKind::Failing {
            can_rerun: true,
            ..
        }
    );
    let next = steps.task.reactions.next(&fingerprint, can_rerun, offer);
    match (next, open) {
        (NextReaction::Rerun, _) => {
            let plan = steps.next_version();
            record(steps, fingerprint, Reaction::Rerun, None);
            let head = reading.head.clone();
            steps.plan_effect(plan, Effect::RerunChecks { head }, OnError::Continue);
        }
        (NextReaction::Transition, Some(open)) => {
            *steps = trial;
            let file = concern.file.clone();
            record(steps, fingerprint, Reaction::Transition, file);
            let because = std::iter::once(description.clone()).chain(open.because);
            let taken = TransitionPlan {
                edge: open.edge,
                to: open.to,
                trigger,
                by: Role::Engine,
                because: because.collect(),
                message: None,
            };
            transition::take(steps, taken)?;
            if transition::is_waiting_for_user(steps) {
                steps.raise_attention(description);
            }
        }
        (NextReaction::Report(reason), _) => {
            record(steps, fingerprint, Reaction::Report, None);
            let reason = match reason {
                ReportReason::NoRoundsLeft => "the workflow allows no further round",
                ReportReason::Unchanged => "an agent's last round changed nothing about it",
            };
            steps.raise_attention(format!("{description}; {reason}"));
        }
        (NextReaction::Transition, None) | (NextReaction::Nothing, _) => {}
    }
    Ok(())
}

/// The first transition that is open to the engine, in file order.
fn find_open<'a>(
    steps: &PlanBuilder<'a>,
    edges: &[&'a Edge],
) -> Result<Option<OpenEdge<'a>>, NeededFacts> {
    for edge in edges {
        let Some(to) = edges::target(edge, steps) else {
            continue;
        };
        match edges::choose(&[*edge], Caller::ENGINE, steps) {
            Choice::Open { edge, because } => return Ok(Some(OpenEdge { edge, to, because })),
            Choice::Closed(_) => {}
            Choice::Needs(facts) => return Err(facts),
        }
    }
    Ok(None)
}

fn has_agent(steps: &PlanBuilder<'_>, status: &Status) -> bool {
    let state = steps.workflow.state(status);
    state.is_some_and(|state| !state.expects.is_empty() && !transition::asks_user(state))
}

fn is_running_checks_again(steps: &PlanBuilder<'_>) -> bool {
    steps.task.pending.iter().any(|pending| {
        matches!(pending.planned.effect, Effect::RerunChecks { .. })
            && pending.state == PendingState::Waiting
    })
}

fn record(
    steps: &mut PlanBuilder<'_>,
    fingerprint: Fingerprint,
    reaction: Reaction,
    file: Option<String>,
) {
    steps.record(Fact::PullRequestReaction {
        fingerprint,
        reaction,
        file,
    });
}

fn describe(reading: &PullRequestReading, kind: &ConcernKind) -> String {
    let link = &reading.link;
    match kind {
        ConcernKind::Conflicting => format!("{link} conflicts with its base"),
        ConcernKind::Failing { checks, .. } => format!("checks of {link} fail: {}", list(checks)),
        ConcernKind::Feedback { points } => format!("{link} has open points: {}", list(points)),
        ConcernKind::Settled => format!("{link} leaves nothing to fix"),
    }
}

fn list(names: &[String]) -> String {
    let shown = names.iter().take(MAX_NAMED_POINTS).cloned();
    let more = names.len().saturating_sub(MAX_NAMED_POINTS);
    join_and(shown.chain((more > 0).then(|| format!("{more} more"))))
}

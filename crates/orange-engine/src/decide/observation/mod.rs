//! What a change in the world means for a task.

mod exit;
mod report;

use crate::decide::edges;
use crate::decide::merge;
use crate::decide::steps::{Needed, Steps};
use crate::decide::transition::{self, Taken};
use crate::decision::Decision;
use crate::effect::{Effect, EffectId, EffectOutcome};
use crate::event::Fact;
use crate::evidence::Evidence;
use crate::input::{FactNeeded, Input, Observation};
use crate::language::Workflow;
use crate::language::gates::PullRequestState;
use crate::language::hooks::OnError;
use crate::language::workflow::Trigger;
use crate::names::{CommitId, RunId, Status, TaskId};
use crate::role::Role;
use crate::task::{PendingState, Task};

pub(super) fn decide(
    workflow: &Workflow,
    task: &Task,
    input: &Input,
    observation: &Observation,
) -> Decision {
    let mut steps = Steps::new(workflow, task, &input.known, Some(&input.cause));
    let needed = match observation {
        Observation::DocumentRead { by, asked } => read_document(&mut steps, by, *asked),
        Observation::RunEnded {
            run,
            evidence,
            said,
        } => end_run(&mut steps, run, evidence, said.as_ref()),
        Observation::EffectDone { effect, outcome } => finish_effect(&mut steps, *effect, outcome),
        Observation::EffectGivenUp { effect, error } => give_up(&mut steps, *effect, error),
        Observation::Merged { commit } => see_merge(&mut steps, commit),
        Observation::PullRequest { state } => see_pull_request(&mut steps, *state),
        Observation::TimedOut => time_out(&mut steps),
        Observation::ReportArrived { run, report } => report::receive(&mut steps, run, report),
        // It may be noticed again and again; it is raised once.
        Observation::Noticed { what } => {
            if !steps.task.attention.contains(what) {
                steps.raise_attention(what.clone());
            }
            Ok(())
        }
        Observation::ChildAdded { child } => {
            if !steps.task.children.contains_key(child) && !is_over(&steps) {
                let child = child.clone();
                steps.record(Fact::ChildAdded { child });
            }
            Ok(())
        }
        Observation::ChildEnded { child, status } => end_child(&mut steps, child, status),
    };
    match needed {
        Ok(()) => steps.finish(),
        Err(facts) => Steps::new(workflow, task, &input.known, Some(&input.cause)).need(facts),
    }
}

pub(super) fn is_over(steps: &Steps<'_>) -> bool {
    steps.workflow.is_terminal(&steps.task.status)
}

fn read_document(steps: &mut Steps<'_>, by: &Role, asked: bool) -> Result<(), Needed> {
    if steps.document().is_none() {
        return Err(vec![FactNeeded::Document]);
    }
    if asked {
        steps.import_asked(by);
    } else {
        steps.import_seen(by);
    }
    Ok(())
}

/// Ignores a run that we ended ourselves or whose death was already judged.
///
/// A headless run ends right after it reports, so its report is read before its death is judged:
/// finished work counts, whichever of the two is seen first.
fn end_run(
    steps: &mut Steps<'_>,
    run: &RunId,
    evidence: &Evidence,
    said: Option<&String>,
) -> Result<(), Needed> {
    let Some(role) = live_role(steps, run) else {
        return Ok(());
    };
    let may_report = steps.task.runs.get(&role).is_some_and(|run| run.headless);
    if may_report && steps.task.report.is_none() && !is_over(steps) {
        let reports = steps.facts().map(|facts| &facts.reports);
        match reports.and_then(|reports| reports.get(run)) {
            None => return Err(vec![FactNeeded::Report { run: run.clone() }]),
            Some(Some(report)) => report::receive(steps, run, report)?,
            Some(None) => {}
        }
        if live_role(steps, run).is_none() {
            return Ok(());
        }
    }
    let death = exit::Death {
        run,
        role: &role,
        evidence,
        said,
    };
    exit::judge(steps, &death)
}

pub(super) fn live_role(steps: &Steps<'_>, run: &RunId) -> Option<Role> {
    let mut runs = steps.task.runs.iter();
    runs.find(|(_, known)| known.id == *run && known.state.is_live())
        .map(|(role, _)| role.clone())
}

fn finish_effect(
    steps: &mut Steps<'_>,
    id: EffectId,
    outcome: &EffectOutcome,
) -> Result<(), Needed> {
    let Some(pending) = steps.task.pending_effect(id) else {
        // The merge was cancelled too late to stop it; the user must learn that it happened. A
        // merge that was requested since then will find it.
        let mut pending = steps.task.pending.iter();
        let is_asked_anew = pending.any(|it| matches!(it.planned.effect, Effect::Merge(_)));
        if let EffectOutcome::Merged(merged) = outcome
            && !is_asked_anew
        {
            let (branch, commit) = (&steps.task.branch, &merged.commit);
            steps.raise_attention(format!(
                "`{branch}` was merged as {commit}, although that had been called off"
            ));
        }
        return Ok(());
    };
    let effect = pending.planned.effect.clone();
    steps.record(Fact::EffectDone {
        effect: id,
        outcome: outcome.clone(),
    });
    match &effect {
        // Any status change cancels a merge, so the task is still where the merge was requested.
        Effect::Merge(merge) => {
            steps.import_seen(&Role::Engine);
            let commit = match outcome {
                EffectOutcome::Merged(merged) => &merged.commit,
                _ => &merge.head,
            };
            merge::finish(steps, merge, format!("the branch was merged as {commit}"))?;
        }
        Effect::CreateChildren { .. } if steps.task.children.is_empty() => {
            steps.raise_attention(String::from("no child task was created"));
        }
        Effect::CreateChildren { .. } => wake_after_children(steps)?,
        _ => {}
    }
    steps.settle();
    Ok(())
}

fn give_up(steps: &mut Steps<'_>, id: EffectId, error: &str) -> Result<(), Needed> {
    let Some(pending) = steps.task.pending_effect(id) else {
        return Ok(());
    };
    if matches!(pending.state, PendingState::GivenUp { .. }) {
        return Ok(());
    }
    let planned = pending.planned.clone();
    steps.record(Fact::EffectGivenUp {
        effect: id,
        error: error.to_owned(),
    });
    if planned.on_error == OnError::Stop {
        let later: Vec<EffectId> = steps
            .task
            .pending
            .iter()
            .filter(|pending| {
                pending.planned.plan == planned.plan
                    && pending.planned.id > id
                    && pending.state == PendingState::Waiting
            })
            .map(|pending| pending.planned.id)
            .collect();
        for effect in later {
            let because_of = id;
            steps.record(Fact::EffectStopped { effect, because_of });
        }
    }
    let is_start = matches!(
        planned.effect,
        Effect::Spawn(_) | Effect::AcquireWorkspace { .. }
    );
    // A failed respawn does not change the status: entering it had succeeded.
    let is_entry = steps.task.unsettled == Some(planned.plan);
    if is_start && is_entry && !is_over(steps) {
        let shown = format!("{}: {error}", planned.effect.label());
        let error = shown.clone();
        steps.record(Fact::ErrorNoted { error });
        steps.import_seen(&Role::Engine);
        follow(steps, Trigger::SpawnFailed, &shown)?;
        // The new status clears the attention list, but the failed start still needs the user.
        steps.raise_attention(shown);
    }
    steps.settle();
    Ok(())
}

/// Moves the task because of something that has happened, whatever its gates would say.
fn happen(
    steps: &mut Steps<'_>,
    seen: Fact,
    trigger: Trigger,
    shown: String,
) -> Result<(), Needed> {
    if is_over(steps) {
        return Ok(());
    }
    let edge = edges::triggered(steps, trigger)
        .into_iter()
        .find(|edge| edges::guard_holds(edge, steps));
    let target = edge.and_then(|edge| edges::target(edge, steps));
    if let (Some(edge), Some(to)) = (edge, target) {
        steps.import_seen(&Role::Engine);
        steps.record(seen);
        let taken = Taken {
            edge,
            to,
            trigger,
            by: Role::Engine,
            because: vec![shown],
            message: None,
        };
        return transition::take(steps, taken);
    }
    let reason = format!("{shown}, and the workflow does not say what follows");
    // The world is polled again and again; this is recorded once.
    if !steps.task.attention.contains(&reason) {
        steps.record(seen);
        steps.raise_attention(reason);
    }
    Ok(())
}

/// While our own merge is running, any merge we observe is its work, and it reports that itself.
fn see_merge(steps: &mut Steps<'_>, commit: &CommitId) -> Result<(), Needed> {
    if steps.task.merging().is_some() {
        return Ok(());
    }
    let seen = Fact::MergeObserved {
        commit: commit.clone(),
    };
    let shown = format!("the branch was merged as {commit}");
    happen(steps, seen, Trigger::Merged, shown)
}

fn see_pull_request(steps: &mut Steps<'_>, state: PullRequestState) -> Result<(), Needed> {
    let (trigger, shown) = match state {
        PullRequestState::Open => return Ok(()),
        PullRequestState::Merged => (Trigger::PrMerged, "the pull request was merged"),
        PullRequestState::Closed => (Trigger::PrClosed, "the pull request was closed"),
    };
    let seen = Fact::PullRequestObserved { state };
    happen(steps, seen, trigger, shown.to_owned())
}

fn time_out(steps: &mut Steps<'_>) -> Result<(), Needed> {
    let state = steps.workflow.state(&steps.task.status);
    let Some(timeout) = state.and_then(|state| state.timeout.as_ref()) else {
        return Ok(());
    };
    let lasted = steps.known.at.seconds_since(steps.task.entered.at);
    if lasted < timeout.after {
        return Ok(());
    }
    let mut trial = steps.clone();
    trial.import_seen(&Role::Engine);
    let edges = edges::leading(&trial, &timeout.then, Trigger::Timeout);
    let reason = format!("the status has lasted {lasted} s");
    // A timeout whose gates do not hold is tried again at the next poll and leaves no trace.
    if transition::by_engine(&mut trial, &edges, &timeout.then, Trigger::Timeout, &reason)?.is_ok()
    {
        *steps = trial;
    }
    Ok(())
}

/// The end of a child may be seen before its creation was recorded.
fn end_child(steps: &mut Steps<'_>, child: &TaskId, status: &Status) -> Result<(), Needed> {
    if matches!(steps.task.children.get(child), Some(Some(_))) || is_over(steps) {
        return Ok(());
    }
    steps.record(Fact::ChildEnded {
        child: child.clone(),
        status: status.clone(),
    });
    wake_after_children(steps)
}

/// Moves on once every child has ended and no more are being created.
fn wake_after_children(steps: &mut Steps<'_>) -> Result<(), Needed> {
    let creating = steps.task.pending.iter().any(|pending| {
        matches!(pending.planned.effect, Effect::CreateChildren { .. })
            && pending.state == PendingState::Waiting
    });
    let all_ended = steps.task.children.values().all(Option::is_some);
    if all_ended && !creating && !is_over(steps) {
        steps.import_seen(&Role::Engine);
        follow(steps, Trigger::ChildrenDone, "every child task has ended")?;
    }
    Ok(())
}

/// Takes the first open edge with this trigger, in file order.
fn follow(steps: &mut Steps<'_>, trigger: Trigger, shown: &str) -> Result<bool, Needed> {
    for edge in edges::triggered(steps, trigger) {
        let Some(to) = edges::target(edge, steps) else {
            continue;
        };
        if transition::by_engine(steps, &[edge], &to, trigger, shown)?.is_ok() {
            return Ok(true);
        }
    }
    Ok(false)
}

//! What a change in the world means for a task.

mod exit;
mod moved;
mod pull_request;
mod report;
mod stand_in;

use crate::decide::edges;
use crate::decide::merge;
use crate::decide::plan_builder::{NeededFacts, PlanBuilder};
use crate::decide::transition::{self, TransitionPlan};
use crate::decision::Decision;
use crate::effect::{Effect, EffectId, EffectOutcome};
use crate::event::Fact;
use crate::evidence::Evidence;
use crate::input::{FactNeeded, Input, Observation};
use crate::language::Workflow;
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
    let mut steps = PlanBuilder::new(workflow, task, &input.context, Some(&input.cause));
    let needed = match observation {
        Observation::DocumentRead { by, is_request } => read_document(&mut steps, by, *is_request),
        Observation::RunEnded {
            run,
            evidence,
            output_line,
        } => end_run(&mut steps, run, evidence, output_line.as_ref()),
        Observation::EffectDone { effect, outcome } => finish_effect(&mut steps, *effect, outcome),
        Observation::EffectFailed {
            effect,
            error,
            feedback,
        } => fail_effect(&mut steps, *effect, error, feedback.as_deref()),
        Observation::StandIn {
            run,
            harness,
            reason,
        } => {
            stand_in::take_over(&mut steps, run, harness, reason);
            Ok(())
        }
        Observation::Merged { commit } => observe_merge(&mut steps, commit),
        Observation::PullRequest(reading) => pull_request::observe(&mut steps, reading),
        Observation::TimedOut => time_out(&mut steps),
        Observation::ReportArrived { run, report } => report::receive(&mut steps, run, report),
        // The same reason may be observed again and again, but attention is raised only once.
        Observation::AttentionNeeded { reason } => {
            if !steps.task.attention.contains(reason) {
                steps.raise_attention(reason.clone());
            }
            Ok(())
        }
        // The reasons can be cleared only all together, so this one stays while there are others.
        Observation::AttentionOver { reason } => {
            if steps.task.attention == [reason.as_str()] {
                let by = Role::Engine;
                steps.record(Fact::AttentionCleared { by });
            }
            Ok(())
        }
        Observation::Moved => {
            moved::continue_here(&mut steps);
            Ok(())
        }
        Observation::ChildAdded { child } => {
            if !steps.task.children.contains_key(child) && !has_ended(&steps) {
                let child = child.clone();
                steps.record(Fact::ChildAdded { child });
            }
            Ok(())
        }
        Observation::ChildEnded { child, status } => end_child(&mut steps, child, status),
        Observation::ChildReopened { child } => {
            let is_known_as_ended = matches!(steps.task.children.get(child), Some(Some(_)));
            if is_known_as_ended && !has_ended(&steps) {
                let child = child.clone();
                steps.record(Fact::ChildReopened { child });
            }
            Ok(())
        }
    };
    match needed {
        Ok(()) => steps.finish(),
        Err(facts) => {
            PlanBuilder::new(workflow, task, &input.context, Some(&input.cause)).need(facts)
        }
    }
}

pub(super) fn has_ended(steps: &PlanBuilder<'_>) -> bool {
    steps.workflow.is_terminal(&steps.task.status)
}

fn read_document(
    steps: &mut PlanBuilder<'_>,
    by: &Role,
    is_request: bool,
) -> Result<(), NeededFacts> {
    if steps.document().is_none() {
        return Err(vec![FactNeeded::Document]);
    }
    if is_request {
        steps.import_for_request(by);
    } else {
        steps.import_for_observation(by);
    }
    Ok(())
}

/// Judges the death of a run, unless orange ended the run or the death was already judged.
///
/// A headless run ends right after it reports, so its report is read before its death is judged:
/// finished work counts, whichever of the two is seen first.
fn end_run(
    steps: &mut PlanBuilder<'_>,
    run: &RunId,
    evidence: &Evidence,
    output_line: Option<&String>,
) -> Result<(), NeededFacts> {
    let Some(role) = live_role(steps, run) else {
        return Ok(());
    };
    let may_report = steps.task.runs.get(&role).is_some_and(|run| run.headless);
    if may_report && steps.task.report.is_none() && !has_ended(steps) {
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
        output_line,
    };
    exit::judge(steps, &death)
}

pub(super) fn live_role(steps: &PlanBuilder<'_>, run: &RunId) -> Option<Role> {
    let mut runs = steps.task.runs.iter();
    runs.find(|(_, known)| known.id == *run && known.state.is_live())
        .map(|(role, _)| role.clone())
}

fn finish_effect(
    steps: &mut PlanBuilder<'_>,
    id: EffectId,
    outcome: &EffectOutcome,
) -> Result<(), NeededFacts> {
    let Some(pending) = steps.task.pending_effect(id) else {
        // The merge was cancelled too late to stop it, and the user must learn that it happened. If
        // another merge was requested since then, that one will find the merged commit.
        let mut pending = steps.task.pending.iter();
        let has_new_merge = pending.any(|it| matches!(it.planned.effect, Effect::Merge(_)));
        if let EffectOutcome::Merged(merged) = outcome
            && !has_new_merge
        {
            let (branch, commit) = (&steps.task.branch, &merged.commit);
            steps.raise_attention(format!(
                "`{branch}` was merged as {commit}, although the merge had been cancelled"
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
            steps.import_for_observation(&Role::Engine);
            let (commit, warnings) = match outcome {
                EffectOutcome::Merged(merged) => (&merged.commit, merged.warnings.as_slice()),
                _ => (&merge.head, &[][..]),
            };
            merge::finish(
                steps,
                merge,
                format!("the branch was merged as {}", commit.short()),
            )?;
            // The new status clears the attention list, so these come after it.
            for warning in warnings {
                steps.raise_attention(warning.clone());
            }
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

fn fail_effect(
    steps: &mut PlanBuilder<'_>,
    id: EffectId,
    error: &str,
    feedback: Option<&str>,
) -> Result<(), NeededFacts> {
    let Some(pending) = steps.task.pending_effect(id) else {
        return Ok(());
    };
    if matches!(pending.state, PendingState::Failed { .. }) {
        return Ok(());
    }
    let planned = pending.planned.clone();
    steps.record(Fact::EffectFailed {
        effect: id,
        error: error.to_owned(),
        feedback: feedback.map(str::to_owned),
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
    let is_entry = steps.task.unfinished_plan == Some(planned.plan);
    if is_start && is_entry && !has_ended(steps) {
        let failure = format!("{}: {error}", planned.effect.label());
        steps.record_error(failure.clone());
        steps.import_for_observation(&Role::Engine);
        take_first_open_edge(steps, Trigger::SpawnFailed, &failure)?;
        // The new status clears the attention list, but the failed start still needs the user.
        steps.raise_attention(failure);
    }
    steps.settle();
    Ok(())
}

/// Moves the task because of something that has already happened, without checking the gates of the
/// edge.
fn take_observed_edge(
    steps: &mut PlanBuilder<'_>,
    observed: Fact,
    trigger: Trigger,
    description: String,
) -> Result<(), NeededFacts> {
    if has_ended(steps) {
        return Ok(());
    }
    let edge = edges::edges_by_trigger(steps, trigger)
        .into_iter()
        .find(|edge| edges::guard_holds(edge, steps));
    let target = edge.and_then(|edge| edges::target(edge, steps));
    if let (Some(edge), Some(to)) = (edge, target) {
        steps.import_for_observation(&Role::Engine);
        steps.record(observed);
        let taken = TransitionPlan {
            edge,
            to,
            trigger,
            by: Role::Engine,
            because: vec![description],
            message: None,
        };
        return transition::take(steps, taken);
    }
    let reason = format!("{description}, but the workflow has no transition for that");
    // Every poll makes the same observation, but it is recorded only once.
    if !steps.task.attention.contains(&reason) {
        steps.record(observed);
        steps.raise_attention(reason);
    }
    Ok(())
}

/// Moves the task after a merge outside of orange. While a merge by orange is running, an observed
/// merge is ignored: it is that merge, and its effect reports the result.
fn observe_merge(steps: &mut PlanBuilder<'_>, commit: &CommitId) -> Result<(), NeededFacts> {
    if steps.task.pending_merge().is_some() {
        return Ok(());
    }
    let observed = Fact::MergeObserved {
        commit: commit.clone(),
    };
    let description = format!("the branch was merged as {}", commit.short());
    take_observed_edge(steps, observed, Trigger::Merged, description)
}

fn time_out(steps: &mut PlanBuilder<'_>) -> Result<(), NeededFacts> {
    let state = steps.workflow.state(&steps.task.status);
    let Some(timeout) = state.and_then(|state| state.timeout.as_ref()) else {
        return Ok(());
    };
    let elapsed = steps.context.at.seconds_since(steps.task.entered.at);
    if elapsed < timeout.after {
        return Ok(());
    }
    let mut trial = steps.clone();
    trial.import_for_observation(&Role::Engine);
    let edges = edges::edges_to(&trial, &timeout.then, Trigger::Timeout);
    let reason = format!("the status has lasted {elapsed} s");
    // A timeout whose gates do not hold is tried again at the next poll and leaves no trace.
    if transition::take_by_engine(&mut trial, &edges, &timeout.then, Trigger::Timeout, &reason)?
        .is_ok()
    {
        *steps = trial;
    }
    Ok(())
}

/// Records the end of a child, even if the creation of the child was not recorded yet.
fn end_child(
    steps: &mut PlanBuilder<'_>,
    child: &TaskId,
    status: &Status,
) -> Result<(), NeededFacts> {
    if matches!(steps.task.children.get(child), Some(Some(_))) || has_ended(steps) {
        return Ok(());
    }
    steps.record(Fact::ChildEnded {
        child: child.clone(),
        status: status.clone(),
    });
    wake_after_children(steps)
}

/// Moves the task on once every child has ended and no more children are being created.
fn wake_after_children(steps: &mut PlanBuilder<'_>) -> Result<(), NeededFacts> {
    let is_creating = steps.task.pending.iter().any(|pending| {
        matches!(pending.planned.effect, Effect::CreateChildren { .. })
            && pending.state == PendingState::Waiting
    });
    let all_ended = steps.task.children.values().all(Option::is_some);
    if all_ended && !is_creating && !has_ended(steps) {
        steps.import_for_observation(&Role::Engine);
        take_first_open_edge(steps, Trigger::ChildrenDone, "every child task is finished")?;
    }
    Ok(())
}

/// Takes the first open edge with this trigger, in file order.
fn take_first_open_edge(
    steps: &mut PlanBuilder<'_>,
    trigger: Trigger,
    reason: &str,
) -> Result<bool, NeededFacts> {
    for edge in edges::edges_by_trigger(steps, trigger) {
        let Some(to) = edges::target(edge, steps) else {
            continue;
        };
        if transition::take_by_engine(steps, &[edge], &to, trigger, reason)?.is_ok() {
            return Ok(true);
        }
    }
    Ok(false)
}

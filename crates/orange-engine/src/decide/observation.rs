//! What a change in the world means for a task.

use super::edges::{self, Asker, Choice};
use super::exit;
use super::merge;
use super::steps::Steps;
use super::transition::{self, Taken};
use crate::decision::{Decision, Needs};
use crate::effect::{Effect, EffectId, EffectOutcome};
use crate::event::Fact;
use crate::evidence::Evidence;
use crate::input::{FactNeeded, Input, Observation};
use crate::language::Workflow;
use crate::language::gates::PullRequestState;
use crate::language::hooks::OnError;
use crate::language::workflow::{Edge, Trigger};
use crate::names::{RunId, Status, TaskId};
use crate::report::Report;
use crate::role::Role;
use crate::task::{PendingState, Task};

pub(super) fn decide(
    workflow: &Workflow,
    task: &Task,
    input: &Input,
    observation: &Observation,
) -> Decision {
    let mut steps = Steps::new(workflow, task, input);
    let needed = match observation {
        Observation::DocumentRead { by } => read_document(&mut steps, by),
        Observation::RunEnded { run, evidence } => end_run(&mut steps, run, evidence),
        Observation::EffectDone { effect, outcome } => {
            finish_effect(&mut steps, *effect, outcome);
            Ok(())
        }
        Observation::EffectGivenUp { effect, error } => give_up(&mut steps, *effect, error),
        Observation::Merged { commit } => {
            let seen = Fact::MergeObserved {
                commit: commit.clone(),
            };
            let shown = format!("the branch was merged as {commit}");
            happen(&mut steps, seen, Trigger::Merged, shown);
            Ok(())
        }
        Observation::PullRequest { state } => {
            see_pull_request(&mut steps, *state);
            Ok(())
        }
        Observation::TimedOut => time_out(&mut steps),
        Observation::ReportArrived { run, report } => receive_report(&mut steps, run, report),
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
        Err(facts) => Decision::Needs(Needs {
            version: task.version,
            facts,
        }),
    }
}

type Needed = Vec<FactNeeded>;

fn is_over(steps: &Steps<'_>) -> bool {
    steps.workflow.is_terminal(&steps.task.status)
}

fn read_document(steps: &mut Steps<'_>, by: &Role) -> Result<(), Needed> {
    if steps.document().is_none() {
        return Err(vec![FactNeeded::Document]);
    }
    steps.import(by);
    Ok(())
}

/// A run that we ended ourselves, or whose death was judged before, means nothing.
fn end_run(steps: &mut Steps<'_>, run: &RunId, evidence: &Evidence) -> Result<(), Needed> {
    let Some(role) = live_role(steps, run) else {
        return Ok(());
    };
    exit::judge(steps, run, &role, evidence)
}

fn live_role(steps: &Steps<'_>, run: &RunId) -> Option<Role> {
    let mut runs = steps.task.runs.iter();
    runs.find(|(_, known)| known.id == *run && known.state.is_live())
        .map(|(role, _)| role.clone())
}

fn finish_effect(steps: &mut Steps<'_>, id: EffectId, outcome: &EffectOutcome) {
    let Some(pending) = steps.task.pending_effect(id) else {
        return;
    };
    let effect = pending.planned.effect.clone();
    steps.record(Fact::EffectDone {
        effect: id,
        outcome: outcome.clone(),
    });
    if let Effect::Merge(merge) = &effect
        && !is_over(steps)
    {
        let commit = match outcome {
            EffectOutcome::Merged(commit) => commit,
            _ => &merge.head,
        };
        merge::finish(steps, merge, format!("the branch was merged as {commit}"));
    }
    steps.settle();
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
    // A respawn that fails leaves the status alone: what entered it had succeeded.
    let is_entry = steps.task.unsettled == Some(planned.plan);
    if is_start && is_entry && !is_over(steps) {
        let shown = format!("{}: {error}", planned.effect.label());
        let error = shown.clone();
        steps.record(Fact::ErrorNoted { error });
        follow(steps, Trigger::SpawnFailed, &shown)?;
    }
    steps.settle();
    Ok(())
}

/// Something that has happened moves the task, whatever its gates would say.
fn happen(steps: &mut Steps<'_>, seen: Fact, trigger: Trigger, shown: String) {
    if is_over(steps) {
        return;
    }
    let edges = steps.workflow.edges.iter();
    let edge = edges
        .filter(|edge| edge.from == steps.task.status && edge.trigger == trigger)
        .find(|edge| edges::guard_holds(edge, steps));
    let target = edge.and_then(|edge| edges::target(edge, steps));
    if let (Some(edge), Some(to)) = (edge, target) {
        steps.record(seen);
        take(steps, edge, to, vec![shown]);
        return;
    }
    let reason = format!("{shown}, and the workflow does not say what follows");
    // The world is looked at again and again; it is told once.
    if !steps.task.attention.contains(&reason) {
        steps.record(seen);
        steps.raise_attention(reason);
    }
}

fn see_pull_request(steps: &mut Steps<'_>, state: PullRequestState) {
    let (trigger, shown) = match state {
        PullRequestState::Open => return,
        PullRequestState::Merged => (Trigger::PrMerged, "the pull request was merged"),
        PullRequestState::Closed => (Trigger::PrClosed, "the pull request was closed"),
    };
    let seen = Fact::PullRequestObserved { state };
    happen(steps, seen, trigger, shown.to_owned());
}

fn time_out(steps: &mut Steps<'_>) -> Result<(), Needed> {
    let state = steps.workflow.state(&steps.task.status);
    let Some(timeout) = state.and_then(|state| state.timeout.as_ref()) else {
        return Ok(());
    };
    let lasted = steps.input.at.seconds_since(steps.task.entered.at);
    if lasted < timeout.after {
        return Ok(());
    }
    let edges = edges::leading(steps, &timeout.then, Trigger::Timeout);
    match edges::choose(&edges, Asker::ENGINE, steps) {
        Choice::Open { edge, mut because } => {
            because.insert(0, format!("the status has lasted {lasted} s"));
            take(steps, edge, timeout.then.clone(), because);
            Ok(())
        }
        Choice::Closed(_) => Ok(()),
        Choice::Needs(facts) => Err(facts),
    }
}

/// A report counts for the run that is live now, never for an earlier attempt.
fn receive_report(steps: &mut Steps<'_>, run: &RunId, report: &Report) -> Result<(), Needed> {
    if live_role(steps, run).is_none() || is_over(steps) {
        return Ok(());
    }
    steps.import(&Role::Engine);
    steps.record(Fact::ReportReceived {
        run: run.clone(),
        report: report.clone(),
    });
    if let Some(error) = report.error() {
        steps.record(Fact::ErrorNoted { error });
    }
    let shown = format!("the run reported `{}`", report.outcome());
    if !follow(steps, Trigger::Report, &shown)? {
        steps.raise_attention(format!(
            "{shown}, and the workflow does not say what follows"
        ));
    }
    Ok(())
}

fn end_child(steps: &mut Steps<'_>, child: &TaskId, status: &Status) -> Result<(), Needed> {
    if steps.task.children.get(child) != Some(&None) {
        return Ok(());
    }
    steps.record(Fact::ChildEnded {
        child: child.clone(),
        status: status.clone(),
    });
    let all_ended = steps.task.children.values().all(Option::is_some);
    if all_ended && !is_over(steps) {
        follow(steps, Trigger::ChildrenDone, "every child task has ended")?;
    }
    Ok(())
}

/// Takes the first edge of this trigger, in the order of the file, that is open.
fn follow(steps: &mut Steps<'_>, trigger: Trigger, shown: &str) -> Result<bool, Needed> {
    let candidates: Vec<&Edge> = steps
        .workflow
        .edges
        .iter()
        .filter(|edge| edge.from == steps.task.status && edge.trigger == trigger)
        .collect();
    for edge in candidates {
        let Some(to) = edges::target(edge, steps) else {
            continue;
        };
        match edges::choose(&[edge], Asker::ENGINE, steps) {
            Choice::Open { edge, mut because } => {
                because.insert(0, shown.to_owned());
                take(steps, edge, to, because);
                return Ok(true);
            }
            Choice::Closed(_) => {}
            Choice::Needs(facts) => return Err(facts),
        }
    }
    Ok(false)
}

fn take(steps: &mut Steps<'_>, edge: &Edge, to: Status, because: Vec<String>) {
    let taken = Taken {
        edge,
        to,
        trigger: edge.trigger,
        by: Role::Engine,
        because,
        message: None,
    };
    transition::take(steps, taken);
}

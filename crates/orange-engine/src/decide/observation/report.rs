//! What the report of a headless run leads to.

use super::{has_ended, live_role};
use crate::decide::edges;
use crate::decide::plan_builder::{NeededFacts, PlanBuilder};
use crate::decide::transition;
use crate::event::Fact;
use crate::input::{FactNeeded, UncommittedWork};
use crate::language::workflow::Trigger;
use crate::names::{CommitId, RunId};
use crate::refusal::{Blocker, GateFailure};
use crate::report::{Outcome, Report};
use crate::role::Role;

/// A report counts only for the run that is live now, never for an earlier attempt.
pub(super) fn receive(
    steps: &mut PlanBuilder<'_>,
    run: &RunId,
    report: &Report,
) -> Result<(), NeededFacts> {
    if live_role(steps, run).is_none() || has_ended(steps) {
        return Ok(());
    }
    let mut report = report.with_checked_delegations(steps.task.queueing.ancestors());
    if steps.task.is_planned_by(run) {
        report = report.of_plan();
    }
    let report = &report;
    steps.import_for_observation(&Role::Engine);
    steps.record(Fact::ReportReceived {
        run: run.clone(),
        report: report.clone(),
    });
    if let Some(error) = report.error() {
        let unchanged_at = unchanged_at(steps, report)?;
        steps.record(Fact::ErrorRecorded {
            error,
            unchanged_at,
        });
    }
    let mut text = if report.outcome() == Outcome::Done {
        String::from("the run reported `done`")
    } else {
        report.explanation()
    };
    let took_edge = take_report_edge(steps, &mut text)?;
    if !took_edge {
        text.push_str(", but the workflow has no transition for that");
    }
    if !took_edge || transition::is_waiting_for_user(steps) {
        text.push_str(&repetition(steps));
        steps.raise_attention(text);
    }
    Ok(())
}

/// How often the same happened in a row, which may be why the task is not tried again.
fn repetition(steps: &PlanBuilder<'_>) -> String {
    match &steps.task.last_error {
        Some(last) if last.times > 1 && last.unchanged_at.is_some() => {
            format!("; {} runs in a row changed nothing", last.times)
        }
        Some(last) if last.times > 1 => format!("; the same {} times in a row", last.times),
        _ => String::new(),
    }
}

/// The branch's commit, if the run stopped before the work was done and left nothing uncommitted. A
/// run that never commits anything is a loop like one that always fails.
fn unchanged_at(steps: &PlanBuilder<'_>, report: &Report) -> Result<Option<CommitId>, NeededFacts> {
    if !matches!(report.outcome(), Outcome::InProgress | Outcome::Unfinished) {
        return Ok(None);
    }
    match steps.facts().and_then(|facts| facts.git.as_ref()) {
        None => Err(vec![FactNeeded::Git]),
        Some(git) => {
            let is_clean = git.uncommitted == UncommittedWork::default();
            Ok(is_clean.then(|| git.head.clone()))
        }
    }
}

/// Takes the first open edge on a report, in file order.
///
/// An edge may match the report but be closed for another reason, such as uncommitted work. Then
/// the run left something undone. This is recorded as an error of the run, and as the reason why
/// the task takes another edge.
fn take_report_edge(steps: &mut PlanBuilder<'_>, text: &mut String) -> Result<bool, NeededFacts> {
    for edge in edges::edges_by_trigger(steps, Trigger::Report) {
        let Some(to) = edges::target(edge, steps) else {
            continue;
        };
        let reason = text.clone();
        match transition::take_by_engine(steps, &[edge], &to, Trigger::Report, &reason)? {
            Ok(()) => return Ok(true),
            Err(missing) if missing.iter().all(is_unrelated_to_report) => {
                let mut missing: Vec<String> = missing.iter().map(ToString::to_string).collect();
                missing.dedup();
                *text = format!("{text}, but {}", missing.join(", and "));
                steps.record_error(text.clone());
            }
            Err(_) => {}
        }
    }
    Ok(false)
}

fn is_unrelated_to_report(missing: &Blocker) -> bool {
    match missing {
        Blocker::GateFailed { failure } => !matches!(
            failure,
            GateFailure::ReportMissing | GateFailure::ReportDiffers { .. }
        ),
        _ => false,
    }
}

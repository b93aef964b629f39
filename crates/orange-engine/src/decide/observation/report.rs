//! What the report of a headless run leads to.

use super::{is_over, live_role};
use crate::decide::edges;
use crate::decide::steps::{Needed, Steps};
use crate::decide::transition;
use crate::event::Fact;
use crate::language::workflow::Trigger;
use crate::names::RunId;
use crate::refusal::{GateFailure, Missing};
use crate::report::{Outcome, Report};
use crate::role::Role;

/// A report counts only for the run that is live now, never for an earlier attempt.
pub(super) fn receive(steps: &mut Steps<'_>, run: &RunId, report: &Report) -> Result<(), Needed> {
    if live_role(steps, run).is_none() || is_over(steps) {
        return Ok(());
    }
    steps.import_seen(&Role::Engine);
    steps.record(Fact::ReportReceived {
        run: run.clone(),
        report: report.clone(),
    });
    if let Some(error) = report.error() {
        steps.record(Fact::ErrorNoted { error });
    }
    let mut told = if report.outcome() == Outcome::Done {
        String::from("the run reported `done`")
    } else {
        report.explanation()
    };
    let is_followed = follow(steps, &mut told)?;
    if !is_followed {
        told.push_str(", and the workflow does not say what follows");
    }
    if !is_followed || transition::is_with_person(steps) {
        steps.raise_attention(told);
    }
    Ok(())
}

/// Takes the first open edge on a report, in file order.
///
/// If an edge matches the report but something else closes it, such as uncommitted work, the run
/// left something undone: that is an error of the run, and the reason why the task takes another
/// edge.
fn follow(steps: &mut Steps<'_>, told: &mut String) -> Result<bool, Needed> {
    for edge in edges::triggered(steps, Trigger::Report) {
        let Some(to) = edges::target(edge, steps) else {
            continue;
        };
        let reason = told.clone();
        match transition::by_engine(steps, &[edge], &to, Trigger::Report, &reason)? {
            Ok(()) => return Ok(true),
            Err(missing) if missing.iter().all(is_beside_the_report) => {
                let mut missing: Vec<String> = missing.iter().map(ToString::to_string).collect();
                missing.dedup();
                *told = format!("{told}, but {}", missing.join(", and "));
                let error = told.clone();
                steps.record(Fact::ErrorNoted { error });
            }
            Err(_) => {}
        }
    }
    Ok(false)
}

fn is_beside_the_report(missing: &Missing) -> bool {
    match missing {
        Missing::GateFailed { failure } => !matches!(
            failure,
            GateFailure::ReportMissing | GateFailure::ReportDiffers { .. }
        ),
        _ => false,
    }
}

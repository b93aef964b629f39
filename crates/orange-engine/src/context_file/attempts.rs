//! The earlier runs of a role, from the history of their task.

use crate::effect::{Effect, PlannedEffect, Spawn};
use crate::event::{Event, Fact};
use crate::names::{HarnessName, RunId};
use crate::report::Report;
use crate::role::Role;
use crate::time::Timestamp;

/// How many attempts are described: the last ones.
const MAX_ATTEMPTS: usize = 5;

/// An earlier run, and what it left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// The position among all attempts, counted from 1.
    pub number: usize,
    pub run: RunId,
    /// When its start was planned.
    pub at: Timestamp,
    pub harness: HarnessName,
    pub report: Option<Report>,
    /// How its process ended, if it ended by itself.
    pub ending: Option<String>,
    /// The errors that were recorded before the next attempt.
    pub errors: Vec<String>,
}

/// The last runs of a role before this one, the oldest first. A run that left nothing, such as one
/// whose start was cancelled, is no attempt.
pub fn earlier_attempts(events: &[Event], role: &Role, run: &RunId) -> Vec<Attempt> {
    let mut attempts: Vec<Attempt> = Vec::new();
    for event in events {
        match &event.fact {
            Fact::EffectPlanned(planned) => {
                let Some(spawn) = start_of(planned).filter(|spawn| spawn.role == *role) else {
                    continue;
                };
                if spawn.run == *run {
                    break;
                }
                attempts.push(Attempt {
                    number: 0,
                    run: spawn.run.clone(),
                    at: event.at,
                    harness: spawn.harness.clone(),
                    report: None,
                    ending: None,
                    errors: Vec::new(),
                });
            }
            Fact::ReportReceived { run, report } => {
                if let Some(attempt) = attempts.iter_mut().find(|it| it.run == *run) {
                    attempt.report = Some(report.clone());
                }
            }
            Fact::RunEnded {
                run,
                evidence,
                output_line,
                ..
            } => {
                if let Some(attempt) = attempts.iter_mut().find(|it| it.run == *run) {
                    let line = output_line.as_ref().map(|it| format!(", saying: {it}"));
                    let ending = format!("it {evidence}{}", line.unwrap_or_default());
                    attempt.ending = Some(ending);
                }
            }
            Fact::ErrorRecorded { error, .. } => {
                if let Some(attempt) = attempts.last_mut() {
                    attempt.errors.push(error.clone());
                }
            }
            _ => {}
        }
    }
    attempts.retain(|it| it.report.is_some() || it.ending.is_some() || !it.errors.is_empty());
    for (index, attempt) in attempts.iter_mut().enumerate() {
        attempt.number = index + 1;
    }
    let first = attempts.len().saturating_sub(MAX_ATTEMPTS);
    attempts.split_off(first)
}

/// The start that an effect plans; a message starts an agent only if there is none.
fn start_of(planned: &PlannedEffect) -> Option<&Spawn> {
    match &planned.effect {
        Effect::Spawn(spawn) => Some(spawn),
        Effect::NotifyRole(notify) => notify.spawn_if_absent.as_ref(),
        _ => None,
    }
}

/// The last report in a history.
pub fn last_report(events: &[Event]) -> Option<&Report> {
    events.iter().rev().find_map(|event| match &event.fact {
        Fact::ReportReceived { report, .. } => Some(report),
        _ => None,
    })
}

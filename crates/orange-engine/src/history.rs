//! What happened to a task, in words.

use crate::effect::{EffectId, EffectOutcome, MergeStrategy};
use crate::event::{Event, Fact, StatusChanged};
use crate::language::workflow::Trigger;
use crate::report::Outcome;
use crate::role::Role;

/// Describes an event; `events` is the history that it is part of.
pub fn told(fact: &Fact, events: &[Event]) -> String {
    match fact {
        Fact::TaskCreated(created) => {
            let (by, status, workflow) = (&created.by, &created.status, &created.workflow);
            format!("the {by} created it in `{status}`, by the workflow `{workflow}`")
        }
        Fact::TaskAmended {
            by,
            summary,
            branch,
            priority,
        } => {
            let summary = summary.as_ref().map(|it| format!("the summary to `{it}`"));
            let branch = branch.as_ref().map(|it| format!("the branch to `{it}`"));
            let priority = priority.map(|it| format!("the priority to {it}"));
            let all: Vec<String> = [summary, branch, priority].into_iter().flatten().collect();
            format!("the {by} changed {}", all.join(" and "))
        }
        Fact::WorkflowChanged { by, from, to, .. } => {
            format!("the {by} moved it from the workflow `{from}` to `{to}`")
        }
        Fact::TaskDeleted { by } => format!("the {by} deleted it"),
        Fact::TaskBroughtBack { by } => format!("the {by} brought it back"),
        Fact::AgentRespawned { by, role } => format!("the {by} started the {role} again"),
        Fact::DocumentImported { by, asked, .. } => {
            let for_what = if *asked { " with a request" } else { "" };
            format!("TASK.md was read for the {by}{for_what}")
        }
        Fact::StatusChanged(changed) => told_change(changed),
        Fact::FieldSet { field, value } => format!("{field} is {value} now"),
        Fact::HooksFinished => String::from("everything that the status asks for was done"),
        Fact::RunEnded {
            role,
            evidence,
            said,
            ..
        } => {
            let said = said.as_ref().map(|said| format!(", saying: {said}"));
            let said = said.unwrap_or_default();
            format!("the {role} is considered dead because it {evidence}{said}")
        }
        Fact::AgentCrashed { role, crash_count } => {
            format!("that was crash {crash_count} of the {role} in this status")
        }
        Fact::ErrorNoted { error } => format!("an error came up: {error}"),
        Fact::AttentionRaised { reason } => format!("needs a person: {reason}"),
        Fact::AttentionCleared { by } => format!("the {by} cleared what needed a person"),
        Fact::MergeStarted {
            by,
            head,
            strategy,
            left_out,
            ..
        } => {
            let how = match strategy {
                MergeStrategy::Ff => String::new(),
                other => format!(" with `--strategy {}`", other.as_str()),
            };
            let left_out = if left_out.is_nothing() {
                String::new()
            } else {
                format!(", leaving out {left_out}")
            };
            format!("the {by} asked to merge {head}{how}{left_out}")
        }
        Fact::EditRejected {
            by: Role::Human,
            reason,
            ..
        } => format!("an edit of the status line was not followed: {reason}"),
        Fact::EditRejected { by, reason, .. } => {
            format!("an edit of the status line by the {by} was not followed: {reason}")
        }
        Fact::ReportReceived { report, .. } => match report.outcome() {
            Outcome::Done => String::from("the run reported `done`"),
            _ => report.explanation(),
        },
        Fact::ChildAdded { child } => format!("child `{child}` was created"),
        Fact::ChildEnded { child, status } => format!("child `{child}` ended as `{status}`"),
        Fact::PullRequestObserved { .. } => String::from("the forge told of the pull request"),
        Fact::MergeObserved { commit } => format!("the branch was found merged in {commit}"),
        Fact::EffectPlanned(planned) => format!("{} was planned", planned.effect.label()),
        Fact::EffectDone {
            outcome: EffectOutcome::Merged(merged),
            ..
        } => merged.to_string(),
        Fact::EffectDone { effect, .. } => format!("{} was done", label(*effect, events)),
        Fact::EffectGivenUp { effect, error } => {
            format!("{} was given up: {error}", label(*effect, events))
        }
        Fact::EffectStopped { effect, because_of } => {
            let (label, cause) = (label(*effect, events), label(*because_of, events));
            format!("{label} was not started because {cause} failed")
        }
        Fact::EffectCancelled { effect } => format!("{} was called off", label(*effect, events)),
        Fact::EffectRetried { effect } => format!("{} is tried again", label(*effect, events)),
    }
}

/// A status change with all its reasons and its message.
fn told_change(changed: &StatusChanged) -> String {
    let StatusChanged { from, to, by, .. } = changed;
    let mut told = match changed.trigger {
        Trigger::Request => format!("from `{from}` to `{to}`: the {by} asked for it"),
        trigger => format!("from `{from}` to `{to}`: {}", trigger.as_str()),
    };
    for reason in &changed.because {
        told.push_str(", because ");
        told.push_str(reason);
    }
    if let Some(message) = &changed.message {
        told.push_str(", saying: ");
        told.push_str(message);
    }
    told
}

fn label(id: EffectId, events: &[Event]) -> &'static str {
    let labels = events.iter().find_map(|event| match &event.fact {
        Fact::EffectPlanned(planned) if planned.id == id => Some(planned.effect.label()),
        _ => None,
    });
    labels.unwrap_or("an effect")
}

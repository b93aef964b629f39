//! What happened to a task, in words.

use std::collections::BTreeMap;

use crate::delegation::ChildMerge;
use crate::effect::{Effect, EffectId, EffectOutcome, MergeStrategy};
use crate::event::{Event, Fact, StatusChange};
use crate::forge::reaction::{Fingerprint, Reaction, ReactionKind};
use crate::language::workflow::Trigger;
use crate::names::TaskId;
use crate::report::Outcome;
use crate::role::Role;
use crate::wording::{actor, join_and};

/// Describes an event; `events` is the history that it is part of.
pub fn describe(fact: &Fact, events: &[Event]) -> String {
    match fact {
        Fact::TaskCreated(created) => {
            let (by, status, workflow) = (actor(&created.by), &created.status, &created.workflow);
            format!("{by} created it in `{status}` with the workflow `{workflow}`")
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
            let all = [summary, branch, priority].into_iter().flatten();
            format!("{} changed {}", actor(by), join_and(all))
        }
        Fact::WorkflowChanged { by, from, to, .. } => {
            let by = actor(by);
            format!("{by} moved it from the workflow `{from}` to `{to}`")
        }
        Fact::TaskDeleted { by } => format!("{} deleted it", actor(by)),
        Fact::TaskRestored { by } => format!("{} restored it", actor(by)),
        Fact::TaskReopened { by, .. } => format!("{} reopened it", actor(by)),
        Fact::TaskMoved => String::from("it continues on another machine"),
        Fact::AgentRespawned { by, role } => format!("{} respawned the {role}", actor(by)),
        Fact::DocumentImported { by, is_request, .. } => {
            let cause = if *is_request { "request" } else { "call" };
            format!("TASK.md was read for a {cause} by {}", actor(by))
        }
        Fact::StatusChanged(changed) => describe_status_change(changed),
        Fact::FieldSet { field, value } => format!("{field} is now {value}"),
        Fact::HooksFinished => String::from("all hooks of the transition finished"),
        Fact::RunEnded {
            role,
            evidence,
            output_line,
            ..
        } => {
            let text = output_line.as_ref().map(|text| format!(", saying: {text}"));
            format!(
                "the {role} stopped: it {evidence}{}",
                text.unwrap_or_default()
            )
        }
        Fact::AgentCrashed { role, crash_count } => {
            format!("crash {crash_count} of the {role} in this status")
        }
        Fact::ErrorRecorded { error, .. } => format!("error: {error}"),
        Fact::HarnessReplaced {
            role, to, reason, ..
        } => format!("{reason}, so `{to}` is the {role} now"),
        Fact::AttentionRaised { reason } => format!("needs you: {reason}"),
        Fact::AttentionCleared { by } => format!("{} cleared its attention items", actor(by)),
        Fact::MergeStarted {
            by,
            head,
            strategy,
            left_out,
            ..
        } => {
            let (by, head, how) = (actor(by), head.short(), describe_strategy(*strategy));
            if left_out.is_empty() {
                format!("{by} requested a merge of {head}{how}")
            } else {
                format!("{by} requested a merge of {head}{how}, leaving out {left_out}")
            }
        }
        Fact::EditRejected { by, reason, .. } => describe_rejected_edit(by, reason),
        Fact::ReportReceived { report, .. } => match report.outcome() {
            Outcome::Done => String::from("the run reported `done`"),
            _ => report.explanation(),
        },
        Fact::ChildAdded { child } => format!("child `{child}` was created"),
        Fact::ChildEnded { child, status } => format!("child `{child}` is finished (`{status}`)"),
        Fact::SplitRequested { by } => format!("{} asked for a split of the task", actor(by)),
        Fact::ChildReopened { child } => format!("child `{child}` was reopened"),
        Fact::PullRequestObserved { state } => format!("the pull request is {}", state.as_str()),
        Fact::PullRequestLinked { link } => format!("it has {link}: {}", link.url),
        Fact::PullRequestReaction {
            fingerprint,
            reaction,
            ..
        } => describe_reaction(fingerprint, *reaction),
        Fact::MergeObserved { commit } => format!("the branch was found merged in {commit}"),
        Fact::EffectPlanned(planned) => describe_plan(&planned.effect),
        Fact::EffectDone { effect, outcome } => describe_outcome(*effect, outcome, events),
        Fact::EffectFailed { effect, error, .. } => {
            format!("{} failed: {error}", label(*effect, events))
        }
        Fact::EffectStopped { effect, because_of } => {
            let (label, cause) = (label(*effect, events), label(*because_of, events));
            format!("{label} was not started because {cause} failed")
        }
        Fact::EffectCancelled { effect } => format!("{} was cancelled", label(*effect, events)),
        Fact::EffectRetried { effect } => format!("{} is retried", label(*effect, events)),
    }
}

fn describe_rejected_edit(by: &Role, reason: &str) -> String {
    let by = (*by != Role::Human).then(|| format!(" by {}", actor(by)));
    let by = by.unwrap_or_default();
    format!("an edit of the status line{by} was rejected: {reason}")
}

fn describe_strategy(strategy: MergeStrategy) -> String {
    match strategy {
        MergeStrategy::Auto => String::new(),
        other => format!(" with `--strategy {}`", other.as_str()),
    }
}

fn describe_reaction(fingerprint: &Fingerprint, reaction: Reaction) -> String {
    let what = match fingerprint.kind {
        ReactionKind::Conflicting => "conflicts with its base",
        ReactionKind::Failing => "has failing checks",
        ReactionKind::Feedback => "has feedback",
        ReactionKind::Merged => "was merged",
        ReactionKind::Closed => "was closed",
    };
    let head = fingerprint.head.short();
    let reaction = match reaction {
        Reaction::Rerun => "the failed checks run again",
        Reaction::Transition => "the workflow has a transition for that",
        Reaction::Report => "you were told",
    };
    format!("the pull request {what} at {head}; {reaction}")
}

fn describe_plan(effect: &Effect) -> String {
    match effect {
        Effect::NotifyRole(notify) => {
            let (from, to) = (actor(&notify.from), actor(&notify.role));
            format!("message from {from} to {to}: {}", notify.message)
        }
        effect => format!("{} was planned", effect.label()),
    }
}

fn describe_outcome(effect: EffectId, outcome: &EffectOutcome, events: &[Event]) -> String {
    match outcome {
        EffectOutcome::Merged(merged) => merged.to_string(),
        EffectOutcome::Chosen(choice) => choice.to_string(),
        EffectOutcome::PullRequest(link) => format!("the branch has {link}: {}", link.url),
        EffectOutcome::ChildrenMerged(merges) if !merges.is_empty() => describe_merges(merges),
        _ => format!("{} was done", label(effect, events)),
    }
}

/// Which children were merged, and what prevented the others.
fn describe_merges(merges: &BTreeMap<TaskId, ChildMerge>) -> String {
    let each = merges.iter().map(|(child, merge)| match merge {
        ChildMerge::Merged => format!("child `{child}` was merged into the branch"),
        ChildMerge::Conflicts { files, .. } => {
            format!(
                "child `{child}` was not merged: conflicts in {}",
                files.join(", ")
            )
        }
        ChildMerge::Prevented { reason, .. } => format!("child `{child}` was not merged: {reason}"),
    });
    each.collect::<Vec<_>>().join("; ")
}

/// Whether a short history shows this event. It shows what happened, but not the steps that orange
/// took.
pub fn is_notable(fact: &Fact) -> bool {
    match fact {
        Fact::EffectDone { outcome, .. } => matches!(
            outcome,
            EffectOutcome::Merged(_)
                | EffectOutcome::PullRequest(_)
                | EffectOutcome::ChildrenMerged(_)
        ),
        Fact::EffectPlanned(planned) => matches!(planned.effect, Effect::NotifyRole(_)),
        Fact::DocumentImported { .. }
        | Fact::FieldSet { .. }
        | Fact::EffectCancelled { .. }
        | Fact::HooksFinished => false,
        _ => true,
    }
}

/// A status change with all its reasons and its message.
fn describe_status_change(changed: &StatusChange) -> String {
    let StatusChange { from, to, by, .. } = changed;
    let mut text = match changed.trigger {
        Trigger::Request => format!("from `{from}` to `{to}`: requested by {}", actor(by)),
        trigger => format!("from `{from}` to `{to}`: {}", trigger.as_str()),
    };
    if !changed.evidence.is_empty() {
        text.push_str(", because ");
        text.push_str(&changed.evidence.join("; "));
    }
    if let Some(message) = &changed.message {
        text.push_str(", saying: ");
        text.push_str(message);
    }
    text
}

fn label(id: EffectId, events: &[Event]) -> &'static str {
    let label = events.iter().find_map(|event| match &event.fact {
        Fact::EffectPlanned(planned) if planned.id == id => Some(planned.effect.label()),
        _ => None,
    });
    label.unwrap_or("an effect")
}

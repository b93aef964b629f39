//! What went wrong, counted by cause.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::TaskRecord;
use crate::effect::Effect;
use crate::event::{Event, Fact};
use crate::evidence::Evidence;
use crate::forge::reaction::ReactionKind;
use crate::language::workflow::Trigger;
use crate::report::Outcome;
use crate::time::Timestamp;

/// Why something went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The harness had no quota left.
    Quota,
    /// The harness was not logged in.
    Login,
    /// The service behind the harness was overloaded.
    Overloaded,
    /// The service behind the harness could not be reached.
    Network,
    /// The system ran out of memory.
    OutOfMemory,
    /// The harness's program does not exist.
    MissingProgram,
    /// The agent was lost with its tmux server or its machine.
    Environment,
    /// The agent exited without finishing its work.
    Crash,
    /// An agent could not be started.
    StartFailed,
    /// A run reported that something blocks it.
    Blocked,
    /// A run ended before its work was finished.
    Unfinished,
    /// A run asked for help, or its report could not be understood.
    HelpNeeded,
    /// A status was requested without the required evidence.
    GateRefused,
    /// The state lasted too long.
    TimedOut,
    /// The command that verifies a merge failed.
    VerificationFailed,
    /// A merge failed for another reason.
    MergeFailed,
    /// A pull request conflicts with its base.
    MergeConflict,
    /// Checks of a pull request failed.
    ChecksFailed,
    /// A push, or a change of a pull request, failed.
    ForgeFailed,
    /// A command of the workflow failed.
    CommandFailed,
    /// Another effect failed.
    OtherEffect,
}

impl Cause {
    /// The cause in words.
    pub fn text(self) -> &'static str {
        match self {
            Cause::Quota => "no quota left",
            Cause::Login => "not logged in",
            Cause::Overloaded => "service overloaded",
            Cause::Network => "service not reachable",
            Cause::OutOfMemory => "out of memory",
            Cause::MissingProgram => "agent not installed",
            Cause::Environment => "tmux server or machine went down",
            Cause::Crash => "agent crashed",
            Cause::StartFailed => "agent not started",
            Cause::Blocked => "agent reported that it is blocked",
            Cause::Unfinished => "run ended before its work",
            Cause::HelpNeeded => "agent asked for help",
            Cause::GateRefused => "status refused by a gate",
            Cause::TimedOut => "status lasted too long",
            Cause::VerificationFailed => "verification of a merge failed",
            Cause::MergeFailed => "merge failed",
            Cause::MergeConflict => "pull request in conflict",
            Cause::ChecksFailed => "checks of a pull request failed",
            Cause::ForgeFailed => "push or pull request failed",
            Cause::CommandFailed => "command of the workflow failed",
            Cause::OtherEffect => "other effect failed",
        }
    }
}

/// How often a cause occurred.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FailureCount {
    pub cause: Cause,
    /// The cause in words.
    pub text: &'static str,
    /// How often it occurred.
    pub count: u64,
    /// How many tasks had it.
    pub tasks: u64,
}

pub(super) fn count(tasks: &[TaskRecord]) -> Vec<FailureCount> {
    let mut counts: BTreeMap<Cause, (u64, u64)> = BTreeMap::new();
    for record in tasks {
        let mut own: BTreeMap<Cause, u64> = BTreeMap::new();
        for cause in causes(record) {
            *own.entry(cause).or_default() += 1;
        }
        for (cause, count) in own {
            let sum = counts.entry(cause).or_default();
            *sum = (sum.0 + count, sum.1 + 1);
        }
    }
    let counts = counts.into_iter();
    let mut found: Vec<FailureCount> = counts
        .map(|(cause, (count, tasks))| FailureCount {
            cause,
            text: cause.text(),
            count,
            tasks,
        })
        .collect();
    found.sort_by_key(|it| (Reverse(it.count), it.cause));
    found
}

/// What the error of a decision is about: the events of one decision have the same time.
enum Context {
    /// An agent's process ended.
    Exit(Timestamp),
    /// A run reported that it is done.
    Done(Timestamp),
}

/// The causes of everything that went wrong with a task, in order.
fn causes(record: &TaskRecord) -> Vec<Cause> {
    let mut found = Vec::new();
    let mut context = None;
    for event in &record.events {
        match &event.fact {
            Fact::RunEnded { evidence, .. } => {
                let cause = cause_of_death(evidence);
                let is_open = cause.is_none() && evidence.is_agent_failure();
                context = is_open.then_some(Context::Exit(event.at));
                found.extend(cause);
            }
            Fact::ReportReceived { report, .. } => {
                let outcome = report.outcome();
                let is_done = outcome == Outcome::Done;
                context = is_done.then_some(Context::Done(event.at));
                found.extend(cause_of_report(outcome));
            }
            Fact::ErrorRecorded { .. } | Fact::AgentCrashed { .. } => {
                found.extend(cause_of_error(context.take(), event));
            }
            Fact::EffectFailed {
                effect, feedback, ..
            } => {
                let effect = record.failed_effects.get(effect);
                found.push(cause_of_effect(effect, feedback.is_some()));
            }
            Fact::EditRejected { .. } => found.push(Cause::GateRefused),
            Fact::PullRequestReaction { fingerprint, .. } => match fingerprint.kind {
                ReactionKind::Conflicting => found.push(Cause::MergeConflict),
                ReactionKind::Failing => found.push(Cause::ChecksFailed),
                ReactionKind::Feedback | ReactionKind::Merged | ReactionKind::Closed => {}
            },
            Fact::StatusChanged(change) if change.trigger == Trigger::Timeout => {
                found.push(Cause::TimedOut);
            }
            _ => {}
        }
    }
    found
}

/// The cause of a death that is not the agent's own; `None` for an exit, which may be a success.
fn cause_of_death(evidence: &Evidence) -> Option<Cause> {
    match evidence {
        Evidence::Quota { .. } => Some(Cause::Quota),
        Evidence::Login => Some(Cause::Login),
        Evidence::Overloaded => Some(Cause::Overloaded),
        Evidence::Network => Some(Cause::Network),
        Evidence::OutOfMemory => Some(Cause::OutOfMemory),
        Evidence::MissingProgram => Some(Cause::MissingProgram),
        Evidence::Environment => Some(Cause::Environment),
        Evidence::Exit { .. }
        | Evidence::Signal { .. }
        | Evidence::Closed
        | Evidence::NoExit
        | Evidence::Stopped => None,
    }
}

fn cause_of_report(outcome: Outcome) -> Option<Cause> {
    match outcome {
        Outcome::Done => None,
        Outcome::Blocked => Some(Cause::Blocked),
        Outcome::Unfinished | Outcome::InProgress => Some(Cause::Unfinished),
        Outcome::NeedsReview => Some(Cause::HelpNeeded),
    }
}

/// The cause of an error; `None` if another event of its decision has counted it.
fn cause_of_error(context: Option<Context>, event: &Event) -> Option<Cause> {
    match context? {
        Context::Exit(at) if at == event.at => Some(Cause::Crash),
        Context::Done(at) if at == event.at => Some(Cause::GateRefused),
        Context::Exit(_) | Context::Done(_) => None,
    }
}

fn cause_of_effect(effect: Option<&Effect>, has_feedback: bool) -> Cause {
    match effect {
        Some(Effect::Spawn(_) | Effect::AcquireWorkspace { .. }) => Cause::StartFailed,
        Some(Effect::Merge(_)) if has_feedback => Cause::VerificationFailed,
        Some(Effect::Merge(_) | Effect::MergePr { .. }) => Cause::MergeFailed,
        Some(
            Effect::PushBranch { .. }
            | Effect::CreatePr(_)
            | Effect::ReadyPr
            | Effect::RerunChecks { .. }
            | Effect::DeleteRemoteBranch { .. }
            | Effect::WriteIssue,
        ) => Cause::ForgeFailed,
        Some(Effect::RunCommand { .. }) => Cause::CommandFailed,
        _ => Cause::OtherEffect,
    }
}

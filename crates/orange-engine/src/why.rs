//! Why a task is where it is, from its events alone.

use std::fmt;

use serde::Serialize;

use crate::event::{Event, Fact};
use crate::language::workflow::Trigger;
use crate::names::Status;
use crate::role::Role;
use crate::time::Timestamp;

/// How a task came into its status, and what has happened since.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Explanation {
    /// Where it is.
    pub status: Status,
    /// Since when.
    pub since: Timestamp,
    /// From where it came; `None` if it began here.
    pub from: Option<Status>,
    /// What set the change off; `None` if it began here.
    pub trigger: Option<Trigger>,
    /// Who asked.
    pub by: Role,
    /// What was shown.
    pub because: Vec<String>,
    /// What bears on it since then, oldest first.
    pub since_then: Vec<Remark>,
}

/// Something that happened and matters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Remark {
    /// When.
    pub at: Timestamp,
    /// What.
    pub text: String,
}

/// Explains the latest status; `None` when the events are not a task's history.
pub fn why(events: &[Event]) -> Option<Explanation> {
    let entered = events
        .iter()
        .rposition(|event| matches!(event.fact, Fact::StatusChanged(_) | Fact::TaskCreated(_)))?;
    let event = &events[entered];
    let mut explanation = match &event.fact {
        Fact::StatusChanged(changed) => Explanation {
            status: changed.to.clone(),
            since: event.at,
            from: Some(changed.from.clone()),
            trigger: Some(changed.trigger),
            by: changed.by.clone(),
            because: changed.because.clone(),
            since_then: Vec::new(),
        },
        Fact::TaskCreated(created) => Explanation {
            status: created.status.clone(),
            since: event.at,
            from: None,
            trigger: None,
            by: created.by.clone(),
            because: Vec::new(),
            since_then: Vec::new(),
        },
        _ => return None,
    };
    for event in &events[entered + 1..] {
        if let Some(text) = remark(&event.fact, events) {
            let at = event.at;
            explanation.since_then.push(Remark { at, text });
        }
    }
    Some(explanation)
}

/// What an event means for the question; bookkeeping means nothing.
fn remark(fact: &Fact, events: &[Event]) -> Option<String> {
    Some(match fact {
        Fact::RunEnded { role, evidence, .. } => {
            format!("the {role} is considered dead because it {evidence}")
        }
        Fact::AgentCrashed { role, crash_count } => {
            format!("that was crash {crash_count} of the {role} in this status")
        }
        Fact::EffectGivenUp { effect, error } => {
            let label = label(*effect, events);
            format!("{label} was given up: {error}")
        }
        Fact::EffectStopped { effect, because_of } => {
            let (label, cause) = (label(*effect, events), label(*because_of, events));
            format!("{label} was not started because {cause} failed")
        }
        Fact::EffectRetried { effect } => format!("{} is tried again", label(*effect, events)),
        Fact::AttentionRaised { reason } => format!("needs a person: {reason}"),
        Fact::MergeStarted { by, head, .. } => format!("the {by} asked to merge {head}"),
        Fact::EditRejected { by, reason, .. } => {
            format!("an edit of the status line by the {by} was not followed: {reason}")
        }
        Fact::ReportReceived { report, .. } => format!("a run reported `{}`", report.outcome()),
        Fact::ChildEnded { child, status } => format!("child `{child}` ended as `{status}`"),
        Fact::ChildAdded { child } => format!("child `{child}` was created"),
        _ => return None,
    })
}

fn label(id: crate::effect::EffectId, events: &[Event]) -> &'static str {
    events
        .iter()
        .find_map(|event| match &event.fact {
            Fact::EffectPlanned(planned) if planned.id == id => Some(planned.effect.label()),
            _ => None,
        })
        .unwrap_or("an effect")
}

impl fmt::Display for Explanation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (status, since, by) = (&self.status, self.since, &self.by);
        match (&self.from, self.trigger) {
            (Some(from), Some(Trigger::Request)) => write!(
                formatter,
                "in `{status}` since {since}: the {by} asked for it in `{from}`"
            )?,
            (Some(from), Some(trigger)) => write!(
                formatter,
                "in `{status}` since {since}: {} in `{from}`",
                trigger.as_str()
            )?,
            _ => write!(
                formatter,
                "in `{status}` since {since}: the {by} created it there"
            )?,
        }
        for reason in &self.because {
            write!(formatter, "\n  because {reason}")?;
        }
        for remark in &self.since_then {
            write!(formatter, "\n  {} {}", remark.at, remark.text)?;
        }
        Ok(())
    }
}

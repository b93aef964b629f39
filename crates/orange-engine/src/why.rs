//! Why a task is where it is, from its events alone.

use std::fmt;

use serde::Serialize;

use crate::event::{Event, Fact};
use crate::history::describe;
use crate::language::workflow::Trigger;
use crate::names::Status;
use crate::role::Role;
use crate::time::Timestamp;
use crate::wording::actor;

/// How a task entered its status, and what has happened since.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Explanation {
    /// Its status.
    pub status: Status,
    /// When the task entered it.
    pub since: Timestamp,
    /// The previous status; `null` if the task was created here.
    pub from: Option<Status>,
    /// What triggered the change; `null` if the task was created here.
    pub trigger: Option<Trigger>,
    /// The role that requested it.
    pub by: Role,
    /// The evidence: one line for each gate that passed.
    pub evidence: Vec<String>,
    /// The message of the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Relevant events since then, oldest first.
    pub events_since: Vec<Remark>,
}

/// A relevant event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Remark {
    /// When it was recorded.
    pub at: Timestamp,
    /// What happened, in words.
    pub text: String,
}

/// Explains the current status; `None` when the events are not a task's history.
pub fn explain(events: &[Event]) -> Option<Explanation> {
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
            evidence: changed.evidence.clone(),
            message: changed.message.clone(),
            events_since: Vec::new(),
        },
        Fact::TaskCreated(created) => Explanation {
            status: created.status.clone(),
            since: event.at,
            from: None,
            trigger: None,
            by: created.by.clone(),
            evidence: Vec::new(),
            message: None,
            events_since: Vec::new(),
        },
        _ => return None,
    };
    for event in &events[entered + 1..] {
        if let Some(text) = describe_if_relevant(&event.fact, events) {
            let at = event.at;
            explanation.events_since.push(Remark { at, text });
        }
    }
    Some(explanation)
}

/// Describes an event; `None` for an event that does not help to explain the status.
fn describe_if_relevant(fact: &Fact, events: &[Event]) -> Option<String> {
    let is_relevant = matches!(
        fact,
        Fact::RunEnded { .. }
            | Fact::AgentCrashed { .. }
            | Fact::AgentRespawned { .. }
            | Fact::EffectFailed { .. }
            | Fact::EffectStopped { .. }
            | Fact::EffectRetried { .. }
            | Fact::AttentionRaised { .. }
            | Fact::MergeStarted { .. }
            | Fact::EditRejected { .. }
            | Fact::ReportReceived { .. }
            | Fact::ChildEnded { .. }
            | Fact::ChildAdded { .. }
            | Fact::ChildReopened { .. }
            | Fact::SplitRequested { .. }
            | Fact::WorkflowChanged { .. }
            | Fact::TaskDeleted { .. }
            | Fact::TaskRestored { .. }
            | Fact::TaskReopened { .. }
            | Fact::TaskMoved
    );
    is_relevant.then(|| describe(fact, events))
}

impl fmt::Display for Explanation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (status, since, by) = (&self.status, self.since, actor(&self.by));
        match (&self.from, self.trigger) {
            (Some(from), Some(Trigger::Request)) => write!(
                formatter,
                "in `{status}` since {since}: requested by {by} in `{from}`"
            )?,
            (Some(from), Some(trigger)) => write!(
                formatter,
                "in `{status}` since {since}: {} in `{from}`",
                trigger.as_str()
            )?,
            _ => write!(
                formatter,
                "in `{status}` since {since}: created there by {by}"
            )?,
        }
        for reason in &self.evidence {
            write!(formatter, "\n  because {reason}")?;
        }
        for line in self.message.iter().flat_map(|message| message.lines()) {
            write!(formatter, "\n  saying: {line}")?;
        }
        for remark in &self.events_since {
            write!(formatter, "\n  {} {}", remark.at, remark.text)?;
        }
        Ok(())
    }
}

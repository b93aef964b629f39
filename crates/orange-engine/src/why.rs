//! Why a task is where it is, from its events alone.

use std::fmt;

use serde::Serialize;

use crate::event::{Event, Fact};
use crate::history::told;
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
    /// What was said with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
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

/// Explains the current status; `None` when the events are not a task's history.
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
            message: changed.message.clone(),
            since_then: Vec::new(),
        },
        Fact::TaskCreated(created) => Explanation {
            status: created.status.clone(),
            since: event.at,
            from: None,
            trigger: None,
            by: created.by.clone(),
            because: Vec::new(),
            message: None,
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

/// What an event contributes to the explanation; bookkeeping contributes nothing.
fn remark(fact: &Fact, events: &[Event]) -> Option<String> {
    let matters = matches!(
        fact,
        Fact::RunEnded { .. }
            | Fact::AgentCrashed { .. }
            | Fact::AgentRespawned { .. }
            | Fact::EffectGivenUp { .. }
            | Fact::EffectStopped { .. }
            | Fact::EffectRetried { .. }
            | Fact::AttentionRaised { .. }
            | Fact::MergeStarted { .. }
            | Fact::EditRejected { .. }
            | Fact::ReportReceived { .. }
            | Fact::ChildEnded { .. }
            | Fact::ChildAdded { .. }
            | Fact::WorkflowChanged { .. }
            | Fact::TaskDeleted { .. }
            | Fact::TaskBroughtBack { .. }
    );
    matters.then(|| told(fact, events))
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
        for line in self.message.iter().flat_map(|message| message.lines()) {
            write!(formatter, "\n  saying: {line}")?;
        }
        for remark in &self.since_then {
            write!(formatter, "\n  {} {}", remark.at, remark.text)?;
        }
        Ok(())
    }
}

//! Event formats: which engine can read which history.
//!
//! A new fact, and a new field of a known one, needs a new format, because an older engine would
//! fail at the one and ignore the other. `tests/engine/formats.rs` notices both.

use serde::Deserialize;

use crate::event::Fact;

/// The newest format that this engine reads and writes.
pub const FORMAT: u32 = 2;

/// The format of every event from before there were formats.
const FIRST: u32 = 1;

/// A history was written by a newer orange.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it needs event format {found}, but this version of orange reads formats up to {FORMAT}")]
pub struct NewerFormat {
    /// The format that the history needs.
    pub found: u32,
}

/// The part of an event's JSON that every engine can read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct EventHeader {
    /// The format of the event.
    #[serde(default = "first")]
    pub format: u32,
}

/// Fails if this engine cannot read events of this format.
pub fn require_readable(format: u32) -> Result<(), NewerFormat> {
    if format > FORMAT {
        return Err(NewerFormat { found: format });
    }
    Ok(())
}

pub(crate) fn first() -> u32 {
    FIRST
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes what it may skip by reference"
)]
pub(crate) fn is_first(format: &u32) -> bool {
    *format == FIRST
}

impl Fact {
    /// The format that an engine must know to read this fact. No arm is a wildcard, so adding a fact
    /// forces a decision.
    pub fn format(&self) -> u32 {
        match self {
            Fact::TaskMoved => 2,
            Fact::TaskCreated(_)
            | Fact::TaskAmended { .. }
            | Fact::WorkflowChanged { .. }
            | Fact::TaskDeleted { .. }
            | Fact::TaskRestored { .. }
            | Fact::TaskReopened { .. }
            | Fact::AgentRespawned { .. }
            | Fact::DocumentImported { .. }
            | Fact::StatusChanged(_)
            | Fact::FieldSet { .. }
            | Fact::EffectPlanned(_)
            | Fact::EffectDone { .. }
            | Fact::EffectFailed { .. }
            | Fact::EffectStopped { .. }
            | Fact::EffectCancelled { .. }
            | Fact::EffectRetried { .. }
            | Fact::HooksFinished
            | Fact::RunEnded { .. }
            | Fact::AgentCrashed { .. }
            | Fact::ErrorRecorded { .. }
            | Fact::HarnessReplaced { .. }
            | Fact::AttentionRaised { .. }
            | Fact::AttentionCleared { .. }
            | Fact::MergeStarted { .. }
            | Fact::EditRejected { .. }
            | Fact::ReportReceived { .. }
            | Fact::ChildAdded { .. }
            | Fact::ChildEnded { .. }
            | Fact::ChildReopened { .. }
            | Fact::PullRequestObserved { .. }
            | Fact::PullRequestLinked { .. }
            | Fact::PullRequestReaction { .. }
            | Fact::SplitRequested { .. }
            | Fact::MergeObserved { .. } => FIRST,
        }
    }
}

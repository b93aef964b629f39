//! Bounds how often orange reacts to a pull request.
//!
//! The counter of the workflow is checked before the fingerprint. Otherwise a head that never moves
//! would count as handled for ever, and the user would never learn of it.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::issue::digest;
use crate::names::CommitId;

/// What a reaction answers.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    schemars::JsonSchema,
    Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum ReactionKind {
    /// The head conflicts with the base.
    Conflicting,
    /// Checks failed.
    Failing,
    /// Reviewers made points.
    Feedback,
    /// It was merged.
    Merged,
    /// It was closed without a merge.
    Closed,
}

/// Identifies what a reaction answers: the same fingerprint is answered once.
#[derive(
    Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, schemars::JsonSchema, Deserialize,
)]
pub struct Fingerprint {
    /// What it answers.
    pub kind: ReactionKind,
    /// The commit it is about.
    pub head: CommitId,
    /// The digest of the details.
    pub digest: String,
}

impl Fingerprint {
    /// The fingerprint of a reaction. The details are what else distinguishes it from an earlier
    /// one, such as the commit of the base, the names of the checks, or the digests of the points.
    pub fn new<'a>(
        kind: ReactionKind,
        head: &CommitId,
        details: impl IntoIterator<Item = &'a str>,
    ) -> Fingerprint {
        let details: BTreeSet<&str> = details.into_iter().collect();
        Fingerprint {
            kind,
            head: head.clone(),
            digest: digest(details),
        }
    }
}

/// What orange did about a pull request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reaction {
    /// It ran the failed checks again.
    Rerun,
    /// It took a transition of the workflow.
    Transition,
    /// It told the user.
    Report,
}

/// What the workflow offers for a concern in the current status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offer {
    /// A transition to a status in which an agent works.
    Round,
    /// A transition to another status.
    Move,
    /// Transitions whose guards or gates do not hold.
    Closed,
}

/// What to do about a concern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextReaction {
    Rerun,
    Transition,
    Report(ReportReason),
    /// The user already knows.
    Nothing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportReason {
    /// All rounds are used up.
    NoRoundsLeft,
    /// An agent dealt with it, and nothing has changed.
    Unchanged,
}

/// What has been done about a pull request so far.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, schemars::JsonSchema, Deserialize,
)]
pub struct ReactionRecord {
    /// What a transition answered.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    answered: BTreeSet<Fingerprint>,
    /// What was reported to the user.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    reported: BTreeSet<Fingerprint>,
    /// Commits whose failed checks were run again.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    reruns: BTreeSet<CommitId>,
    /// The file with the feedback that the last transition was about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    feedback_file: Option<String>,
}

impl ReactionRecord {
    pub fn is_empty(&self) -> bool {
        *self == ReactionRecord::default()
    }

    /// The file that `{feedback_file}` stands for in a prompt.
    pub fn feedback_file(&self) -> Option<&str> {
        self.feedback_file.as_deref()
    }

    pub fn is_answered(&self, fingerprint: &Fingerprint) -> bool {
        self.answered.contains(fingerprint)
    }

    pub fn is_reported(&self, fingerprint: &Fingerprint) -> bool {
        self.reported.contains(fingerprint)
    }

    /// What to do now. Running the checks again uses up no round, so that comes first, once per
    /// head.
    pub fn next(&self, fingerprint: &Fingerprint, can_rerun: bool, offer: Offer) -> NextReaction {
        if can_rerun && !self.reruns.contains(&fingerprint.head) {
            return NextReaction::Rerun;
        }
        let reason = match offer {
            Offer::Closed => ReportReason::NoRoundsLeft,
            Offer::Round if self.answered.contains(fingerprint) => ReportReason::Unchanged,
            Offer::Round | Offer::Move => return NextReaction::Transition,
        };
        if self.is_reported(fingerprint) {
            NextReaction::Nothing
        } else {
            NextReaction::Report(reason)
        }
    }

    pub fn record(&mut self, fingerprint: &Fingerprint, reaction: Reaction, file: Option<&str>) {
        match reaction {
            Reaction::Rerun => {
                self.reruns.insert(fingerprint.head.clone());
            }
            Reaction::Transition => {
                self.answered.insert(fingerprint.clone());
                self.feedback_file = file.map(str::to_owned);
            }
            Reaction::Report => {
                self.reported.insert(fingerprint.clone());
            }
        }
    }

    /// Allows the same reactions again, because the user has decided about the task.
    pub fn forget_answers(&mut self) {
        self.answered.clear();
        self.reported.clear();
    }
}

//! Bounds how often orange reacts to a pull request.
//!
//! The counter is checked before the fingerprint. Otherwise a head that never moves would count as
//! handled for ever, and the user would never learn of it.

use std::collections::{BTreeMap, BTreeSet};

use super::issue::digest;
use super::readiness::Concern;
use crate::names::CommitId;

/// What a reaction answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReactionKind {
    Conflicting,
    Failing,
    Feedback,
}

/// Identifies what a reaction answers: the same fingerprint is reacted to once.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint {
    pub kind: ReactionKind,
    pub head: CommitId,
    pub digest: String,
}

impl Fingerprint {
    /// The fingerprint of a reaction; the details are whatever else makes it a new one, such as
    /// the commit of the base, the names of the checks, or the digests of the points.
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

/// A round that was started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoundState {
    InFlight,
    Ended,
}

/// What has been done about a pull request so far. Only the user resets it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReactionRecord {
    rounds: BTreeMap<Fingerprint, RoundState>,
    round_count: u32,
    /// Heads whose failed checks were run again.
    reruns: BTreeSet<CommitId>,
    /// What was reported to the user, so that it is reported only once.
    reported: BTreeSet<Fingerprint>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReactionLimits {
    /// How many rounds agents get in all.
    pub rounds: u32,
    /// Whether failed checks are run again once per head before an agent gets them.
    pub rerun: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reaction {
    /// Run the failed checks again.
    Rerun(Fingerprint),
    /// Give it to an agent.
    Start(Fingerprint),
    /// Tell the user, who has to take over.
    Report(Fingerprint, ReportReason),
    Nothing(IdleReason),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportReason {
    /// All rounds are used up.
    NoRoundsLeft,
    /// An agent dealt with it, and nothing has changed.
    Unchanged,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdleReason {
    NoConcern,
    InFlight,
    /// The user knows.
    Reported,
}

/// What a concern asks for, if an agent can do anything about it.
pub fn reaction_kind(concern: &Concern) -> Option<ReactionKind> {
    match concern {
        Concern::Conflicting => Some(ReactionKind::Conflicting),
        Concern::Failing(_) => Some(ReactionKind::Failing),
        Concern::Feedback(_) => Some(ReactionKind::Feedback),
        Concern::Merged | Concern::Closed | Concern::Waiting(_) | Concern::Ready => None,
    }
}

impl ReactionRecord {
    pub fn round_count(&self) -> u32 {
        self.round_count
    }

    /// What to do now; `None` is a concern that nothing can be done about, or no concern.
    pub fn react(&self, fingerprint: Option<&Fingerprint>, limits: ReactionLimits) -> Reaction {
        let Some(fingerprint) = fingerprint else {
            return Reaction::Nothing(IdleReason::NoConcern);
        };
        let mut rounds = self.rounds.values();
        if rounds.any(|state| *state == RoundState::InFlight) {
            return Reaction::Nothing(IdleReason::InFlight);
        }
        if self.round_count >= limits.rounds {
            return self.report(fingerprint, ReportReason::NoRoundsLeft);
        }
        if self.rounds.contains_key(fingerprint) {
            return self.report(fingerprint, ReportReason::Unchanged);
        }
        let is_failure = fingerprint.kind == ReactionKind::Failing;
        if is_failure && limits.rerun && !self.reruns.contains(&fingerprint.head) {
            return Reaction::Rerun(fingerprint.clone());
        }
        Reaction::Start(fingerprint.clone())
    }

    fn report(&self, fingerprint: &Fingerprint, reason: ReportReason) -> Reaction {
        if self.reported.contains(fingerprint) {
            Reaction::Nothing(IdleReason::Reported)
        } else {
            Reaction::Report(fingerprint.clone(), reason)
        }
    }

    /// Records a reaction; a start counts before anything else happens.
    pub fn record(&mut self, reaction: &Reaction) {
        match reaction {
            Reaction::Rerun(fingerprint) => {
                self.reruns.insert(fingerprint.head.clone());
            }
            Reaction::Start(fingerprint) => {
                self.round_count = self.round_count.saturating_add(1);
                self.rounds
                    .insert(fingerprint.clone(), RoundState::InFlight);
            }
            Reaction::Report(fingerprint, _) => {
                self.reported.insert(fingerprint.clone());
            }
            Reaction::Nothing(_) => {}
        }
    }

    /// Records that the agent of the round in flight has ended, whatever it achieved.
    pub fn end_round(&mut self) {
        for state in self.rounds.values_mut() {
            *state = RoundState::Ended;
        }
    }

    /// Allows all rounds again; only the user asks for this.
    pub fn reset(&mut self) {
        *self = ReactionRecord::default();
    }
}

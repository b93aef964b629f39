//! The lease: how long agents may run without an answer.

use serde::{Deserialize, Serialize};

use crate::time::{Period, Timestamp};

/// The periods of a runner's lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct LeaseTerms {
    /// How much earlier than the server gives up the runner stops: the time it has to freeze its
    /// agents, and the least that an effect has to finish.
    pub margin: Period,
    /// After how long frozen agents are killed.
    pub kill_after: Period,
}

impl Default for LeaseTerms {
    fn default() -> Self {
        Self {
            margin: Period::seconds(30),
            kill_after: Period::seconds(12 * 60 * 60),
        }
    }
}

/// A lease counts from when the last acknowledged beat was *sent*: the server counts from when it
/// received it, which is later.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Lease {
    terms: LeaseTerms,
    granted: Option<Grant>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Grant {
    sent: Timestamp,
    lost_after: Period,
}

/// What agents may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    Running,
    /// Freeze them: another runner may get their task soon. They continue after the next
    /// acknowledged beat.
    Frozen,
    /// Kill them: nothing has been heard for too long.
    Expired,
}

impl Lease {
    pub fn new(terms: LeaseTerms) -> Self {
        Self {
            terms,
            granted: None,
        }
    }

    /// Answers may arrive out of order: only a later beat extends the lease.
    pub fn extend(&mut self, sent: Timestamp, lost_after: Period) {
        if self.granted.is_none_or(|it| it.sent <= sent) {
            self.granted = Some(Grant { sent, lost_after });
        }
    }

    pub fn end(&mut self) {
        self.granted = None;
    }

    pub fn phase(&self, now: Timestamp) -> Phase {
        let Some(granted) = self.granted else {
            return Phase::Frozen;
        };
        let silence = now - granted.sent;
        // A clock that went back began anew, so its numbers mean nothing.
        if now < granted.sent {
            Phase::Frozen
        } else if silence < granted.lost_after - self.terms.margin {
            Phase::Running
        } else if silence < self.terms.kill_after {
            Phase::Frozen
        } else {
            Phase::Expired
        }
    }

    /// When running agents must be frozen, unless another beat is acknowledged before.
    pub fn freeze_at(&self) -> Option<Timestamp> {
        let granted = self.granted?;
        Some(granted.sent + (granted.lost_after - self.terms.margin))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Timestamp {
        Timestamp::default() + Period::seconds(seconds)
    }

    fn granted(sent: u64) -> Lease {
        let mut lease = Lease::new(LeaseTerms::default());
        lease.extend(at(sent), Period::seconds(90));
        lease
    }

    #[test]
    fn agents_freeze_thirty_seconds_early_and_die_after_twelve_hours() {
        let lease = granted(1000);
        assert_eq!(lease.freeze_at(), Some(at(1060)));
        assert_eq!(lease.phase(at(1000)), Phase::Running);
        assert_eq!(lease.phase(Timestamp(1_059_999)), Phase::Running);
        assert_eq!(lease.phase(at(1060)), Phase::Frozen);
        assert_eq!(lease.phase(at(1000 + 12 * 3600 - 1)), Phase::Frozen);
        assert_eq!(lease.phase(at(1000 + 12 * 3600)), Phase::Expired);
    }

    #[test]
    fn a_late_answer_to_an_older_beat_shortens_nothing() {
        let mut lease = granted(1030);
        lease.extend(at(1000), Period::seconds(90));
        assert_eq!(lease.freeze_at(), Some(at(1090)));
    }

    #[test]
    fn without_a_grant_nothing_runs() {
        let mut lease = Lease::new(LeaseTerms::default());
        assert_eq!(lease.phase(at(0)), Phase::Frozen);
        assert_eq!(lease.freeze_at(), None);
        lease.extend(at(1000), Period::seconds(30));
        assert_eq!(
            lease.phase(at(1000)),
            Phase::Frozen,
            "the margin is all of it"
        );
        assert_eq!(
            granted(1000).phase(at(999)),
            Phase::Frozen,
            "the clock went back"
        );
    }
}

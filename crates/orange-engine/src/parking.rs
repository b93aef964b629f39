//! Harnesses on which no agents are started, and until when.

use std::fmt;

use serde::Serialize;

use crate::evidence::Evidence;
use crate::names::HarnessName;
use crate::time::Timestamp;

/// A harness on which nothing is started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Parking {
    /// The harness.
    pub harness: HarnessName,
    /// The reason.
    pub reason: Reason,
    /// When it was parked.
    pub since: Timestamp,
    /// When it is unparked; absent if the user has to unpark it.
    pub until: Option<Timestamp>,
    /// The line of an agent's output that says why, if there is one.
    pub output_line: Option<String>,
}

/// Why nothing is started on a harness.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// It has no quota left.
    Quota,
    /// It is not logged in.
    Login,
}

impl Reason {
    pub const ALL: [Reason; 2] = [Reason::Quota, Reason::Login];

    pub fn as_str(self) -> &'static str {
        match self {
            Reason::Quota => "quota",
            Reason::Login => "login",
        }
    }
}

impl Parking {
    /// The parking that an agent's death causes, if any.
    pub fn from_evidence(
        harness: &HarnessName,
        evidence: &Evidence,
        output_line: Option<&String>,
        at: Timestamp,
    ) -> Option<Parking> {
        let (reason, until) = match evidence {
            // Without a time when quota is back, only the user can unpark the harness.
            Evidence::Quota { until } => (Reason::Quota, *until),
            Evidence::Login => (Reason::Login, None),
            _ => return None,
        };
        Some(Parking {
            harness: harness.clone(),
            reason,
            since: at,
            until,
            output_line: output_line.cloned(),
        })
    }

    /// Whether the harness is still parked at `now`.
    pub fn is_active(&self, now: Timestamp) -> bool {
        self.until.is_none_or(|until| until > now)
    }

    /// Combines this parking with that of a later death on the same harness. The parking that lasts
    /// longer counts; one that only the user can end lasts longest.
    #[must_use]
    pub fn combine(self, later: Parking) -> Parking {
        let is_longer = match (self.until, later.until) {
            (None, _) => false,
            (Some(_), None) => true,
            (Some(this), Some(later)) => later > this,
        };
        if is_longer {
            Parking {
                since: self.since,
                ..later
            }
        } else {
            self
        }
    }
}

impl fmt::Display for Parking {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let harness = &self.harness;
        match (self.reason, self.until) {
            (Reason::Login, _) => write!(formatter, "harness `{harness}` is not logged in"),
            (Reason::Quota, Some(until)) => {
                write!(
                    formatter,
                    "harness `{harness}` has no quota left until {until}"
                )
            }
            (Reason::Quota, None) => write!(formatter, "harness `{harness}` has no quota left"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millis(seconds * 1000)
    }

    fn parked(until: Option<i64>, since: i64) -> Parking {
        let evidence = match until {
            Some(until) => Evidence::Quota {
                until: Some(at(until)),
            },
            None => Evidence::Login,
        };
        let harness = HarnessName::new("a");
        Parking::from_evidence(&harness, &evidence, None, at(since)).unwrap()
    }

    #[test]
    fn only_failures_of_the_harness_park_it() {
        let harness = HarnessName::new("a");
        for (evidence, parks) in [
            (Evidence::Quota { until: None }, true),
            (Evidence::Login, true),
            (Evidence::Overloaded, false),
            (Evidence::OutOfMemory, false),
            (Evidence::MissingProgram, false),
            (Evidence::Environment, false),
            (Evidence::Exit { code: 1 }, false),
        ] {
            let parked = Parking::from_evidence(&harness, &evidence, None, at(0));
            assert_eq!(parked.is_some(), parks, "{evidence}");
            assert_eq!(evidence.is_harness_failure(), parks);
        }
    }

    #[test]
    fn a_second_death_only_extends_the_parking() {
        let lasts = |one, two| parked(one, 1).combine(parked(two, 2)).until;
        assert_eq!(lasts(Some(10), Some(20)), Some(at(20)));
        assert_eq!(lasts(Some(20), Some(10)), Some(at(20)));
        assert_eq!(lasts(Some(20), None), None);
        assert_eq!(lasts(None, Some(20)), None);
        assert_eq!(
            parked(Some(10), 1).combine(parked(Some(20), 2)).since,
            at(1)
        );
        assert!(parked(Some(10), 1).is_active(at(9)));
        assert!(!parked(Some(10), 1).is_active(at(10)));
        assert!(parked(None, 1).is_active(at(1_000_000)));
    }
}

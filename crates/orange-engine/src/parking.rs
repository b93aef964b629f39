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
    /// Its service is overloaded.
    Overloaded,
    /// Its service cannot be reached.
    Network,
}

/// How long a harness is parked when its service fails for the first time, in milliseconds. Each
/// further time it is parked twice as long.
const FIRST_PAUSE: i64 = 60_000;

/// The longest such pause, in milliseconds.
const LONGEST_PAUSE: i64 = 900_000;

/// How long a wait must be for another harness to take over, in milliseconds.
const LONG_WAIT: i64 = 300_000;

impl Reason {
    pub const ALL: [Reason; 4] = [
        Reason::Quota,
        Reason::Login,
        Reason::Overloaded,
        Reason::Network,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Reason::Quota => "quota",
            Reason::Login => "login",
            Reason::Overloaded => "overloaded",
            Reason::Network => "network",
        }
    }
}

impl Parking {
    /// The parking that an agent's death causes, if any. `previous` is the last parking of the
    /// harness, which may have ended.
    pub fn from_evidence(
        harness: &HarnessName,
        evidence: &Evidence,
        output_line: Option<&String>,
        at: Timestamp,
        previous: Option<&Parking>,
    ) -> Option<Parking> {
        let pause = |reason| {
            let pause = pause(previous.filter(|it| it.reason == reason), at);
            let until = at.millis().saturating_add(pause);
            (reason, Some(Timestamp::from_millis(until)))
        };
        let (reason, until) = match evidence {
            // Without a time when quota is back, only the user can unpark the harness.
            Evidence::Quota { until } => (Reason::Quota, *until),
            Evidence::Login => (Reason::Login, None),
            Evidence::Overloaded => pause(Reason::Overloaded),
            Evidence::Network => pause(Reason::Network),
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

    /// Whether it is too short to tell the user about it: a service that fails usually works again
    /// within minutes.
    pub fn is_brief(&self) -> bool {
        let length = |until: Timestamp| until.millis().saturating_sub(self.since.millis());
        let is_temporary = matches!(self.reason, Reason::Overloaded | Reason::Network);
        is_temporary
            && self
                .until
                .is_some_and(|until| length(until) < LONGEST_PAUSE)
    }

    /// Whether it lasts long enough for another harness to take over.
    pub fn is_long(&self) -> bool {
        let length = |until: Timestamp| until.millis().saturating_sub(self.since.millis());
        self.until.is_none_or(|until| length(until) >= LONG_WAIT)
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

/// How long to leave a service alone that failed at `at`. Only a failure soon after the end of the
/// pause before makes the pause longer: agents that ran side by side fail together.
fn pause(previous: Option<&Parking>, at: Timestamp) -> i64 {
    let Some((previous, until)) = previous.and_then(|it| Some((it, it.until?))) else {
        return FIRST_PAUSE;
    };
    let length = until.millis().saturating_sub(previous.since.millis());
    let since_end = at.millis().saturating_sub(until.millis());
    if (0..=LONGEST_PAUSE).contains(&since_end) {
        length.saturating_mul(2).clamp(FIRST_PAUSE, LONGEST_PAUSE)
    } else {
        FIRST_PAUSE
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
            (Reason::Overloaded, until) => {
                write!(
                    formatter,
                    "the service of harness `{harness}` is overloaded"
                )?;
                write_retry(formatter, until)
            }
            (Reason::Network, until) => {
                write!(
                    formatter,
                    "the service of harness `{harness}` cannot be reached"
                )?;
                write_retry(formatter, until)
            }
        }
    }
}

fn write_retry(formatter: &mut fmt::Formatter<'_>, until: Option<Timestamp>) -> fmt::Result {
    match until {
        Some(until) => write!(formatter, "; the next try is at {until}"),
        None => Ok(()),
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
        Parking::from_evidence(&harness, &evidence, None, at(since), None).unwrap()
    }

    #[test]
    fn only_failures_of_the_harness_park_it() {
        let harness = HarnessName::new("a");
        for (evidence, parks) in [
            (Evidence::Quota { until: None }, true),
            (Evidence::Login, true),
            (Evidence::Overloaded, true),
            (Evidence::Network, true),
            (Evidence::OutOfMemory, false),
            (Evidence::MissingProgram, false),
            (Evidence::Environment, false),
            (Evidence::Exit { code: 1 }, false),
        ] {
            let parked = Parking::from_evidence(&harness, &evidence, None, at(0), None);
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

    #[test]
    fn a_service_that_keeps_failing_is_left_alone_for_longer() {
        let harness = HarnessName::new("a");
        let fail = |previous: Option<&Parking>, second| {
            let evidence = Evidence::Network;
            Parking::from_evidence(&harness, &evidence, None, at(second), previous).unwrap()
        };
        let first = fail(None, 0);
        assert_eq!(first.until, Some(at(60)));
        // A second agent that failed at the same time.
        assert_eq!(fail(Some(&first), 1).until, Some(at(61)));
        let second = fail(Some(&first), 70);
        assert_eq!(second.until, Some(at(190)));
        let mut last = second;
        for _ in 0..10 {
            let next = last.until.unwrap().millis() / 1000 + 1;
            last = fail(Some(&last), next);
        }
        let length = last.until.unwrap().millis() - last.since.millis();
        assert_eq!(length, LONGEST_PAUSE);
        // It worked for an hour.
        let later = last.until.unwrap().millis() / 1000 + 3600;
        assert_eq!(fail(Some(&last), later).until, Some(at(later + 60)));
    }
}

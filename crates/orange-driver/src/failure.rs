//! Why an effect did not come about.

use std::time::Duration;

use orange_config::clock;
use orange_engine::parking::Parking;
use orange_engine::time::Timestamp;

/// Why an effect did not come about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) error: String,
    /// Whether trying again cannot help.
    pub(crate) is_for_good: bool,
    /// When to try again, if it has only to wait and nothing went wrong.
    pub(crate) put_off_until: Option<Timestamp>,
    /// Whether somebody else has to go out of the way, which may take them a while.
    pub(crate) is_obstacle: bool,
}

/// How often is looked whether a person has ended what only a person can end.
const LOOKS_AGAIN: Duration = Duration::from_mins(1);

impl Failure {
    /// Trying again may help.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "`map_err` passes what failed by value"
    )]
    pub(crate) fn passing(error: impl ToString) -> Failure {
        Failure {
            error: error.to_string(),
            is_for_good: false,
            put_off_until: None,
            is_obstacle: false,
        }
    }

    /// Nothing is started on a harness for now.
    pub(crate) fn parked(parking: &Parking) -> Failure {
        let until = parking.until.unwrap_or(clock::after(LOOKS_AGAIN));
        Failure {
            put_off_until: Some(until),
            ..Failure::passing(parking)
        }
    }

    /// Trying again helps once somebody is out of the way.
    pub(crate) fn obstacle(what: impl ToString) -> Failure {
        Failure {
            is_obstacle: true,
            ..Failure::passing(what)
        }
    }

    /// Trying again does not help.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "`map_err` passes what failed by value"
    )]
    pub(crate) fn for_good(error: impl ToString) -> Failure {
        Failure {
            error: error.to_string(),
            is_for_good: true,
            put_off_until: None,
            is_obstacle: false,
        }
    }
}

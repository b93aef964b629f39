//! Why an effect failed.

use std::time::Duration;

use orange_config::clock;
use orange_engine::parking::Parking;
use orange_engine::schedule::Wait;
use orange_engine::time::Timestamp;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) error: String,
    /// Whether a retry cannot help.
    pub(crate) is_permanent: bool,
    /// When to retry, if the effect only has to wait and nothing went wrong.
    pub(crate) retry_at: Option<Timestamp>,
    /// Whether the user or another process has to remove an obstacle first, which may take a while.
    pub(crate) is_obstacle: bool,
    /// What the task's agent needs to know to remove the cause, if the agent can remove it.
    pub(crate) feedback: Option<String>,
}

/// How often to retry a start on a harness that stays parked until the user unparks it.
const PARKED_RETRY_INTERVAL: Duration = Duration::from_mins(1);

/// How often to check whether a budget leaves room for a start again.
const BUDGET_RETRY_INTERVAL: Duration = Duration::from_secs(30);

impl Failure {
    /// A retry may help.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "`map_err` passes what failed by value"
    )]
    pub(crate) fn temporary(error: impl ToString) -> Failure {
        Failure {
            error: error.to_string(),
            is_permanent: false,
            retry_at: None,
            is_obstacle: false,
            feedback: None,
        }
    }

    /// A start has to wait, because its harness is parked.
    pub(crate) fn parked(parking: &Parking) -> Failure {
        let until = parking.until.unwrap_or(clock::after(PARKED_RETRY_INTERVAL));
        Failure {
            retry_at: Some(until),
            ..Failure::temporary(parking)
        }
    }

    /// A start has to wait, because a budget is used up or cannot be checked.
    pub(crate) fn over_budget(wait: &Wait) -> Failure {
        Failure {
            retry_at: Some(clock::after(BUDGET_RETRY_INTERVAL)),
            ..Failure::temporary(wait)
        }
    }

    /// A retry helps once the user or another process has removed the obstacle.
    pub(crate) fn obstacle(what: impl ToString) -> Failure {
        Failure {
            is_obstacle: true,
            ..Failure::temporary(what)
        }
    }

    /// A retry does not help.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "`map_err` passes what failed by value"
    )]
    pub(crate) fn permanent(error: impl ToString) -> Failure {
        Failure {
            error: error.to_string(),
            is_permanent: true,
            retry_at: None,
            is_obstacle: false,
            feedback: None,
        }
    }
}

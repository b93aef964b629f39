//! Instants and periods as numbers; the caller owns the clock.

use std::ops::{Add, Sub};

use serde::{Deserialize, Serialize};

/// Milliseconds on one machine's clock.
///
/// A runner uses the time since its boot, sleep included; the server uses its database's clock.
/// The two are never compared.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Timestamp(pub u64);

/// A length of time in milliseconds.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Period(pub u64);

impl Period {
    #[must_use]
    pub const fn seconds(seconds: u64) -> Self {
        Self(seconds * 1000)
    }
}

impl Add<Period> for Timestamp {
    type Output = Self;

    fn add(self, period: Period) -> Self {
        Self(self.0.saturating_add(period.0))
    }
}

impl Sub for Timestamp {
    type Output = Period;

    /// Zero when the other instant is later.
    fn sub(self, earlier: Self) -> Period {
        Period(self.0.saturating_sub(earlier.0))
    }
}

impl Sub for Period {
    type Output = Self;

    /// Zero when the other period is longer.
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_never_wraps() {
        assert_eq!(Timestamp(5) - Timestamp(9), Period(0));
        assert_eq!(Period(5) - Period(9), Period(0));
        assert_eq!(Timestamp(u64::MAX) + Period(1), Timestamp(u64::MAX));
        assert_eq!(Timestamp(1) + Period::seconds(2), Timestamp(2001));
    }
}

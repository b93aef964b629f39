//! An instant as data: the engine has no clock.

use std::fmt;

use serde::{Deserialize, Deserializer, de};

const MILLIS_PER_DAY: i64 = 86_400_000;

/// Milliseconds since the Unix epoch; written as RFC 3339 in UTC.
///
/// Text without an offset is rejected: guessing a zone once made a task look 56 years old.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

/// Why a text is not an instant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a timestamp: write it like `2026-01-31T09:30:00.000Z`, with an offset")]
pub struct TimestampError(String);

impl Timestamp {
    /// The instant this many milliseconds after the epoch, clamped to the years 0 to 9999.
    pub fn from_millis(millis: i64) -> Timestamp {
        Timestamp(millis.clamp(-62_167_219_200_000, 253_402_300_799_999))
    }

    /// Milliseconds since the epoch.
    pub fn millis(self) -> i64 {
        self.0
    }

    /// Whole seconds from `earlier` to this instant; zero if it is not later.
    pub fn seconds_since(self, earlier: Timestamp) -> u64 {
        u64::try_from(self.0.saturating_sub(earlier.0) / 1000).unwrap_or(0)
    }

    /// Reads `YYYY-MM-DDTHH:MM:SS[.fraction](Z|±HH:MM)`.
    pub fn parse(text: &str) -> Result<Timestamp, TimestampError> {
        read(text).ok_or_else(|| TimestampError(text.chars().take(60).collect()))
    }
}

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// The age in the largest unit that fits, such as `5m`; at most four characters below 1000 days.
pub fn age(now: Timestamp, then: Timestamp) -> String {
    let seconds = now.seconds_since(then);
    let (count, unit) = match seconds {
        0..MINUTE => (seconds, 's'),
        MINUTE..HOUR => (seconds / MINUTE, 'm'),
        HOUR..DAY => (seconds / HOUR, 'h'),
        _ => (seconds / DAY, 'd'),
    };
    format!("{count}{unit}")
}

fn read(text: &str) -> Option<Timestamp> {
    let bytes = text.as_bytes();
    let number = |range: std::ops::Range<usize>| -> Option<i64> {
        let digits = text.get(range)?;
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        digits.parse().ok()
    };
    let mark = |at: usize, wanted: &[u8]| bytes.get(at).is_some_and(|byte| wanted.contains(byte));
    if !(mark(4, b"-") && mark(7, b"-") && mark(10, b"Tt ") && mark(13, b":") && mark(16, b":")) {
        return None;
    }
    let (year, month, day) = (number(0..4)?, number(5..7)?, number(8..10)?);
    let (hour, minute, second) = (number(11..13)?, number(14..16)?, number(17..19)?);
    if !(1..=12).contains(&month) || day < 1 || day > days_in_month(year, month) {
        return None;
    }
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let mut at = 19;
    let mut fraction = 0;
    if mark(at, b".") {
        let digits = text
            .get(at + 1..)?
            .bytes()
            .take_while(u8::is_ascii_digit)
            .count();
        if digits == 0 {
            return None;
        }
        let kept = digits.min(3);
        fraction = number(at + 1..at + 1 + kept)? * [100, 10, 1][kept - 1];
        at += 1 + digits;
    }
    let offset = match text.get(at..)? {
        "Z" | "z" => 0,
        _ if text.len() == at + 6 && mark(at, b"+-") && mark(at + 3, b":") => {
            let (hours, minutes) = (number(at + 1..at + 3)?, number(at + 4..at + 6)?);
            if hours > 23 || minutes > 59 {
                return None;
            }
            let size = (hours * 60 + minutes) * 60_000;
            if mark(at, b"-") { -size } else { size }
        }
        _ => return None,
    };
    let day_millis = ((hour * 60 + minute) * 60 + second) * 1000 + fraction;
    let millis = days_from_civil(year, month, day) * MILLIS_PER_DAY + day_millis - offset;
    Some(Timestamp::from_millis(millis))
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if is_leap(year) => 29,
        2 => 28,
        _ => 31,
    }
}

/// The calendar, for callers that read a date without a year.
pub(crate) mod civil {
    /// The days from the epoch to a date.
    pub(crate) fn to_days(year: i64, month: i64, day: i64) -> i64 {
        super::days_from_civil(year, month, day)
    }

    /// Year, month and day, given the days since the epoch.
    pub(crate) fn from_days(days: i64) -> (i64, i64, i64) {
        super::civil_from_days(days)
    }
}

/// Days since the epoch, counted in years that begin in March so that a leap day comes last.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let month_from_march = (month + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

impl fmt::Display for Timestamp {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = civil_from_days(self.0.div_euclid(MILLIS_PER_DAY));
        let rest = self.0.rem_euclid(MILLIS_PER_DAY);
        let (hour, minute) = (rest / 3_600_000, rest / 60_000 % 60);
        let (second, millis) = (rest / 1000 % 60, rest % 1000);
        write!(
            formatter,
            "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z"
        )
    }
}

crate::names::written_as_text!(Timestamp);

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Timestamp::parse(&text).map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_unit_is_shown() {
        let now = Timestamp::from_millis(1_000_000_000_000);
        let before = |seconds: i64| Timestamp::from_millis(now.millis() - seconds * 1000);
        for (seconds, expected) in [
            (0, "0s"),
            (59, "59s"),
            (60, "1m"),
            (3599, "59m"),
            (3600, "1h"),
            (86_399, "23h"),
            (86_400, "1d"),
            (400 * 86_400, "400d"),
            (-5, "0s"),
        ] {
            assert_eq!(age(now, before(seconds)), expected);
        }
    }
}

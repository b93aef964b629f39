//! Finds in a text when a quota will be available again.

use crate::time::{Timestamp, civil};

/// How a text says when quota is back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResetFormat {
    /// `in 3h 20m`, `after 20 seconds`, `in 2 days and 3 hours`.
    Relative,
    /// `resets 3pm`, `at 15:30`, `until Oct 6, 1pm`, by the machine's clock unless it says `UTC`.
    Clock,
    /// Seconds or milliseconds since 1970.
    Epoch,
    /// `2026-01-31T09:30:00Z`.
    Iso,
}

impl ResetFormat {
    pub const ALL: &'static [ResetFormat] = &[
        ResetFormat::Epoch,
        ResetFormat::Iso,
        ResetFormat::Relative,
        ResetFormat::Clock,
    ];

    /// Its name in a harness definition.
    pub fn as_str(self) -> &'static str {
        match self {
            ResetFormat::Relative => "relative",
            ResetFormat::Clock => "clock",
            ResetFormat::Epoch => "epoch",
            ResetFormat::Iso => "iso",
        }
    }
}

const SECOND: i64 = 1000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// No quota takes longer to reset, so a later time was misread.
const MAX_RESET_MILLIS: i64 = 32 * DAY;

/// How many words before a time of day are searched for a lead word, such as `resets`, and for a
/// date.
const WORDS_BEFORE: usize = 6;

const UNITS: &[(&[&str], i64)] = &[
    (&["ms", "milliseconds"], 1),
    (&["s", "sec", "secs", "second", "seconds"], SECOND),
    (&["m", "min", "mins", "minute", "minutes"], MINUTE),
    (&["h", "hr", "hrs", "hour", "hours"], HOUR),
    (&["d", "day", "days"], DAY),
    (&["w", "week", "weeks"], 7 * DAY),
];

const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];

/// When quota is back, if a lowercase text says so in one of these formats.
pub(super) fn find_reset(
    text: &str,
    formats: &[ResetFormat],
    now: Timestamp,
    offset: Option<i32>,
) -> Option<Timestamp> {
    let is_separator = |it: char| it.is_whitespace() || "()[]{}<>|│\"'`,;·∙•=!?".contains(it);
    let words: Vec<&str> = text
        .split(is_separator)
        .map(|word| word.trim_matches(['.', ':']))
        .filter(|word| !word.is_empty())
        .collect();
    let is_sane = |then: &Timestamp| {
        let left = then.millis().saturating_sub(now.millis());
        (1..=MAX_RESET_MILLIS).contains(&left)
    };
    let read = |format: &ResetFormat| match format {
        ResetFormat::Epoch => words.iter().find_map(|word| epoch(word)),
        ResetFormat::Iso => words.iter().find_map(|word| iso(word)),
        ResetFormat::Relative => relative(&words, now),
        ResetFormat::Clock => clock(&words, now, offset),
    };
    formats
        .iter()
        .find_map(|format| read(format).filter(&is_sane))
}

fn epoch(word: &str) -> Option<Timestamp> {
    let number: i64 = word.parse().ok()?;
    match word.len() {
        10 => Some(Timestamp::from_millis(number.saturating_mul(SECOND))),
        13 => Some(Timestamp::from_millis(number)),
        _ => None,
    }
}

fn iso(word: &str) -> Option<Timestamp> {
    Timestamp::parse(word).ok()
}

fn relative(words: &[&str], now: Timestamp) -> Option<Timestamp> {
    let starts = words.iter().enumerate();
    let mut starts = starts.filter(|(_, word)| matches!(**word, "in" | "after"));
    let left = starts.find_map(|(at, _)| span(&words[at + 1..]))?;
    Some(Timestamp::from_millis(now.millis().saturating_add(left)))
}

/// The duration at the start of the words, in milliseconds.
fn span(words: &[&str]) -> Option<i64> {
    let mut sum: Option<i64> = None;
    let mut words = words.iter().peekable();
    while let Some(word) = words.next() {
        if *word == "and" && sum.is_some() {
            continue;
        }
        // `3h20m` is two durations without a space.
        let mut rest = *word;
        while !rest.is_empty() {
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            let (number, unit) = rest.split_at(digits);
            let Ok(number) = number.parse::<i64>() else {
                return sum;
            };
            let letters = unit.bytes().take_while(u8::is_ascii_alphabetic).count();
            let (unit, after) = unit.split_at(letters);
            let unit = match unit {
                "" => words.next_if(|next| factor(next).is_some())?,
                unit => unit,
            };
            let Some(factor) = factor(unit) else {
                return sum;
            };
            let part = number.saturating_mul(factor);
            sum = Some(sum.unwrap_or(0).saturating_add(part));
            rest = after;
        }
    }
    sum
}

fn factor(unit: &str) -> Option<i64> {
    let found = UNITS.iter().find(|(names, _)| names.contains(&unit));
    found.map(|(_, factor)| *factor)
}

/// The next instant at which the clock shows the first time of day that follows a lead word.
fn clock(words: &[&str], now: Timestamp, offset: Option<i32>) -> Option<Timestamp> {
    let lead = |word: &&str| {
        matches!(
            *word,
            "resets" | "reset" | "at" | "until" | "after" | "again" | "available"
        )
    };
    for at in 0..words.len() {
        let before = &words[at.saturating_sub(WORDS_BEFORE)..at];
        let Some((time, length)) = time_of_day(&words[at..]).filter(|_| before.iter().any(lead))
        else {
            continue;
        };
        let zone = words.get(at + length);
        let is_utc = zone.is_some_and(|zone| matches!(*zone, "utc" | "gmt" | "z"));
        let offset = if is_utc { 0 } else { i64::from(offset?) };
        let local = now.millis().saturating_add(offset * MINUTE);
        let today = local.div_euclid(DAY);
        let then = match date(before, local) {
            Some(day) => day * DAY + time,
            None if today * DAY + time > local => today * DAY + time,
            None => (today + 1) * DAY + time,
        };
        return Some(Timestamp::from_millis(then - offset * MINUTE));
    }
    None
}

/// The time of day at the start of the words, in milliseconds, and how many words it takes.
fn time_of_day(words: &[&str]) -> Option<(i64, usize)> {
    let first = words.first()?;
    let (number, half, length) = match (first.strip_suffix("am"), first.strip_suffix("pm")) {
        (Some(number), _) => (number, Some(0), 1),
        (_, Some(number)) => (number, Some(12), 1),
        _ => match words.get(1) {
            Some(&"am") => (*first, Some(0), 2),
            Some(&"pm") => (*first, Some(12), 2),
            _ => (*first, None, 1),
        },
    };
    let (hours, minutes) = match number.split_once(':') {
        Some((hours, minutes)) if minutes.len() == 2 => (hours, minutes),
        // A bare number is an hour only with am or pm.
        None if half.is_some() => (number, "0"),
        _ => return None,
    };
    let (hours, minutes): (i64, i64) = (hours.parse().ok()?, minutes.parse().ok()?);
    let hours = match half {
        Some(half) if (1..=12).contains(&hours) => hours % 12 + half,
        None if (0..24).contains(&hours) => hours,
        _ => return None,
    };
    (0..60)
        .contains(&minutes)
        .then_some((hours * HOUR + minutes * MINUTE, length))
}

/// Finds a month and a day in the words before a time of day, and returns their next occurrence in
/// days since the epoch.
fn date(before: &[&str], local: i64) -> Option<i64> {
    let month_of = |word: &str| {
        let start = word.get(..3)?;
        let found = MONTHS.iter().position(|month| *month == start)?;
        i64::try_from(found + 1).ok()
    };
    let at = before.iter().rposition(|word| month_of(word).is_some())?;
    let month = month_of(before.get(at)?)?;
    let day_of = |word: &&str| -> Option<i64> {
        let digits = word.trim_end_matches(|it: char| it.is_ascii_alphabetic());
        digits.parse().ok().filter(|day| (1..=31).contains(day))
    };
    let day = before.get(at + 1).and_then(day_of);
    let day = day.or_else(|| at.checked_sub(1).and_then(|at| day_of(&before[at])))?;
    let today = local.div_euclid(DAY);
    let (year, ..) = civil::from_days(today);
    let this_year = civil::to_days(year, month, day);
    Some(if this_year >= today {
        this_year
    } else {
        civil::to_days(year + 1, month, day)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_is_read() {
        let now = Timestamp::parse("2026-01-31T09:30:00Z").unwrap();
        // With a clock that is an hour ahead of UTC.
        let table: &[(&str, Option<&str>)] = &[
            ("resets in 2 seconds", Some("2026-01-31T09:30:02Z")),
            ("resets in 3h 20m", Some("2026-01-31T12:50:00Z")),
            ("resets in 3h20m", Some("2026-01-31T12:50:00Z")),
            (
                "try again in 2 days 3 hours 5 minutes.",
                Some("2026-02-02T12:35:00Z"),
            ),
            ("retry after 20s", Some("2026-01-31T09:30:20Z")),
            ("in 1 hour and 5 min, or", Some("2026-01-31T10:35:00Z")),
            ("limit reached ∙ resets 3pm", Some("2026-01-31T14:00:00Z")),
            (
                "resets 9:15am (europe/berlin)",
                Some("2026-02-01T08:15:00Z"),
            ),
            ("resets at 12am", Some("2026-01-31T23:00:00Z")),
            ("resets 12 pm", Some("2026-01-31T11:00:00Z")),
            ("available again at 15:30 utc", Some("2026-01-31T15:30:00Z")),
            ("resets feb 6, 1pm", Some("2026-02-06T12:00:00Z")),
            (
                "try again at feb 20th, 2026 3:05 pm",
                Some("2026-02-20T14:05:00Z"),
            ),
            ("limit reached|1769860800", Some("2026-01-31T12:00:00Z")),
            ("\"resets_at\":1769860800000", Some("2026-01-31T12:00:00Z")),
            ("resets_at: 1769860800000", Some("2026-01-31T12:00:00Z")),
            (
                "until 2026-01-31t13:00:00+01:00.",
                Some("2026-01-31T12:00:00Z"),
            ),
            // Texts without an instant, or with an absurd one.
            ("usage limit reached", None),
            ("in a moment", None),
            ("in 5 files", None),
            ("in 400 days", None),
            ("15:30:22 error", None),
            ("10:15 the limit", None),
            ("resets 25:00", None),
            ("resets 13pm", None),
            ("in 99999999999999999999h", None),
            ("resets in", None),
            ("", None),
        ];
        for (text, expected) in table {
            let found = find_reset(text, ResetFormat::ALL, now, Some(60));
            let expected = expected.map(|it| Timestamp::parse(it).unwrap());
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn an_undeclared_format_is_not_read() {
        let now = Timestamp::parse("2026-01-31T09:30:00Z").unwrap();
        let read = |forms: &[ResetFormat], offset| find_reset("resets 3pm", forms, now, offset);
        assert_eq!(
            read(
                &[ResetFormat::Relative, ResetFormat::Epoch, ResetFormat::Iso],
                Some(0)
            ),
            None
        );
        assert!(read(&[ResetFormat::Clock], Some(0)).is_some());
        assert_eq!(
            read(&[ResetFormat::Clock], None),
            None,
            "whose clock is not known"
        );
    }
}

//! When a job is due: five cron fields in a time zone.

use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};
use jiff::tz::TimeZone;
use jiff::{Timestamp as Instant, Zoned};
use orange_engine::time::Timestamp;

/// A schedule that has at least two more instants.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// The fields, as the user wrote them.
    text: String,
    /// The zone that the user named.
    zone_name: Option<String>,
    cron: Cron,
    zone: TimeZone,
}

/// Why a text is not a schedule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleError {
    #[error("`{text}` is not a schedule: {reason}")]
    Invalid { text: String, reason: String },
    #[error("`{0}` never happens; write a day that exists")]
    Never(String),
    #[error("`{0}` is not a time zone; write one such as `Europe/Berlin` or `UTC`")]
    UnknownZone(String),
}

impl Schedule {
    /// Reads a schedule; without a zone, it is in the zone of this machine.
    pub fn parse(
        text: &str,
        zone: Option<&str>,
        now: Timestamp,
    ) -> Result<Schedule, ScheduleError> {
        let parser = CronParser::builder()
            .seconds(Seconds::Disallowed)
            .year(Year::Disallowed)
            .build();
        let cron = parser.parse(text).map_err(|_| ScheduleError::Invalid {
            text: text.to_owned(),
            reason: explain(text, parser),
        })?;
        let zone_name = zone.map(str::to_owned);
        let zone = match zone {
            None => TimeZone::system(),
            Some(name) => TimeZone::get(name)
                .map_err(|_| ScheduleError::UnknownZone(name.chars().take(60).collect()))?,
        };
        let schedule = Schedule {
            text: text.to_owned(),
            zone_name,
            cron,
            zone,
        };
        // A day such as February 31 is accepted above, and found to be impossible only here.
        let next = schedule.next_after(now);
        match next.and_then(|it| schedule.next_after(it)) {
            Some(_) => Ok(schedule),
            None => Err(ScheduleError::Never(text.to_owned())),
        }
    }

    /// The fields, as the user wrote them.
    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn zone_name(&self) -> Option<&str> {
        self.zone_name.as_deref()
    }

    /// The first instant after this one.
    pub fn next_after(&self, instant: Timestamp) -> Option<Timestamp> {
        let instant = Instant::from_millisecond(instant.millis()).ok()?;
        let next = self.next_zoned(&instant.to_zoned(self.zone.clone()))?;
        Some(Timestamp::from_millis(next.timestamp().as_millisecond()))
    }

    fn next_zoned(&self, after: &Zoned) -> Option<Zoned> {
        self.cron.find_next_occurrence(after, false).ok()
    }

    /// Every instant after one time up to another, in order.
    pub fn between(&self, after: Timestamp, until: Timestamp) -> Vec<Timestamp> {
        let first = self.next_after(after);
        let all = std::iter::successors(first, |it| self.next_after(*it));
        all.take_while(|it| *it <= until).collect()
    }
}

/// The fields and what each may be.
const FIELDS: [(&str, &str); 5] = [
    ("minute", "0 to 59"),
    ("hour", "0 to 23"),
    ("day of the month", "1 to 31"),
    ("month", "1 to 12, or `jan` to `dec`"),
    ("day of the week", "0 to 7, or `mon` to `sun`"),
];

/// Why a text is not a schedule: the number of its fields, or the first wrong one.
fn explain(text: &str, parser: CronParser) -> String {
    let fields: Vec<&str> = text.split_whitespace().collect();
    if text.starts_with('@') {
        return String::from("use `@hourly`, `@daily`, `@weekly`, `@monthly` or `@yearly`");
    }
    if fields.len() != FIELDS.len() {
        let count = match fields.len() {
            1 => String::from("1 field"),
            count => format!("{count} fields"),
        };
        return format!("it has {count}; write five, such as `0 9 * * 1-5`");
    }
    for (index, (name, range)) in FIELDS.iter().enumerate() {
        let mut alone = ["*"; FIELDS.len()];
        alone[index] = fields[index];
        if parser.parse(&alone.join(" ")).is_err() {
            return format!("`{}` is not a {name}: use {range}", fields[index]);
        }
    }
    String::from("its fields do not fit together")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        Timestamp::parse(text).unwrap()
    }

    fn instants(text: &str, zone: &str, after: &str, count: usize) -> Vec<String> {
        let schedule = Schedule::parse(text, Some(zone), at(after)).unwrap();
        let first = schedule.next_after(at(after));
        let all = std::iter::successors(first, |it| schedule.next_after(*it));
        all.take(count).map(|it| it.to_string()).collect()
    }

    #[test]
    fn five_fields_names_lists_and_nicknames_are_read() {
        let after = "2026-11-17T12:00:00Z";
        let cases = [
            ("0 9 * * *", "2026-11-18T09:00:00.000Z"),
            ("*/20 * * * *", "2026-11-17T12:20:00.000Z"),
            ("0 9 * * mon", "2026-11-23T09:00:00.000Z"),
            ("0 9 * * 7", "2026-11-22T09:00:00.000Z"),
            // A day of the month or a day of the week, as in every cron.
            ("0 0 1 * 5", "2026-11-20T00:00:00.000Z"),
            ("@daily", "2026-11-18T00:00:00.000Z"),
            ("0 0 29 2 *", "2028-02-29T00:00:00.000Z"),
        ];
        for (text, wanted) in cases {
            assert_eq!(instants(text, "UTC", after, 1), [wanted], "{text}");
        }
    }

    #[test]
    fn what_is_no_schedule_is_refused_with_the_reason() {
        let parse = |text: &str, zone| {
            let now = at("2026-11-17T12:00:00Z");
            Schedule::parse(text, zone, now).unwrap_err().to_string()
        };
        for text in [
            "",
            "x",
            "0 9 * *",
            "0 0 9 * * *",
            "0 0 9 * * * 2027",
            "60 * * * *",
            "@reboot",
        ] {
            assert!(parse(text, None).contains("is not a schedule"), "{text}");
        }
        assert!(parse("9 * * *", None).contains("it has 4 fields; write five"));
        assert!(parse("60 * * * *", None).contains("`60` is not a minute: use 0 to 59"));
        assert!(parse("0 9 * * x", None).contains("`x` is not a day of the week"));
        assert!(parse("@reboot", None).contains("use `@hourly`"));
        assert!(parse("0 0 31 2 *", None).contains("never happens"));
        assert!(parse("0 9 * * *", Some("Mars/Base")).contains("not a time zone"));
    }

    #[test]
    fn a_skipped_hour_fires_after_it_and_a_repeated_one_once() {
        // Berlin: 02:00 becomes 03:00 on 2026-03-29, and 03:00 becomes 02:00 on 2026-10-25.
        assert_eq!(
            instants("30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", 2),
            ["2026-03-29T01:00:00.000Z", "2026-03-30T00:30:00.000Z"]
        );
        assert_eq!(
            instants("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", 2),
            ["2026-10-25T00:30:00.000Z", "2026-10-26T01:30:00.000Z"]
        );
    }

    #[test]
    fn the_instants_between_two_times_are_all_listed() {
        let now = at("2026-11-17T12:00:00Z");
        let schedule = Schedule::parse("0 * * * *", Some("UTC"), now).unwrap();
        let all = schedule.between(now, at("2026-11-18T12:00:00Z"));
        assert_eq!(all.len(), 24);
        assert_eq!(all[0], at("2026-11-17T13:00:00Z"));
        assert_eq!(schedule.between(now, now), []);
    }
}

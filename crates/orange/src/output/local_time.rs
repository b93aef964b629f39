//! Times for the user: in the local time zone, without milliseconds.

use std::borrow::Cow;
use std::fs;
use std::sync::OnceLock;

use jiff::tz::TimeZone;
use orange_engine::time::Timestamp;

/// The length of `2026-01-31T09:30:00.000Z`, as the engine writes an instant.
const LENGTH: usize = 24;

/// The system's zone, where a system keeps it.
const SYSTEM_ZONE: &str = "/etc/localtime";

/// Whether the zone is the system's, because `TZ` is not set.
static IS_SYSTEM_ZONE: OnceLock<bool> = OnceLock::new();

static ZONE: OnceLock<TimeZone> = OnceLock::new();

/// Says whether the variable `TZ` is set. To be called before the first time is shown.
pub fn expect_zone_variable(is_set: bool) {
    let _set_before = IS_SYSTEM_ZONE.set(!is_set);
}

/// An instant in the zone of `TZ` or of the system, such as `2026-01-31 10:30:00`.
pub fn local_time(at: Timestamp) -> String {
    in_zone(at, ZONE.get_or_init(zone).clone())
}

/// The zone of `TZ` or of the system. The system's is read from its own file: a lookup by its name
/// would first list the hundreds of files of all zones.
fn zone() -> TimeZone {
    let is_system_zone = IS_SYSTEM_ZONE.get().copied().unwrap_or_default();
    let file = is_system_zone.then(|| fs::read(SYSTEM_ZONE).ok()).flatten();
    let zone = file.and_then(|bytes| TimeZone::tzif("system", &bytes).ok());
    zone.unwrap_or_else(TimeZone::system)
}

/// The text, with every instant that the engine wrote replaced by local time.
pub fn with_local_times(text: &str) -> Cow<'_, str> {
    replace(text, local_time)
}

fn in_zone(at: Timestamp, zone: TimeZone) -> String {
    let Ok(instant) = jiff::Timestamp::from_millisecond(at.millis()) else {
        return at.to_string();
    };
    let local = instant.to_zoned(zone);
    local.strftime("%Y-%m-%d %H:%M:%S").to_string()
}

fn replace(text: &str, show: impl Fn(Timestamp) -> String) -> Cow<'_, str> {
    let mut replaced = String::new();
    let mut rest = text;
    while let Some((before, at, after)) = find(rest) {
        replaced.push_str(before);
        replaced.push_str(&show(at));
        rest = after;
    }
    if replaced.is_empty() && rest.len() == text.len() {
        return Cow::Borrowed(text);
    }
    Cow::Owned(replaced + rest)
}

/// The first instant of a text, with what is before and after it.
fn find(text: &str) -> Option<(&str, Timestamp, &str)> {
    for (end, _) in text.match_indices('Z') {
        let end = end + 1;
        let Some(start) = end.checked_sub(LENGTH) else {
            continue;
        };
        let candidate = text.get(start..end).unwrap_or_default();
        if let Ok(at) = Timestamp::parse(candidate)
            && at.to_string() == candidate
        {
            return Some((&text[..start], at, &text[end..]));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Cow<'_, str> {
        let zone = TimeZone::fixed(jiff::tz::offset(1));
        replace(text, |at| in_zone(at, zone.clone()))
    }

    #[test]
    fn instants_in_a_sentence_are_local_and_have_no_milliseconds() {
        let text = "parked from 2026-01-31T23:30:00.123Z until 2026-02-01T09:30:00.000Z";
        let local = "parked from 2026-02-01 00:30:00 until 2026-02-01 10:30:00";
        assert_eq!(shown(text), local);
        assert_eq!(shown("2026-01-31T09:30:00.000Z"), "2026-01-31 10:30:00");
    }

    #[test]
    fn other_text_stays_as_it_is() {
        for text in [
            "",
            "Z",
            "no instant in it: ZZZ",
            "without milliseconds: 2026-01-31T09:30:00Z",
            "not a date: 2026-13-31T09:30:00.000Z",
            "éééééééééééééééééééééééZ",
        ] {
            assert_eq!(shown(text), text);
        }
    }
}

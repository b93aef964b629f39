//! How long ago something was, in the words of people.

use orange_engine::time::Timestamp;

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// The largest unit that fits, and how many of it; never more than four characters below 27 years.
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

/// The same in a sentence.
pub fn ago(now: Timestamp, then: Timestamp) -> String {
    match now.seconds_since(then) {
        0 => "just now".to_owned(),
        _ => format!("{} ago", age(now, then)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_unit_counts() {
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
        assert_eq!(ago(now, before(0)), "just now");
        assert_eq!(ago(now, before(90)), "1m ago");
    }
}

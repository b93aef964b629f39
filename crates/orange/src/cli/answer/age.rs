//! How long ago something was, in the words of people.

use orange_engine::time::Timestamp;
pub use orange_engine::time::age;

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// How many seconds a span such as `90s`, `10m`, `2h` or `3d` has.
pub fn span(text: &str) -> Option<u64> {
    let unit = text.chars().last()?;
    let count: u64 = text.strip_suffix(unit)?.parse().ok()?;
    let seconds = match unit {
        's' => 1,
        'm' => MINUTE,
        'h' => HOUR,
        'd' => DAY,
        _ => return None,
    };
    count.checked_mul(seconds)
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
    fn a_span_has_a_unit() {
        let now = Timestamp::from_millis(1_000_000_000_000);
        let before = |seconds: i64| Timestamp::from_millis(now.millis() - seconds * 1000);
        assert_eq!(span("10m"), Some(600));
        assert_eq!(span("2d"), Some(172_800));
        for bad in ["", "m", "10", "-1m", "1.5h", "10é"] {
            assert_eq!(span(bad), None, "{bad}");
        }
        assert_eq!(ago(now, before(0)), "just now");
        assert_eq!(ago(now, before(90)), "1m ago");
    }
}

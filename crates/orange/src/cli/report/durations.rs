//! Durations in plain words.

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// The duration in its largest unit and the next smaller one, such as `2 hours 5 minutes`.
pub fn in_words(seconds: u64) -> String {
    match seconds {
        0..MINUTE => count(seconds, "second"),
        MINUTE..HOUR => count(seconds / MINUTE, "minute"),
        HOUR..DAY => two(
            (seconds / HOUR, "hour"),
            (seconds % HOUR / MINUTE, "minute"),
        ),
        _ => two((seconds / DAY, "day"), (seconds % DAY / HOUR, "hour")),
    }
}

fn two(large: (u64, &str), small: (u64, &str)) -> String {
    let first = count(large.0, large.1);
    match small.0 {
        0 => first,
        number => format!("{first} {}", count(number, small.1)),
    }
}

fn count(number: u64, unit: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{number} {unit}{ending}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_units_are_enough() {
        for (seconds, words) in [
            (0, "0 seconds"),
            (1, "1 second"),
            (119, "1 minute"),
            (3600, "1 hour"),
            (7500, "2 hours 5 minutes"),
            (86_400 + 3600, "1 day 1 hour"),
            (7 * 86_400, "7 days"),
        ] {
            assert_eq!(in_words(seconds), words);
        }
    }
}

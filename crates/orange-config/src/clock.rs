//! The only clock: what time it is, and when waiting ends.

use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use orange_engine::time::Timestamp;

/// How long to wait between two looks at a condition: at first, and at most.
const SHORTEST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(10);

/// The present instant.
pub fn now() -> Timestamp {
    stamp(system())
}

/// The present instant in the system's own words, such as for a file.
#[expect(clippy::disallowed_methods, reason = "this is the clock")]
pub fn system() -> SystemTime {
    SystemTime::now()
}

/// An instant in the system's own words, such as a file's.
pub fn stamp(instant: SystemTime) -> Timestamp {
    let millis = match instant.duration_since(UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_millis()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_millis()).map_or(i64::MIN, |it| -it),
    };
    Timestamp::from_millis(millis)
}

/// Nanoseconds of a clock that nobody sets, the same for every process until the next boot.
pub fn ticks() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
    let rest = u64::try_from(now.tv_nsec).unwrap_or(0);
    seconds.saturating_mul(1_000_000_000).saturating_add(rest)
}

/// The instant that is this far away.
pub fn after(duration: Duration) -> Timestamp {
    let millis = i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
    Timestamp::from_millis(now().millis().saturating_add(millis))
}

/// Rests until an instant, but for at most so long: what is waited for may change meanwhile.
pub fn rest_until(then: Timestamp, longest: Duration) {
    let millis = then.millis().saturating_sub(now().millis());
    let millis = u64::try_from(millis).unwrap_or(0);
    thread::sleep(Duration::from_millis(millis).min(longest));
}

/// How long something takes; a clock that somebody sets does not change it.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// From now on.
    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// How long it has been.
    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    pub fn elapsed(self) -> Duration {
        Instant::now().saturating_duration_since(self.0)
    }
}

/// When waiting ends; a clock that somebody sets does not move it.
#[derive(Clone, Copy, Debug)]
pub struct Deadline(Instant);

impl Deadline {
    /// The instant that is this far away.
    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    pub fn after(duration: Duration) -> Self {
        Self(Instant::now() + duration)
    }

    /// How much is left; nothing when it has passed.
    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    pub fn left(self) -> Duration {
        self.0.saturating_duration_since(Instant::now())
    }

    /// Whether it has passed.
    pub fn has_passed(self) -> bool {
        self.left().is_zero()
    }

    /// Looks until the condition holds or the deadline has passed; whether it held. What comes soon
    /// is noticed at once; what takes long is looked at less often.
    pub fn wait_for(self, mut condition: impl FnMut() -> bool) -> bool {
        let mut pause = SHORTEST_PAUSE;
        loop {
            if condition() {
                return true;
            }
            if self.has_passed() {
                return false;
            }
            thread::sleep(pause.min(self.left()));
            pause = (pause + pause / 16).min(LONGEST_PAUSE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_ends_with_the_condition_or_the_deadline() {
        let mut looks = 0;
        let held = Deadline::after(Duration::from_mins(1)).wait_for(|| {
            looks += 1;
            looks == 3
        });
        assert!(held);
        let soon = Deadline::after(Duration::from_millis(20));
        assert!(!soon.wait_for(|| false));
        assert!(soon.has_passed());
    }

    #[test]
    fn the_present_is_after_this_was_written() {
        assert!(now() > Timestamp::parse("2025-01-01T00:00:00Z").unwrap());
    }
}

//! The only clock: the current time, deadlines and waiting.

use std::fs;
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use orange_engine::time::Timestamp;

/// The pause between two checks of a condition: at first, and at most.
const SHORTEST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(10);

/// The clock that also counts the time in which the system sleeps.
#[cfg(any(target_os = "linux", target_os = "android"))]
const BOOT_CLOCK: rustix::time::ClockId = rustix::time::ClockId::Boottime;

/// On macOS the monotonic clock of the system is that clock.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const BOOT_CLOCK: rustix::time::ClockId = rustix::time::ClockId::Monotonic;

/// The current instant.
pub fn now() -> Timestamp {
    stamp(system())
}

/// The current instant as a `SystemTime`, for example for a file.
#[expect(clippy::disallowed_methods, reason = "this is the clock")]
pub fn system() -> SystemTime {
    SystemTime::now()
}

/// Converts a `SystemTime`, for example that of a file.
pub fn stamp(instant: SystemTime) -> Timestamp {
    let millis = match instant.duration_since(UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_millis()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_millis()).map_or(i64::MIN, |it| -it),
    };
    Timestamp::from_millis(millis)
}

/// Nanoseconds of the monotonic clock, which is the same for every process until the next boot.
pub fn ticks() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
    let rest = u64::try_from(now.tv_nsec).unwrap_or(0);
    seconds.saturating_mul(1_000_000_000).saturating_add(rest)
}

/// How long the system has been up, the time in which it slept included.
///
/// The other clocks here stand still while a laptop sleeps or may be set; a lease goes on.
pub fn since_boot() -> Duration {
    let now = rustix::time::clock_gettime(BOOT_CLOCK);
    Duration::try_from(now).unwrap_or_default()
}

/// The id of the boot that `since_boot` counts from; `None` where the system has none.
pub fn boot_id() -> Option<&'static str> {
    static BOOT: OnceLock<Option<String>> = OnceLock::new();
    let read = || {
        let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        Some(id.trim().to_owned())
    };
    BOOT.get_or_init(read).as_deref()
}

/// The instant this far in the future.
pub fn after(duration: Duration) -> Timestamp {
    let millis = i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
    Timestamp::from_millis(now().millis().saturating_add(millis))
}

/// Sleeps until `then`, but at most `longest`, so that the caller can check again whether it still
/// has to wait.
pub fn sleep_until(then: Timestamp, longest: Duration) {
    let millis = then.millis().saturating_sub(now().millis());
    let millis = u64::try_from(millis).unwrap_or(0);
    thread::sleep(Duration::from_millis(millis).min(longest));
}

/// Measures how long something takes, independent of changes to the system clock.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    pub fn start() -> Self {
        Self(Instant::now())
    }

    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    pub fn elapsed(self) -> Duration {
        Instant::now().saturating_duration_since(self.0)
    }
}

/// When waiting ends, independent of changes to the system clock.
#[derive(Clone, Copy, Debug)]
pub struct Deadline(Instant);

impl Deadline {
    /// The instant this far in the future.
    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    pub fn after(duration: Duration) -> Self {
        Self(Instant::now() + duration)
    }

    /// The time left; zero once the deadline has passed.
    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    pub fn remaining(self) -> Duration {
        self.0.saturating_duration_since(Instant::now())
    }

    pub fn has_passed(self) -> bool {
        self.remaining().is_zero()
    }

    /// Polls until the condition holds or the deadline has passed, and returns whether it held. The
    /// pauses grow, so a quick change is noticed at once and a slow one is polled less often.
    pub fn wait_for(self, mut condition: impl FnMut() -> bool) -> bool {
        let mut pause = SHORTEST_PAUSE;
        loop {
            if condition() {
                return true;
            }
            if self.has_passed() {
                return false;
            }
            thread::sleep(pause.min(self.remaining()));
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
        let in_time = Deadline::after(Duration::from_mins(1)).wait_for(|| {
            looks += 1;
            looks == 3
        });
        assert!(in_time);
        let soon = Deadline::after(Duration::from_millis(20));
        assert!(!soon.wait_for(|| false));
        assert!(soon.has_passed());
    }

    /// The kernel's own word is the time since the boot, with the time in which the machine slept.
    #[cfg(target_os = "linux")]
    #[test]
    fn the_time_since_the_boot_is_that_of_the_kernel() {
        let uptime = || {
            let text = fs::read_to_string("/proc/uptime").unwrap();
            let seconds = text.split(' ').next().unwrap().parse().unwrap();
            Duration::from_secs_f64(seconds)
        };
        let (before, now, after) = (uptime(), since_boot(), uptime());
        // `uptime` has hundredths of a second.
        let margin = Duration::from_millis(10);
        assert!(before <= now + margin && now <= after + margin);
        assert!(since_boot() >= now);
    }

    #[test]
    fn the_current_time_is_plausible() {
        assert!(now() > Timestamp::parse("2025-01-01T00:00:00Z").unwrap());
    }
}

//! Delays requests to respect the forge's limits; tests replace the clock.

use std::thread;
use std::time::Duration;

use orange_config::clock;
use orange_engine::forge::pace::BusyTime;
use orange_engine::time::Timestamp;

/// The forge asks for at least this much time between two writes.
const BETWEEN_WRITES: Duration = Duration::from_secs(1);

/// The time, and how to wait.
pub struct Clock {
    now: Box<dyn FnMut() -> Timestamp + Send>,
    sleep: Box<dyn FnMut(Duration) + Send>,
}

impl Clock {
    /// The system's clock.
    pub fn system() -> Clock {
        Clock::new(clock::now, thread::sleep)
    }

    pub fn new(
        now: impl FnMut() -> Timestamp + Send + 'static,
        sleep: impl FnMut(Duration) + Send + 'static,
    ) -> Clock {
        Clock {
            now: Box::new(now),
            sleep: Box::new(sleep),
        }
    }

    pub fn now(&mut self) -> Timestamp {
        (self.now)()
    }
}

/// Remembers when the last write was and how long requests took.
pub struct Pacer {
    pub clock: Clock,
    last_write: Option<Timestamp>,
    busy: BusyTime,
}

impl Pacer {
    pub fn new(clock: Clock) -> Pacer {
        Pacer {
            clock,
            last_write: None,
            busy: BusyTime::default(),
        }
    }

    /// Waits until the next request may be sent.
    pub fn wait(&mut self, is_write: bool) {
        let now = self.clock.now();
        let mut wait = between(now, self.busy.next(now));
        if let Some(last) = self.last_write.filter(|_| is_write) {
            let since = between(last, now);
            wait = wait.max(BETWEEN_WRITES.saturating_sub(since));
        }
        if !wait.is_zero() {
            (self.clock.sleep)(wait);
        }
    }

    /// Records a request that was sent at `started`, whether or not it succeeded.
    pub fn record(&mut self, is_write: bool, started: Timestamp) {
        let now = self.clock.now();
        let took = u64::try_from(between(started, now).as_millis()).unwrap_or(u64::MAX);
        self.busy.add(now, took);
        if is_write {
            self.last_write = Some(now);
        }
    }
}

/// The time from one instant to a later one; zero if it is not later.
fn between(earlier: Timestamp, later: Timestamp) -> Duration {
    let millis = later.millis().saturating_sub(earlier.millis());
    Duration::from_millis(u64::try_from(millis).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[test]
    fn writes_are_a_second_apart_and_reads_wait_for_nothing() {
        let time = Arc::new(Mutex::new((0_i64, Vec::new())));
        let (for_now, for_sleep) = (Arc::clone(&time), Arc::clone(&time));
        let clock = Clock::new(
            move || Timestamp::from_millis(for_now.lock().unwrap().0),
            move |wait| {
                let mut time = for_sleep.lock().unwrap();
                let millis = i64::try_from(wait.as_millis()).unwrap();
                time.0 += millis;
                time.1.push(millis);
            },
        );
        let mut pacer = Pacer::new(clock);
        let mut send = |is_write, took| {
            pacer.wait(is_write);
            let started = pacer.clock.now();
            time.lock().unwrap().0 += took;
            pacer.record(is_write, started);
        };
        send(true, 100);
        send(false, 100);
        send(true, 100);
        send(false, 100);
        assert_eq!(time.lock().unwrap().1, [900]);
        // Two requests of ten seconds, with those before, are more than a third of a minute.
        send(false, 10_000);
        send(false, 10_000);
        assert_eq!(time.lock().unwrap().1, [900]);
        send(false, 100);
        assert_eq!(time.lock().unwrap().1.len(), 2);
    }
}

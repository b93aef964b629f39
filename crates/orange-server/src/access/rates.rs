//! How many calls a caller may make in a second.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use orange_config::clock::Stopwatch;

/// So many calls per second, and as many at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate(pub u32);

/// When there are so many callers, those that have been quiet are forgotten.
const MANY_CALLERS: usize = 4096;

/// The calls of each caller of one server, in memory: another server counts for itself.
#[derive(Debug)]
pub struct Rates<K> {
    rate: Rate,
    started: Stopwatch,
    callers: Mutex<HashMap<K, Bucket>>,
}

/// What a caller has left. It fills up to the rate within a second.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    left: f64,
    at: Duration,
}

impl<K: Eq + Hash> Rates<K> {
    pub fn new(rate: Rate) -> Self {
        Self {
            rate,
            started: Stopwatch::start(),
            callers: Mutex::default(),
        }
    }

    /// Whether the caller may make so many calls now. More than the rate counts as the rate, so
    /// that a large batch is possible when the caller was quiet before.
    pub fn admit(&self, caller: K, calls: u32) -> bool {
        self.admit_at(self.started.elapsed(), caller, calls)
    }

    fn admit_at(&self, now: Duration, caller: K, calls: u32) -> bool {
        let most = f64::from(self.rate.0);
        let mut callers = self.callers.lock().unwrap_or_else(PoisonError::into_inner);
        if callers.len() >= MANY_CALLERS {
            callers.retain(|_, it| it.at + Duration::from_secs(1) > now);
        }
        let bucket = callers.entry(caller).or_insert(Bucket {
            left: most,
            at: now,
        });
        let since = now.saturating_sub(bucket.at).as_secs_f64();
        bucket.left = (bucket.left + since * most).min(most);
        bucket.at = now;
        let cost = f64::from(calls).min(most);
        if bucket.left < cost {
            return false;
        }
        bucket.left -= cost;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn a_caller_has_the_rate_and_no_more() {
        let rates = Rates::new(Rate(20));
        let admitted = |now, caller| {
            let calls = (0..100).filter(|_| rates.admit_at(at(now), caller, 1));
            calls.count()
        };
        assert_eq!(admitted(0, "ann"), 20);
        assert_eq!(admitted(0, "bob"), 20, "each caller has its own");
        assert_eq!(admitted(500, "ann"), 10);
        assert_eq!(admitted(90_000, "ann"), 20, "being quiet saves no more");
    }

    #[test]
    fn a_batch_costs_all_its_calls() {
        let rates = Rates::new(Rate(50));
        assert!(rates.admit_at(at(0), 1, 30));
        assert!(!rates.admit_at(at(0), 1, 30));
        assert!(rates.admit_at(at(1000), 1, 1000), "at most the rate");
        assert!(!rates.admit_at(at(1000), 1, 1));
    }

    #[test]
    fn quiet_callers_are_forgotten() {
        let rates = Rates::new(Rate(1));
        for caller in 0..MANY_CALLERS {
            rates.admit_at(at(0), caller, 1);
        }
        rates.admit_at(at(5000), MANY_CALLERS, 1);
        assert_eq!(rates.callers.lock().unwrap().len(), 1);
    }
}

//! When to look at the forge again, and how much at once.
//!
//! The quota belongs to the user, whose other tools need it too, so orange keeps to a share of what
//! is left and slows down before the limit.

use super::knowledge::Knowledge;
use crate::time::Timestamp;

const DAY_SECONDS: u64 = 24 * 60 * 60;

/// How much of each minute orange's requests may take; the forge allows the whole minute.
const BUSY_MILLIS_PER_MINUTE: u64 = 20_000;

/// How much of the forge's quota is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    pub limit: u64,
    pub remaining: u64,
    pub resets: Timestamp,
}

/// How often a pull request is polled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Heat {
    /// Checks are running, or an agent or a person is working on it.
    Hot,
    Cold,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PaceSettings {
    /// Seconds between two looks at a hot pull request.
    pub hot: u64,
    pub cold: u64,
    /// The percentage of the remaining quota that orange may use.
    pub share: u64,
}

impl Default for PaceSettings {
    fn default() -> Self {
        Self {
            hot: 60,
            cold: 15 * 60,
            share: 50,
        }
    }
}

/// When the next look is, and whether the quota delayed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NextLook {
    pub at: Timestamp,
    pub is_stretched: bool,
}

impl PaceSettings {
    /// When to look again after a look at `last` that cost this many points.
    pub fn next_look(
        &self,
        heat: Heat,
        last: Timestamp,
        cost: u64,
        quota: Knowledge<Quota>,
    ) -> NextLook {
        let wanted = match heat {
            Heat::Hot => self.hot,
            Heat::Cold => self.cold,
        };
        let wanted = later(last, wanted);
        let Knowledge::Known(quota) = quota else {
            return NextLook {
                at: wanted,
                is_stretched: false,
            };
        };
        let affordable = self.affordable(last, cost.max(1), quota);
        NextLook {
            at: wanted.max(affordable),
            is_stretched: affordable > wanted,
        }
    }

    /// The earliest next look if the looks until the reset are evenly spaced and use only the
    /// share.
    fn affordable(&self, last: Timestamp, cost: u64, quota: Quota) -> Timestamp {
        if quota.resets <= last {
            return last;
        }
        let budget = quota.remaining.saturating_mul(self.share.min(100)) / 100;
        let looks = budget / cost;
        if looks == 0 {
            return quota.resets;
        }
        let left = quota.resets.seconds_since(last);
        later(last, left.div_ceil(looks)).min(quota.resets)
    }
}

/// How many objects one request asks about: halved after trouble, doubled after a quiet day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkSize {
    size: usize,
    largest: usize,
    changed: Timestamp,
}

impl ChunkSize {
    /// Starts with the largest size, which is at least 1.
    pub fn new(largest: usize, now: Timestamp) -> ChunkSize {
        let largest = largest.max(1);
        ChunkSize {
            size: largest,
            largest,
            changed: now,
        }
    }

    /// The size to use now; a day without trouble doubles it.
    pub fn current(&mut self, now: Timestamp) -> usize {
        if self.size < self.largest && now.seconds_since(self.changed) >= DAY_SECONDS {
            self.size = self.size.saturating_mul(2).min(self.largest);
            self.changed = now;
        }
        self.size
    }

    /// Halves it after an answer that was too large or took too long; returns whether a smaller
    /// request is possible at all.
    pub fn halve(&mut self, now: Timestamp) -> bool {
        let was = self.size;
        self.size = (self.size / 2).max(1);
        self.changed = now;
        self.size < was
    }
}

/// How long orange's requests have taken lately.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BusyTime {
    /// When each request ended, and its milliseconds.
    requests: Vec<(Timestamp, u64)>,
}

impl BusyTime {
    pub fn add(&mut self, ended: Timestamp, millis: u64) {
        self.requests
            .retain(|(at, _)| at.seconds_since(ended) == 0 && ended.seconds_since(*at) < 60);
        self.requests.push((ended, millis));
    }

    /// When the next request may be made without taking too much of a minute.
    pub fn next(&self, now: Timestamp) -> Timestamp {
        let recent = self
            .requests
            .iter()
            .filter(|(at, _)| now.seconds_since(*at) < 60);
        let mut recent: Vec<(Timestamp, u64)> = recent.copied().collect();
        recent.sort_unstable();
        let mut total: u64 = recent.iter().map(|(_, millis)| *millis).sum();
        for (at, millis) in recent {
            if total <= BUSY_MILLIS_PER_MINUTE {
                break;
            }
            total = total.saturating_sub(millis);
            if total <= BUSY_MILLIS_PER_MINUTE {
                return later(at, 60);
            }
        }
        now
    }
}

fn later(then: Timestamp, seconds: u64) -> Timestamp {
    let millis = i64::try_from(seconds.saturating_mul(1000)).unwrap_or(i64::MAX);
    Timestamp::from_millis(then.millis().saturating_add(millis))
}

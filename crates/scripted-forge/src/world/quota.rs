//! How much of the API each user has used.

use std::collections::BTreeMap;

/// The two quotas, which a client shares with all other tools of its user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Resource {
    /// REST, counted in requests.
    Core,
    /// GraphQL, counted in points.
    Graphql,
}

impl Resource {
    /// The name in headers.
    pub fn name(self) -> &'static str {
        match self {
            Self::Core => "core",
            Self::Graphql => "graphql",
        }
    }
}

/// A user's quota of one resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    pub limit: u64,
    pub used: u64,
    pub reset: i64,
}

impl Rate {
    pub fn remaining(&self) -> u64 {
        self.limit.saturating_sub(self.used)
    }
}

/// The limit that a request would exceed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exceeded {
    /// The quota of the hour.
    Primary,
    /// Too many points or writes in a minute, or too many writes in an hour.
    Secondary,
}

const HOUR: i64 = 3600;
const LIMIT: u64 = 5000;

/// A past request: when, which resource, its secondary points, whether it wrote.
type Past = (i64, Resource, u64, bool);

#[derive(Clone, Debug, Default)]
pub struct Quota {
    rates: BTreeMap<(String, Resource), Rate>,
    past: BTreeMap<String, Vec<Past>>,
    /// Whether secondary limits are off, for tests that send requests faster than a client may.
    pub no_secondary: bool,
}

impl Quota {
    pub fn rate(&mut self, login: &str, resource: Resource, now: i64) -> &mut Rate {
        let fresh = Rate {
            limit: LIMIT,
            used: 0,
            reset: now + HOUR,
        };
        let rate = self
            .rates
            .entry((login.to_owned(), resource))
            .or_insert(fresh);
        if rate.reset <= now {
            *rate = Rate {
                limit: rate.limit,
                ..fresh
            };
        }
        rate
    }

    /// Takes the cost, or says which limit forbids it. A write counts five times for the secondary
    /// limits: 900 points a minute in REST, 2,000 in GraphQL, 80 writes a minute, 500 an hour.
    pub fn take(
        &mut self,
        login: &str,
        resource: Resource,
        cost: u64,
        writes: bool,
        now: i64,
    ) -> Result<(), Exceeded> {
        let rate = self.rate(login, resource, now);
        if rate.remaining() < cost {
            return Err(Exceeded::Primary);
        }
        let past = self.past.entry(login.to_owned()).or_default();
        past.retain(|it| it.0 > now - HOUR);
        let points = if writes { 5 } else { 1 };
        let minute = || past.iter().filter(|it| it.0 > now - 60);
        let spent: u64 = minute().filter(|it| it.1 == resource).map(|it| it.2).sum();
        let most = if resource == Resource::Core {
            900
        } else {
            2000
        };
        let too_many_writes = writes
            && (minute().filter(|it| it.3).count() >= 80
                || past.iter().filter(|it| it.3).count() >= 500);
        if !self.no_secondary && (spent + points > most || too_many_writes) {
            return Err(Exceeded::Secondary);
        }
        past.push((now, resource, points, writes));
        self.rate(login, resource, now).used += cost;
        Ok(())
    }
}

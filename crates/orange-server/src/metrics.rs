//! Counters of one server, and their text for Prometheus.
//!
//! Each organisation has its own: an admin reads the numbers of one.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use orange_fleet::ids::OrgId;
use orange_fleet::message::{AppendResult, TaskResult};

/// The upper bounds of the buckets of durations, in milliseconds.
const BUCKETS: [u64; 9] = [5, 10, 20, 50, 100, 500, 1_000, 5_000, 30_000];

#[derive(Debug, Default)]
pub struct Metrics {
    orgs: Mutex<HashMap<OrgId, Counters>>,
    amnesties: AtomicU64,
}

/// What one organisation has asked of this server.
#[derive(Clone, Debug, Default)]
struct Counters {
    appends: BTreeMap<&'static str, u64>,
    claims: u64,
    beats: u64,
    calls: BTreeMap<&'static str, Durations>,
}

#[derive(Clone, Debug, Default)]
struct Durations {
    buckets: [u64; BUCKETS.len()],
    count: u64,
    sum: Duration,
}

/// What the database says about one organisation, and about itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Gauges {
    pub open_mail: i64,
    pub offered: i64,
    /// How long the oldest offered task has waited.
    pub offered_oldest_seconds: f64,
    pub held: i64,
    pub runners_online: i64,
    pub runners_draining: i64,
    pub runners_lost: i64,
    /// How many calls wait for a connection to the database.
    pub pool_waiting: usize,
}

impl Metrics {
    fn count(&self, org: &OrgId, change: impl FnOnce(&mut Counters)) {
        let mut orgs = self.orgs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(counters) = orgs.get_mut(org) {
            return change(counters);
        }
        change(orgs.entry(org.clone()).or_default());
    }

    pub fn count_appends(&self, org: &OrgId, results: &[TaskResult]) {
        self.count(org, |counters| {
            for result in results {
                let name = match result.result {
                    AppendResult::Ok { .. } => "ok",
                    AppendResult::Fenced => "fenced",
                    AppendResult::Behind { .. } => "behind",
                    AppendResult::Conflict => "conflict",
                };
                *counters.appends.entry(name).or_default() += 1;
            }
        });
    }

    /// Counts time that counted against no runner, because none could be heard.
    pub fn count_amnesty(&self) {
        self.amnesties.fetch_add(1, Ordering::Relaxed);
    }

    pub fn count_claims(&self, org: &OrgId, claims: usize) {
        let claims = u64::try_from(claims).unwrap_or(u64::MAX);
        self.count(org, |it| it.claims = it.claims.saturating_add(claims));
    }

    pub fn count_beat(&self, org: &OrgId) {
        self.count(org, |it| it.beats = it.beats.saturating_add(1));
    }

    pub fn count_call(&self, org: &OrgId, call: &'static str, duration: Duration) {
        self.count(org, |counters| {
            let durations = counters.calls.entry(call).or_default();
            let millis = duration.as_millis();
            let bounds = BUCKETS.iter().zip(&mut durations.buckets);
            for (_, bucket) in bounds.filter(|(bound, _)| millis <= u128::from(**bound)) {
                *bucket += 1;
            }
            durations.count += 1;
            durations.sum += duration;
        });
    }

    /// The text for Prometheus.
    pub fn render(&self, org: &OrgId, gauges: &Gauges) -> String {
        let orgs = self.orgs.lock().unwrap_or_else(PoisonError::into_inner);
        let counters = orgs.get(org).cloned().unwrap_or_default();
        drop(orgs);
        let mut page = Page::default();
        page.about(
            "orange_append_total",
            "counter",
            "Appended tasks by result.",
        );
        for result in ["ok", "fenced", "behind", "conflict"] {
            let count = counters.appends.get(result).copied().unwrap_or_default();
            page.sample(
                "orange_append_total",
                &format!("result=\"{result}\""),
                count,
            );
        }
        page.single(
            "orange_claim_total",
            "counter",
            "Claimed tasks.",
            counters.claims,
        );
        page.single(
            "orange_beat_total",
            "counter",
            "Beats of runners.",
            counters.beats,
        );
        page.single(
            "orange_amnesty_total",
            "counter",
            "Gaps without a server, seen by this one, that count against no runner.",
            self.amnesties.load(Ordering::Relaxed),
        );
        page.gauges(gauges);
        page.durations(&counters);
        page.0
    }
}

/// Lines of the text format.
#[derive(Default)]
struct Page(String);

impl Page {
    // Writing to a string cannot fail.
    fn about(&mut self, name: &str, kind: &str, help: &str) {
        let _written = write!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    fn sample(&mut self, name: &str, labels: &str, value: impl std::fmt::Display) {
        let _written = writeln!(self.0, "{name}{{{labels}}} {value}");
    }

    fn single(&mut self, name: &str, kind: &str, help: &str, value: impl std::fmt::Display) {
        self.about(name, kind, help);
        let _written = writeln!(self.0, "{name} {value}");
    }

    fn gauges(&mut self, gauges: &Gauges) {
        self.single(
            "orange_mail_open",
            "gauge",
            "Open requests.",
            gauges.open_mail,
        );
        self.single(
            "orange_offered",
            "gauge",
            "Tasks that wait for a runner.",
            gauges.offered,
        );
        self.single(
            "orange_offered_oldest_seconds",
            "gauge",
            "How long the oldest offered task has waited.",
            gauges.offered_oldest_seconds,
        );
        self.single(
            "orange_held",
            "gauge",
            "Tasks that a runner holds.",
            gauges.held,
        );
        self.about("orange_runners", "gauge", "Runners by state.");
        let states = [
            ("online", gauges.runners_online),
            ("draining", gauges.runners_draining),
            ("lost", gauges.runners_lost),
        ];
        for (state, count) in states {
            self.sample("orange_runners", &format!("state=\"{state}\""), count);
        }
        self.single(
            "orange_db_pool_waiting",
            "gauge",
            "Calls that wait for a connection to the database.",
            gauges.pool_waiting,
        );
    }

    fn durations(&mut self, counters: &Counters) {
        const NAME: &str = "orange_request_seconds";
        self.about(
            NAME,
            "histogram",
            "Duration of calls; waiting for work counts.",
        );
        for (call, durations) in &counters.calls {
            let bounds = BUCKETS.iter().zip(durations.buckets);
            for (bound, count) in bounds {
                let bound = Duration::from_millis(*bound).as_secs_f64();
                let labels = format!("call=\"{call}\",le=\"{bound}\"");
                self.sample("orange_request_seconds_bucket", &labels, count);
            }
            let labels = format!("call=\"{call}\"");
            let all = format!("{labels},le=\"+Inf\"");
            self.sample("orange_request_seconds_bucket", &all, durations.count);
            let sum = durations.sum.as_secs_f64();
            self.sample("orange_request_seconds_sum", &labels, sum);
            self.sample("orange_request_seconds_count", &labels, durations.count);
        }
    }
}

#[cfg(test)]
mod tests {
    use orange_fleet::ids::{Epoch, TaskId, Version};

    use super::*;

    fn result(result: AppendResult) -> TaskResult {
        TaskResult {
            task: TaskId::new("t"),
            epoch: Epoch(1),
            result,
        }
    }

    #[test]
    fn an_organisation_reads_its_own_numbers() {
        let metrics = Metrics::default();
        let (ours, theirs) = (OrgId::new("a"), OrgId::new("b"));
        let ok = AppendResult::Ok {
            version: Version(1),
        };
        let results = [result(ok), result(AppendResult::Fenced), result(ok)];
        metrics.count_appends(&ours, &results);
        metrics.count_claims(&ours, 3);
        metrics.count_beat(&ours);
        metrics.count_call(&ours, "append", Duration::from_millis(7));
        let gauges = Gauges {
            offered: 4,
            ..Gauges::default()
        };
        let text = metrics.render(&ours, &gauges);
        for line in [
            "orange_append_total{result=\"ok\"} 2",
            "orange_append_total{result=\"fenced\"} 1",
            "orange_append_total{result=\"conflict\"} 0",
            "orange_claim_total 3",
            "orange_beat_total 1",
            "orange_offered 4",
            "orange_request_seconds_bucket{call=\"append\",le=\"0.005\"} 0",
            "orange_request_seconds_bucket{call=\"append\",le=\"0.01\"} 1",
            "orange_request_seconds_bucket{call=\"append\",le=\"+Inf\"} 1",
            "orange_request_seconds_sum{call=\"append\"} 0.007",
        ] {
            assert!(text.lines().any(|it| it == line), "{line}\n{text}");
        }
        let text = metrics.render(&theirs, &Gauges::default());
        assert!(text.contains("orange_append_total{result=\"ok\"} 0"));
        assert!(!text.contains("call="));
    }
}

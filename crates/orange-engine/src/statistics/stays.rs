//! How long tasks were in each status.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::{StatusEntry, TaskRecord};
use crate::event::Fact;
use crate::language::workflow::Kind;
use crate::names::Status;

/// How long tasks were in a status.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct StatusTime {
    pub status: Status,
    /// The kind of the status: `queued`, `agent`, `human` or `waiting`; `null` if no workflow has
    /// it any more.
    pub kind: Option<Kind>,
    /// How many stays ended within the window. Each counts with its whole length, also with the
    /// part before the window.
    pub stays: u64,
    /// Half of the stays were at most this long.
    pub median_seconds: u64,
    /// Nine of ten stays were at most this long.
    pub p90_seconds: u64,
    /// The longest stay.
    pub longest_seconds: u64,
}

/// The stays in a status, and where it is in its workflow.
struct Stays {
    position: usize,
    kind: Option<Kind>,
    seconds: Vec<u64>,
}

pub(super) fn measure(tasks: &[TaskRecord]) -> Vec<StatusTime> {
    let mut all: BTreeMap<Status, Stays> = BTreeMap::new();
    for record in tasks {
        for (status, seconds) in stays(record) {
            let states = record.workflow.iter().flat_map(|it| &it.states);
            let mut states = states.enumerate();
            let state = states.find(|(_, state)| state.name == status);
            let (position, kind) = match state {
                Some((position, state)) => (position, Some(state.kind)),
                None => (usize::MAX, None),
            };
            // A finished task that is reopened has not worked in between.
            if kind == Some(Kind::Terminal) {
                continue;
            }
            let stays = all.entry(status).or_insert(Stays {
                position,
                kind,
                seconds: Vec::new(),
            });
            stays.seconds.push(seconds);
        }
    }
    let mut ordered: Vec<(Status, Stays)> = all.into_iter().collect();
    ordered.sort_by_key(|(_, stays)| stays.position);
    let times = ordered.into_iter().map(|(status, mut stays)| {
        stays.seconds.sort_unstable();
        StatusTime {
            status,
            kind: stays.kind,
            stays: u64::try_from(stays.seconds.len()).unwrap_or(u64::MAX),
            median_seconds: percentile(&stays.seconds, 50),
            p90_seconds: percentile(&stays.seconds, 90),
            longest_seconds: percentile(&stays.seconds, 100),
        }
    });
    times.collect()
}

/// The stays of a task that ended within the window.
fn stays(record: &TaskRecord) -> Vec<(Status, u64)> {
    let mut current = record.before.clone();
    let mut found = Vec::new();
    for event in &record.events {
        let status = match &event.fact {
            Fact::TaskCreated(created) => &created.status,
            Fact::StatusChanged(change) => {
                // After a clock was set back, changes in between may be outside of the window; then
                // it is unknown when this stay began.
                let entry = current.filter(|entry| entry.status == change.from);
                let seconds = entry.map(|entry| event.at.seconds_since(entry.at));
                found.extend(seconds.map(|seconds| (change.from.clone(), seconds)));
                &change.to
            }
            _ => continue,
        };
        current = Some(StatusEntry {
            status: status.clone(),
            at: event.at,
        });
    }
    found
}

/// The smallest of the sorted values that this percentage of all values does not exceed.
fn percentile(sorted: &[u64], percent: usize) -> u64 {
    let rank = (sorted.len() * percent).div_ceil(100);
    let index = rank.saturating_sub(1);
    sorted.get(index).copied().unwrap_or(0)
}

//! The beat: extends a runner's lease and reconciles what it holds.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::ids::{Epoch, HarnessName, HomeId, Incarnation, TaskId, Version};
use crate::json::Json;
use crate::time::{Period, Timestamp};

/// Extend the lease, and compare the tasks that the runner holds.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Beat {
    pub home: HomeId,
    pub incarnation: Incarnation,
    pub held: Vec<HeldTask>,
    /// How many more tasks it has room for.
    #[serde(default)]
    pub free: u32,
    /// Harnesses that nothing is started on at the moment.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub parked: BTreeSet<HarnessName>,
    /// Samples for the dashboard.
    #[serde(default = "Json::null")]
    pub activity: Json,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct HeldTask {
    pub task: TaskId,
    pub epoch: Epoch,
    pub acknowledged: Version,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum BeatAnswer {
    Alive {
        lost_after: Period,
        /// The server's clock, to show the offset. Nothing is decided by it.
        now: Timestamp,
        /// Held tasks that belong to the runner no longer.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        lost: Vec<OwnedTask>,
        /// Tasks that belong to the runner, and that it did not name: to be adopted.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        yours: Vec<OwnedTask>,
        want: Want,
    },
    /// The beat's incarnation is not the current one, or its lease has passed.
    Stale {
        incarnation: Incarnation,
        /// Whether the current incarnation belongs to another home.
        replaced: bool,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct OwnedTask {
    pub task: TaskId,
    pub epoch: Epoch,
}

/// What the server wants of a runner.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Want {
    #[default]
    Hold,
    /// Take no more work, and give back what it holds.
    Drain,
}

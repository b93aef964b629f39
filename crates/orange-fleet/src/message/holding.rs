//! Calls of a holder: give back, adopt, save work, answer mail.

use serde::{Deserialize, Serialize};

use crate::chain::Sha;
use crate::ids::{Epoch, Incarnation, TaskId};
use crate::json::Json;
use crate::message::Claim;
use crate::time::Timestamp;

/// End the holding of a task that has no agent, pending effect or workspace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct GiveBack {
    pub task: TaskId,
    pub epoch: Epoch,
    pub rest: Rest,
}

/// How a task waits once its runner has released it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(tag = "rest", rename_all = "snake_case")]
pub enum Rest {
    /// For any runner.
    Offered,
    /// For a person.
    Idle,
    /// For an instant of the server's clock.
    Paused { until: Timestamp },
}

/// The answer to a call that only the holder of a task may make.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(tag = "result", rename_all = "snake_case")]
pub enum HoldingAnswer {
    Ok,
    /// The task is not held with this epoch.
    Fenced,
}

/// Take a task that belongs to the runner, but which it does not hold with a current epoch.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Adopt {
    pub task: TaskId,
    pub incarnation: Incarnation,
    /// The epoch that the beat named. Compared, so that a late copy does not end the new one.
    pub seen: Epoch,
    /// The epoch with which the runner holds it, when the server has forgotten that claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<Epoch>,
}

/// The task with a new epoch, or nothing.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct AdoptAnswer {
    pub task: TaskId,
    pub incarnation: Incarnation,
    /// The epoch that the call had seen.
    pub seen: Epoch,
    /// Absent when the task does not belong to the runner, or has another epoch by now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<Claim>,
}

/// Work in progress: what another runner needs to continue, if this one is lost.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Wip {
    pub epoch: Epoch,
    /// Counts within the epoch; a lower one is not stored.
    pub number: u64,
    /// The commit that the bundle needs.
    pub base: String,
    /// A thin git bundle of at most 1 MiB, in base 64.
    pub bundle: String,
    /// TASK.md.
    pub document: String,
    /// The hash of the document at its last import.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<Sha>,
}

/// Decide mail without a commit, for example by refusing it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct MailAnswer {
    pub task: TaskId,
    pub epoch: Epoch,
    pub answer: Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(tag = "result", rename_all = "snake_case")]
pub enum MailResult {
    Ok,
    /// It was decided before; that decision stands.
    Decided,
    /// The task is not held with this epoch, or has no such mail.
    Fenced,
}

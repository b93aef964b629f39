//! Work for a runner: claimed tasks, and mail for held ones.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::chain::{Commit, Head};
use crate::ids::{Epoch, HarnessName, Incarnation, MailId, PersonId, TaskId};
use crate::json::Json;
use crate::message::{Text, Wip};

/// Wait for work. The server answers when there is some, or after 25 seconds.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct WorkRequest {
    pub incarnation: Incarnation,
    /// How many tasks it takes at most. With 0 it takes tasks without a holder only to decide
    /// their mail.
    pub free: u32,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub parked: BTreeSet<HarnessName>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct WorkAnswer {
    pub incarnation: Incarnation,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<Claim>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mail: Vec<Mail>,
}

/// A task that the runner holds from now on, with everything needed to continue it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Claim {
    pub task: TaskId,
    pub epoch: Epoch,
    pub head: Head,
    pub commits: Vec<Commit>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub texts: Vec<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wip: Option<Wip>,
    /// Tasks it has waited for, and how they ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub elsewhere: Vec<EndedTask>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct EndedTask {
    pub task: TaskId,
    pub status: String,
}

/// Something that the holder of a task must decide, once.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Mail {
    pub id: MailId,
    pub task: TaskId,
    pub from: Sender,
    pub ask: Json,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sender {
    Person(PersonId),
    /// A child task that has ended.
    Child(TaskId),
}

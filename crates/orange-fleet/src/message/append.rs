//! Appending commits to the server's log.

use serde::{Deserialize, Serialize};

use crate::chain::{Commit, Head, Sha};
use crate::ids::{Epoch, TaskId, Version};
use crate::json::Json;

/// Commits of any number of tasks, each judged alone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Append {
    pub tasks: Vec<TaskAppend>,
}

/// The next commits of one task.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TaskAppend {
    pub task: TaskId,
    pub epoch: Epoch,
    /// The version that the first commit follows.
    pub base: Version,
    pub commits: Vec<Commit>,
    /// The texts that the commits name and the server may lack.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub texts: Vec<Text>,
    /// The task after the last commit.
    pub summary: Summary,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Text {
    pub sha: Sha,
    pub content: String,
}

/// What the server knows of a task's content: it reads no events.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Summary {
    pub status: String,
    /// Whether the status is final. The append of an ended task releases it.
    pub ended: bool,
    /// What lists and the dashboard show.
    #[serde(default = "Json::null")]
    pub shown: Json,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct AppendAnswer {
    pub tasks: Vec<TaskResult>,
}

/// What became of the commits of one task.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TaskResult {
    pub task: TaskId,
    /// The epoch that the commits were sent with.
    pub epoch: Epoch,
    #[serde(flatten)]
    pub result: AppendResult,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(tag = "result", rename_all = "snake_case")]
pub enum AppendResult {
    /// Everything up to this version is in the log.
    Ok { version: Version },
    /// The task is not held with this epoch.
    Fenced,
    /// The log ends before the base, after a failover that lost commits. To be shipped again.
    Behind { head: Head },
    /// The log continues differently under the same epoch, as after a home was cloned.
    Conflict,
}

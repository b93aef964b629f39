//! Requests of people, and what they read.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::capability::Needs;
use crate::chain::{Commit, Head};
use crate::ids::{Epoch, MailId, ProjectId, RequestKey, RunnerId, TaskId, Version};
use crate::json::Json;
use crate::message::{Summary, Text};
use crate::time::Timestamp;

/// Create a task. The client's engine has decided its first commits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CreateTask {
    pub task: TaskId,
    pub needs: Needs,
    #[serde(default)]
    pub priority: i64,
    /// Tasks that must end before this one is offered.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub after: BTreeSet<TaskId>,
    /// The task that gets mail when this one ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<TaskId>,
    pub commits: Vec<Commit>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub texts: Vec<Text>,
    pub summary: Summary,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(tag = "result", rename_all = "snake_case")]
pub enum CreateAnswer {
    Ok,
    /// Another task has this id.
    Taken,
    /// The commits are no chain from the beginning.
    Invalid,
}

/// Ask something of a task. Its holder decides.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PostRequest {
    pub key: RequestKey,
    pub ask: Json,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RequestState {
    pub id: MailId,
    pub status: RequestStatus,
    /// The version of the commit that decided it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
    /// The answer without a commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Json>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestStatus {
    Open,
    /// A commit in the log names it.
    Recorded,
    /// Answered without a commit.
    Answered,
}

/// Where a task is in the fleet.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum TaskState {
    /// Waits for a runner.
    Offered,
    Held {
        runner: RunnerId,
        epoch: Epoch,
    },
    /// Waits for a person, and holds nothing.
    Idle,
    /// Waits for other tasks to end.
    Blocked {
        after: BTreeSet<TaskId>,
    },
    Paused {
        until: Timestamp,
    },
    Ended,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TaskView {
    pub task: TaskId,
    pub project: ProjectId,
    pub state: TaskState,
    pub head: Head,
    pub summary: Summary,
}

/// Commits of all tasks after a point of the feed, in its order.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Changes {
    pub rows: Vec<Change>,
    /// The point from which to read on.
    pub next: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Change {
    pub task: TaskId,
    pub epoch: Epoch,
    pub commit: Commit,
}

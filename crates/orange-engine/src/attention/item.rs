//! Something that needs the user.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::budget::{LimitState, Scope};
use crate::names::{CommitId, HarnessName, JobName, ProjectName, TaskId};
use crate::parking::{self, Parking};
use crate::permission::PermissionRequest;
use crate::schedule::Wait;
use crate::time::Timestamp;

/// What an item is about.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum ItemKind {
    /// An agent has a question.
    Question,
    /// Work waits for a review.
    Review,
    /// The task is stuck.
    Stuck,
    /// The user has to decide how the task continues.
    Decision,
    /// Something went wrong.
    Trouble,
    /// An effect failed permanently.
    EffectFailed,
    /// A message has not reached its agent.
    Undelivered,
    /// An agent waits for permission.
    Permission,
    /// An agent reports that it waits for an answer.
    Input,
    /// An agent was started and has reported nothing.
    Silent,
    /// An agent is idle although its status waits for its work.
    Stalled,
    /// An agent has exited, and no process has reacted yet.
    Exited,
    /// The user has stopped an agent.
    Stopped,
    /// Nothing is started on a harness.
    Parked,
    /// A budget is almost used up, used up, or cannot be checked.
    Budget,
    /// Agents proposed notes about a project.
    Notes,
    /// A job is paused, because it failed too often.
    Job,
    /// The policy of a repository is not the one that the user allowed.
    Policy,
}

impl ItemKind {
    pub fn as_str(self) -> &'static str {
        match self {
            ItemKind::Question => "question",
            ItemKind::Review => "review",
            ItemKind::Stuck => "is stuck",
            ItemKind::Decision => "decision",
            ItemKind::Trouble => "trouble",
            ItemKind::EffectFailed => "failed",
            ItemKind::Undelivered => "undelivered",
            ItemKind::Permission => "permission",
            ItemKind::Input => "input",
            ItemKind::Silent => "silent",
            ItemKind::Stalled => "stalled",
            ItemKind::Exited => "exited",
            ItemKind::Stopped => "stopped",
            ItemKind::Parked => "parked",
            ItemKind::Budget => "budget",
            ItemKind::Notes => "notes",
            ItemKind::Job => "job",
            ItemKind::Policy => "policy",
        }
    }
}

impl fmt::Display for ItemKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// Something that needs the user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Item {
    /// Identifies the item; the same each time it is listed.
    pub key: String,
    /// When it came up.
    pub since: Timestamp,
    /// The task; absent if it is about a harness, a budget, notes, a job or a policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// The harness; absent if it is about a task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub harness: Option<HarnessName>,
    /// The kind of item.
    pub kind: ItemKind,
    /// What is needed, in words.
    pub text: String,
    /// The question in full, as the agent wrote it into TASK.md.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    /// The command to run.
    pub command: String,
    /// The request that waits for an answer; only for `permission`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<PermissionRequest>,
}

impl Item {
    /// The name of the task or the harness, else `budget`, `notes`, `job` or `policy`.
    pub fn subject(&self) -> &str {
        let task = self.task.as_ref().map(TaskId::as_str);
        let harness = self.harness.as_ref().map(HarnessName::as_str);
        // A budget that is not a task's has no name of its own, and notes have none.
        task.or(harness).unwrap_or(self.kind.as_str())
    }

    /// A job that is paused; `since` is the instant of its last run.
    pub fn from_paused_job(job: &JobName, failures: u32, since: Timestamp) -> Item {
        Item {
            key: format!("job/{job}/{since}"),
            since,
            task: None,
            harness: None,
            kind: ItemKind::Job,
            text: format!("job `{job}` is paused: its last {failures} runs failed"),
            question: None,
            command: format!("orange job enable {job}"),
            request: None,
        }
    }

    /// A policy that was changed to that of this commit; `since` is when the user allowed the old
    /// one.
    pub fn from_policy(
        project: &ProjectName,
        commit: &CommitId,
        since: Timestamp,
        text: String,
        command: String,
    ) -> Item {
        Item {
            key: format!("policy/{project}/{commit}"),
            since,
            task: None,
            harness: None,
            kind: ItemKind::Policy,
            text,
            question: None,
            command,
            request: None,
        }
    }

    /// Notes of a project that wait for the user; `since` is when the first was proposed.
    pub fn from_notes(project: &ProjectName, count: usize, since: Timestamp) -> Item {
        let text = match count {
            1 => format!("1 note about `{project}` waits for you to accept or reject it"),
            _ => format!("{count} notes about `{project}` wait for you to accept or reject them"),
        };
        Item {
            key: format!("notes/{project}/{since}"),
            since,
            task: None,
            harness: None,
            kind: ItemKind::Notes,
            text,
            question: None,
            command: format!("orange note list --project {project}"),
            request: None,
        }
    }

    /// A limit that is almost or completely used up; `day` is the current UTC day.
    pub fn from_limit(state: &LimitState, day: &str) -> Option<Item> {
        let text = state.notice()?;
        let (scope, level) = (&state.scope, state.level.as_str());
        let name = scope.name().unwrap_or(day);
        let task = match scope {
            Scope::Task(task) => Some(task.clone()),
            Scope::Day | Scope::Project(_) | Scope::Job(_) => None,
        };
        let key = format!("budget/{}/{name}/{level}", scope.key());
        Some(Item::about_budget(key, day, task, text))
    }

    /// A task in its queue that a budget holds back for another reason than its limit.
    pub fn from_unpriced(task: &TaskId, wait: &Wait, day: &str) -> Item {
        let key = format!("budget/unpriced/{task}/{wait}");
        Item::about_budget(key, day, Some(task.clone()), wait.to_string())
    }

    fn about_budget(key: String, day: &str, task: Option<TaskId>, text: String) -> Item {
        let midnight = Timestamp::parse(&format!("{day}T00:00:00Z"));
        Item {
            key,
            since: midnight.unwrap_or_default(),
            task,
            harness: None,
            kind: ItemKind::Budget,
            text,
            question: None,
            command: String::from("orange budget"),
            request: None,
        }
    }

    /// A harness on which no agents are started.
    pub fn from_parking(parking: &Parking) -> Item {
        let Parking { harness, since, .. } = parking;
        let command = match parking.reason {
            parking::Reason::Quota | parking::Reason::Overloaded | parking::Reason::Network => {
                String::from("orange harness list")
            }
            parking::Reason::Login => format!("orange harness unpark {harness}"),
        };
        Item {
            key: format!("harness/{harness}/{since}"),
            since: *since,
            task: None,
            harness: Some(harness.clone()),
            kind: ItemKind::Parked,
            text: parking.to_string(),
            question: None,
            command,
            request: None,
        }
    }
}

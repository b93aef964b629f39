//! What a queued task waits for, as data, with one wording.

use std::fmt;

use serde::Serialize;

use crate::budget::{Budget, Limit, Scope, Start};
use crate::names::{HarnessName, ProjectName, Status, TaskId};
use crate::parking::{Parking, Reason};
use crate::routing::split_commands;
use crate::time::Timestamp;
use crate::wording::{describe_bytes, join_and};

/// One thing that holds back a start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(tag = "waits_for", rename_all = "snake_case")]
pub enum Wait {
    /// The limit of agents is reached.
    Agents {
        /// The limit.
        limit: u32,
        /// The tasks that use it up, including those that start first.
        held_by: Vec<TaskId>,
    },
    /// The limit of agents of the project is reached.
    Project {
        /// The project.
        project: ProjectName,
        /// The limit.
        limit: u32,
        /// The tasks that use it up, including those that start first.
        held_by: Vec<TaskId>,
    },
    /// The limit of agents of the harness is reached.
    Harness {
        /// The harness.
        harness: HarnessName,
        /// The limit.
        limit: u32,
        /// The tasks that use it up, including those that start first.
        held_by: Vec<TaskId>,
    },
    /// The harness is parked.
    Parked(Parking),
    /// The limit of tasks in a status is reached.
    Status {
        /// The status.
        status: Status,
        /// The limit.
        limit: u32,
        /// The tasks in that status, including those that enter it first.
        held_by: Vec<TaskId>,
    },
    /// Every workspace of the project is taken.
    Pool {
        /// The project.
        project: ProjectName,
        /// The size of the pool.
        limit: u32,
        /// The tasks that use it up, including those that start first.
        held_by: Vec<TaskId>,
    },
    /// The worktrees' disk is almost full.
    Disk {
        /// The bytes that are free.
        free: u64,
        /// The bytes that must be free.
        needed: u64,
    },
    /// A budget is used up.
    Budget {
        /// What the limit is for.
        #[serde(flatten)]
        scope: Scope,
        /// The limit.
        limit: Limit,
        /// What was used, in the same unit.
        used: Limit,
    },
    /// A budget cannot be checked, because what the agent uses has no known price.
    Unpriced {
        /// The harness.
        harness: HarnessName,
        /// Why not.
        reason: String,
    },
    /// Another task must be done first.
    Dependency {
        /// The other task.
        task: TaskId,
        /// Its status.
        status: Status,
    },
    /// Another task had to be done first, but was cancelled.
    Cancelled {
        /// The other task.
        task: TaskId,
        /// Its status.
        status: Status,
    },
    /// Another task must be done first, but does not exist.
    UnknownTask {
        /// The other task.
        task: TaskId,
    },
    /// The effects of entering the queue are still running.
    EffectsRunning,
    /// Its last start or attempt failed; it waits before the next one.
    Pause {
        /// When the next one may start.
        until: Timestamp,
    },
    /// The workflow leaves the start to the user.
    User,
    /// Its start has not been requested.
    NotRequested,
    /// The router suggests splitting it, and the user has not decided.
    Split {
        /// The task.
        task: TaskId,
    },
}

impl Wait {
    /// What a budget has against a start.
    pub fn from_budget(budget: &Budget, start: &Start<'_>) -> Vec<Wait> {
        let reached = budget.reached(start).into_iter();
        let reached = reached.map(|it| Wait::Budget {
            scope: it.scope,
            limit: it.limit,
            used: it.used,
        });
        let unpriced = budget.unpriced(start).map(|reason| Wait::Unpriced {
            harness: start.harness.clone(),
            reason,
        });
        reached.chain(unpriced).collect()
    }

    /// Whether it is about a budget.
    pub fn is_budget(&self) -> bool {
        matches!(self, Wait::Budget { .. } | Wait::Unpriced { .. })
    }

    /// What to do about it, if anything; the hint is complete without the message.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Wait::Agents { .. } => raise_hint("agents", "[limits]"),
            Wait::Project { .. } => raise_hint("per_project", "[limits]"),
            Wait::Harness { harness, .. } => raise_hint(harness.as_str(), "[limits.harness]"),
            Wait::Parked(parking) => parked_hint(parking),
            Wait::Status { status, .. } => raise_hint(status.as_str(), "[limits.status]"),
            Wait::Pool { project, limit, .. } => format!(
                "finish or cancel one of them (see `orange task list`), or run `orange project \
                 update {project} --pool-size {}`",
                limit + 1
            ),
            Wait::Disk { .. } => String::from(
                "make room on that disk: `orange workspace list --size` shows what the worktrees \
                 take, `orange workspace remove` deletes those that no task has; or lower `disk` \
                 under `[limits]` in config.toml",
            ),
            Wait::Budget { scope, .. } => {
                let next_day = match scope {
                    Scope::Day => "wait until the next UTC day, or ",
                    _ => "",
                };
                let key = scope.key();
                format!(
                    "{next_day}raise `{key}` under `[budget]` in `config.toml` in orange's home \
                     (`orange budget` shows every limit, `orange doctor` shows where the file is)"
                )
            }
            Wait::Unpriced { .. } => String::from(
                "choose another harness or model, or write `unpriced = \"allow\"` under `[budget]` \
                 in `config.toml` in orange's home: then such runs count as far as they are known",
            ),
            Wait::Dependency { task, .. } => {
                format!("finish `{task}` first: `orange task show {task}` shows its progress")
            }
            Wait::Cancelled { task, .. } => format!(
                "reopen `{task}` with `orange task reopen {task}`; or cancel this task and create \
                 it again without `--after {task}`"
            ),
            Wait::UnknownTask { task } => format!(
                "`{task}` will never be done: cancel this task and create it again without \
                 `--after {task}`"
            ),
            Wait::Split { task } => split_commands(task),
            Wait::EffectsRunning | Wait::Pause { .. } | Wait::User | Wait::NotRequested => {
                return None;
            }
        })
    }
}

fn parked_hint(parking: &Parking) -> String {
    let harness = &parking.harness;
    match (parking.reason, parking.until) {
        (Reason::Login, _) => {
            format!("log in with that program yourself, then run `orange harness unpark {harness}`")
        }
        (Reason::Quota, None) => {
            format!("run `orange harness unpark {harness}` when it has quota again")
        }
        (Reason::Overloaded | Reason::Network, _) => format!(
            "the task continues automatically; if the service works earlier, run `orange harness \
             unpark {harness}`"
        ),
        (Reason::Quota, Some(_)) => format!(
            "the task continues automatically then; if you have quota earlier, run `orange \
             harness unpark {harness}`"
        ),
    }
}

fn raise_hint(key: &str, table: &str) -> String {
    format!(
        "finish or cancel one of them (see `orange task list`), or raise `{key}` under `{table}` \
         in `config.toml` in orange's home (`orange doctor` shows where that is)"
    )
}

impl fmt::Display for Wait {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Wait::Agents { limit, held_by } => {
                write!(
                    formatter,
                    "{} at once{}",
                    agents(*limit),
                    describe_holders(held_by)
                )
            }
            Wait::Project {
                project,
                limit,
                held_by,
            } => {
                let agents = agents(*limit);
                write!(
                    formatter,
                    "{agents} at once in project `{project}`{}",
                    describe_holders(held_by)
                )
            }
            Wait::Harness {
                harness,
                limit,
                held_by,
            } => {
                let agents = agents(*limit);
                write!(
                    formatter,
                    "{agents} of `{harness}` at once{}",
                    describe_holders(held_by)
                )
            }
            Wait::Parked(parking) => parking.fmt(formatter),
            Wait::Status {
                status,
                limit,
                held_by,
            } => write!(
                formatter,
                "nothing is started while {limit} or more tasks are in `{status}`{}",
                describe_holders(held_by)
            ),
            Wait::Pool {
                project,
                limit,
                held_by,
            } => write!(
                formatter,
                "no workspace is free (the pool of project `{project}` is full: {limit} of \
                 {limit}){}",
                describe_holders(held_by)
            ),
            Wait::Disk { free, needed } => write!(
                formatter,
                "only {} are free on the worktrees' disk; a start needs {}",
                describe_bytes(*free),
                describe_bytes(*needed)
            ),
            Wait::Budget { scope, limit, used } => write!(
                formatter,
                "the budget for {scope} is used up: {used} of {limit}"
            ),
            Wait::Unpriced { reason, .. } => {
                write!(formatter, "the budget cannot be checked: {reason}")
            }
            Wait::Dependency { task, status } => {
                write!(
                    formatter,
                    "task `{task}` must be done first; it is in `{status}`"
                )
            }
            Wait::Cancelled { task, status } => write!(
                formatter,
                "task `{task}` had to be done first, but was cancelled (`{status}`)"
            ),
            Wait::UnknownTask { task } => {
                write!(
                    formatter,
                    "task `{task}` must be done first, but does not exist"
                )
            }
            Wait::EffectsRunning => {
                formatter.write_str("the effects of entering its status are still running")
            }
            Wait::Pause { until } => {
                write!(
                    formatter,
                    "its last start or attempt failed; the next one is at {until}"
                )
            }
            Wait::User => formatter.write_str("its workflow leaves the start to you"),
            Wait::Split { .. } => {
                formatter.write_str("the router suggests splitting it, and you decide")
            }
            Wait::NotRequested => formatter.write_str("its start has not been requested"),
        }
    }
}

fn agents(limit: u32) -> String {
    match limit {
        0 => String::from("no agent may run"),
        1 => String::from("only 1 agent may run"),
        more => format!("only {more} agents may run"),
    }
}

/// The first few holders, because a list of fifty is no help.
fn describe_holders(holders: &[TaskId]) -> String {
    const SHOWN: usize = 5;
    if holders.is_empty() {
        return String::new();
    }
    let shown = holders.iter().take(SHOWN).map(|task| format!("`{task}`"));
    let more = holders.len().saturating_sub(SHOWN);
    let more = (more > 0).then(|| format!("{more} more"));
    format!(", held by {}", join_and(shown.chain(more)))
}

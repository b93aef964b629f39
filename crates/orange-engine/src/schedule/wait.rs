//! What a queued task waits for, as data, with one wording.

use std::fmt;

use serde::Serialize;

use crate::names::{HarnessName, ProjectName, Status, TaskId};
use crate::parking::{Parking, Reason};
use crate::time::Timestamp;
use crate::wording::all;

/// One thing that keeps a start back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(tag = "waits_for", rename_all = "snake_case")]
pub enum Wait {
    /// So many agents run as may.
    Agents {
        /// How many that is.
        limit: u32,
        /// The tasks that have them, those included that start first.
        held_by: Vec<TaskId>,
    },
    /// So many agents run in the project as may.
    Project {
        /// The project.
        project: ProjectName,
        /// How many that is.
        limit: u32,
        /// The tasks that have them, those included that start first.
        held_by: Vec<TaskId>,
    },
    /// So many agents of the harness run as may.
    Harness {
        /// The harness.
        harness: HarnessName,
        /// How many that is.
        limit: u32,
        /// The tasks that have them, those included that start first.
        held_by: Vec<TaskId>,
    },
    /// Nothing is started on the harness for now.
    Parked(Parking),
    /// So many tasks are in a status that nothing is started.
    Status {
        /// The status.
        status: Status,
        /// How many that is.
        limit: u32,
        /// The tasks in it, those included that come to it first.
        held_by: Vec<TaskId>,
    },
    /// Every workspace of the project is taken.
    Pool {
        /// The project.
        project: ProjectName,
        /// How many there are.
        limit: u32,
        /// The tasks that have them, those included that start first.
        held_by: Vec<TaskId>,
    },
    /// Another task has to be done first.
    Dependency {
        /// The other one.
        task: TaskId,
        /// Where it is.
        status: Status,
    },
    /// Another task had to be done first, and was given up.
    Cancelled {
        /// The other one.
        task: TaskId,
        /// Where it is.
        status: Status,
    },
    /// Another task has to be done first, and nobody knows it.
    Missing {
        /// The other one.
        task: TaskId,
    },
    /// What the queue was entered with is still going on.
    Unsettled,
    /// Its last start or attempt failed, and the next one does not follow at once.
    Pause {
        /// When it is.
        until: Timestamp,
    },
    /// The workflow leaves the start to a person.
    Person,
    /// Nobody has asked for its start.
    Unwanted,
}

impl Wait {
    /// What to do about it, if anything; the hint is complete without the message.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Wait::Agents { .. } => raise("agents", "[limits]"),
            Wait::Project { .. } => raise("per_project", "[limits]"),
            Wait::Harness { harness, .. } => raise(harness.as_str(), "[limits.harness]"),
            Wait::Parked(parking) => parked(parking),
            Wait::Status { status, .. } => raise(status.as_str(), "[limits.status]"),
            Wait::Pool { .. } => raise("size", "[pool]"),
            Wait::Dependency { task, .. } => {
                format!("finish that one first: `orange task show {task}` says how far it is")
            }
            Wait::Cancelled { task, .. } | Wait::Missing { task } => format!(
                "`{task}` will never be done: cancel this task, and create it anew without `--after \
                 {task}`"
            ),
            Wait::Unsettled | Wait::Pause { .. } | Wait::Person | Wait::Unwanted => return None,
        })
    }
}

fn parked(parking: &Parking) -> String {
    let harness = &parking.harness;
    match (parking.reason, parking.until) {
        (Reason::Login, _) => {
            format!("log in with that program yourself, then run `orange harness unpark {harness}`")
        }
        (Reason::Quota, None) => {
            format!("run `orange harness unpark {harness}` when it has quota again")
        }
        (Reason::Quota, Some(_)) => format!(
            "it goes on by itself then; if it has quota before, run `orange harness unpark \
             {harness}`"
        ),
    }
}

fn raise(key: &str, table: &str) -> String {
    format!(
        "finish or cancel one of them, see `orange task list`, or raise `{key}` under `{table}` in \
         config.toml: `orange config show` says where that is"
    )
}

impl fmt::Display for Wait {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Wait::Agents { limit, held_by } => {
                write!(formatter, "{} at once{}", agents(*limit), by(held_by))
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
                    by(held_by)
                )
            }
            Wait::Harness {
                harness,
                limit,
                held_by,
            } => {
                let agents = agents(*limit);
                write!(formatter, "{agents} of `{harness}` at once{}", by(held_by))
            }
            Wait::Parked(parking) => parking.fmt(formatter),
            Wait::Status {
                status,
                limit,
                held_by,
            } => write!(
                formatter,
                "nothing is started while {limit} or more tasks are in `{status}`{}",
                by(held_by)
            ),
            Wait::Pool {
                project,
                limit,
                held_by,
            } => write!(
                formatter,
                "no workspace is free (the pool of project `{project}` is full: {limit} of \
                 {limit}){}",
                by(held_by)
            ),
            Wait::Dependency { task, status } => {
                write!(
                    formatter,
                    "task `{task}` has to be done first, and is in `{status}`"
                )
            }
            Wait::Cancelled { task, status } => write!(
                formatter,
                "task `{task}` had to be done first, and was given up as `{status}`"
            ),
            Wait::Missing { task } => {
                write!(
                    formatter,
                    "task `{task}` has to be done first, and nobody knows it"
                )
            }
            Wait::Unsettled => {
                formatter.write_str("what its status was entered with is still going on")
            }
            Wait::Pause { until } => {
                write!(
                    formatter,
                    "its last start or attempt failed; the next one is at {until}"
                )
            }
            Wait::Person => formatter.write_str("its workflow leaves the start to a person"),
            Wait::Unwanted => formatter.write_str("nobody has asked for its start"),
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
fn by(holders: &[TaskId]) -> String {
    const SHOWN: usize = 5;
    if holders.is_empty() {
        return String::new();
    }
    let shown = holders.iter().take(SHOWN).map(|task| format!("`{task}`"));
    let more = holders.len().saturating_sub(SHOWN);
    let more = (more > 0).then(|| format!("{more} more"));
    format!(", held by {}", all(shown.chain(more)))
}

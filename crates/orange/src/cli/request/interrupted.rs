//! The error of a command that was interrupted while it waited.

use std::fmt;

use orange_engine::names::TaskId;
use serde_json::json;

use crate::cli::{Error, Exit};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    Interrupt,
    Terminate,
}

/// What the command waited for, which continues without it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Waited {
    Creation,
    /// The planned effects of a task.
    Effects(TaskId),
    /// A gate's command; nothing is decided before it has exited.
    Gate(TaskId),
    Status(TaskId),
    Agent(TaskId),
    Demo,
}

impl Signal {
    /// The error of a command that was interrupted before its wait was over.
    pub fn during(self, waited: &Waited) -> Error {
        let message = format!("{} while {waited}", self.told());
        Error::new(self.into(), "interrupted", message)
            .hint(waited.hint())
            .details(json!({ "task": waited.task() }))
    }

    fn told(self) -> &'static str {
        match self {
            Signal::Interrupt => "interrupted",
            Signal::Terminate => "asked to end",
        }
    }
}

impl From<Signal> for Exit {
    fn from(signal: Signal) -> Self {
        match signal {
            Signal::Interrupt => Exit::Interrupted,
            Signal::Terminate => Exit::Terminated,
        }
    }
}

impl Waited {
    /// What continues, and how to check on it.
    fn hint(&self) -> String {
        match self {
            Waited::Creation => String::from(
                "what was begun goes on by itself; `orange task list` shows whether the task is \
                 there",
            ),
            Waited::Effects(task) => format!(
                "what was begun goes on by itself; `orange task show {task}` tells how far it is"
            ),
            Waited::Gate(task) => format!(
                "the command of the gate goes on by itself, and nothing was decided; repeat yours \
                 to read its result, or see with `orange task why {task}` what is needed"
            ),
            Waited::Status(task) => {
                format!("the task goes on by itself; `orange task show {task}` tells where it is")
            }
            Waited::Agent(task) => {
                format!("the agent goes on by itself; `orange task attach {task}` shows it")
            }
            Waited::Demo => String::from("what it began was ended; `orange demo` begins anew"),
        }
    }

    fn task(&self) -> Option<&TaskId> {
        match self {
            Waited::Creation | Waited::Demo => None,
            Waited::Effects(task)
            | Waited::Gate(task)
            | Waited::Status(task)
            | Waited::Agent(task) => Some(task),
        }
    }
}

impl fmt::Display for Waited {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Waited::Creation => formatter.write_str("creating a task"),
            Waited::Effects(task) => write!(formatter, "waiting for what task `{task}` needs"),
            Waited::Gate(task) => write!(formatter, "waiting for a gate of task `{task}`"),
            Waited::Status(task) => write!(formatter, "waiting for task `{task}`"),
            Waited::Agent(task) => write!(formatter, "following the agent of task `{task}`"),
            Waited::Demo => formatter.write_str("playing the demo"),
        }
    }
}

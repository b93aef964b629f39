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

/// What the interrupted command waited for. Everything but the demo continues without the command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WaitSubject {
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
    pub fn interruption_error(self, subject: &WaitSubject) -> Error {
        let message = format!("{} while {subject}", self.describe());
        Error::new(self.into(), "interrupted", message)
            .hint(subject.hint())
            .details(json!({ "task": subject.task() }))
    }

    fn describe(self) -> &'static str {
        match self {
            Signal::Interrupt => "interrupted",
            Signal::Terminate => "terminated",
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

impl WaitSubject {
    /// What continues, and how to check on it.
    fn hint(&self) -> String {
        match self {
            WaitSubject::Creation => String::from(
                "it continues in the background; `orange task list` shows whether the task exists",
            ),
            WaitSubject::Effects(task) => format!(
                "it continues in the background; `orange task show {task}` shows how far it is"
            ),
            WaitSubject::Gate(task) => format!(
                "the gate's command keeps running, and nothing was decided; run your command again \
                 to see its result, or see what is needed with `orange task why {task}`"
            ),
            WaitSubject::Status(task) => {
                format!("the task continues; `orange task show {task}` shows where it is")
            }
            WaitSubject::Agent(task) => {
                format!("the agent keeps running; `orange task attach {task}` shows it")
            }
            WaitSubject::Demo => String::from(
                "everything it started was stopped; `orange demo` starts from the beginning",
            ),
        }
    }

    fn task(&self) -> Option<&TaskId> {
        match self {
            WaitSubject::Creation | WaitSubject::Demo => None,
            WaitSubject::Effects(task)
            | WaitSubject::Gate(task)
            | WaitSubject::Status(task)
            | WaitSubject::Agent(task) => Some(task),
        }
    }
}

impl fmt::Display for WaitSubject {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WaitSubject::Creation => formatter.write_str("creating a task"),
            WaitSubject::Effects(task) => {
                write!(formatter, "waiting for the effects of task `{task}`")
            }
            WaitSubject::Gate(task) => write!(formatter, "waiting for a gate of task `{task}`"),
            WaitSubject::Status(task) => write!(formatter, "waiting for task `{task}`"),
            WaitSubject::Agent(task) => write!(formatter, "following the agent of task `{task}`"),
            WaitSubject::Demo => formatter.write_str("playing the demo"),
        }
    }
}

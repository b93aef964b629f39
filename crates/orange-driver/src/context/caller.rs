//! Describes the calling process by its variables and its parents.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use orange_config::{
    ORANGE_BACKGROUND, ORANGE_EFFECT_ID, ORANGE_HOME, ORANGE_ROLE, ORANGE_RUN_ID, ORANGE_RUN_PROOF,
    ORANGE_TASK_ID,
};
use orange_effects::process::{Ancestor, ProcessError, ProcessIdentity, ancestors};
use orange_engine::names::{RunId, TaskId};

use crate::DriverError;
use crate::context::Context;

/// The calling process, as far as it is known without the database.
#[derive(Debug)]
pub(crate) struct Caller {
    /// What its own variables say.
    pub mark: Option<Mark>,
    /// The processes above it, nearest first; empty where the system does not show them.
    pub parents: Vec<Parent>,
}

/// A process above the caller.
#[derive(Debug)]
pub(crate) struct Parent {
    pub process: ProcessIdentity,
    /// What its variables say, unless they are about another home.
    pub mark: Option<Mark>,
    /// Whether orange started it to work for tasks, so that nothing below it is the user.
    pub is_background: bool,
}

/// The variables by which a process says that it works for a task. Without a run's proof they prove
/// nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    pub run: Option<RunId>,
    pub proof: Option<String>,
    pub task: Option<TaskId>,
    pub is_in_effect: bool,
}

impl Mark {
    /// Reads a mark, if there is one. Text that is not UTF-8 counts too.
    fn read<'a>(variable: impl Fn(&str) -> Option<&'a OsStr>) -> Option<Mark> {
        let marks = [
            ORANGE_RUN_ID,
            ORANGE_RUN_PROOF,
            ORANGE_ROLE,
            ORANGE_EFFECT_ID,
        ];
        if !marks.iter().any(|name| variable(name).is_some()) {
            return None;
        }
        let text = |name: &str| variable(name).map(|value| value.to_string_lossy().into_owned());
        Some(Mark {
            run: text(ORANGE_RUN_ID).map(RunId::new),
            proof: text(ORANGE_RUN_PROOF),
            task: text(ORANGE_TASK_ID).map(TaskId::new),
            is_in_effect: variable(ORANGE_EFFECT_ID).is_some(),
        })
    }
}

impl Caller {
    /// Whether anything connects it with a task.
    pub fn is_connected(&self) -> bool {
        let connects = |parent: &Parent| parent.is_background || parent.mark.is_some();
        self.mark.is_some() || self.parents.iter().any(connects)
    }
}

impl Context {
    /// Describes the process that called this one. Fails when a process above it cannot be read,
    /// because that process could be an agent.
    pub(crate) fn caller(&self) -> Result<Caller, DriverError> {
        let found = match ancestors() {
            Ok(found) => found,
            Err(ProcessError::Unsupported(_)) => Vec::new(),
            Err(error) => return Err(DriverError::CallerUnknown(error.to_string())),
        };
        let home = canonical_path(self.home.path());
        let supervisor = self.supervisor_process();
        let parents = found.into_iter().map(|ancestor| Parent {
            mark: mark_in(&home, &ancestor),
            is_background: is_home(&home, ancestor.variable(ORANGE_BACKGROUND))
                || supervisor.as_ref() == Some(&ancestor.process),
            process: ancestor.process,
        });
        Ok(Caller {
            mark: Mark::read(|name| self.environment.variable(name)),
            parents: parents.collect(),
        })
    }

    /// Whether the caller is an agent or something else that runs for a task. Works without a
    /// database, because that may be lost. An unidentifiable caller counts as an agent.
    pub(crate) fn is_called_by_agent(&self) -> bool {
        let workspaces = canonical_path(&self.home.workspaces());
        let is_inside = |directory: &Path| canonical_path(directory).starts_with(&workspaces);
        self.caller().map_or(true, |caller| caller.is_connected())
            || self.directory().is_some_and(is_inside)
    }

    /// Refuses a call whose variables name a run. A process that orange detached has no such
    /// variable. An agent's own call has it, and would run programs from that agent's `PATH`.
    pub fn refuse_runs(&self, action: &'static str) -> Result<(), DriverError> {
        match self.environment.variable(ORANGE_RUN_ID) {
            Some(_) => Err(DriverError::user_only(action)),
            None => Ok(()),
        }
    }
}

/// The mark of a process above the caller, unless its variables name another home: an agent of
/// another home may use this one like any other caller.
pub(crate) fn mark_in(home: &Path, ancestor: &Ancestor) -> Option<Mark> {
    let value = ancestor.variable(ORANGE_HOME);
    if value.is_some() && !is_home(home, value) {
        return None;
    }
    Mark::read(|name| ancestor.variable(name))
}

pub(crate) fn is_home(home: &Path, value: Option<&OsStr>) -> bool {
    value.is_some_and(|value| canonical_path(Path::new(value)) == home)
}

pub(crate) fn canonical_path(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &'static str)]) -> Option<Mark> {
        Mark::read(|name| {
            let mut found = variables.iter().filter(|(known, _)| *known == name);
            found.next().map(|(_, value)| OsStr::new(*value))
        })
    }

    #[test]
    fn any_run_variable_is_a_mark_but_the_task_alone_is_not() {
        assert_eq!(read(&[]), None);
        assert_eq!(read(&[(ORANGE_TASK_ID, "t1"), (ORANGE_HOME, "/h")]), None);
        for name in [
            ORANGE_RUN_ID,
            ORANGE_RUN_PROOF,
            ORANGE_ROLE,
            ORANGE_EFFECT_ID,
        ] {
            assert!(read(&[(name, "x")]).is_some(), "{name}");
        }
    }
}

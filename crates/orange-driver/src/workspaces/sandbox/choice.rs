//! Decides whether the programs of a project run in a sandbox.

use std::path::{Path, PathBuf};

use orange_config::{Project, SandboxMode, SandboxSettings};
use orange_effects::sandbox::{Capabilities, Level};
use orange_engine::Task;

use crate::DriverError;
use crate::context::Context;
use crate::steps::pinned_workflow;
use crate::workspaces::Workspaces;

/// A sandbox that the settings ask for and that this machine can make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ChosenSandbox {
    /// `None` at the partial level.
    pub(crate) bwrap: Option<PathBuf>,
    pub(crate) settings: SandboxSettings,
}

impl Context {
    /// The sandbox of a project's agents, or of one that is not registered yet. `None` if the user
    /// turned it off; an error if this machine can make none, or only a partial one where the user
    /// requires a full one.
    pub(crate) fn choose_sandbox(
        &self,
        project: Option<&Project>,
    ) -> Result<Option<ChosenSandbox>, DriverError> {
        let settings = self.settings(project)?.sandbox;
        if settings.mode == SandboxMode::Off {
            return Ok(None);
        }
        let capabilities = self.capabilities();
        match capabilities.level {
            Level::None => return Err(DriverError::no_sandbox(&capabilities)),
            Level::Partial if settings.mode == SandboxMode::Required => {
                return Err(DriverError::only_partial_sandbox(&capabilities, ""));
            }
            Level::Partial | Level::Full => {}
        }
        Ok(Some(ChosenSandbox {
            bwrap: capabilities.startable_bwrap().map(Path::to_owned),
            settings,
        }))
    }
}

impl Workspaces {
    /// The same for a task, whose workflow may need a sandbox.
    pub(crate) fn choose_sandbox(
        &self,
        task: &Task,
        project: &Project,
    ) -> Result<Option<ChosenSandbox>, DriverError> {
        let chosen = self.context.choose_sandbox(Some(project))?;
        let is_full = chosen.as_ref().is_some_and(|it| it.bwrap.is_some());
        if is_full || !self.workflow_needs_sandbox(task)? {
            return Ok(chosen);
        }
        let workflow = &task.workflow;
        if chosen.is_some() {
            let needs = format!("the workflow `{workflow}` needs a full one, and ");
            let capabilities = self.context.capabilities();
            return Err(DriverError::only_partial_sandbox(&capabilities, &needs));
        }
        Err(DriverError::NoSandbox {
            reason: format!("the workflow `{workflow}` needs one, and `sandbox.mode` is \"off\""),
            fix: String::from("set `sandbox.mode` to \"auto\" or \"required\""),
        })
    }

    fn workflow_needs_sandbox(&self, task: &Task) -> Result<bool, DriverError> {
        let stored = self.context.read_store()?.require(&task.id)?;
        Ok(pinned_workflow(&stored)?.sandbox.is_some())
    }

    /// Fails if commands of a task cannot run because of a missing sandbox.
    pub(crate) fn require_possible_sandbox(&self, task: &Task) -> Result<(), DriverError> {
        let projects = self.context.projects()?;
        let project = projects.require(&task.project)?;
        self.choose_sandbox(task, project).map(|_| ())
    }
}

impl DriverError {
    /// Why this machine can make no sandbox, and what to do about it.
    pub(super) fn no_sandbox(capabilities: &Capabilities) -> DriverError {
        let gap = capabilities.obstacle();
        let fix = gap.map_or("use another machine", |gap| &gap.fix);
        DriverError::NoSandbox {
            reason: gap
                .map_or("this machine has none", |gap| &gap.reason)
                .to_owned(),
            fix: format!("{fix}; or set `sandbox.mode` to \"off\" to do without a sandbox"),
        }
    }

    /// Why this machine can make only a partial sandbox; `needs` says who needs a full one, unless
    /// it is the user.
    fn only_partial_sandbox(capabilities: &Capabilities, needs: &str) -> DriverError {
        let gap = capabilities.obstacle();
        let reason = gap.map_or("", |gap| &gap.reason);
        let fix = gap.map_or("use another machine", |gap| &gap.fix);
        let other = match needs {
            "" => "; or set `sandbox.mode` to \"auto\" to accept a partial one",
            _ => "",
        };
        DriverError::NoSandbox {
            reason: format!("{needs}this machine can make only a partial one: {reason}"),
            fix: format!("{fix}{other}"),
        }
    }
}

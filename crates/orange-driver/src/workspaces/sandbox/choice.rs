//! Decides whether the programs of a project run in a sandbox.

use std::path::PathBuf;

use orange_config::{Project, SandboxMode, SandboxSettings};
use orange_effects::sandbox::Capabilities;
use orange_engine::Task;

use crate::DriverError;
use crate::context::Context;
use crate::steps::pinned_workflow;
use crate::workspaces::Workspaces;

/// A sandbox that the settings ask for and that this machine can make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ChosenSandbox {
    pub(crate) bwrap: PathBuf,
    pub(crate) settings: SandboxSettings,
}

impl Context {
    /// The sandbox of a project's agents, or of one that is not registered yet. `None` if the user
    /// turned it off; an error if this machine can make none.
    pub(crate) fn choose_sandbox(
        &self,
        project: Option<&Project>,
    ) -> Result<Option<ChosenSandbox>, DriverError> {
        let settings = self.settings(project)?.sandbox;
        if settings.mode == SandboxMode::Off {
            return Ok(None);
        }
        let capabilities = self.capabilities();
        let Some(bwrap) = capabilities.startable_bwrap() else {
            return Err(DriverError::no_sandbox(&capabilities));
        };
        Ok(Some(ChosenSandbox {
            bwrap: bwrap.to_owned(),
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
        if chosen.is_none() && self.workflow_needs_sandbox(task)? {
            return Err(DriverError::NoSandbox {
                reason: format!(
                    "the workflow `{}` needs one, and `sandbox.mode` is \"off\"",
                    task.workflow
                ),
                fix: String::from("set `sandbox.mode` to \"auto\" or \"required\""),
            });
        }
        Ok(chosen)
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
}

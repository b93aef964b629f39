//! Decides whether the programs of a project run in a sandbox.

use std::path::PathBuf;

use orange_config::{Project, SandboxMode, SandboxSettings};
use orange_effects::sandbox::Capabilities;
use orange_engine::Task;

use crate::DriverError;
use crate::steps::pinned_workflow;
use crate::workspaces::Workspaces;

/// What the settings and this machine lead to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SandboxChoice {
    /// The user did not turn it on.
    Off,
    /// This machine can make none, and the user does not require one.
    Unavailable { reason: String, fix: String },
    /// Made with this bwrap.
    Use {
        bwrap: PathBuf,
        settings: SandboxSettings,
    },
}

impl Workspaces {
    /// Fails if the user or the task's workflow requires a sandbox and there can be none.
    pub(crate) fn choose_sandbox(
        &self,
        task: &Task,
        project: &Project,
    ) -> Result<SandboxChoice, DriverError> {
        let settings = self.context.settings(Some(project))?.sandbox;
        let is_required =
            settings.mode == SandboxMode::Required || self.workflow_needs_sandbox(task)?;
        if settings.mode == SandboxMode::Off {
            if is_required {
                return Err(DriverError::NoSandbox {
                    reason: format!(
                        "the workflow `{}` needs one, and `sandbox.mode` is \"off\"",
                        task.workflow
                    ),
                    fix: String::from("set `sandbox.mode` to \"auto\" or \"required\""),
                });
            }
            return Ok(SandboxChoice::Off);
        }
        let worktrees = self.context.home.workspaces();
        let capabilities = Capabilities::find(&self.context.environment, &[&worktrees]);
        if let Some(bwrap) = capabilities.startable_bwrap() {
            let bwrap = bwrap.to_owned();
            return Ok(SandboxChoice::Use { bwrap, settings });
        }
        let (reason, fix) = obstacle(&capabilities);
        if is_required {
            let fix = match settings.mode {
                SandboxMode::Required => format!(
                    "{fix}; or set `sandbox.mode` to \"auto\" or \"off\" to do without a sandbox"
                ),
                _ => fix,
            };
            return Err(DriverError::NoSandbox { reason, fix });
        }
        Ok(SandboxChoice::Unavailable { reason, fix })
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

/// Why this machine can make no sandbox, and what to do about it.
fn obstacle(capabilities: &Capabilities) -> (String, String) {
    let gap = capabilities.obstacle();
    let reason = gap.map_or("this machine has none", |gap| &gap.reason);
    let fix = gap.map_or("use another machine", |gap| &gap.fix);
    (reason.to_owned(), fix.to_owned())
}

impl DriverError {
    pub(super) fn no_sandbox(capabilities: &Capabilities) -> DriverError {
        let (reason, fix) = obstacle(capabilities);
        DriverError::NoSandbox { reason, fix }
    }
}

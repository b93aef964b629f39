//! Decides whether the programs of a project run in a sandbox.

use std::path::PathBuf;

use orange_config::{Project, SandboxMode, SandboxSettings};
use orange_effects::sandbox::Capabilities;
use orange_engine::Task;

use crate::DriverError;
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
    /// Fails if the user requires a sandbox and this machine can make none.
    pub(crate) fn choose_sandbox(&self, project: &Project) -> Result<SandboxChoice, DriverError> {
        let settings = self.context.settings(Some(project))?.sandbox;
        if settings.mode == SandboxMode::Off {
            return Ok(SandboxChoice::Off);
        }
        let worktrees = self.context.home.workspaces();
        let capabilities = Capabilities::find(&self.context.environment, &[&worktrees]);
        if let Some(bwrap) = capabilities.startable_bwrap() {
            let bwrap = bwrap.to_owned();
            return Ok(SandboxChoice::Use { bwrap, settings });
        }
        let gap = capabilities.obstacle();
        let reason = gap.map_or("this machine has none", |gap| &gap.reason);
        let fix = gap.map_or("use another machine", |gap| &gap.fix);
        let (reason, fix) = (reason.to_owned(), fix.to_owned());
        if settings.mode == SandboxMode::Required {
            let fix = format!(
                "{fix}; or set `sandbox.mode` to \"auto\" or \"off\" to do without a sandbox"
            );
            return Err(DriverError::NoSandbox { reason, fix });
        }
        Ok(SandboxChoice::Unavailable { reason, fix })
    }

    /// Fails if commands of a task cannot run because of a missing sandbox.
    pub(crate) fn require_possible_sandbox(&self, task: &Task) -> Result<(), DriverError> {
        let projects = self.context.projects()?;
        let project = projects.require(&task.project)?;
        self.choose_sandbox(project).map(|_| ())
    }
}

//! Decides whether the programs of a project run in a sandbox.

use std::path::{Path, PathBuf};

use orange_config::{Project, SandboxMode, SandboxSettings, SettingOrigin, Settings};
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
        let all = self.settings(project)?;
        let settings = all.sandbox.clone();
        if settings.mode == SandboxMode::Off {
            return Ok(None);
        }
        let capabilities = self.capabilities();
        match capabilities.level {
            Level::None => {
                let without = format!("{} to do without a sandbox", set_mode(&all, project, "off"));
                return Err(missing(&capabilities, "", Some(&without)));
            }
            Level::Partial if settings.mode == SandboxMode::Required => {
                let partial = format!("{} to accept it", set_mode(&all, project, "auto"));
                let reason = "this machine can make only a partial one: ";
                return Err(missing(&capabilities, reason, Some(&partial)));
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
            let reason = format!(
                "the workflow `{workflow}` needs a full one, and this machine can make only a \
                 partial one: "
            );
            return Err(missing(&self.context.capabilities(), &reason, None));
        }
        let settings = self.context.settings(Some(project))?;
        Err(DriverError::NoSandbox {
            reason: format!("the workflow `{workflow}` needs one, and `sandbox.mode` is \"off\""),
            fix: set_mode(&settings, Some(project), "auto"),
        })
    }

    /// Fails if a full sandbox is required, because one that shares the user's repository is not.
    pub(crate) fn require_shareable_repository(
        &self,
        task: &Task,
        project: &Project,
        reason: &str,
    ) -> Result<(), DriverError> {
        let settings = self.context.settings(Some(project))?;
        let (who, fix) = if self.workflow_needs_sandbox(task)? {
            let who = format!("the workflow `{}` needs a full one", task.workflow);
            (who, String::from("use another workflow"))
        } else if settings.sandbox.mode == SandboxMode::Required {
            let who = String::from("`sandbox.mode` is \"required\"");
            (who, set_mode(&settings, Some(project), "auto"))
        } else {
            return Ok(());
        };
        Err(DriverError::NoSandbox {
            reason: format!("{who}, and the agent would share your repository: {reason}"),
            fix,
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

/// How the user sets the mode, where it is set now.
fn set_mode(settings: &Settings, project: Option<&Project>, mode: &str) -> String {
    let mut all = settings.all().iter();
    let setting = all.find(|it| it.key == "sandbox.mode");
    match (setting.map(|it| &it.origin), project) {
        (
            Some(SettingOrigin::Project { .. } | SettingOrigin::Policy { .. }),
            Some(Project { name, .. }),
        ) => format!("run `orange project update {name} --sandbox-mode {mode}`"),
        _ => format!("set `sandbox.mode` to \"{mode}\" in `config.toml`"),
    }
}

/// The error without a sandbox, or with a partial one; `other` is what the user can do instead of
/// giving this machine a full one.
fn missing(capabilities: &Capabilities, before: &str, other: Option<&str>) -> DriverError {
    let gap = capabilities.obstacle();
    let reason = gap.map_or("this machine has none", |gap| &gap.reason);
    let fix = gap.map_or("use another machine", |gap| &gap.fix);
    let other = other.map(|other| format!("; or {other}"));
    DriverError::NoSandbox {
        reason: format!("{before}{reason}"),
        fix: format!("{fix}{}", other.unwrap_or_default()),
    }
}

impl DriverError {
    /// Why this machine can make no sandbox, and what to do about it.
    pub(super) fn no_sandbox(capabilities: &Capabilities) -> DriverError {
        missing(capabilities, "", None)
    }
}

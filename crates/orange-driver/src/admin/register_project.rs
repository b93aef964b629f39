//! Registers a repository as a project.

use std::path::Path;

use orange_config::Project;
use orange_engine::names::{HarnessName, ProjectName};

use super::projects::ProjectSettings;
use crate::DriverError;
use crate::admin::Admin;

impl Admin {
    /// Registers the repository that contains a directory; returns whether it is new.
    pub fn add_project(
        &self,
        directory: &Path,
        name: Option<ProjectName>,
        workflow: Option<String>,
        harness: Option<HarnessName>,
    ) -> Result<(Project, bool), DriverError> {
        let caller = self.callers.identify();
        if caller.is_ok_and(|caller| caller.is_assistant()) {
            return Err(DriverError::user_only("register a project"));
        }
        let is_named = name.is_some();
        let project =
            self.workspaces
                .describe_project(directory, name, workflow.clone(), harness.clone())?;
        let settings = ProjectSettings {
            workflow,
            harness,
            ..ProjectSettings::default()
        };
        self.check_settings(&project, &settings)?;
        // Without a name, the caller means the project that is registered at this path.
        let mut known = self.context.projects()?.projects.into_iter();
        let known = known.find(|it| it.path == project.path && !is_named);
        if let Some(known) = known {
            return Ok((known, false));
        }
        self.context.register(project)
    }
}

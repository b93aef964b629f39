//! The allowed policy of a project, and what it adds.

use orange_config::{Catalog, PinnedPolicy, Policy, Project, ProjectScript, Projects};
use orange_engine::names::ProjectName;

use crate::DriverError;
use crate::context::Context;

impl Context {
    /// The policy that the user allowed for a project. Reads only orange's home.
    pub(crate) fn policy(&self, project: &ProjectName) -> Result<Option<Policy>, DriverError> {
        let pinned = PinnedPolicy::load(&self.home, project)?;
        let policy = pinned.map(|pinned| pinned.policy(&self.home));
        Ok(policy.transpose()?)
    }

    /// The workflows of a project, or those of the user and of orange.
    pub fn catalog(&self, project: Option<&ProjectName>) -> Result<Catalog, DriverError> {
        let policy = project.map(|project| self.policy(project)).transpose()?;
        Ok(Catalog::load_with(&self.home, policy.flatten().as_ref())?)
    }

    /// Registers a project; returns whether it is new. The policy of an earlier project with its
    /// name, which was removed by hand, does not count for it.
    pub(crate) fn register(&self, project: Project) -> Result<(Project, bool), DriverError> {
        let known = self.projects()?;
        if known.projects.iter().all(|it| it.name != project.name) {
            PinnedPolicy::remove(&self.home, &project.name)?;
        }
        Ok(Projects::add(&self.home, project)?)
    }

    /// The script that prepares the worktrees of a project.
    pub(crate) fn setup_script(&self, project: &Project) -> Result<ProjectScript, DriverError> {
        let policy = self.policy(&project.name)?;
        Ok(project.setup_script(policy.as_ref()))
    }

    /// The script that runs before a worktree of a project is released.
    pub(crate) fn teardown_script(&self, project: &Project) -> Result<ProjectScript, DriverError> {
        let policy = self.policy(&project.name)?;
        Ok(project.teardown_script(policy.as_ref()))
    }
}

//! Describes the project that a repository would become.

use std::path::Path;

use orange_config::Project;
use orange_effects::git::{Git, GitError};
use orange_engine::names::{BranchName, HarnessName, ProjectName};

use crate::DriverError;
use crate::error::RepositoryProblem;
use crate::workspaces::Workspaces;

impl Workspaces {
    /// The project that registering a directory would create; writes nothing.
    pub(crate) fn describe_project(
        &self,
        directory: &Path,
        name: Option<ProjectName>,
        workflow: Option<String>,
        harness: Option<HarnessName>,
    ) -> Result<Project, DriverError> {
        let unusable = |problem: RepositoryProblem| DriverError::NoRepository {
            path: directory.to_owned(),
            problem,
        };
        let git = match Git::open("git", directory, &self.context.environment) {
            Err(GitError::NotARepository { .. }) => {
                return Err(unusable(RepositoryProblem::NotARepository));
            }
            git => git?,
        };
        let path = git.toplevel(directory);
        let path = path.map_err(|_| unusable(RepositoryProblem::NoCheckout))?;
        let branch = default_branch(&git, &path)?;
        let branch = branch.ok_or_else(|| unusable(RepositoryProblem::NoBranch))?;
        match git.base(&branch) {
            Err(GitError::NoCommit { .. }) => {
                return Err(unusable(RepositoryProblem::NoCommit));
            }
            base => base?,
        };
        // The path is stored as text, so it must survive the conversion unchanged.
        let text = path.to_str().filter(|it| !it.contains(char::is_control));
        if text.is_none() {
            return Err(unusable(RepositoryProblem::BadPath));
        }
        let name = match name {
            Some(name) => name,
            None => self.context.projects()?.name_for(&path),
        };
        let mut project = Project::new(name, path, branch);
        project.workflow = workflow;
        project.harness = harness;
        let address = git.remote_address();
        project.remote = Some(
            address
                .as_ref()
                .map_or_else(String::new, |it| it.fetch.clone()),
        );
        project.push_remote = address.and_then(|it| it.push);
        Ok(project)
    }
}

/// The remote's default branch, else a branch with a usual name such as `main`, else the
/// checked-out branch.
fn default_branch(git: &Git, path: &Path) -> Result<Option<BranchName>, DriverError> {
    match git.default_branch(None) {
        Ok(branch) => Ok(Some(branch)),
        Err(GitError::NoDefaultBranch(_)) => Ok(git.worktree(path)?.branch()?),
        Err(error) => Err(error.into()),
    }
}

//! Follows a project's repository to its new directory.

use std::path::{Path, PathBuf};

use orange_config::{Project, Projects};
use orange_effects::git::{Git, ListedWorktree};
use orange_store::{Store, StoreError};

use crate::DriverError;
use crate::admin::Admin;

impl Admin {
    /// The directory that a project's repository was moved to. Refuses a different repository. Also
    /// refuses a copy while the original is still at its old place, because the worktrees belong to
    /// the original.
    pub(super) fn find_moved_repository(
        &self,
        projects: &Projects,
        project: &Project,
        directory: &Path,
    ) -> Result<PathBuf, DriverError> {
        let here = self.context.directory().unwrap_or(Path::new("/"));
        let directory = here.join(directory);
        let name = Some(project.name.clone());
        let found = self
            .workspaces
            .describe_project(&directory, name, None, None)?;
        let refused = |reason: String| DriverError::NotThisRepository {
            project: project.name.clone(),
            path: found.path.clone(),
            reason,
        };
        if directory.canonicalize().ok() != found.path.canonicalize().ok() {
            let directory = directory.display();
            return Err(refused(format!(
                "`{directory}` is only a directory in it; if you mean this repository, name `{}`",
                found.path.display()
            )));
        }
        let is_other = |it: &&Project| it.name != project.name && it.path == found.path;
        if let Some(other) = projects.projects.iter().find(is_other) {
            let other = &other.name;
            return Err(refused(format!(
                "project `{other}` is registered there; `orange project remove {other}` removes it"
            )));
        }
        let git = Git::open("git", &found.path, &self.context.environment)?;
        let old = Git::open_checkout("git", &project.path, &self.context.environment);
        if old.is_ok_and(|old| old.directory() != git.directory()) {
            let path = project.path.display();
            return Err(refused(format!("the repository is still at `{path}`")));
        }
        if git.branch(&project.default_branch)?.is_none() {
            let branch = &project.default_branch;
            return Err(refused(format!("it has no branch `{branch}`")));
        }
        let listed = git.worktrees()?;
        for path in self.worktrees_of(project)? {
            let is_listed = |it: &ListedWorktree| it.path.canonicalize().is_ok_and(|it| it == path);
            if !listed.iter().any(is_listed) {
                let path = path.display();
                return Err(refused(format!(
                    "it has no record of the worktree `{path}`"
                )));
            }
        }
        Ok(found.path)
    }

    /// Makes the worktrees of a project point to its repository again. The call can be repeated.
    pub(super) fn repair_worktrees(&self, project: &Project) -> Result<(), DriverError> {
        let git = self.workspaces.open_repository(project)?;
        git.repair_worktrees()?;
        for path in self.worktrees_of(project)? {
            git.worktree(&path)?;
        }
        Ok(())
    }

    /// The worktrees of a project's pool that exist.
    fn worktrees_of(&self, project: &Project) -> Result<Vec<PathBuf>, DriverError> {
        let store = match Store::open_read_only(&self.context.home) {
            Ok(store) => store,
            Err(StoreError::Missing { .. }) => return Ok(Vec::new()),
            Err(error) => return Err(error.into()),
        };
        let records = store.workspaces(&project.name)?.into_iter();
        let paths = records.map(|it| it.path).filter(|it| it.exists());
        Ok(paths
            .map(|path| path.canonicalize().unwrap_or(path))
            .collect())
    }
}

//! Resolves the project: by name, by directory, or the only one.

use std::path::Path;

use orange_config::{Project, Projects};
use orange_effects::git::{Git, GitError};
use orange_engine::names::ProjectName;
use orange_store::StoreError;

use crate::DriverError;
use crate::callers::Callers;

impl Callers {
    /// The given project, else that of the current directory, else the only one.
    pub fn project_for(&self, name: Option<&ProjectName>) -> Result<Project, DriverError> {
        let projects = self.context.projects()?;
        if let Some(name) = name {
            return Ok(projects.require(name)?.clone());
        }
        if let Some(project) = self.project_around(&projects)? {
            return Ok(project);
        }
        match projects.projects.as_slice() {
            [project] => Ok(project.clone()),
            _ => Err(DriverError::ProjectUnclear {
                directory: self
                    .context
                    .directory()
                    .map(Path::to_owned)
                    .unwrap_or_default(),
                names: projects.names(),
            }),
        }
    }

    /// The given project, or the one that the current directory belongs to; `None` elsewhere.
    pub fn project_here(&self, name: Option<&ProjectName>) -> Result<Option<Project>, DriverError> {
        let projects = self.context.projects()?;
        match name {
            Some(name) => Ok(Some(projects.require(name)?.clone())),
            None => self.project_around(&projects),
        }
    }

    /// The project that the current directory belongs to: the directory is in its checkout, in one
    /// of its workspaces, or in another worktree of its repository.
    pub(crate) fn project_around(
        &self,
        projects: &Projects,
    ) -> Result<Option<Project>, DriverError> {
        let Some(directory) = self.context.directory() else {
            return Ok(None);
        };
        if let Some(project) = projects.find_containing(directory)
            && !self.is_in_other_repository(directory, project)?
        {
            return Ok(Some(project.clone()));
        }
        match self.context.read_store() {
            Ok(store) => {
                // The caller's identity only serves to find the project here, so an error is
                // ignored.
                if let Some(task) = self.identify_in(&store).ok().and_then(|it| it.task) {
                    let task = store.require(&task)?.task;
                    return Ok(Some(projects.require(&task.project)?.clone()));
                }
            }
            Err(StoreError::Missing { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        let Some(git) = self.repository_at(directory)? else {
            return Ok(None);
        };
        let is_same_repository = |project: &&Project| {
            let other = Git::open_checkout("git", &project.path, &self.context.environment);
            other.is_ok_and(|other| other.directory() == git.directory())
        };
        Ok(projects.projects.iter().find(is_same_repository).cloned())
    }

    /// Whether a directory in a project's checkout belongs to another repository there. A submodule
    /// belongs to the project.
    fn is_in_other_repository(
        &self,
        directory: &Path,
        project: &Project,
    ) -> Result<bool, DriverError> {
        let folders = directory.ancestors();
        let mut inside = folders.take_while(|folder| *folder != project.path);
        if !inside.any(|folder| folder.join(".git").exists()) {
            return Ok(false);
        }
        let Some(found) = self.repository_at(directory)? else {
            return Ok(false);
        };
        let own = Git::open_checkout("git", &project.path, &self.context.environment);
        Ok(own.is_ok_and(|own| !found.directory().starts_with(own.directory())))
    }

    pub(crate) fn repository_at(&self, directory: &Path) -> Result<Option<Git>, DriverError> {
        match Git::open("git", directory, &self.context.environment) {
            Ok(git) => Ok(Some(git)),
            Err(GitError::NotARepository { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

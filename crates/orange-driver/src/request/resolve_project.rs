//! Which project is meant: by name, by directory, or the only one.

use std::path::Path;

use orange_config::{Harnesses, Project, Projects};
use orange_effects::git::{Git, GitError};
use orange_engine::names::{HarnessName, ProjectName};
use orange_engine::role::Role;
use orange_store::{Store, StoreError};

use super::create::NewWork;
use crate::{Driver, DriverError};

impl Driver {
    /// The project that is meant.
    pub fn project_for(&self, name: Option<&ProjectName>) -> Result<Project, DriverError> {
        let projects = self.projects()?;
        if let Some(name) = name {
            return Ok(projects.require(name)?.clone());
        }
        if let Some(project) = self.project_around(&projects)? {
            return Ok(project);
        }
        match projects.projects.as_slice() {
            [project] => Ok(project.clone()),
            [] => Err(DriverError::ProjectUnclear {
                reason: "none is registered",
                names: Vec::new(),
            }),
            _ => Err(DriverError::ProjectUnclear {
                reason: "this directory belongs to none",
                names: projects.names(),
            }),
        }
    }

    /// The project that was named, or that the present directory belongs to; none elsewhere.
    pub fn project_here(&self, name: Option<&ProjectName>) -> Result<Option<Project>, DriverError> {
        let projects = self.projects()?;
        match name {
            Some(name) => Ok(Some(projects.require(name)?.clone())),
            None => self.project_around(&projects),
        }
    }

    /// The project that the present directory belongs to: it is in its checkout, in one of its
    /// workspaces, or in another worktree of its repository.
    pub(crate) fn project_around(
        &self,
        projects: &Projects,
    ) -> Result<Option<Project>, DriverError> {
        let Some(directory) = self.directory() else {
            return Ok(None);
        };
        if let Some(project) = projects.holding(directory) {
            return Ok(Some(project.clone()));
        }
        match Store::open_read_only(&self.home) {
            Ok(store) => {
                // Who asks only matters here where it says which project is meant.
                if let Some(task) = self.identify_in(&store).ok().and_then(|it| it.task) {
                    let task = store.require(&task)?.task;
                    return Ok(Some(projects.require(&task.project)?.clone()));
                }
            }
            Err(StoreError::Missing { .. } | StoreError::Older { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        let Some(git) = self.repository_at(directory)? else {
            return Ok(None);
        };
        let shares = |project: &&Project| {
            let other = Git::open("git", &project.path, &self.environment);
            other.is_ok_and(|other| other.directory() == git.directory())
        };
        Ok(projects.projects.iter().find(shares).cloned())
    }

    /// The project of a new task, and whether it has to be registered first: a person who stands in
    /// a repository that nobody registered means that one.
    pub(crate) fn project_for_new(
        &self,
        new: &NewWork,
        harnesses: &Harnesses,
    ) -> Result<(Project, bool), DriverError> {
        let projects = self.projects()?;
        let here = self.directory().filter(|_| new.project.is_none());
        if let Some(directory) = here
            && new.by == Role::Human
            && self.project_around(&projects)?.is_none()
            && self.repository_at(directory)?.is_some()
        {
            let project = self.described_project(directory, None, None, None)?;
            let harness = new.harness.clone();
            let harness = harness.or_else(|| self.first_installed(harnesses));
            let harness = harness.ok_or_else(|| DriverError::HarnessUnset {
                project: project.name.clone(),
                folder: self.home.harnesses(),
            })?;
            let harness = Some(harness);
            return Ok((Project { harness, ..project }, true));
        }
        Ok((self.project_for(new.project.as_ref())?, false))
    }

    fn repository_at(&self, directory: &Path) -> Result<Option<Git>, DriverError> {
        match Git::open("git", directory, &self.environment) {
            Ok(git) => Ok(Some(git)),
            Err(GitError::NotARepository { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The first harness, in the order of their names, whose program is installed.
    pub(crate) fn first_installed(&self, harnesses: &Harnesses) -> Option<HarnessName> {
        let path = self.environment.variable("PATH");
        let mut usable = harnesses
            .all()
            .iter()
            .filter_map(|(_, it)| it.as_ref().ok());
        let first = usable.find(|harness| harness.locate(path).is_ok());
        first.map(|harness| harness.name.clone())
    }
}

//! Finds projects whose default branch does not exist.

use orange_config::Project;

use super::{Checkup, Health};
use crate::admin::Admin;
use crate::workspaces::default_branch::missing_default_branch;

impl Admin {
    pub(crate) fn check_default_branches(&self, projects: &[Project], found: &mut Vec<Checkup>) {
        for project in projects {
            // Another check reports a repository that cannot be opened.
            let Ok(git) = self.workspaces.open_repository(project) else {
                continue;
            };
            let subject = format!("project {}", project.name);
            found.extend(match missing_default_branch(&git, project) {
                Ok(missing) => missing
                    .map(|it| Checkup::new(subject, Health::Error, it.message).with_fix(it.fix)),
                Err(error) => Some(Checkup::new(subject, Health::Unknown, error.to_string())),
            });
        }
    }
}

//! Finds projects whose git filters orange does not run.

use orange_config::Project;

use super::{Checkup, Health};
use crate::admin::Admin;

impl Admin {
    pub(crate) fn check_filters(&self, projects: &[Project], found: &mut Vec<Checkup>) {
        for project in projects {
            // A repository that cannot be read is reported when a task needs it.
            let filters = self.workspaces.unread_filters(project).unwrap_or_default();
            found.extend(filters.into_iter().map(|filter| {
                Checkup::new("filters", Health::Warning, filter.message).with_fix(filter.fix)
            }));
        }
    }
}

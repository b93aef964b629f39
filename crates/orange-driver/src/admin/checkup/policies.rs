//! Finds repositories whose policy is not the one that the user allowed.

use orange_config::Project;

use super::{Checkup, Health};
use crate::admin::Admin;
use crate::workspaces::policy::PolicyState;

impl Admin {
    pub(super) fn check_policies(&self, projects: &[Project], found: &mut Vec<Checkup>) {
        for project in projects {
            let subject = format!("policy of {}", project.name);
            if let Err(error) = self.context.policy(&project.name) {
                let fix = error.report().hints.join("; ");
                let broken = Checkup::new(subject, Health::Error, error.to_string());
                found.push(broken.with_fix(fix));
                continue;
            }
            // Another check reports a repository that cannot be read.
            let Ok(state) = self.workspaces.policy_state(project) else {
                continue;
            };
            let health = match &state {
                PolicyState::None => continue,
                PolicyState::Allowed { .. } => Health::Ok,
                PolicyState::NotAllowed { .. } | PolicyState::Changed { .. } => Health::Warning,
            };
            let checkup = Checkup::new(subject, health, state.to_string());
            found.push(match state.command(&project.name) {
                Some(command) => checkup.with_fix(format!("run `{command}`")),
                None => checkup,
            });
        }
    }
}

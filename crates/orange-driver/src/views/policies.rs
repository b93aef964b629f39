//! Repositories whose policy has changed since the user allowed it.

use orange_engine::attention::Item;
use orange_engine::names::ProjectName;

use crate::DriverError;
use crate::views::Views;
use crate::workspaces::policy::PolicyState;

impl Views {
    /// One item for each project whose allowed policy differs from that of the default branch.
    pub(super) fn policy_items(
        &self,
        project: Option<&ProjectName>,
    ) -> Result<Vec<Item>, DriverError> {
        let mut items = Vec::new();
        for own in self.context.projects()?.projects {
            if project.is_some_and(|project| *project != own.name) {
                continue;
            }
            // A repository that cannot be read must not hide everything else.
            let state = self.workspaces.recent_policy_state(&own);
            let Ok(Some(state)) = state else { continue };
            if let PolicyState::Changed { pinned, commit, .. } = &state {
                let text = format!("policy of `{}`: {state}", own.name);
                let command = state.command(&own.name).unwrap_or_default();
                let since = pinned.allowed_at;
                items.push(Item::from_policy(&own.name, commit, since, text, command));
            }
        }
        Ok(items)
    }
}

//! Records a project's remote; only the user may accept another.

use orange_config::{Project, Projects};
use orange_effects::git::{Git, RemoteAddress};
use serde_json::{Value, json};

use crate::DriverError;
use crate::workspaces::Workspaces;

/// The keys of `projects.json` for an address; an empty `remote` means that there is none.
pub(crate) fn remote_keys(address: Option<&RemoteAddress>) -> Vec<(&'static str, Value)> {
    let fetch = address.map_or("", |it| it.fetch.as_str());
    let mut keys = vec![("remote", json!(fetch))];
    let push = address.and_then(|it| it.push.as_ref());
    keys.extend(push.map(|push| ("push_remote", json!(push))));
    keys
}

/// A repository that uses its remote only as recorded for the project.
pub(crate) fn with_registered_remote(git: Git, project: &Project) -> Git {
    let Some(fetch) = &project.remote else {
        return git;
    };
    let address = (!fetch.is_empty()).then(|| RemoteAddress {
        fetch: fetch.clone(),
        push: project.push_remote.clone(),
    });
    git.with_registered_remote(project.name.as_str(), address)
}

impl Workspaces {
    /// Records a project's remote, if it is not recorded yet, from the repository's configuration.
    /// This happens before the first agent can change that configuration.
    pub(crate) fn record_remote(&self, project: &mut Project) -> Result<(), DriverError> {
        if project.remote.is_some() {
            return Ok(());
        }
        let address = self.open_repository(project)?.remote_address();
        let changes = remote_keys(address.as_ref());
        *project = Projects::update(&self.context.home, &project.name, &changes)?;
        Ok(())
    }
}

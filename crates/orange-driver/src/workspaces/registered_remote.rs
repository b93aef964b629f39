//! Records where a project's remote is; only the user accepts another.

use orange_config::{Project, Projects};
use orange_effects::git::{Git, RemoteAddress};
use serde_json::{Value, json};

use crate::DriverError;
use crate::workspaces::Workspaces;

/// The keys of `projects.json` for an address; an empty one says that there is no remote.
pub(crate) fn keys(address: Option<&RemoteAddress>) -> Vec<(&'static str, Value)> {
    let fetch = address.map_or("", |it| it.fetch.as_str());
    let mut keys = vec![("remote", json!(fetch))];
    let push = address.and_then(|it| it.push.as_ref());
    keys.extend(push.map(|push| ("push_remote", json!(push))));
    keys
}

/// A repository that uses its remote only as it is recorded for a project.
pub(crate) fn registered(git: Git, project: &Project) -> Git {
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
    /// Records where a project's remote is, if nobody did: what the repository's configuration
    /// says before the first agent can write it.
    pub(crate) fn record_remote(&self, project: &mut Project) -> Result<(), DriverError> {
        if project.remote.is_some() {
            return Ok(());
        }
        let address = self.open_repository(project)?.remote_address();
        let changes = keys(address.as_ref());
        *project = Projects::update(&self.context.home, &project.name, &changes)?;
        Ok(())
    }
}

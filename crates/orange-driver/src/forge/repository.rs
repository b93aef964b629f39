//! Which repository on the forge a project has.

use std::collections::BTreeSet;
use std::time::Duration;

use orange_config::Project;
use orange_effects::command::Invocation;
use orange_effects::forge::host::{Host, RepositoryAddress, read_remote};
use orange_engine::names::ProjectName;

use crate::DriverError;
use crate::forge::Forge;

/// How long a browser may take to start.
const BROWSER_TIMEOUT: Duration = Duration::from_secs(20);

impl Forge {
    /// The repository of a project: the one in the settings, else that of the registered remote if
    /// it is on GitHub. What the repository's own configuration says does not count, because agents
    /// can write it.
    pub(crate) fn repository(
        &self,
        project: &Project,
    ) -> Result<Option<RepositoryAddress>, DriverError> {
        let settings = self.context.settings(Some(project))?.forge;
        if let Some(repository) = settings.repository {
            return Ok(read_remote(&format!("https://{repository}")).ok());
        }
        let remote = project.push_remote.as_ref().or(project.remote.as_ref());
        let address = remote.and_then(|it| read_remote(it).ok());
        Ok(address.filter(|it| it.host.is_public()))
    }

    /// The projects that have a repository on a forge.
    pub fn projects_on_forge(&self) -> Result<BTreeSet<ProjectName>, DriverError> {
        let mut found = BTreeSet::new();
        for project in self.context.all_projects()? {
            if self.repository(&project)?.is_some() {
                found.insert(project.name);
            }
        }
        Ok(found)
    }

    /// The hosts that the user's own settings name.
    pub(crate) fn named_hosts(&self) -> Result<Vec<Host>, DriverError> {
        let mut named = vec![self.context.settings(None)?.forge.repository];
        for project in self.context.all_projects()? {
            named.push(project.forge_repository);
        }
        let named = named.into_iter().flatten();
        let addresses = named.filter_map(|it| read_remote(&format!("https://{it}")).ok());
        Ok(addresses.map(|it| it.host).collect())
    }

    /// Shows a page of the forge in the user's browser.
    pub fn show_in_browser(&self, url: &str) -> Result<(), DriverError> {
        let environment = &self.context.environment;
        let variables = environment.passed_variables(["DISPLAY", "WAYLAND_DISPLAY"]);
        let program = if cfg!(target_os = "macos") {
            "open"
        } else {
            "xdg-open"
        };
        let browser = Invocation::new(program, variables).arguments([url]);
        browser.timeout(BROWSER_TIMEOUT).require_success()?;
        Ok(())
    }
}

/// The address of a pull request's page.
pub(crate) fn pull_request_url(address: &RepositoryAddress, number: u64) -> String {
    format!("https://{address}/pull/{number}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pull_request_has_an_address() {
        let address = read_remote("git@github.com:ada/engine.git").unwrap();
        let url = pull_request_url(&address, 7);
        assert_eq!(url, "https://github.com/ada/engine/pull/7");
    }
}

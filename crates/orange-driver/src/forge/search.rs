//! Finds pull requests that were opened elsewhere for branches of tasks.

use std::collections::BTreeSet;

use orange_effects::forge::client::Conditional;
use orange_effects::forge::host::RepositoryAddress;
use orange_engine::Task;
use orange_engine::forge::pull_request::HeadSource;
use orange_engine::names::{BranchName, TaskId};

use crate::forge::{Forge, ForgeFailure};

/// The open pull requests of a repository, as last listed.
#[derive(Clone, Debug, Default)]
pub(crate) struct OpenRequests {
    heads: Vec<HeadSource>,
    /// Identifies the list, so that fetching it again uses no quota while it is unchanged.
    etag: Option<String>,
}

impl OpenRequests {
    /// The tasks whose branch is the head of one of these pull requests. A branch of the same name
    /// in a fork is another branch.
    pub(crate) fn matches(&self, address: &RepositoryAddress, tasks: &[Task]) -> Vec<TaskId> {
        let name = address.full_name();
        let own = self.heads.iter().filter(|head| {
            let repository = head.repository.as_deref();
            repository.is_some_and(|it| it.eq_ignore_ascii_case(&name))
        });
        let branches: BTreeSet<&BranchName> = own.map(|head| &head.branch).collect();
        let matching = tasks.iter().filter(|task| branches.contains(&task.branch));
        matching.map(|task| task.id.clone()).collect()
    }
}

impl Forge {
    /// Lists the open pull requests of a repository again.
    pub(crate) fn search(
        &self,
        address: &RepositoryAddress,
        known: &mut OpenRequests,
    ) -> Result<(), ForgeFailure> {
        self.with_session(&address.host, |session| {
            let mut repository = session.repository(address);
            let listed = repository.fetch_open_heads(known.etag.as_deref())?;
            if let Conditional::Changed(list) = listed {
                known.heads = list.items;
                known.etag = list.etag;
            }
            Ok(())
        })
    }
}

//! GitHub's operations; answers are translated into the engine's types.
//!
//! Answers are read leniently: GitHub leaves out keys that its own description requires, and an
//! account or a fork that was deleted is `null`. Only what is used must be there.

pub mod accounts;
pub mod checks;
pub mod comments;
pub mod details;
pub mod glance;
pub mod issues;
pub mod labels;
pub mod mutations;
pub mod probe;
pub mod pull_requests;
pub mod repository;
pub mod runs;
mod wire;

#[cfg(test)]
mod published;
#[cfg(test)]
mod tests;

use crate::forge::client::{Client, encode};
use crate::forge::host::RepositoryAddress;

/// How many entries a page has; the most that GitHub allows.
const PER_PAGE: usize = 100;

/// How many pages of a list are read; a longer one is reported as incomplete.
const MAX_PAGES: usize = 100;

/// One repository, through a client of its host.
pub struct Repository<'a> {
    client: &'a mut Client,
    owner: String,
    name: String,
}

/// A list, and whether it is whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct List<T> {
    pub items: Vec<T>,
    /// Whether every page was read; that an entry is not in an incomplete list proves nothing.
    pub is_complete: bool,
    /// The forge's `ETag` for the list, to ask later whether the list has changed.
    pub etag: Option<String>,
    /// Where the repository is now, if it was renamed or moved.
    pub moved_to: Option<String>,
}

impl<'a> Repository<'a> {
    /// `client` must be a client of the address's host.
    pub fn new(client: &'a mut Client, address: &RepositoryAddress) -> Repository<'a> {
        Repository {
            client,
            owner: address.owner.clone(),
            name: address.name.clone(),
        }
    }

    /// The path of something in the repository.
    fn path(&self, rest: &str) -> String {
        format!(
            "/repos/{}/{}{rest}",
            encode(&self.owner),
            encode(&self.name)
        )
    }
}

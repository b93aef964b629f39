//! Global node ids, and the objects that they name.

use super::World;
use super::issue::Issue;
use super::repository::Repository;
use super::review::Thread;
use super::user::User;

/// What a node id can name here.
#[derive(Clone, Copy, Debug)]
pub enum Found<'a> {
    User(&'a User),
    Repository(&'a Repository),
    Issue(&'a Repository, &'a Issue),
    Pull(&'a Repository, &'a Issue),
    Thread(&'a Repository, &'a Issue, &'a Thread),
}

/// A global node id; clients must treat it as opaque.
pub fn node_id(prefix: &str, id: u64) -> String {
    format!("{prefix}_kwDO{id:010x}")
}

impl World {
    /// Finds a node by its global id.
    pub fn node(&self, id: &str) -> Option<Found<'_>> {
        let (prefix, number) = id.split_once("_kwDO")?;
        let number = u64::from_str_radix(number, 16).ok()?;
        let repositories = || self.repositories.iter().filter(|it| !it.deleted);
        let issues =
            || repositories().flat_map(|it| it.issues.iter().map(move |issue| (it, issue)));
        match prefix {
            "U" | "BOT" | "O" => self
                .users
                .iter()
                .find(|it| it.id == number)
                .map(Found::User),
            "R" => self.repository_by_id(number).map(Found::Repository),
            "I" => issues()
                .find(|(_, issue)| issue.id == number && issue.pull.is_none())
                .map(|(repository, issue)| Found::Issue(repository, issue)),
            "PR" => issues()
                .find(|(_, issue)| issue.pull.as_ref().is_some_and(|it| it.id == number))
                .map(|(repository, issue)| Found::Pull(repository, issue)),
            "PRRT" => issues().find_map(|(repository, issue)| {
                let mut threads = issue.pull.iter().flat_map(|it| &it.threads);
                let thread = threads.find(|it| it.id == number)?;
                Some(Found::Thread(repository, issue, thread))
            }),
            _ => None,
        }
    }
}

impl Found<'_> {
    /// The repository that the node belongs to; its permissions decide whether an account sees the
    /// node.
    pub fn repository(&self) -> Option<&Repository> {
        match self {
            Self::User(_) => None,
            Self::Repository(repository)
            | Self::Issue(repository, _)
            | Self::Pull(repository, _)
            | Self::Thread(repository, _, _) => Some(repository),
        }
    }
}

impl Repository {
    pub fn node_id(&self) -> String {
        node_id("R", self.id)
    }
}

impl User {
    pub fn node_id(&self) -> String {
        let prefix = match self.kind {
            super::user::Kind::User => "U",
            super::user::Kind::Bot => "BOT",
            super::user::Kind::Organization => "O",
        };
        node_id(prefix, self.id)
    }
}

impl Issue {
    /// For a pull request, the id of the pull request, not of its issue.
    pub fn node_id(&self) -> String {
        match &self.pull {
            Some(pull) => node_id("PR", pull.id),
            None => node_id("I", self.id),
        }
    }
}

//! Sets up users, repositories, commits and pull requests.

use std::path::PathBuf;

use super::Forge;
use crate::git::git;
use crate::stop::stop;
use crate::world::commit::commit;
use crate::world::pull::Draft;
use crate::world::repository::{Permission, Protection, Repository};
use crate::world::user::Kind;

impl Forge {
    /// Adds a user and returns the token.
    pub fn user(&self, login: &str) -> String {
        self.change(|world| world.add_user(login, Kind::User).token.clone())
    }

    /// Adds a bot, `login[bot]` in REST, and returns its token.
    pub fn bot(&self, login: &str) -> String {
        self.change(|world| world.add_user(login, Kind::Bot).token.clone())
    }

    /// Deletes an account: what it wrote stays, without an author.
    pub fn delete_user(&self, login: &str) {
        self.change(|world| {
            for user in world.users.iter_mut().filter(|it| it.login == login) {
                user.deleted = true;
            }
        });
    }

    /// Makes the token of a user invalid, or valid again.
    pub fn token_works(&self, login: &str, works: bool) {
        self.change(|world| {
            for user in world.users.iter_mut().filter(|it| it.login == login) {
                user.token_works = works;
            }
        });
    }

    /// Sets what the classic token of a user allows, or that the token is none of that kind.
    pub fn set_scopes(&self, login: &str, scopes: Option<&str>) {
        self.change(|world| {
            for user in world.users.iter_mut().filter(|it| it.login == login) {
                user.scopes = scopes.map(str::to_owned);
            }
        });
    }

    /// Creates a repository `owner/name` with one commit on `main`, and its owner. Returns the path
    /// of the bare repository, which clients clone and push to.
    pub fn repository(&self, name: &str) -> PathBuf {
        let (owner, short) = split(name);
        let id = self.change(|world| {
            world.add_user(owner, Kind::User);
            world.add_repository(owner, short, None)
        });
        self.commit(name, "main", &[("README.md", "A scripted repository\n")]);
        self.change(|world| {
            world
                .repository_by_id(id)
                .map(|it| it.path.clone())
                .unwrap_or_default()
        })
    }

    /// Creates a fork of a repository for a user, and returns its path.
    pub fn fork(&self, name: &str, owner: &str) -> PathBuf {
        let parent = self.id(name);
        let (_, short) = split(name);
        let id = self.change(|world| {
            world.add_user(owner, Kind::User);
            world.add_repository(owner, short, Some(parent))
        });
        self.look(|world| {
            world
                .repository_by_id(id)
                .map(|it| it.path.clone())
                .unwrap_or_default()
        })
    }

    /// The path of the bare repository.
    pub fn path(&self, name: &str) -> PathBuf {
        self.with(name, |it| it.path.clone())
    }

    /// Changes the settings of a repository.
    pub fn configure(&self, name: &str, change: impl FnOnce(&mut Repository)) {
        let id = self.id(name);
        self.change(|world| world.repository_mut(id).map(change));
    }

    pub fn allow(&self, name: &str, login: &str, permission: Permission) {
        self.configure(name, |it| {
            it.permissions.insert(login.to_owned(), permission);
        });
    }

    /// Sets the rules for a branch.
    pub fn protect(&self, name: &str, branch: &str, protection: Protection) {
        self.configure(name, |it| {
            it.protections.insert(branch.to_owned(), protection);
        });
    }

    /// Renames a repository; the old name redirects.
    pub fn rename(&self, name: &str, new: &str) {
        self.configure(name, |it| {
            it.old_names.push(it.full_name());
            new.clone_into(&mut it.name);
        });
    }

    pub fn delete_repository(&self, name: &str) {
        self.configure(name, |it| it.deleted = true);
    }

    /// Commits files on a branch, as a push would; a new branch starts at the default branch.
    pub fn commit(&self, name: &str, branch: &str, files: &[(&str, &str)]) -> String {
        let (path, start) = self.with(name, |it| {
            (
                it.path.clone(),
                it.branches.get(&it.default_branch).cloned(),
            )
        });
        let files_text: Vec<&str> = files.iter().map(|it| it.0).collect();
        let message = format!("Change {}", files_text.join(", "));
        let sha = commit(&path, branch, start.as_deref(), files, &message);
        self.look(|_| ());
        sha
    }

    pub fn delete_branch(&self, name: &str, branch: &str) {
        git(
            &self.path(name),
            &["update-ref", "-d", &format!("refs/heads/{branch}")],
        );
        self.look(|_| ());
    }

    /// The tip of a branch.
    pub fn tip(&self, name: &str, branch: &str) -> Option<String> {
        self.with(name, |it| it.branches.get(branch).cloned())
    }

    /// Opens a pull request by the owner, from a branch of the repository, and returns its number.
    /// A branch that does not exist is created with one commit.
    pub fn pull(&self, name: &str, branch: &str) -> u64 {
        if self.tip(name, branch).is_none() {
            self.commit(name, branch, &[(&format!("{branch}.txt"), "new\n")]);
        }
        let (id, owner, base) = self.with(name, |it| {
            (it.id, it.owner.clone(), it.default_branch.clone())
        });
        self.open(
            id,
            &Draft {
                author: &owner,
                title: &format!("Add {branch}"),
                body: "",
                head_repository: id,
                head: branch,
                base: &base,
                draft: false,
            },
        )
    }

    /// Opens a pull request from a fork's branch.
    pub fn pull_from_fork(&self, name: &str, owner: &str, branch: &str) -> u64 {
        let fork = format!("{owner}/{}", split(name).1);
        let head = self.id(&fork);
        let (id, base) = self.with(name, |it| (it.id, it.default_branch.clone()));
        self.open(
            id,
            &Draft {
                author: owner,
                title: &format!("Add {branch}"),
                body: "",
                head_repository: head,
                head: branch,
                base: &base,
                draft: false,
            },
        )
    }

    fn open(&self, repository: u64, draft: &Draft) -> u64 {
        let opened = self.change(|world| world.open_pull(repository, draft));
        opened.unwrap_or_else(|error| stop(&format!("cannot open a pull request: {error:?}")))
    }

    /// Opens many pull requests at once, without workflows, and returns their numbers.
    pub fn many_pulls(&self, name: &str, count: u64) -> Vec<u64> {
        let sha = self.commit(name, "bulk", &[("bulk.txt", "many\n")]);
        let (id, owner) = self.with(name, |it| (it.id, it.owner.clone()));
        self.change(|world| world.open_many_pulls(id, &owner, &sha, count))
    }

    /// The global id of an issue or pull request.
    pub fn node_id(&self, name: &str, number: u64) -> String {
        self.node_ids(name, &[number]).remove(0)
    }

    /// The global ids of many issues or pull requests, with one sync with git.
    pub fn node_ids(&self, name: &str, numbers: &[u64]) -> Vec<String> {
        self.with(name, |repository| {
            let id = |number: &u64| match repository.issue(*number) {
                Some(issue) => issue.node_id(),
                None => stop(&format!("`{name}` has no number {number}")),
            };
            numbers.iter().map(id).collect()
        })
    }
}

fn split(name: &str) -> (&str, &str) {
    let parts = name.split_once('/');
    parts.unwrap_or_else(|| stop(&format!("`{name}` is not of the form owner/name")))
}

//! Fetches the head of a pull request into a local branch.
//!
//! The forge offers the head of every pull request under a ref of its own, also for forks. So no
//! name that a contributor chose reaches git, and no other repository is contacted.

use orange_engine::names::{BranchName, CommitId};

use super::name::branch_ref;
use crate::git::{Git, GitError};

/// Where fetched heads are kept.
const REFS: &str = "refs/orange/pull-requests";

impl Git {
    /// Fetches the head of a pull request of the remote.
    pub fn fetch_pull_request(&self, number: u64) -> Result<CommitId, GitError> {
        let unreachable = |remote: &str, reason: String| GitError::Unreachable {
            remote: remote.to_owned(),
            reason,
        };
        let Some(remote) = self.remote()? else {
            let reason = String::from("the repository has no remote");
            return Err(unreachable("origin", reason));
        };
        let name = format!("{REFS}/{number}");
        let words = [
            "fetch",
            "--quiet",
            "--no-tags",
            "--no-prune",
            "--no-recurse-submodules",
            "--no-auto-maintenance",
            "--no-write-fetch-head",
            "--refmap=",
        ];
        let call = self.call_remote(words, &remote);
        let call = call.with_arguments([format!("+refs/pull/{number}/head:{name}")]);
        let fetched = call.succeed();
        fetched.map_err(|error| unreachable(&remote.name, error.to_string()))?;
        let mut refs = self.refs(std::slice::from_ref(&name))?;
        let found = refs.commits.remove(&name);
        found.ok_or(GitError::NoCommit { branch: name })
    }

    /// The numbers of the pull requests whose fetched heads are kept.
    pub fn fetched_pull_requests(&self) -> Result<Vec<u64>, GitError> {
        let prefix = format!("{REFS}/");
        let call = self.call(["for-each-ref", "--format=%(refname)", &prefix]);
        let output = call.text()?;
        let number = |line: &str| line.strip_prefix(&prefix)?.parse().ok();
        Ok(output.lines().filter_map(number).collect())
    }

    /// Forgets the fetched head of a pull request, if there is one.
    pub fn forget_pull_request(&self, number: u64) -> Result<(), GitError> {
        let name = format!("{REFS}/{number}");
        self.call(["update-ref", "-d", &name]).succeed()
    }

    /// Creates a branch at a commit. Returns false if the branch exists at another commit, or if
    /// its name clashes with another branch. Never moves a branch.
    pub fn create_branch_at(
        &self,
        branch: &BranchName,
        commit: &CommitId,
    ) -> Result<bool, GitError> {
        let name = branch_ref(branch)?;
        if let Some(found) = self.branch(branch)? {
            return Ok(found == *commit);
        }
        if self.clashing_branch(branch)?.is_some() {
            return Ok(false);
        }
        let call = self.call(["update-ref", "-m", "orange: pull request", &name]);
        let call = call.with_arguments([commit.as_str(), &self.null_id()]);
        match call.succeed() {
            Ok(()) => Ok(true),
            // Another process may have created the branch just now.
            Err(error) => match self.branch(branch)? {
                Some(found) => Ok(found == *commit),
                None => Err(error),
            },
        }
    }

    /// The files that differ between the trees of a commit and of its last common ancestor with
    /// the base.
    pub fn branch_paths(&self, base: &CommitId, head: &CommitId) -> Result<Vec<String>, GitError> {
        let call = self.call(["merge-base", base.as_str(), head.as_str()]);
        let ancestor = match call.answer()? {
            Some(bytes) => String::from_utf8_lossy(&bytes).trim().to_owned(),
            // Without a common history, every file is new.
            None => self.no_attributes().to_owned(),
        };
        let words = ["diff-tree", "-r", "-z", "--no-renames", "--name-only"];
        let call = self.call(words);
        let call = call.with_arguments([ancestor.as_str(), head.as_str(), "--"]);
        let bytes = call.with_long_timeout().bytes()?;
        let names = bytes.split(|it| *it == 0).filter(|it| !it.is_empty());
        Ok(names
            .map(|it| String::from_utf8_lossy(it).into_owned())
            .collect())
    }
}

//! Deletes a branch only if its commits are contained elsewhere.

use std::path::PathBuf;

use orange_engine::names::{BranchName, CommitId};

use crate::git::repository::name::branch_ref;
use crate::git::{Git, GitError};

/// The result of deleting a branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deletion {
    Deleted(CommitId),
    /// There is no such branch.
    Absent,
    /// It is the default branch.
    IsDefault,
    /// A worktree has it checked out.
    CheckedOut(PathBuf),
    /// It has commits that would be lost.
    NotContained(CommitId),
    /// The remote or git itself rejected the deletion; holds git's message.
    Rejected(String),
}

impl Git {
    /// The local branches whose commits are all in the default branch.
    pub fn merged_branches(&self, default: &BranchName) -> Result<Vec<BranchName>, GitError> {
        let merged = format!("--merged=refs/heads/{default}");
        let call = self.call([
            "for-each-ref",
            &merged,
            "--format=%(refname)",
            "refs/heads/",
        ]);
        let text = String::from_utf8_lossy(&call.bytes()?).into_owned();
        let names = text
            .lines()
            .filter_map(|name| name.strip_prefix("refs/heads/"));
        let names = names.filter(|name| *name != default.as_str());
        Ok(names.map(BranchName::new).collect())
    }

    /// How many commits of a branch the default branch lacks; `None` if the branch does not exist.
    pub fn unmerged_commits(
        &self,
        branch: &BranchName,
        default: &BranchName,
    ) -> Result<Option<u64>, GitError> {
        let Some(commit) = self.branch(branch)? else {
            return Ok(None);
        };
        let mut range = vec![commit.to_string()];
        let base = self.branch(default)?;
        range.extend(base.map(|base| format!("^{base}")));
        let call = self.call(["rev-list", "--count"]).with_arguments(range);
        let count = call.text()?;
        let parsed = count.trim().parse();
        parsed
            .map(Some)
            .map_err(|_| call.malformed_output(count.as_bytes()))
    }

    /// Deletes a local branch that the default branch contains.
    pub fn delete_branch(
        &self,
        branch: &BranchName,
        default: &BranchName,
    ) -> Result<Deletion, GitError> {
        if branch == default {
            return Ok(Deletion::IsDefault);
        }
        let Some(commit) = self.branch(branch)? else {
            return Ok(Deletion::Absent);
        };
        if let Some(path) = self.checkout_of(branch)? {
            return Ok(Deletion::CheckedOut(path));
        }
        let contained = match self.branch(default)? {
            Some(default) => self.contains(&default, &commit)?,
            None => false,
        };
        if !contained {
            return Ok(Deletion::NotContained(commit));
        }
        let name = branch_ref(branch)?;
        let delete = ["update-ref", "-d", &name, commit.as_str()];
        self.call(delete).succeed()?;
        Ok(Deletion::Deleted(commit))
    }

    /// Deletes the remote's branch if this repository has all of its commits.
    pub fn delete_remote_branch(
        &self,
        branch: &BranchName,
        default: &BranchName,
    ) -> Result<Deletion, GitError> {
        let name = branch_ref(branch)?;
        let Some(remote) = self.remote()? else {
            return Ok(Deletion::Absent);
        };
        let words = ["ls-remote", "--quiet", "--symref"];
        let call = self.call_remote(words, &remote);
        let call = call.with_arguments(["HEAD", &name]);
        let text = String::from_utf8_lossy(&call.bytes()?).into_owned();
        let rows = || text.lines().filter_map(|line| line.split_once('\t'));
        let is_their_default = rows().any(|row| row == (&*format!("ref: {name}"), "HEAD"));
        if branch == default || is_their_default {
            return Ok(Deletion::IsDefault);
        }
        // git takes the name as a pattern, which also matches longer names with the same ending.
        let Some((commit, _)) = rows().find(|(_, found)| *found == name) else {
            return Ok(Deletion::Absent);
        };
        let commit = CommitId::new(commit);
        if !self.is_contained_elsewhere(&commit, default)? {
            return Ok(Deletion::NotContained(commit));
        }
        let rejection = self.push_deletion(&remote, branch, &commit)?;
        Ok(rejection.map_or(Deletion::Deleted(commit), Deletion::Rejected))
    }

    /// Whether a local branch or tag, or the remote's default branch, contains a commit.
    fn is_contained_elsewhere(
        &self,
        commit: &CommitId,
        default: &BranchName,
    ) -> Result<bool, GitError> {
        let object = format!("{commit}^{{commit}}");
        let lookup = self.call(["rev-parse", "--verify", "--quiet", &object]);
        if lookup.answer()?.is_none() {
            return Ok(false);
        }
        let theirs = self.tips(default)?.theirs;
        let listing = self.call(["rev-list", "--max-count=1", commit.as_str(), "--not"]);
        let listing = listing.with_arguments(["--branches", "--tags"]);
        let listing = listing.with_arguments(theirs.iter().map(CommitId::as_str));
        Ok(listing.bytes()?.is_empty())
    }
}

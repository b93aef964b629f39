//! Where work starts: the newest commit of the default branch.

use orange_engine::names::{BranchName, CommitId};

use super::name::branch_ref;
use super::refs::Refs;
use crate::git::{Git, GitError};

/// The result of a fetch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// There is no remote.
    NoRemote,
    /// The remote was just fetched.
    Fresh,
    /// The fetch failed for this reason; the last known state is used.
    Stale(String),
}

/// The commit that new work starts from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Base {
    /// The default branch.
    pub branch: BranchName,
    /// Its newest commit: that of the remote, or that of this repository if it contains the
    /// remote's.
    pub commit: CommitId,
    /// Whether the local branch and the remote's each have commits that the other lacks; `commit`
    /// is then the remote's, unless merges stay in this repository.
    pub is_diverged: bool,
}

/// The default branch, here and on the remote.
#[derive(Debug)]
pub(crate) struct Tips {
    /// The newest of both.
    pub base: Base,
    /// The commit of the local branch.
    pub local: Option<CommitId>,
    /// The commit of the remote's branch, as last fetched.
    pub theirs: Option<CommitId>,
}

impl Tips {
    /// The commit that a merge builds on: that of the local branch, or the newer one that the local
    /// branch can be fast-forwarded to.
    pub fn target(&self) -> &CommitId {
        let own = self.local.as_ref().filter(|_| self.base.is_diverged);
        own.unwrap_or(&self.base.commit)
    }

    /// The commits of the default branch that work may have started from: both, if they have
    /// diverged.
    pub fn starts(&self) -> Vec<&CommitId> {
        let local = self.local.as_ref().filter(|_| self.base.is_diverged);
        [&self.base.commit].into_iter().chain(local).collect()
    }

    /// The commit that new work starts from. If the two have diverged, that is the one that has the
    /// merged work: the local branch, if merges stay in this repository.
    pub fn start(mut self, merges_stay_here: bool) -> Base {
        if merges_stay_here {
            self.base.commit = self.target().clone();
        }
        self.base
    }
}

impl Git {
    /// The default branch: the configured one, the remote's, or the first that exists of
    /// `init.defaultBranch`, `main` and `master`.
    pub fn default_branch(&self, configured: Option<&BranchName>) -> Result<BranchName, GitError> {
        if let Some(configured) = configured {
            branch_ref(configured)?;
            return Ok(configured.clone());
        }
        let output = self
            .call(["config", "--get", "init.defaultBranch"])
            .answer()?;
        let output = output.map(|output| String::from_utf8_lossy(&output).trim().to_owned());
        let candidates = output.into_iter();
        let candidates = candidates.chain(["main", "master"].map(str::to_owned));
        let candidates: Vec<BranchName> = candidates.map(BranchName::new).collect();
        let mut names: Vec<String> = Vec::new();
        for branch in &candidates {
            names.extend(self.names_of(branch).unwrap_or_default());
        }
        let remote = self.remote_name();
        let head = remote.as_ref();
        let head = head.map(|remote| format!("refs/remotes/{remote}/HEAD"));
        names.extend(head.clone());
        let refs = self.refs(&names)?;
        let target = head.and_then(|head| refs.targets.get(&head).cloned());
        let prefix = format!("refs/remotes/{}/", remote.unwrap_or_default());
        if let Some(name) = target
            .as_deref()
            .and_then(|target| target.strip_prefix(&prefix))
        {
            return Ok(BranchName::new(name));
        }
        for branch in candidates {
            let names = self.names_of(&branch).unwrap_or_default();
            if names.iter().any(|name| refs.commits.contains_key(name)) {
                return Ok(branch);
            }
        }
        Err(GitError::NoDefaultBranch(self.directory().to_owned()))
    }

    /// Fetches these branches from the remote, within the network timeout. Only remote-tracking
    /// refs move, never a local branch, whatever the configuration says.
    pub fn fetch(&self, branches: &[&BranchName]) -> Result<Freshness, GitError> {
        let remote = match self.remote() {
            Ok(Some(remote)) => remote,
            Ok(None) => return Ok(Freshness::NoRemote),
            Err(error) => return Ok(Freshness::Stale(error.to_string())),
        };
        let name = &remote.name;
        let mut refspecs = Vec::new();
        for branch in branches {
            branch_ref(branch)?;
            // The refspec is a pattern, because a pattern may match nothing: the remote may lack
            // the branch.
            refspecs.push(format!(
                "+refs/heads/{branch}*:refs/remotes/{name}/{branch}*"
            ));
        }
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
        let call = self.call_remote(words, &remote).with_arguments(refspecs);
        Ok(match call.succeed() {
            Ok(()) => Freshness::Fresh,
            // The command is orange's own and explains nothing.
            Err(GitError::Command(error)) => Freshness::Stale(error.without_command()),
            Err(error) => Freshness::Stale(error.to_string()),
        })
    }

    /// The commit to start from, as last fetched.
    pub fn base(&self, default: &BranchName) -> Result<Base, GitError> {
        Ok(self.tips(default)?.base)
    }

    /// The commit to start from, with the commit of the local branch and of the remote's.
    pub(crate) fn tips(&self, default: &BranchName) -> Result<Tips, GitError> {
        self.tips_in(&self.refs(&self.names_of(default)?)?, default)
    }

    /// The commit of a local branch.
    pub fn branch(&self, branch: &BranchName) -> Result<Option<CommitId>, GitError> {
        let name = branch_ref(branch)?;
        Ok(self
            .refs(std::slice::from_ref(&name))?
            .commits
            .remove(&name))
    }

    /// Whether the branch exists, here or at the remote as last fetched.
    pub fn has_branch(&self, branch: &BranchName) -> Result<bool, GitError> {
        let names = self.names_of(branch)?;
        Ok(!self.refs(&names)?.commits.is_empty())
    }

    /// Whether there is any branch, here or at the remote as last fetched.
    pub fn has_branches(&self) -> Result<bool, GitError> {
        let format = "--format=%(refname)";
        let words = [
            "for-each-ref",
            "--count=1",
            format,
            "refs/heads/",
            "refs/remotes/",
        ];
        Ok(!self.call(words).text()?.trim().is_empty())
    }

    /// The default branch; and the commit of a branch, first the local one and then the remote's as
    /// last fetched.
    pub(crate) fn tips_and_branch(
        &self,
        default: &BranchName,
        branch: &BranchName,
    ) -> Result<(Tips, [Option<CommitId>; 2]), GitError> {
        let wanted = self.names_of(branch)?;
        let mut refs = self.refs(&[self.names_of(default)?, wanted.clone()].concat())?;
        let tips = self.tips_in(&refs, default)?;
        let mut found = wanted.iter().map(|name| refs.commits.remove(name));
        let local = found.next().flatten();
        Ok((tips, [local, found.next().flatten()]))
    }

    /// A branch's refs: the local one, then the remote-tracking one.
    pub(crate) fn names_of(&self, branch: &BranchName) -> Result<Vec<String>, GitError> {
        let mut names = vec![branch_ref(branch)?];
        let remote = self.remote_name();
        names.extend(remote.map(|remote| format!("refs/remotes/{remote}/{branch}")));
        Ok(names)
    }

    fn tips_in(&self, refs: &Refs, default: &BranchName) -> Result<Tips, GitError> {
        let names = self.names_of(default)?;
        let mut found = names.iter().map(|name| refs.commits.get(name).cloned());
        let (local, theirs) = (found.next().flatten(), found.next().flatten());
        let (commit, is_diverged) = match (local.clone(), theirs.clone()) {
            (None, None) => {
                let branch = default.to_string();
                return Err(GitError::NoCommit { branch });
            }
            (Some(only), None) | (None, Some(only)) => (only, false),
            (Some(local), Some(theirs)) if local == theirs => (local, false),
            (Some(local), Some(theirs)) => {
                if self.contains(&theirs, &local)? {
                    (theirs, false)
                } else if self.contains(&local, &theirs)? {
                    (local, false)
                } else {
                    (theirs, true)
                }
            }
        };
        let branch = default.clone();
        let base = Base {
            branch,
            commit,
            is_diverged,
        };
        Ok(Tips {
            base,
            local,
            theirs,
        })
    }

    /// Whether the repository has the commit, on a branch or not.
    pub(crate) fn has_commit(&self, commit: &CommitId) -> Result<bool, GitError> {
        let call = self.call(["cat-file", "-e", commit.as_str()]);
        Ok(call.answer()?.is_some())
    }

    /// Whether `newer` is `older`, or has it among its ancestors.
    pub(crate) fn contains(&self, newer: &CommitId, older: &CommitId) -> Result<bool, GitError> {
        let words = [
            "merge-base",
            "--is-ancestor",
            older.as_str(),
            newer.as_str(),
        ];
        Ok(self.call(words).answer()?.is_some())
    }
}

//! Where work starts: the default branch, as fresh as it can be had.

use orange_engine::names::{BranchName, CommitId};

use super::name::branch_ref;
use super::{Git, GitError};

/// What asking the remote came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// There is no remote to ask.
    NoRemote,
    /// It was asked just now.
    Fresh,
    /// It could not be asked, and why; what was known before is used.
    Stale(String),
}

/// The commit that work starts from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Base {
    /// The default branch.
    pub branch: BranchName,
    /// Its commit: that of the remote, or of this repository if it contains the remote's.
    pub commit: CommitId,
    /// Whether both have commits that the other lacks; the remote's is taken then.
    pub is_diverged: bool,
}

impl Git {
    /// The default branch: as configured, as the remote says, or the usual one that exists.
    pub fn default_branch(&self, configured: Option<&BranchName>) -> Result<BranchName, GitError> {
        if let Some(configured) = configured {
            branch_ref(configured)?;
            return Ok(configured.clone());
        }
        let remote = self.remote()?;
        if let Some(remote) = &remote {
            let head = format!("refs/remotes/{remote}/HEAD");
            let said = self.call(["symbolic-ref", "--quiet", &head]).answer()?;
            let said = String::from_utf8_lossy(said.as_deref().unwrap_or_default()).into_owned();
            let prefix = format!("refs/remotes/{remote}/");
            if let Some(name) = said.trim_end().strip_prefix(&prefix) {
                return Ok(BranchName::new(name));
            }
        }
        let usual = self
            .call(["config", "--get", "init.defaultBranch"])
            .answer()?;
        let usual = String::from_utf8_lossy(usual.as_deref().unwrap_or_default()).into_owned();
        for name in [usual.trim_end(), "main", "master"] {
            let branch = BranchName::new(name);
            if !name.is_empty() && self.freshest(&branch, remote.as_deref())?.is_some() {
                return Ok(branch);
            }
        }
        Err(GitError::NoDefaultBranch(self.directory().to_owned()))
    }

    /// Asks the remote about these branches, within the bound for the network. No branch of this
    /// repository moves: whatever the configuration says, only what is known of the remote does.
    pub fn fetch(&self, branches: &[&BranchName]) -> Result<Freshness, GitError> {
        let Some(remote) = self.remote()? else {
            return Ok(Freshness::NoRemote);
        };
        let mut words = vec![
            "fetch".to_owned(),
            "--quiet".to_owned(),
            "--no-tags".to_owned(),
            "--no-prune".to_owned(),
            "--no-recurse-submodules".to_owned(),
            "--no-auto-maintenance".to_owned(),
            "--no-write-fetch-head".to_owned(),
            "--refmap=".to_owned(),
            "--".to_owned(),
            remote.clone(),
        ];
        for branch in branches {
            branch_ref(branch)?;
            // A pattern, because it may fit nothing: the branch need not exist there.
            words.push(format!(
                "+refs/heads/{branch}*:refs/remotes/{remote}/{branch}*"
            ));
        }
        let call = self.call(words).timeout(self.network_timeout());
        Ok(match call.succeed() {
            Ok(()) => Freshness::Fresh,
            Err(error) => Freshness::Stale(error.to_string()),
        })
    }

    /// The commit to start from, of what is known now.
    pub fn base(&self, default: &BranchName) -> Result<Base, GitError> {
        let remote = self.remote()?;
        let found = self.freshest(default, remote.as_deref())?;
        found.ok_or_else(|| GitError::NoCommit {
            branch: default.to_string(),
        })
    }

    /// The commit of a branch of this repository.
    pub fn branch(&self, branch: &BranchName) -> Result<Option<CommitId>, GitError> {
        self.commit(&branch_ref(branch)?)
    }

    /// The commit of a branch as the remote was last known to have it.
    pub(super) fn remote_branch(&self, branch: &BranchName) -> Result<Option<CommitId>, GitError> {
        branch_ref(branch)?;
        match self.remote()? {
            Some(remote) => self.commit(&format!("refs/remotes/{remote}/{branch}")),
            None => Ok(None),
        }
    }

    fn freshest(
        &self,
        branch: &BranchName,
        remote: Option<&str>,
    ) -> Result<Option<Base>, GitError> {
        let local = self.branch(branch)?;
        let theirs = match remote {
            Some(remote) => self.commit(&format!("refs/remotes/{remote}/{branch}"))?,
            None => None,
        };
        let (commit, is_diverged) = match (local, theirs) {
            (None, None) => return Ok(None),
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
        Ok(Some(Base {
            branch: branch.clone(),
            commit,
            is_diverged,
        }))
    }

    fn contains(&self, newer: &CommitId, older: &CommitId) -> Result<bool, GitError> {
        let words = [
            "merge-base",
            "--is-ancestor",
            older.as_str(),
            newer.as_str(),
        ];
        Ok(self.call(words).answer()?.is_some())
    }

    fn commit(&self, name: &str) -> Result<Option<CommitId>, GitError> {
        let name = format!("{name}^{{commit}}");
        let call = self.call([
            "rev-parse",
            "--verify",
            "--quiet",
            "--end-of-options",
            &name,
        ]);
        let said = call.answer()?;
        Ok(said.map(|said| CommitId::new(String::from_utf8_lossy(&said).trim_end())))
    }

    /// The remote that is asked: `origin`, or the only one.
    fn remote(&self) -> Result<Option<String>, GitError> {
        let names = self.call(["remote"]).text()?;
        let names: Vec<&str> = names.lines().collect();
        let chosen = match names[..] {
            [only] => Some(only),
            _ => names.iter().copied().find(|name| *name == "origin"),
        };
        Ok(chosen.map(str::to_owned))
    }
}

//! Pushes a branch to the remote, which may reject it.

use orange_engine::names::{BranchName, CommitId};

use crate::git::repository::name::branch_ref;
use crate::git::repository::settings::Remote;
use crate::git::{Git, GitError};

/// The result of a push.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PushResult {
    /// The remote has the branch's commit.
    Done,
    /// There is no remote, or there are several and none is called `origin`.
    NoRemote,
    /// The remote or git itself rejected the push; holds git's message without its hints.
    Rejected(String),
}

/// A push without what the user's configuration may add to it.
const PLAIN: [&str; 6] = [
    "push",
    "--quiet",
    "--no-verify",
    "--no-signed",
    "--no-follow-tags",
    "--no-recurse-submodules",
];

impl Git {
    /// Pushes a branch to the remote. Never forces: the remote's commit must be an ancestor.
    pub fn push_branch(&self, branch: &BranchName) -> Result<PushResult, GitError> {
        let Some(remote) = self.remote()? else {
            return Ok(PushResult::NoRemote);
        };
        let commit = self.branch(branch)?.ok_or_else(|| GitError::NoCommit {
            branch: branch.to_string(),
        })?;
        Ok(match self.push_commit(&remote, &commit, branch)? {
            None => PushResult::Done,
            Some(message) => PushResult::Rejected(message),
        })
    }

    /// Makes a branch of the remote point to exactly this commit. Commits that only the remote's
    /// branch has are dropped only if that branch is still at `known`, where orange last left it.
    pub fn push_exactly(
        &self,
        branch: &BranchName,
        head: &CommitId,
        known: Option<&CommitId>,
    ) -> Result<PushResult, GitError> {
        let Some(remote) = self.remote()? else {
            return Ok(PushResult::NoRemote);
        };
        let name = branch_ref(branch)?;
        let current = self.branch_at(&remote, &name)?;
        if current.as_ref() == Some(head) {
            return Ok(PushResult::Done);
        }
        if let Some(current) = current.as_ref().filter(|it| Some(*it) != known)
            && (self.commit_named(current.as_str())?.is_none() || !self.contains(head, current)?)
        {
            return Ok(PushResult::Rejected(format!(
                "the remote's branch is at {current}, which {head} does not contain"
            )));
        }
        let expected = current.as_ref().map_or("", CommitId::as_str);
        let lease = format!("--force-with-lease={name}:{expected}");
        let refspec = format!("{head}:{name}");
        Ok(match self.push(&[lease.as_str()], &remote, &refspec)? {
            None => PushResult::Done,
            Some(message) => PushResult::Rejected(message),
        })
    }

    /// Where a new branch of the remote can start so that a push of `head` only adds to it: the
    /// last commit of `head` that the remote's default branch has. `None` if there is no remote, or
    /// if the remote already has the branch.
    pub fn start_of_new_branch(
        &self,
        branch: &BranchName,
        head: &CommitId,
        default: &BranchName,
    ) -> Result<Option<CommitId>, GitError> {
        let Some(remote) = self.remote()? else {
            return Ok(None);
        };
        if self.branch_at(&remote, &branch_ref(branch)?)?.is_some() {
            return Ok(None);
        }
        match self.fetch_tip(default)? {
            Some(tip) => self.merge_base(&tip, head),
            None => Ok(None),
        }
    }

    /// The commit that a ref of the remote has now.
    fn branch_at(&self, remote: &Remote, name: &str) -> Result<Option<CommitId>, GitError> {
        let call = self.call_remote(["ls-remote", "--quiet"], remote);
        let bytes = call.with_arguments([name]).bytes()?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        // git takes the name as a pattern, which also matches longer names with the same ending.
        let mut rows = text.lines().filter_map(|line| line.split_once('\t'));
        let found = rows.find(|(_, found)| *found == name);
        Ok(found.map(|(commit, _)| CommitId::new(commit)))
    }

    /// Pushes a commit to the remote's branch, as a fast-forward only; returns git's message if the
    /// push is rejected.
    pub(crate) fn push_commit(
        &self,
        remote: &Remote,
        commit: &CommitId,
        branch: &BranchName,
    ) -> Result<Option<String>, GitError> {
        let refspec = format!("{commit}:{}", branch_ref(branch)?);
        self.push(&[], remote, &refspec)
    }

    /// Deletes the remote's branch if it is still at this commit; returns git's message if the push
    /// is rejected.
    pub(crate) fn push_deletion(
        &self,
        remote: &Remote,
        branch: &BranchName,
        expected: &CommitId,
    ) -> Result<Option<String>, GitError> {
        let name = branch_ref(branch)?;
        let lease = format!("--force-with-lease={name}:{expected}");
        self.push(&[lease.as_str()], remote, &format!(":{name}"))
    }

    fn push(
        &self,
        options: &[&str],
        remote: &Remote,
        refspec: &str,
    ) -> Result<Option<String>, GitError> {
        let words = PLAIN.iter().chain(options);
        let call = self.call_remote(words, remote);
        let rejection = call.with_arguments([refspec]).refusal()?;
        Ok(rejection.map(|message| {
            let lines = message.lines().map(str::trim_end);
            let lines: Vec<&str> = lines.filter(|it| !it.starts_with("hint:")).collect();
            lines.join(" ")
        }))
    }
}

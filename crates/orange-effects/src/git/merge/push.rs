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

//! What gates and people ask about a branch and its worktree.

use std::fs;
use std::path::PathBuf;

use orange_engine::input::GitFacts;
use orange_engine::language::gates::GitCondition;
use orange_engine::names::{BranchName, CommitId};

use super::name::root_file;
use super::{Git, GitError, Head, Operation, Worktree};

/// About what facts are wanted.
#[derive(Clone, Copy, Debug)]
pub struct AskFacts<'a> {
    /// The task's branch.
    pub branch: &'a BranchName,
    /// The default branch.
    pub default: &'a BranchName,
    /// What the task's file is called.
    pub task_file: &'a str,
}

/// How a worktree stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// What HEAD is.
    pub head: Head,
    /// What somebody began and did not end.
    pub operations: Vec<Operation>,
    /// The branch that an operation in progress is about.
    pub operation_branch: Option<BranchName>,
    /// Files that differ from HEAD, untracked ones included, ignored ones not.
    pub changes: Vec<PathBuf>,
    /// Submodules with work of their own.
    pub dirty_submodules: Vec<PathBuf>,
    /// Repositories inside that are no submodules.
    pub repositories: Vec<PathBuf>,
    /// Whether only a part of the files is wanted here.
    pub is_sparse: bool,
    /// Whether history is cut off somewhere, so that counts may be too small.
    pub is_shallow: bool,
}

impl Condition {
    /// Whether nothing is uncommitted, untracked or half done.
    pub fn is_clean(&self) -> bool {
        self.changes.is_empty()
            && self.operations.is_empty()
            && self.dirty_submodules.is_empty()
            && self.repositories.is_empty()
    }
}

impl Worktree<'_> {
    /// Looks how it stands.
    pub fn condition(&self) -> Result<Condition, GitError> {
        let look = self.look()?;
        Ok(Condition {
            dirty_submodules: self.dirty_submodules(&look)?,
            operation_branch: Operation::branch_in(self.directory()),
            is_sparse: self.settings().is_sparse(),
            is_shallow: self.git().is_shallow(),
            changes: look.changes.into_keys().collect(),
            head: look.head,
            operations: look.operations,
            repositories: look.repositories,
        })
    }

    /// Gathers what the gates ask, all for the branch's present commit.
    pub fn facts(&self, ask: &AskFacts<'_>) -> Result<GitFacts, GitError> {
        let condition = self.condition()?;
        let is_clean = condition.is_clean() && condition.head.branch() == Some(ask.branch);
        let is_staged = self.is_staged(root_file(ask.task_file)?)?;
        self.git().facts_of(ask, is_clean, is_staged)
    }

    /// The branch that it is on, or that an operation in progress is about.
    pub fn branch(&self) -> Result<Option<BranchName>, GitError> {
        let head = self.head()?;
        let branch = head.branch().cloned();
        Ok(branch.or_else(|| Operation::branch_in(self.directory())))
    }

    fn is_staged(&self, file: &str) -> Result<bool, GitError> {
        let said = self.call(["ls-files", "-z", "--", file]).bytes()?;
        Ok(!said.is_empty())
    }
}

impl Git {
    /// What the gates ask about a branch that no worktree is on: nothing is uncommitted then.
    pub fn facts(&self, ask: &AskFacts<'_>) -> Result<GitFacts, GitError> {
        self.facts_of(ask, true, false)
    }

    fn facts_of(
        &self,
        ask: &AskFacts<'_>,
        is_clean: bool,
        is_staged: bool,
    ) -> Result<GitFacts, GitError> {
        let task_file = root_file(ask.task_file)?;
        let head = self.branch(ask.branch)?.ok_or_else(|| GitError::NoCommit {
            branch: ask.branch.to_string(),
        })?;
        let tips = self.tips(ask.default)?;
        let start = &tips.base.commit;
        let mut holds = Vec::new();
        if is_clean {
            holds.push(GitCondition::Clean);
        }
        if self.commits_between(start, &head, None)? {
            holds.push(GitCondition::CommitsAhead);
        }
        if ask.branch != ask.default {
            holds.push(GitCondition::BranchNotDefault);
        }
        let is_tracked = is_staged
            || self.has_file(head.as_str(), task_file)?
            || self.commits_between(start, &head, Some(task_file))?;
        if !is_tracked {
            holds.push(GitCondition::TaskFileUntracked);
        }
        let base = tips.target().clone();
        Ok(GitFacts { head, base, holds })
    }

    /// Whether a commit has a file of this name at its root.
    pub(super) fn has_file(&self, commit: &str, file: &str) -> Result<bool, GitError> {
        let call = self.call(["ls-tree", "-z", "--full-tree", commit, "--", file]);
        Ok(!call.bytes()?.is_empty())
    }

    /// Whether a range has a commit, or one that touches a file.
    pub(super) fn commits_between(
        &self,
        from: &CommitId,
        to: &CommitId,
        file: Option<&str>,
    ) -> Result<bool, GitError> {
        let range = format!("{from}..{to}");
        let call = self.call(["rev-list", "--max-count=1", &range, "--"]);
        Ok(!call.and(file).bytes()?.is_empty())
    }

    fn is_shallow(&self) -> bool {
        fs::metadata(self.directory().join("shallow")).is_ok_and(|it| it.len() > 0)
    }
}

//! What gates and people ask about a branch and its worktree.

use std::fs;
use std::path::PathBuf;

use orange_engine::input::{GitFacts, NamedCommit, Unclean};
use orange_engine::language::gates::GitCondition;
use orange_engine::names::{BranchName, CommitId};

use crate::git::repository::name::root_file;
use crate::git::{Git, GitError, Head, Operation, Worktree};

/// About what facts are wanted.
#[derive(Clone, Copy, Debug)]
pub struct AskFacts<'a> {
    /// The task's branch.
    pub branch: &'a BranchName,
    pub default: &'a BranchName,
    /// What the task's file is called.
    pub task_file: &'a str,
    /// A commit whose place is wanted too.
    pub named: Option<&'a CommitId>,
}

/// How a worktree stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
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

    /// What the worktree has besides a branch's commit.
    fn unclean(&self, branch: &BranchName, commit: &CommitId) -> Unclean {
        let shown = |path: &PathBuf| path.to_string_lossy().escape_debug().to_string();
        let operations = self.operations.iter();
        let operations = operations.map(|it| format!("a {it} is in progress in the worktree"));
        let submodules = self.dirty_submodules.iter();
        let submodules =
            submodules.map(|it| format!("the submodule `{}` is not committed", shown(it)));
        let repositories = self.repositories.iter().map(|it| {
            let path = shown(it);
            format!("`{path}` is a repository of its own, which no commit of the branch has")
        });
        // Another name for the same commit has nothing of its own.
        let elsewhere = (self.head.commit() != Some(commit)).then(|| {
            let on = match self.head.branch() {
                Some(found) => format!("`{found}`"),
                None => String::from("no branch"),
            };
            format!("the worktree is on {on}, not on `{branch}`")
        });
        let others = elsewhere.into_iter().chain(operations);
        Unclean {
            files: self.changes.iter().map(shown).collect(),
            others: others.chain(submodules).chain(repositories).collect(),
        }
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
        let is_staged = self.is_staged(root_file(ask.task_file)?)?;
        self.git().facts_of(ask, Some(&condition), is_staged)
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
        self.facts_of(ask, None, false)
    }

    fn facts_of(
        &self,
        ask: &AskFacts<'_>,
        condition: Option<&Condition>,
        is_staged: bool,
    ) -> Result<GitFacts, GitError> {
        let task_file = root_file(ask.task_file)?;
        let head = self.branch(ask.branch)?.ok_or_else(|| GitError::NoCommit {
            branch: ask.branch.to_string(),
        })?;
        let tips = self.tips(ask.default)?;
        let start = &tips.base.commit;
        let unclean = condition.map(|it| it.unclean(ask.branch, &head));
        let unclean = unclean.unwrap_or_default();
        let mut holds = Vec::new();
        if unclean == Unclean::default() {
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
        let named = ask.named.map(|commit| self.named(commit, &head, &base));
        Ok(GitFacts {
            named: named.transpose()?,
            head,
            base,
            holds,
            unclean,
        })
    }

    /// How a commit relates to the branch's and to the default branch's; one that is gone is part
    /// of neither.
    fn named(
        &self,
        commit: &CommitId,
        head: &CommitId,
        base: &CommitId,
    ) -> Result<NamedCommit, GitError> {
        let exists = self.commit_named(commit.as_str())?.is_some();
        let commits_since = if exists && self.contains(head, commit)? {
            let range = format!("{commit}..{head}");
            let call = self.call(["rev-list", "--count", &range, "--"]);
            Some(call.text()?.trim().parse().unwrap_or(u64::MAX))
        } else {
            None
        };
        Ok(NamedCommit {
            commit: commit.clone(),
            commits_since,
            is_in_base: exists && self.contains(base, commit)?,
        })
    }

    pub fn commit_named(&self, text: &str) -> Result<Option<CommitId>, GitError> {
        // A text that begins like an option names nothing.
        if text.is_empty() || text.starts_with('-') {
            return Ok(None);
        }
        let object = format!("{text}^{{commit}}");
        let call = self.call([
            "rev-parse",
            "--verify",
            "--quiet",
            "--end-of-options",
            &object,
        ]);
        let found = call.answer()?;
        Ok(found.map(|found| CommitId::new(String::from_utf8_lossy(&found).trim())))
    }

    /// Whether a commit has a file of this name at its root.
    pub(crate) fn has_file(&self, commit: &str, file: &str) -> Result<bool, GitError> {
        let call = self.call(["ls-tree", "-z", "--full-tree", commit, "--", file]);
        Ok(!call.bytes()?.is_empty())
    }

    /// Whether a range has a commit, or one that touches a file.
    pub(crate) fn commits_between(
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

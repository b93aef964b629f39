//! Facts about a branch and its worktree, for gates and users.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use orange_engine::input::{GitFacts, NamedCommit, UncommittedWork, UnfilteredFile};
use orange_engine::language::gates::GitCondition;
use orange_engine::names::{BranchName, CommitId};

use crate::git::repository::name::root_file;
use crate::git::{Git, GitError, Head, Operation, Worktree};

/// What to gather facts about.
#[derive(Clone, Copy, Debug)]
pub struct FactsRequest<'a> {
    /// The task's branch.
    pub branch: &'a BranchName,
    pub default: &'a BranchName,
    /// The name of the task's file.
    pub task_file: &'a str,
    /// The commit at which the branch started, if that is not in the default branch.
    pub start: Option<&'a CommitId>,
    /// A commit whose relation to the branch is also requested.
    pub commit: Option<&'a CommitId>,
}

/// The state of a worktree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    pub head: Head,
    /// Operations that were begun and not finished.
    pub operations: Vec<Operation>,
    /// The branch of an operation in progress.
    pub operation_branch: Option<BranchName>,
    /// Files that differ from HEAD, including untracked but not ignored ones.
    pub changes: Vec<PathBuf>,
    /// The files in `changes` that may look changed only because their filter is not run, each with
    /// its filter.
    pub unfiltered: BTreeMap<PathBuf, String>,
    /// Submodules with uncommitted work.
    pub dirty_submodules: Vec<PathBuf>,
    /// Nested repositories that are not submodules.
    pub repositories: Vec<PathBuf>,
    /// Whether it is a sparse checkout.
    pub is_sparse: bool,
    /// Whether history is shallow, so that counts may be too small.
    pub is_shallow: bool,
}

impl Condition {
    /// Whether nothing is uncommitted, untracked or in progress.
    pub fn is_clean(&self) -> bool {
        self.changes.is_empty()
            && self.operations.is_empty()
            && self.dirty_submodules.is_empty()
            && self.repositories.is_empty()
    }

    /// Whether the worktree is clean and on no branch, like a workspace that no task has.
    pub fn is_at_rest(&self) -> bool {
        self.is_clean() && self.head.branch().is_none()
    }

    /// What the worktree has beyond a branch's commit.
    fn unclean_parts(&self, branch: &BranchName, commit: &CommitId) -> UncommittedWork {
        let shown = |path: &PathBuf| path.to_string_lossy().escape_debug().to_string();
        let operations = self.operations.iter();
        let operations = operations.map(|it| format!("a {it} is in progress in the worktree"));
        let submodules = self.dirty_submodules.iter();
        let submodules =
            submodules.map(|it| format!("the submodule `{}` has uncommitted work", shown(it)));
        let repositories = self.repositories.iter().map(|it| {
            let path = shown(it);
            format!("`{path}` is a nested repository, which no commit of the branch contains")
        });
        // Being on another branch does not matter if that branch is at the same commit.
        let elsewhere = (self.head.commit() != Some(commit)).then(|| {
            let on = match self.head.branch() {
                Some(found) => format!("`{found}`"),
                None => String::from("no branch"),
            };
            format!("the worktree is on {on}, not on `{branch}`")
        });
        let other_branch = self.head.branch().filter(|_| elsewhere.is_some());
        let others = elsewhere.into_iter().chain(operations);
        let files = self.changes.iter();
        let files = files.filter(|it| !self.unfiltered.contains_key(*it));
        let unfiltered = self.unfiltered.iter();
        let unfiltered = unfiltered.map(|(path, filter)| UnfilteredFile {
            path: shown(path),
            filter: filter.escape_debug().to_string(),
        });
        UncommittedWork {
            files: files.map(shown).collect(),
            unfiltered: unfiltered.collect(),
            other_branch: other_branch.cloned(),
            others: others.chain(submodules).chain(repositories).collect(),
        }
    }
}

impl Worktree<'_> {
    /// Reads its state.
    pub fn condition(&self) -> Result<Condition, GitError> {
        let status = self.status()?;
        Ok(Condition {
            dirty_submodules: self.dirty_submodules(&status)?,
            unfiltered: self.unfiltered_changes(&status)?,
            operation_branch: Operation::branch_in(self.directory()),
            is_sparse: self.settings().is_sparse(),
            is_shallow: self.git().is_shallow(),
            changes: status.changes.into_keys().collect(),
            head: status.head,
            operations: status.operations,
            repositories: status.repositories,
        })
    }

    /// Gathers the facts that gates need, all for the branch's current commit.
    pub fn facts(&self, request: &FactsRequest<'_>) -> Result<GitFacts, GitError> {
        let condition = self.condition()?;
        let is_staged = self.is_staged(root_file(request.task_file)?)?;
        self.git().facts_of(request, Some(&condition), is_staged)
    }

    /// The branch that the worktree is on, or that an operation in progress is about.
    pub fn branch(&self) -> Result<Option<BranchName>, GitError> {
        let head = self.head()?;
        let branch = head.branch().cloned();
        Ok(branch.or_else(|| Operation::branch_in(self.directory())))
    }

    fn is_staged(&self, file: &str) -> Result<bool, GitError> {
        let output = self.call(["ls-files", "-z", "--", file]).bytes()?;
        Ok(!output.is_empty())
    }
}

impl Git {
    /// The facts for a branch that is checked out nowhere, so that it has no uncommitted work.
    pub fn facts(&self, request: &FactsRequest<'_>) -> Result<GitFacts, GitError> {
        self.facts_of(request, None, false)
    }

    fn facts_of(
        &self,
        request: &FactsRequest<'_>,
        condition: Option<&Condition>,
        is_staged: bool,
    ) -> Result<GitFacts, GitError> {
        let task_file = root_file(request.task_file)?;
        let head = self
            .branch(request.branch)?
            .ok_or_else(|| GitError::NoCommit {
                branch: request.branch.to_string(),
            })?;
        let tips = self.tips(request.default)?;
        let starts = tips.starts();
        let unclean = condition.map(|it| it.unclean_parts(request.branch, &head));
        let mut unclean = unclean.unwrap_or_default();
        // The default branch cannot become a task's.
        unclean.other_branch = unclean.other_branch.filter(|it| it != request.default);
        let is_tracked = is_staged
            || self.has_file(head.as_str(), task_file)?
            || self.has_commits_since(&starts, &head, Some(task_file))?;
        if is_tracked && condition.is_some() {
            // Committing the task's file once more would not help: no merge accepts it.
            unclean.files.retain(|it| it != task_file);
            unclean.others.push(format!(
                "`{task_file}` is in the branch's commits; remove it with `git rm --cached \
                 {task_file}` and `git commit --amend`, or with `git rebase -i`"
            ));
        }
        let mut met_conditions = Vec::new();
        if unclean == UncommittedWork::default() {
            met_conditions.push(GitCondition::Clean);
        }
        let has_own_commits = match request.start {
            // The commits of its parent are not its own.
            Some(start) if self.has_commit(start)? => {
                self.has_commits_since(&[start], &head, None)?
            }
            _ => true,
        };
        if has_own_commits && self.has_commits_since(&starts, &head, None)? {
            met_conditions.push(GitCondition::CommitsAhead);
        }
        if request.branch != request.default {
            met_conditions.push(GitCondition::BranchNotDefault);
        }
        if !is_tracked {
            met_conditions.push(GitCondition::TaskFileUntracked);
        }
        let base = tips.target().clone();
        let named = request
            .commit
            .map(|commit| self.relate_commit(commit, &head, &base));
        Ok(GitFacts {
            named: named.transpose()?,
            head,
            base,
            met_conditions,
            uncommitted: unclean,
        })
    }

    /// How a commit relates to the branch and to the default branch; a commit that does not exist
    /// is part of neither.
    fn relate_commit(
        &self,
        commit: &CommitId,
        head: &CommitId,
        base: &CommitId,
    ) -> Result<NamedCommit, GitError> {
        let exists = self.commit_named(commit.as_str())?.is_some();
        Ok(NamedCommit {
            commit: commit.clone(),
            commits_since: self.commits_since(commit, head)?,
            is_in_base: exists && self.contains(base, commit)?,
        })
    }

    /// How many commits a branch has after a commit; `None` if the commit is not part of the
    /// branch.
    pub fn commits_since(
        &self,
        commit: &CommitId,
        head: &CommitId,
    ) -> Result<Option<u64>, GitError> {
        if self.commit_named(commit.as_str())?.is_none() || !self.contains(head, commit)? {
            return Ok(None);
        }
        let range = format!("{commit}..{head}");
        let call = self.call(["rev-list", "--count", &range, "--"]);
        Ok(Some(call.text()?.trim().parse().unwrap_or(u64::MAX)))
    }

    pub fn commit_named(&self, text: &str) -> Result<Option<CommitId>, GitError> {
        // A text that starts like an option names no commit.
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

    /// Whether a commit has a file or folder of this name.
    pub fn has_file(&self, commit: &str, file: &str) -> Result<bool, GitError> {
        let call = self.call(["ls-tree", "-z", "--full-tree", commit, "--", file]);
        Ok(!call.bytes()?.is_empty())
    }

    /// Whether `head` has a commit that the starts lack; with `file`, one that changes that file.
    pub(crate) fn has_commits_since(
        &self,
        starts: &[&CommitId],
        head: &CommitId,
        file: Option<&str>,
    ) -> Result<bool, GitError> {
        let call = self.call(["rev-list", "--max-count=1", head.as_str()]);
        let starts = starts.iter().map(|start| format!("^{start}"));
        let call = call.with_arguments(starts).with_arguments(["--"]);
        Ok(!call.with_arguments(file).bytes()?.is_empty())
    }

    fn is_shallow(&self) -> bool {
        fs::metadata(self.directory().join("shallow")).is_ok_and(|it| it.len() > 0)
    }
}

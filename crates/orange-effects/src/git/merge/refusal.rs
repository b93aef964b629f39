//! Why a branch is not merged, and how to fix it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

use orange_engine::effect::MergeStrategy;
use orange_engine::names::{BranchName, CommitId, TaskId};

use crate::git::Operation;

/// How many files a message lists.
const MAX_FILES: usize = 8;

/// A merge that failed: no branch and no file of this repository changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergeRefusal {
    pub task: TaskId,
    pub branch: BranchName,
    pub default: BranchName,
    /// What the branch has to contain before the next attempt: the default branch, or the commit
    /// that only the remote's has.
    pub upstream: String,
    pub strategy: MergeStrategy,
    pub obstacle: MergeObstacle,
    /// The remote to which the result was already pushed.
    pub pushed_remote: Option<String>,
}

/// What prevents a merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MergeObstacle {
    /// The task's branch is no longer at the commit to merge.
    BranchMoved {
        /// The commit to merge.
        expected: CommitId,
        /// Its current commit.
        found: Option<CommitId>,
    },
    /// The default branch has moved since the merge was decided.
    DefaultMoved {
        /// Its commit at that time.
        expected: CommitId,
        /// Its current commit.
        found: CommitId,
    },
    /// The default branch and the remote's each have commits that the other lacks.
    Diverged,
    /// The default branch has commits that the branch lacks.
    NotFastForward,
    /// The branch has merges of its own, and a rebase would lose how they resolved conflicts.
    MergesLost,
    /// Both sides changed the same lines or files.
    Conflicts(Vec<PathBuf>),
    /// The task's file would become part of the repository.
    TaskFile(String),
    /// A checkout of the default branch has uncommitted changes.
    UncommittedChanges {
        checkout: PathBuf,
        files: Vec<PathBuf>,
    },
    /// A checkout of the default branch has changes that git was told to overlook, in files that
    /// the merge would write.
    HiddenChanges {
        checkout: PathBuf,
        files: Vec<PathBuf>,
    },
    /// In a checkout of the default branch, submodules are at commits that it has not recorded.
    MovedSubmodules {
        checkout: PathBuf,
        submodules: Vec<PathBuf>,
    },
    /// A checkout of the default branch has untracked files where the merge would write.
    UntrackedFiles {
        checkout: PathBuf,
        /// The files, including ignored ones.
        files: Vec<PathBuf>,
    },
    /// A checkout of the default branch needs a filter program for files that the merge would
    /// write, but only the repository's own configuration names that program.
    NeedsFilter {
        checkout: PathBuf,
        /// The files, and the filter of each.
        filters: BTreeMap<PathBuf, String>,
    },
    /// Files of a checkout of the default branch look changed, perhaps only because their filter is
    /// in the repository's own configuration, which is not read.
    LacksFilter {
        checkout: PathBuf,
        /// The files, and the filter of each.
        filters: BTreeMap<PathBuf, String>,
    },
    /// A checkout of the default branch has an unfinished operation.
    OperationInProgress {
        checkout: PathBuf,
        operations: Vec<Operation>,
    },
    /// A checkout of the default branch cannot be read or updated.
    Unusable { checkout: PathBuf, reason: String },
    /// The remote rejected the push.
    Rejected { remote: String, message: String },
    /// The command that verifies the merged result failed.
    NotVerified {
        command: String,
        /// How it ended.
        ending: String,
        /// The file with its output.
        log: PathBuf,
        /// The end of its output.
        output: String,
    },
    /// The merge was cancelled.
    Cancelled,
}

impl fmt::Display for MergeRefusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            task,
            branch,
            default,
            upstream,
            strategy,
            obstacle,
            pushed_remote,
        } = self;
        match pushed_remote {
            None => write!(
                formatter,
                "cannot merge `{branch}` into `{default}`: {obstacle}; "
            )?,
            Some(remote) => write!(
                formatter,
                "`{remote}` already has `{branch}` in its `{default}`, but the local `{default}` \
                 cannot be updated: {obstacle}; "
            )?,
        }
        let mut retry = format!("orange task merge {task}");
        if *strategy != MergeStrategy::default() {
            retry = format!("{retry} --strategy {}", strategy.as_str());
        }
        match obstacle {
            MergeObstacle::BranchMoved { .. } | MergeObstacle::DefaultMoved { .. } => {
                write!(formatter, "check what is new, then run `{retry}` again")
            }
            MergeObstacle::Diverged => write!(
                formatter,
                "reconcile them with `git pull --no-rebase` on `{default}`, then run `{retry}`"
            ),
            MergeObstacle::MergesLost => write!(
                formatter,
                "run `orange task merge {task} --strategy merge` or `--strategy squash`"
            ),
            MergeObstacle::NotFastForward => write!(
                formatter,
                "run `orange task merge {task} --strategy merge` or `--strategy rebase`"
            ),
            MergeObstacle::Conflicts(_) | MergeObstacle::NotVerified { .. } => write!(
                formatter,
                "send it to the agent with `orange task request-changes {task} --merge-failure`, \
                 or run `git merge {upstream}` in the task's worktree, fix and commit it, then run \
                 `{retry} --head COMMIT` with the new commit"
            ),
            MergeObstacle::TaskFile(file) => write!(
                formatter,
                "remove it from the branch's commits with `git rm --cached {file}` and \
                 `git commit --amend`, or with `git rebase -i`, then run `{retry}`"
            ),
            MergeObstacle::UncommittedChanges { checkout, .. } => write!(
                formatter,
                "commit them, or stash them with `git -C '{}' stash`, then run `{retry}`",
                checkout.display()
            ),
            MergeObstacle::HiddenChanges { checkout, .. } => write!(
                formatter,
                "let git see each file with `git -C '{}' update-index --no-assume-unchanged \
                 --no-skip-worktree FILE`, commit or stash them, then run `{retry}`",
                checkout.display()
            ),
            MergeObstacle::MovedSubmodules { checkout, .. } => write!(
                formatter,
                "commit the new state, or return to the recorded one with `git -C '{}' submodule \
                 update --init`, then run `{retry}`",
                checkout.display()
            ),
            MergeObstacle::UntrackedFiles { .. } => {
                write!(formatter, "move them away, then run `{retry}`")
            }
            MergeObstacle::LacksFilter { checkout, .. } => write!(
                formatter,
                "if `git -C '{}' status` lists no change, put the filter into ~/.gitconfig, then \
                 run `{retry}`",
                checkout.display()
            ),
            MergeObstacle::NeedsFilter { checkout, .. } => write!(
                formatter,
                "put the filter into ~/.gitconfig, or detach the checkout with `git -C '{}' switch --detach`, then run `{retry}`",
                checkout.display()
            ),
            MergeObstacle::OperationInProgress { checkout, .. } => write!(
                formatter,
                "finish or abort it (see `git -C '{}' status`), then run `{retry}`",
                checkout.display()
            ),
            MergeObstacle::Unusable { .. } => write!(
                formatter,
                "repair what is named, or run `git worktree prune` if the directory is gone, then \
                 run `{retry}`"
            ),
            MergeObstacle::Rejected { .. } => write!(
                formatter,
                "do what the remote requires, then run `{retry}`, or merge without a push: \
                 `{retry} --local`"
            ),
            MergeObstacle::Cancelled => write!(formatter, "run `{retry}` to merge it after all"),
        }
    }
}

impl fmt::Display for MergeObstacle {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BranchMoved { expected, found } => {
                formatter.write_str(&describe_move(expected, found.as_ref()))
            }
            Self::DefaultMoved { expected, found } => write!(
                formatter,
                "the default branch was at {} when the merge was decided, and is at {} now",
                short(expected),
                short(found)
            ),
            Self::Diverged => {
                formatter.write_str("the local default branch and the remote's have diverged")
            }
            Self::NotFastForward => formatter.write_str(
                "the default branch has moved since this branch was created, so it cannot be \
                 fast-forwarded",
            ),
            Self::MergesLost => formatter.write_str(
                "the branch has merges of its own, and a rebase would lose how they resolved \
                 conflicts",
            ),
            Self::Conflicts(files) => {
                write!(formatter, "both branches changed {}", file_list(files))
            }
            Self::TaskFile(file) => write!(formatter, "`{file}` was committed to the branch"),
            Self::UncommittedChanges { checkout, files } => write!(
                formatter,
                "the checkout `{}` has uncommitted changes in {}",
                checkout.display(),
                file_list(files)
            ),
            Self::HiddenChanges { checkout, files } => write!(
                formatter,
                "the checkout `{}` has changes that git does not show (assume-unchanged or \
                 skip-worktree) in {}, and the merge would overwrite them",
                checkout.display(),
                file_list(files)
            ),
            Self::MovedSubmodules {
                checkout,
                submodules,
            } => write!(
                formatter,
                "in the checkout `{}`, submodules are at other commits than its branch records: {}",
                checkout.display(),
                file_list(submodules)
            ),
            Self::UntrackedFiles { checkout, files } => write!(
                formatter,
                "the checkout `{}` has untracked files where the merge would write: {}",
                checkout.display(),
                file_list(files)
            ),
            Self::NeedsFilter { checkout, filters } => {
                let (checkout, files) = (checkout.display(), file_list(filters.keys()));
                let filters = filter_list(filters);
                write!(
                    formatter,
                    "the checkout `{checkout}` needs {filters} for {files}"
                )
            }
            Self::LacksFilter { checkout, filters } => {
                formatter.write_str(&describe_lack(checkout, filters))
            }
            Self::OperationInProgress {
                checkout,
                operations,
            } => {
                let words: Vec<String> = operations.iter().map(ToString::to_string).collect();
                write!(
                    formatter,
                    "a {} is in progress in the checkout `{}`",
                    words.join(" and a "),
                    checkout.display()
                )
            }
            Self::Unusable { checkout, reason } => write!(
                formatter,
                "the checkout `{}` cannot be updated: {reason}",
                checkout.display()
            ),
            Self::Rejected { remote, message } => {
                write!(formatter, "`{remote}` rejected the push: {message}")
            }
            Self::NotVerified {
                command,
                ending,
                log,
                ..
            } => write!(
                formatter,
                "`{command}` {ending} on the merged result; its output is in `{}`",
                log.display()
            ),
            Self::Cancelled => formatter.write_str("the merge was cancelled before anything moved"),
        }
    }
}

fn describe_move(expected: &CommitId, found: Option<&CommitId>) -> String {
    let found = found.map_or(String::from("gone"), |it| format!("at {}", short(it)));
    let expected = short(expected);
    format!("the branch was at {expected} when the merge was decided, and is {found} now")
}

/// The files in backticks, and how many more there are.
fn file_list<'a>(
    files: impl IntoIterator<Item = &'a PathBuf, IntoIter: ExactSizeIterator>,
) -> String {
    let files = files.into_iter();
    let count = files.len();
    let shown = files.take(MAX_FILES);
    let shown: Vec<String> = shown
        .map(|file| format!("`{}`", file.display().to_string().escape_debug()))
        .collect();
    let shown = shown.join(", ");
    match count.saturating_sub(MAX_FILES) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

fn describe_lack(checkout: &Path, filters: &BTreeMap<PathBuf, String>) -> String {
    format!(
        "in the checkout `{}`, orange cannot tell whether {} changed, because it does not run {}",
        checkout.display(),
        file_list(filters.keys()),
        filter_list(filters)
    )
}

fn filter_list(filters: &BTreeMap<PathBuf, String>) -> String {
    let names: BTreeSet<&String> = filters.values().collect();
    let names: Vec<String> = names
        .iter()
        .map(|it| format!("`{}`", it.escape_debug()))
        .collect();
    let noun = if names.len() == 1 {
        "filter"
    } else {
        "filters"
    };
    let names = names.join(", ");
    format!("the {noun} {names} of the repository's own configuration")
}

fn short(commit: &CommitId) -> &str {
    commit.as_str().get(..12).unwrap_or(commit.as_str())
}

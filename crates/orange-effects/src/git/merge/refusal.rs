//! Why a branch is not merged, and how to fix it.

use std::fmt;
use std::path::PathBuf;

use orange_engine::effect::MergeStrategy;
use orange_engine::names::{BranchName, CommitId, TaskId};

use crate::git::Operation;

/// How many files a message lists.
const NAMED: usize = 8;

/// A merge that failed: no branch and no file of this repository changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergeRefusal {
    pub task: TaskId,
    pub branch: BranchName,
    pub default: BranchName,
    pub strategy: MergeStrategy,
    pub obstacle: MergeObstacle,
    /// The remote that already has the result.
    pub has_it: Option<String>,
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
    /// Both sides changed the same lines or files.
    Conflicts(Vec<PathBuf>),
    /// The task's file would become part of the repository.
    TaskFile(String),
    /// A checkout of the default branch has uncommitted changes.
    Uncommitted {
        checkout: PathBuf,
        files: Vec<PathBuf>,
    },
    /// A checkout of the default branch has untracked files where the merge would write.
    InTheWay {
        checkout: PathBuf,
        /// The files, including ignored ones.
        files: Vec<PathBuf>,
    },
    /// A checkout of the default branch needs a filter program for files that the merge would
    /// write, but only the repository's own configuration names it.
    Filtered {
        checkout: PathBuf,
        files: Vec<PathBuf>,
    },
    /// A checkout of the default branch has an unfinished operation.
    HalfDone {
        checkout: PathBuf,
        operations: Vec<Operation>,
    },
    /// A checkout of the default branch cannot be read.
    Unusable { checkout: PathBuf, reason: String },
    /// The remote rejected the push.
    Rejected { remote: String, words: String },
    /// The merge was cancelled.
    CalledOff,
}

impl fmt::Display for MergeRefusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            task,
            branch,
            default,
            strategy,
            obstacle,
            has_it,
        } = self;
        match has_it {
            None => write!(
                formatter,
                "cannot merge `{branch}` into `{default}`: {obstacle}; "
            )?,
            Some(remote) => write!(
                formatter,
                "`{remote}` has `{branch}` in its `{default}` already, but `{default}` here cannot \
                 follow: {obstacle}; "
            )?,
        }
        let mut again = format!("orange task merge {task}");
        if *strategy != MergeStrategy::default() {
            again = format!("{again} --strategy {}", strategy.as_str());
        }
        match obstacle {
            MergeObstacle::BranchMoved { .. } | MergeObstacle::DefaultMoved { .. } => {
                write!(
                    formatter,
                    "look at what is new, then run `{again}` once more"
                )
            }
            MergeObstacle::Diverged => write!(
                formatter,
                "bring them together with `git pull --rebase` on `{default}`, then run `{again}`"
            ),
            MergeObstacle::NotFastForward => write!(
                formatter,
                "run `{again} --strategy merge`, or `git rebase {default}` in the task's worktree"
            ),
            MergeObstacle::Conflicts(_) => write!(
                formatter,
                "run `git merge {default}` in the task's worktree, resolve and commit, then run \
                 `{again}`"
            ),
            MergeObstacle::TaskFile(file) => write!(
                formatter,
                "take it out of the branch's commits with `git rm --cached {file}` and \
                 `git commit --amend`, or with `git rebase -i`, then run `{again}`"
            ),
            MergeObstacle::Uncommitted { checkout, .. } => write!(
                formatter,
                "commit them, or put them aside with `git -C '{}' stash`, then run `{again}`",
                checkout.display()
            ),
            MergeObstacle::InTheWay { .. } => {
                write!(formatter, "move them away, then run `{again}`")
            }
            MergeObstacle::Filtered { checkout, .. } => write!(
                formatter,
                "take it off the branch with `git -C '{}' switch --detach`, then run `{again}`",
                checkout.display()
            ),
            MergeObstacle::HalfDone { checkout, .. } => write!(
                formatter,
                "end it, which `git -C '{}' status` explains, then run `{again}`",
                checkout.display()
            ),
            MergeObstacle::Unusable { .. } => write!(
                formatter,
                "repair it, or forget it with `git worktree prune`, then run `{again}`"
            ),
            MergeObstacle::Rejected { .. } => write!(
                formatter,
                "do what the remote asks for, then run `{again}`, or leave it alone with \
                 `{again} --local`"
            ),
            MergeObstacle::CalledOff => write!(formatter, "run `{again}` if it is wanted again"),
        }
    }
}

impl fmt::Display for MergeObstacle {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BranchMoved { expected, found } => {
                let found = found.as_ref().map_or("gone", |found| short(found));
                write!(
                    formatter,
                    "the branch was at {} when the merge was decided, and is {found} now",
                    short(expected)
                )
            }
            Self::DefaultMoved { expected, found } => write!(
                formatter,
                "it was at {} when the merge was decided, and is {} now",
                short(expected),
                short(found)
            ),
            Self::Diverged => formatter.write_str("it and that of the remote have diverged"),
            Self::NotFastForward => formatter
                .write_str("it has commits that the branch lacks, so it cannot be forwarded"),
            Self::Conflicts(files) => write!(formatter, "both changed {}", named(files)),
            Self::TaskFile(file) => write!(formatter, "`{file}` was committed to the branch"),
            Self::Uncommitted { checkout, files } => write!(
                formatter,
                "`{}` is on it and has uncommitted changes in {}",
                checkout.display(),
                named(files)
            ),
            Self::InTheWay { checkout, files } => write!(
                formatter,
                "`{}` is on it and has files where the merge would write: {}",
                checkout.display(),
                named(files)
            ),
            Self::Filtered { checkout, files } => write!(
                formatter,
                "`{}` is on it, and a filter that only the repository configures would have to \
                 write {}",
                checkout.display(),
                named(files)
            ),
            Self::HalfDone {
                checkout,
                operations,
            } => {
                let words: Vec<String> = operations.iter().map(ToString::to_string).collect();
                write!(
                    formatter,
                    "a {} is in progress in `{}`, which is on it",
                    words.join(" and a "),
                    checkout.display()
                )
            }
            Self::Unusable { checkout, reason } => write!(
                formatter,
                "`{}` is on it and cannot be brought along: {reason}",
                checkout.display()
            ),
            Self::Rejected { remote, words } => {
                write!(formatter, "`{remote}` does not take it: {words}")
            }
            Self::CalledOff => formatter.write_str("it was called off before anything moved"),
        }
    }
}

/// The files in backticks, and how many more there are.
fn named(files: &[PathBuf]) -> String {
    let shown = files.iter().take(NAMED);
    let shown: Vec<String> = shown
        .map(|file| format!("`{}`", file.display().to_string().escape_debug()))
        .collect();
    let shown = shown.join(", ");
    match files.len().saturating_sub(NAMED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

fn short(commit: &CommitId) -> &str {
    commit.as_str().get(..12).unwrap_or(commit.as_str())
}

//! Why a branch is not merged, and what to do about it.

use std::fmt;
use std::path::PathBuf;

use orange_engine::effect::MergeStrategy;
use orange_engine::names::{BranchName, CommitId, TaskId};

use crate::git::Operation;

/// How many files a message names.
const NAMED: usize = 8;

/// A merge that did not happen here: no branch and no file of this repository changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergeRefusal {
    pub task: TaskId,
    pub branch: BranchName,
    pub default: BranchName,
    pub strategy: MergeStrategy,
    pub obstacle: MergeObstacle,
    /// The remote that has it already.
    pub has_it: Option<String>,
}

/// What stands in the way of a merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MergeObstacle {
    /// The task's branch has another commit than the one that was to be merged.
    BranchMoved {
        /// The commit that was to be merged.
        expected: CommitId,
        /// What it has now.
        found: Option<CommitId>,
    },
    /// The default branch has another commit than when the merge was decided.
    DefaultMoved {
        /// The commit it had.
        expected: CommitId,
        /// What it has now.
        found: CommitId,
    },
    /// The default branch and that of the remote each have commits that the other lacks.
    Diverged,
    /// The default branch has commits that the branch lacks.
    NotFastForward,
    /// Both sides changed the same.
    Conflicts(Vec<PathBuf>),
    /// The task's file would become part of the repository.
    TaskFile(String),
    /// A checkout of the default branch has changes that nobody committed.
    Uncommitted {
        checkout: PathBuf,
        files: Vec<PathBuf>,
    },
    /// A checkout of the default branch has files of its own where the merge would write.
    InTheWay {
        checkout: PathBuf,
        /// The files, ignored ones included.
        files: Vec<PathBuf>,
    },
    /// A checkout of the default branch needs a program for files that the merge would write, which
    /// only the repository's own configuration names.
    Filtered {
        checkout: PathBuf,
        files: Vec<PathBuf>,
    },
    /// Somebody began something in a checkout of the default branch and did not end it.
    HalfDone {
        checkout: PathBuf,
        operations: Vec<Operation>,
    },
    /// A checkout of the default branch cannot be looked at.
    Unusable { checkout: PathBuf, reason: String },
    /// The remote does not take it.
    Rejected { remote: String, words: String },
    /// Nobody wants it any more.
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

//! What a branch has changed since it left the default branch.

use std::path::{Path, PathBuf};

use orange_engine::names::{BranchName, CommitId};

use super::call::{Call, parts, path, zero_ended};
use super::{Git, GitError, Worktree};

/// Which difference is wanted.
#[derive(Clone, Copy, Debug)]
pub struct AskDiff<'a> {
    /// The task's branch.
    pub branch: &'a BranchName,
    /// The default branch.
    pub default: &'a BranchName,
    /// Whether only the sizes of the changes are told.
    pub stat: bool,
    /// Whether a terminal shows it in colour.
    pub colour: bool,
}

/// What differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Where the branch left the default branch.
    pub base: CommitId,
    /// The branch's commit.
    pub head: CommitId,
    /// Whether work that nobody committed is part of it.
    pub has_uncommitted: bool,
    /// The files, in the order of their paths.
    pub files: Vec<FileDifference>,
    /// The difference as git shows it.
    pub text: Vec<u8>,
}

/// How much a file differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileDifference {
    /// The file.
    pub path: PathBuf,
    /// Lines that are new; nothing for a file that has no lines.
    pub added: Option<u64>,
    /// Lines that are gone; nothing for a file that has no lines.
    pub removed: Option<u64>,
}

/// No program that a configuration names runs, and no preference changes what a program reads.
const PLAIN: [&str; 8] = [
    "diff",
    "--no-ext-diff",
    "--no-textconv",
    "--ignore-submodules=dirty",
    "--submodule=short",
    "--src-prefix=a/",
    "--dst-prefix=b/",
    "--find-renames",
];

impl Git {
    /// What the branch's commits have changed.
    pub fn diff(&self, ask: &AskDiff<'_>) -> Result<Difference, GitError> {
        let head = self.branch(ask.branch)?.ok_or_else(|| GitError::NoCommit {
            branch: ask.branch.to_string(),
        })?;
        let base = self.fork(ask, &head)?;
        let range = [base.to_string(), head.to_string()];
        let differ = |options: &[&str]| self.call(PLAIN).and(options).and(&range);
        Ok(Difference {
            files: files(&differ)?,
            text: text(ask, &differ)?,
            has_uncommitted: false,
            base,
            head,
        })
    }

    /// The commit at which a branch left the default branch.
    pub(super) fn fork(&self, ask: &AskDiff<'_>, head: &CommitId) -> Result<CommitId, GitError> {
        let default = self.base(ask.default)?.commit;
        let call = self.call(["merge-base", default.as_str(), head.as_str()]);
        let found = call.answer()?;
        let found = found.map(|found| String::from_utf8_lossy(&found).trim().to_owned());
        Ok(found.map_or(default, CommitId::new))
    }
}

impl Worktree<'_> {
    /// What the branch's commits and the uncommitted work have changed, new files included.
    pub fn diff(&self, ask: &AskDiff<'_>) -> Result<Difference, GitError> {
        let look = self.look()?;
        let head = look.head.commit().ok_or_else(|| GitError::NoCommit {
            branch: ask.branch.to_string(),
        })?;
        let base = self.git().fork(ask, head)?;
        let known = |path: &Path| look.index.iter().any(|it| it.path == path);
        let new = look.changes.keys().filter(|path| !known(path));
        let new: Vec<&Path> = new.map(PathBuf::as_path).collect();
        // Another index, so that new files can be part of it without being added to this one.
        let index = self.copy_of_index(&format!("orange-diff-index-{}", std::process::id()))?;
        let compared = || -> Result<Difference, GitError> {
            if !new.is_empty() {
                let from_input = ["--pathspec-from-file=-", "--pathspec-file-nul"];
                let add = self.call_on(&index, ["add", "--intent-to-add"]);
                let add = add.and(from_input).input(zero_ended(new.clone()));
                add.succeed()?;
            }
            let differ = |options: &[&str]| {
                let call = self.call_on(&index, PLAIN).and(options);
                call.and([base.as_str(), "--"])
            };
            Ok(Difference {
                files: files(&differ)?,
                text: text(ask, &differ)?,
                has_uncommitted: !look.is_clean(),
                base: base.clone(),
                head: head.clone(),
            })
        };
        let compared = compared();
        let _absent = std::fs::remove_file(&index);
        compared
    }
}

fn text(ask: &AskDiff<'_>, differ: &impl Fn(&[&str]) -> Call) -> Result<Vec<u8>, GitError> {
    let colour = if ask.colour {
        "--color=always"
    } else {
        "--color=never"
    };
    let shape = if ask.stat { "--stat" } else { "--patch" };
    differ(&[colour, shape]).bytes()
}

fn files(differ: &impl Fn(&[&str]) -> Call) -> Result<Vec<FileDifference>, GitError> {
    let call = differ(&["--numstat", "-z", "--no-renames"]);
    let bytes = call.bytes()?;
    let mut files = Vec::new();
    for part in parts(&bytes) {
        let mut fields = part.splitn(3, |byte| *byte == b'\t');
        let (Some(added), Some(removed), Some(name)) =
            (fields.next(), fields.next(), fields.next())
        else {
            return Err(call.garbled(part));
        };
        let count = |field: &[u8]| String::from_utf8_lossy(field).parse().ok();
        files.push(FileDifference {
            path: path(name),
            added: count(added),
            removed: count(removed),
        });
    }
    Ok(files)
}

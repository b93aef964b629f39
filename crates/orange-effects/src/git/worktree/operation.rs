//! Rebases, merges and the like that are still in progress.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use orange_engine::names::BranchName;
use serde::{Deserialize, Serialize};

use crate::git::{GitError, Worktree};

/// A git operation in progress.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    /// A rebase.
    Rebase,
    /// `git am`.
    Am,
    /// A merge.
    Merge,
    /// A cherry-pick.
    CherryPick,
    /// A revert.
    Revert,
    /// A bisect.
    Bisect,
}

/// Files and directories that show an operation in progress, the more specific first.
const SIGNS: &[(Operation, &str)] = &[
    (Operation::Rebase, "rebase-merge"),
    (Operation::Am, "rebase-apply/applying"),
    (Operation::Rebase, "rebase-apply/rebasing"),
    (Operation::Rebase, "rebase-apply"),
    (Operation::Merge, "MERGE_HEAD"),
    (Operation::CherryPick, "CHERRY_PICK_HEAD"),
    (Operation::Revert, "REVERT_HEAD"),
    (Operation::CherryPick, "sequencer"),
    (Operation::Bisect, "BISECT_START"),
];

/// Everything that operations leave in git's directory; a name that ends in `/` is a directory.
const STATE: &[&str] = &[
    "rebase-merge/",
    "rebase-apply/",
    "sequencer/",
    "MERGE_HEAD",
    "MERGE_MSG",
    "MERGE_MODE",
    "MERGE_RR",
    "SQUASH_MSG",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "REBASE_HEAD",
    "ORIG_HEAD",
    "AUTO_MERGE",
    "BISECT_START",
    "BISECT_LOG",
    "BISECT_TERMS",
    "BISECT_NAMES",
    "BISECT_EXPECTED_REV",
    "BISECT_ANCESTORS_OK",
    "BISECT_FIRST_PARENT",
];

impl fmt::Display for Operation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Operation::Rebase => "rebase",
            Operation::Am => "`git am`",
            Operation::Merge => "merge",
            Operation::CherryPick => "cherry-pick",
            Operation::Revert => "revert",
            Operation::Bisect => "bisect",
        })
    }
}

impl Operation {
    /// The operations in progress in the worktree with this git directory.
    pub(crate) fn found_in(directory: &Path) -> Vec<Operation> {
        let mut found = Vec::new();
        for (operation, sign) in SIGNS {
            let is_same_folder = sign.starts_with("rebase-apply") && !found.is_empty();
            let is_part = *sign == "sequencer" && !found.is_empty();
            let exists = fs::symlink_metadata(directory.join(sign)).is_ok();
            if exists && !is_same_folder && !is_part && !found.contains(operation) {
                found.push(*operation);
            }
        }
        found
    }

    /// The branch that an operation in progress is about; HEAD does not name it until the operation
    /// ends.
    pub(crate) fn branch_in(directory: &Path) -> Option<BranchName> {
        let read = |name: &str| fs::read_to_string(directory.join(name)).ok();
        let head = read("rebase-merge/head-name").or_else(|| read("rebase-apply/head-name"));
        if let Some(head) = head {
            let name = head.trim_end().strip_prefix("refs/heads/")?;
            return Some(BranchName::new(name));
        }
        let start = read("BISECT_START")?;
        let start = start.trim_end();
        let name = start.strip_prefix("refs/heads/").unwrap_or(start);
        let is_commit = name.len() >= 40 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
        (!is_commit).then(|| BranchName::new(name))
    }

    /// The files that make up the operations' state, relative to git's directory.
    pub(crate) fn state_in(directory: &Path) -> Vec<PathBuf> {
        let mut files = Vec::new();
        for name in STATE {
            let Some(folder) = name.strip_suffix('/') else {
                if directory.join(name).is_file() {
                    files.push(PathBuf::from(name));
                }
                continue;
            };
            let mut folders = vec![PathBuf::from(folder)];
            while let Some(folder) = folders.pop() {
                let Ok(entries) = fs::read_dir(directory.join(&folder)) else {
                    continue;
                };
                for entry in entries.flatten() {
                    let path = folder.join(entry.file_name());
                    match entry.file_type() {
                        Ok(kind) if kind.is_dir() => folders.push(path),
                        Ok(kind) if kind.is_file() => files.push(path),
                        _ => {}
                    }
                }
            }
        }
        files.sort();
        files
    }

    fn quit_command(self) -> &'static [&'static str] {
        match self {
            Operation::Rebase => &["rebase", "--quit"],
            Operation::Am => &["am", "--quit"],
            Operation::Merge => &["merge", "--quit"],
            Operation::CherryPick => &["cherry-pick", "--quit"],
            Operation::Revert => &["revert", "--quit"],
            // Without `HEAD`, it would check out the branch that the bisect started from.
            Operation::Bisect => &["bisect", "reset", "HEAD"],
        }
    }
}

impl Worktree<'_> {
    /// Quits the operations in progress, leaving HEAD, index and files as they are.
    pub(crate) fn quit_operations(&self) -> Result<(), GitError> {
        for operation in Operation::found_in(self.directory()) {
            self.call(operation.quit_command()).succeed()?;
        }
        Ok(())
    }
}

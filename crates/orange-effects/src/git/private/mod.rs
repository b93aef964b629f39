//! A task's private repository, which replaces the real one inside a sandbox.
//!
//! Inside, it is mounted where the real `.git` is, so an agent writes to it as if it were the real
//! one. It has its own refs, configuration and index, and borrows the real objects, which are
//! mounted read-only. Outside, the worktree still belongs to the real repository.
//!
//! Once it is created, nothing outside writes into it, and no git outside ever runs on it: what the
//! real repository has to tell it goes through git inside, and its commits come back as a pack that
//! is judged before the real repository has any of it.

mod answers;
mod borrowed;
mod branch_name;
mod configuration;
mod create;
mod import;
mod incoming;
mod layout;
mod real_index;
mod record;
mod ref_table;
mod refresh;
mod retire;
mod uncovered;

use std::path::{Path, PathBuf};

use orange_engine::names::{BranchName, CommitId, TaskId};

use crate::command::Invocation;
use crate::git::Git;

pub use create::PrivateRequest;
pub use import::{Import, ImportRefusal, ImportRequest};
pub use refresh::Refresh;
pub use uncovered::Uncovered;

/// Makes the program that runs git with these arguments inside the sandbox, in the worktree.
pub type Inside<'a> = &'a dyn Fn(&[&str]) -> Invocation;

/// What is mounted at the real `.git`, in a private repository's folder.
const COMMON: &str = "current/common";

/// What git inside sees as the remote.
const UPSTREAM: &str = "current/upstream";

/// A task's private repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrivateRepository {
    folder: PathBuf,
    task: TaskId,
    branch: BranchName,
}

/// Whether a task has its private repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PrivateResult {
    /// It was created. What an earlier one had that does not fit the worktree is kept in
    /// `replaced`.
    Created {
        repository: PrivateRepository,
        replaced: Option<PathBuf>,
    },
    /// It exists, with everything that earlier runs of the task left in it.
    Exists(PrivateRepository),
    /// The real repository uses something that a private one does not support.
    Uncovered(Vec<Uncovered>),
}

/// A directory that a sandbox needs, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    pub outside: PathBuf,
    pub inside: PathBuf,
    pub is_read_only: bool,
}

impl PrivateRepository {
    /// The directories to mount. The worktree itself is not among them; its `.git` file has to be
    /// read-only inside.
    pub fn mounts(&self, git: &Git, inside: &InsidePaths<'_>) -> Vec<Mount> {
        let objects = git.directory().join("objects");
        vec![
            Mount {
                outside: self.folder.join(COMMON),
                inside: git.directory().to_owned(),
                is_read_only: false,
            },
            Mount {
                outside: objects.canonicalize().unwrap_or(objects),
                inside: inside.objects.to_owned(),
                is_read_only: true,
            },
            Mount {
                outside: self.folder.join(UPSTREAM),
                inside: inside.upstream.to_owned(),
                is_read_only: true,
            },
        ]
    }

    /// What is mounted at the real `.git`. An agent can write all of it.
    pub fn common_directory(&self) -> PathBuf {
        self.folder.join(COMMON)
    }

    pub fn branch(&self) -> &BranchName {
        &self.branch
    }

    fn upstream(&self) -> PathBuf {
        self.folder.join(UPSTREAM)
    }
}

/// Where a sandbox mounts what a private repository borrows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InsidePaths<'a> {
    /// The real objects.
    pub objects: &'a Path,
    /// What stands for the remote.
    pub upstream: &'a Path,
}

/// A commit id in text that git inside printed or a file inside has.
fn commit_id_in(text: &[u8], digits: usize) -> Option<CommitId> {
    let text = std::str::from_utf8(text.trim_ascii_end()).ok()?;
    let is_digit = |it: u8| it.is_ascii_digit() || (b'a'..=b'f').contains(&it);
    (text.len() == digits && text.bytes().all(is_digit)).then(|| CommitId::new(text))
}

//! What orange remembers about a workspace, in git's directory for it.
//!
//! The store says which task a workspace is bound to. This says how far git's part has come, so
//! that whoever repeats an interrupted step knows what it finds, and it proves that the worktree
//! is ours. It lies outside the tree, where no agent's `git clean` reaches it.

use std::fs;
use std::io;
use std::path::Path;

use orange_engine::names::{BranchName, CommitId, TaskId, WorkspaceName};
use serde::{Deserialize, Serialize};

use crate::git::{GitError, Worktree};
use crate::private_file;

/// The file's name.
const FILE: &str = "orange.json";

/// No marker is larger.
const LIMIT: u64 = 64 * 1024;

/// What is known about a workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Marker {
    /// Whose worktree it is.
    pub workspace: WorkspaceName,
    /// How far it has come.
    pub phase: Phase,
    /// Whether its directory was gone, and is being filled from the index.
    pub is_refilling: bool,
}

/// How far a workspace has come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Phase {
    /// Nobody's.
    Idle,
    /// On its way to a branch.
    Acquiring {
        task: TaskId,
        branch: BranchName,
        from: CommitId,
        /// Where it goes.
        to: CommitId,
    },
    /// A task's.
    Bound {
        task: TaskId,
        /// The branch it was bound with.
        branch: BranchName,
    },
    /// On its way back to nobody.
    Releasing {
        task: TaskId,
        /// The commit that holds everything that was unsaved.
        rescue: CommitId,
    },
}

impl Phase {
    pub fn task(&self) -> Option<&TaskId> {
        match self {
            Phase::Idle => None,
            Phase::Acquiring { task, .. }
            | Phase::Bound { task, .. }
            | Phase::Releasing { task, .. } => Some(task),
        }
    }
}

impl Marker {
    /// What is known about the worktree with this directory of git's.
    pub(crate) fn read(record: &Path) -> Result<Option<Self>, GitError> {
        let path = record.join(FILE);
        if fs::symlink_metadata(&path).is_err_and(|it| it.kind() == io::ErrorKind::NotFound) {
            return Ok(None);
        }
        let bytes = private_file::read(&path, LIMIT)?;
        let marker = serde_json::from_slice(&bytes);
        marker.map(Some).map_err(|error| GitError::NotThatWorktree {
            path: record.to_owned(),
            reason: format!("its marker `{}` makes no sense: {error}", path.display()),
        })
    }

    /// Remembers this, whole or not at all.
    pub(crate) fn write(&self, record: &Path) -> Result<(), GitError> {
        let path = record.join(FILE);
        let bytes = serde_json::to_vec(self);
        let bytes = bytes.map_err(|error| GitError::system("write", &path)(error.into()))?;
        Ok(private_file::write(&path, &bytes)?)
    }
}

impl Worktree<'_> {
    /// What is known about it; nothing when it is none of ours.
    pub fn marker(&self) -> Result<Option<Marker>, GitError> {
        Marker::read(self.directory())
    }

    /// Remembers how far it has come.
    pub(crate) fn set_phase(&self, marker: &mut Marker, phase: Phase) -> Result<(), GitError> {
        marker.phase = phase;
        marker.write(self.directory())
    }
}

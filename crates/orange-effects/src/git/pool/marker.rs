//! orange's record of a workspace, in git's directory for the worktree.
//!
//! The store records which task a workspace is bound to. The marker records how far the git side
//! has got, so that a retry of an interrupted step knows what to expect, and it proves that the
//! worktree is ours. The marker is outside the tree, where an agent's `git clean` cannot reach it.

use std::fs;
use std::io;
use std::path::Path;

use orange_engine::names::{BranchName, CommitId, TaskId, WorkspaceName};
use serde::{Deserialize, Serialize};

use crate::git::{GitError, Worktree};
use crate::private_file;

const FILE: &str = "orange.json";

/// Upper bound on a marker's size.
const LIMIT: u64 = 64 * 1024;

/// The state of a workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Marker {
    /// The workspace that the worktree is for.
    pub workspace: WorkspaceName,
    pub phase: Phase,
    /// Whether its directory was deleted and is being restored from the index.
    pub is_refilling: bool,
}

/// The phase of a workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Phase {
    /// No task has the workspace.
    Idle,
    /// Switching to a branch.
    Acquiring {
        task: TaskId,
        branch: BranchName,
        from: CommitId,
        /// The target commit.
        to: CommitId,
    },
    /// Bound to a task.
    Bound {
        task: TaskId,
        /// The branch it was bound with.
        branch: BranchName,
    },
    /// Being released.
    Releasing {
        task: TaskId,
        /// The commit with everything that was unsaved.
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
    /// Reads the marker of the worktree with this git directory.
    pub(crate) fn read(record: &Path) -> Result<Option<Self>, GitError> {
        let path = record.join(FILE);
        if fs::symlink_metadata(&path).is_err_and(|it| it.kind() == io::ErrorKind::NotFound) {
            return Ok(None);
        }
        let bytes = private_file::read(&path, LIMIT)?;
        let marker = serde_json::from_slice(&bytes);
        marker
            .map(Some)
            .map_err(|error| GitError::WorktreeMismatch {
                path: record.to_owned(),
                reason: format!("its marker `{}` is invalid: {error}", path.display()),
            })
    }

    /// Writes it atomically.
    pub(crate) fn write(&self, record: &Path) -> Result<(), GitError> {
        let path = record.join(FILE);
        let bytes = serde_json::to_vec(self);
        let bytes = bytes.map_err(|error| GitError::system("write", &path)(error.into()))?;
        Ok(private_file::write(&path, &bytes)?)
    }
}

impl Worktree<'_> {
    /// Its marker; `None` when the worktree is not ours.
    pub fn marker(&self) -> Result<Option<Marker>, GitError> {
        Marker::read(self.directory())
    }

    /// Records its phase.
    pub(crate) fn set_phase(&self, marker: &mut Marker, phase: Phase) -> Result<(), GitError> {
        marker.phase = phase;
        marker.write(self.directory())
    }
}

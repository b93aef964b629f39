//! Asks git inside the sandbox, and takes its answers as text only.

use std::io::Read as _;
use std::time::Duration;

use orange_engine::names::CommitId;

use super::{Inside, PrivateRepository, commit_id_in};
use crate::command::CommandExit;
use crate::git::repository::name::branch_ref;
use crate::git::{Git, GitError};
use crate::safe_directory::SafeDirectory;

/// How much of an answer is read.
const LIMIT: usize = 64 * 1024;

/// How long git inside may take to name a commit. A ref can be a pipe, on which it would block.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Upper bound on the size of the file of a ref.
const REF_LIMIT: u64 = 256;

/// What git inside says about the task's branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum InsideTip {
    Commit(CommitId),
    /// There is no such branch, or it is no commit.
    None,
    /// git inside failed with this message.
    Failed(String),
}

impl PrivateRepository {
    /// Whether the real repository certainly has the branch as it is inside; reads two files.
    pub fn is_imported(&self, git: &Git) -> bool {
        let Ok(record) = self.record() else {
            return false;
        };
        record.import.is_none() && self.tip_in_file(git.id_digits()) == Some(record.tip)
    }

    /// The commit of the task's branch by the file of its ref, as data. `None` when git inside has
    /// to be asked.
    pub(super) fn tip_in_file(&self, digits: usize) -> Option<CommitId> {
        let common = self.common_directory();
        let place = SafeDirectory::open(&common).ok()?;
        let name = branch_ref(&self.branch).ok()?;
        let file = place.open_file(name.as_ref()).ok()?;
        if file.metadata().ok()?.len() > REF_LIMIT {
            return None;
        }
        let mut text = Vec::new();
        file.take(REF_LIMIT).read_to_end(&mut text).ok()?;
        commit_id_in(&text, digits)
    }

    /// The commit of the task's branch, as git inside reports it.
    pub(super) fn tip_inside(
        &self,
        inside: Inside<'_>,
        digits: usize,
    ) -> Result<InsideTip, GitError> {
        if let Some(tip) = self.tip_in_file(digits) {
            return Ok(InsideTip::Commit(tip));
        }
        let name = branch_ref(&self.branch)?;
        let words = [
            "--no-replace-objects",
            "rev-parse",
            "--verify",
            "--quiet",
            &name,
        ];
        let output = inside(&words).limit(LIMIT).timeout(TIMEOUT).run()?;
        Ok(match output.ending {
            CommandExit::Code(0) => {
                let tip = commit_id_in(&output.stdout.bytes, digits);
                tip.map_or(InsideTip::None, InsideTip::Commit)
            }
            CommandExit::Code(1) => InsideTip::None,
            _ => InsideTip::Failed(inside(&words).error_for(output).without_command()),
        })
    }
}

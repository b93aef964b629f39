//! Tracks which rescues were restored, and which are no longer needed.

use std::collections::BTreeSet;
use std::path::PathBuf;

use orange_engine::names::{CommitId, TaskId};

use crate::git::repository::name::task_part;
use crate::git::worktree::entry::Entry;
use crate::git::{Base, Git, GitError, Rescue};

/// The refs that record restored rescues; the rescue itself stays.
const REFS: &str = "refs/orange/restored";

impl Git {
    /// Records that a rescue was restored into a worktree: restoring it again automatically would
    /// undo later work.
    pub fn mark_restored(&self, rescued: &Rescue) -> Result<(), GitError> {
        let name = reference(rescued);
        let call = self.call(["update-ref", "-m", "orange: restored", &name]);
        call.with_arguments([rescued.commit.as_str()]).succeed()
    }

    /// Records that the work of a rescue is in no worktree any more.
    pub(crate) fn mark_unrestored(&self, rescued: &Rescue) -> Result<(), GitError> {
        let name = reference(rescued);
        self.call(["update-ref", "-d", &name]).succeed()
    }

    /// The numbers of a task's restored rescues.
    pub fn restored_numbers(&self, task: &TaskId) -> Result<BTreeSet<u32>, GitError> {
        let prefix = format!("{REFS}/{}/", task_part(task)?);
        let call = self.call(["for-each-ref", "--format=%(refname)", &prefix]);
        let output = call.text()?;
        let number = |line: &str| line.strip_prefix(&prefix)?.parse().ok();
        Ok(output.lines().filter_map(number).collect())
    }

    /// Whether a commit contains the one that a rescue is based on.
    pub fn is_based_on(&self, commit: &CommitId, rescued: &Rescue) -> Result<bool, GitError> {
        match &rescued.about.head {
            None => Ok(false),
            Some(head) => self.contains(commit, head),
        }
    }

    /// Whether the default branch contains every byte of a rescue.
    ///
    /// An operation in progress, and anything that only the rescue has, counts as not merged.
    pub fn has_rescue(&self, rescued: &Rescue, base: &Base) -> Result<bool, GitError> {
        if !rescued.about.operations.is_empty() || !self.is_based_on(&base.commit, rescued)? {
            return Ok(false);
        }
        let content = self.content(rescued)?;
        if !content.unmerged.is_empty() {
            return Ok(false);
        }
        let merged = self.tree(base.commit.as_str())?;
        let is_merged = |path: &PathBuf| {
            let base_entry = content.before.get(path);
            let merged_entry = merged.get(path);
            // A deletion has no bytes, but it is work too.
            let is_contained = |entry: Option<&Entry>| entry == base_entry || entry == merged_entry;
            is_contained(content.work.get(path)) && is_contained(content.index.get(path))
        };
        Ok(content.paths().iter().all(is_merged))
    }

    /// Deletes a rescue if it is merged; returns whether it was deleted.
    pub fn delete_if_merged(&self, rescued: &Rescue, base: &Base) -> Result<bool, GitError> {
        if !self.has_rescue(rescued, base)? {
            return Ok(false);
        }
        self.mark_unrestored(rescued)?;
        let call = self.call(["update-ref", "-d", &rescued.reference()]);
        call.with_arguments([rescued.commit.as_str()]).succeed()?;
        Ok(true)
    }
}

fn reference(rescued: &Rescue) -> String {
    format!("{REFS}/{}/{}", rescued.about.task, rescued.number)
}

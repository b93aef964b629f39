//! Which rescues were brought back, and which nobody needs any more.

use std::collections::BTreeSet;
use std::path::PathBuf;

use orange_engine::names::{CommitId, TaskId};

use crate::git::repository::name::task_part;
use crate::git::worktree::entry::Entry;
use crate::git::{Base, Git, GitError, Rescued};

/// Where it is remembered that a rescue was brought back; the rescue itself stays.
const REFS: &str = "refs/orange/restored";

impl Git {
    /// Remembers that a rescue was brought back into a worktree: it is not brought back again by
    /// itself, which would undo what was done with it since.
    pub fn note_brought_back(&self, rescued: &Rescued) -> Result<(), GitError> {
        let name = reference(rescued);
        let call = self.call(["update-ref", "-m", "orange: brought back", &name]);
        call.and([rescued.commit.as_str()]).succeed()
    }

    /// The numbers of a task's rescues that were brought back.
    pub fn brought_back(&self, task: &TaskId) -> Result<BTreeSet<u32>, GitError> {
        let prefix = format!("{REFS}/{}/", task_part(task)?);
        let call = self.call(["for-each-ref", "--format=%(refname)", &prefix]);
        let said = call.text()?;
        let number = |line: &str| line.strip_prefix(&prefix)?.parse().ok();
        Ok(said.lines().filter_map(number).collect())
    }

    /// Whether a commit contains the one that a rescue belonged to.
    pub fn is_based_on(&self, commit: &CommitId, rescued: &Rescued) -> Result<bool, GitError> {
        match &rescued.about.head {
            None => Ok(false),
            Some(head) => self.contains(commit, head),
        }
    }

    /// Whether the default branch holds every byte of a rescue.
    ///
    /// What was in progress, and what only the rescue holds, is merged nowhere.
    pub fn holds_rescue(&self, rescued: &Rescued, base: &Base) -> Result<bool, GitError> {
        if !rescued.about.operations.is_empty() || !self.is_based_on(&base.commit, rescued)? {
            return Ok(false);
        }
        let content = self.content(rescued)?;
        if !content.unmerged.is_empty() {
            return Ok(false);
        }
        let merged = self.tree(base.commit.as_str())?;
        let is_held = |path: &PathBuf| {
            let was = content.before.get(path);
            let now = merged.get(path);
            // A deletion holds no byte, but it is work that somebody did.
            let is_there = |entry: Option<&Entry>| entry == was || entry == now;
            is_there(content.work.get(path)) && is_there(content.index.get(path))
        };
        Ok(content.paths().iter().all(is_held))
    }

    /// Forgets a rescue that is merged; whether it was.
    pub fn forget_if_merged(&self, rescued: &Rescued, base: &Base) -> Result<bool, GitError> {
        if !self.holds_rescue(rescued, base)? {
            return Ok(false);
        }
        let note = reference(rescued);
        self.call(["update-ref", "-d", &note]).succeed()?;
        let call = self.call(["update-ref", "-d", &rescued.reference()]);
        call.and([rescued.commit.as_str()]).succeed()?;
        Ok(true)
    }
}

fn reference(rescued: &Rescued) -> String {
    format!("{REFS}/{}/{}", rescued.about.task, rescued.number)
}

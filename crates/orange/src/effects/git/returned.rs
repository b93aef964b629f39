//! Which rescues were brought back, and which nobody needs any more.

use std::collections::BTreeSet;

use orange_engine::names::{CommitId, TaskId};

use super::entry::Entry;
use super::name::task_part;
use super::{Base, Git, GitError, Rescued};

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

    /// Forgets a rescue of which the default branch holds every byte; whether it did.
    ///
    /// Whatever was in progress, and what only the rescue holds, keeps it for ever.
    pub fn forget_if_merged(&self, rescued: &Rescued, base: &Base) -> Result<bool, GitError> {
        if !rescued.about.operations.is_empty() || !self.is_based_on(&base.commit, rescued)? {
            return Ok(false);
        }
        let content = self.content(rescued)?;
        if !content.unmerged.is_empty() {
            return Ok(false);
        }
        let merged = self.tree(base.commit.as_str())?;
        for path in content.paths() {
            let is_held = |entry: Option<&Entry>| entry.is_none() || merged.get(&path) == entry;
            let was = content.before.get(&path);
            let staged = content.index.get(&path).filter(|entry| Some(*entry) != was);
            let work = content.work.get(&path).filter(|entry| Some(*entry) != was);
            // A file that the rescue lacks and the branch still has: somebody had deleted it.
            let is_deletion = !content.work.contains_key(&path) && merged.contains_key(&path);
            if is_deletion || !is_held(work) || !is_held(staged) {
                return Ok(false);
            }
        }
        let note = reference(rescued);
        for (name, commit) in [(note, ""), (rescued.reference(), rescued.commit.as_str())] {
            let call = self.call(["update-ref", "-d", &name]);
            let expected = Some(commit).filter(|commit| !commit.is_empty());
            call.and(expected).succeed()?;
        }
        Ok(true)
    }
}

fn reference(rescued: &Rescued) -> String {
    format!("{REFS}/{}/{}", rescued.about.task, rescued.number)
}

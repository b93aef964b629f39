//! Fast-forwards the default branch, and the checkouts that are on it.
//!
//! A checkout belongs to the user. Its files change only while it is clean, by a git command that
//! replaces only files that are as in the old commit, before the branch moves. A note in git's
//! directory tells a retry what an interrupted run was doing.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use orange_engine::names::{BranchName, CommitId};

use crate::git::repository::call::{parts, path, zero_ended};
use crate::git::repository::name::branch_ref;
use crate::git::worktree::status::Look;
use crate::git::{Git, GitError, MergeObstacle, Worktree};
use crate::place::Kind;

/// A fast-forward of a branch from one commit to a later one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Forward<'a> {
    pub branch: &'a BranchName,
    /// Its current commit; `None` when it does not exist yet.
    pub from: Option<&'a CommitId>,
    pub to: &'a CommitId,
}

impl Git {
    /// The worktrees that are on a branch, or in the middle of an operation on it.
    pub(crate) fn checkouts<'a>(
        &'a self,
        branch: &BranchName,
    ) -> Result<Vec<Result<Worktree<'a>, GitError>>, GitError> {
        let listed = self.worktrees()?.into_iter();
        let listed = listed.filter(|it| it.branch.as_ref() == Some(branch));
        Ok(listed.map(|it| self.worktree(&it.path)).collect())
    }

    /// What would prevent moving the branch now.
    pub(crate) fn in_the_way(
        &self,
        forward: &Forward<'_>,
    ) -> Result<Option<MergeObstacle>, GitError> {
        let Some(from) = forward.from.filter(|from| *from != forward.to) else {
            return Ok(None);
        };
        for worktree in self.checkouts(forward.branch)? {
            let obstacle = match worktree {
                Ok(worktree) => worktree.resists(forward.branch, from, forward.to)?,
                Err(GitError::NotThatWorktree { path, reason }) => Some(MergeObstacle::Unusable {
                    checkout: path,
                    reason,
                }),
                Err(error) => return Err(error),
            };
            if obstacle.is_some() {
                return Ok(obstacle);
            }
        }
        Ok(None)
    }

    /// Moves the branch, and the files of every checkout that is on it.
    pub(crate) fn forward(
        &self,
        forward: &Forward<'_>,
    ) -> Result<Result<(), MergeObstacle>, GitError> {
        if forward.from == Some(forward.to) {
            return Ok(Ok(()));
        }
        // What was clean before a push may no longer be.
        if let Some(obstacle) = self.in_the_way(forward)? {
            return Ok(Err(obstacle));
        }
        let mut moved = Vec::new();
        if let Some(from) = forward.from {
            for worktree in self.checkouts(forward.branch)? {
                let worktree = worktree?;
                let obstacle = worktree.bring_along(from, forward.to)?;
                moved.push(worktree);
                if let Some(obstacle) = obstacle {
                    return back_out(&moved, obstacle).map(Err);
                }
            }
        }
        let nothing = CommitId::new(self.no_id());
        let expected = forward.from.unwrap_or(&nothing);
        let name = branch_ref(forward.branch)?;
        let call = self.call(["update-ref", "-m", "orange: merge", &name]);
        let call = call.and([forward.to.as_str(), expected.as_str()]);
        if let Err(error) = call.succeed() {
            let found = self.branch(forward.branch)?;
            return match found {
                Some(found) if found != *expected => {
                    let expected = expected.clone();
                    let obstacle = MergeObstacle::DefaultMoved { expected, found };
                    back_out(&moved, obstacle).map(Err)
                }
                _ => Err(error),
            };
        }
        for worktree in moved {
            worktree.forget_forward()?;
        }
        Ok(Ok(()))
    }
}

/// Restores checkouts to the files of their HEAD.
fn back_out(moved: &[Worktree<'_>], obstacle: MergeObstacle) -> Result<MergeObstacle, GitError> {
    for worktree in moved {
        worktree.recover()?;
    }
    Ok(obstacle)
}

impl Worktree<'_> {
    /// Why this checkout of a branch cannot be moved from one commit to another.
    fn resists(
        &self,
        branch: &BranchName,
        from: &CommitId,
        to: &CommitId,
    ) -> Result<Option<MergeObstacle>, GitError> {
        self.await_unlocked()?;
        let checkout = self.path().to_owned();
        let look = self.look()?;
        if !look.operations.is_empty() {
            let operations = look.operations;
            return Ok(Some(MergeObstacle::HalfDone {
                checkout,
                operations,
            }));
        }
        if look.head.branch() != Some(branch) || look.head.commit() != Some(from) {
            let reason = String::from("it is being switched");
            return Ok(Some(MergeObstacle::Unusable { checkout, reason }));
        }
        let known: BTreeSet<&Path> = look.index.iter().map(|it| it.path.as_path()).collect();
        let changed = look.changes.iter();
        let changed = changed.filter(|(path, it)| it.is_staged || known.contains(path.as_path()));
        let changed = changed.map(|(path, _)| path.clone());
        let files: Vec<PathBuf> = changed.chain(look.moved_submodules.clone()).collect();
        if !files.is_empty() {
            return Ok(Some(MergeObstacle::Uncommitted { checkout, files }));
        }
        let files = self.occupied(&look, &known, from, to)?;
        if !files.is_empty() {
            return Ok(Some(MergeObstacle::InTheWay { checkout, files }));
        }
        let files = self.filtered(from, to)?;
        if !files.is_empty() {
            return Ok(Some(MergeObstacle::Filtered { checkout, files }));
        }
        let scratch = self.scratch()?;
        // Files that were touched but not changed must not count as changed.
        let refresh = ["update-index", "-q", "--refresh"];
        let _differing = self.call_on(&scratch, refresh).working().answer()?;
        let trial = ["read-tree", "-m", "-u", "-n", from.as_str(), to.as_str()];
        let refused = self.call_on(&scratch, trial).succeed().err();
        let _absent = std::fs::remove_file(&scratch);
        Ok(refused.map(|error| MergeObstacle::Unusable {
            checkout,
            reason: error.to_string(),
        }))
    }

    /// Untracked files, including ignored ones, where the new commit has files.
    fn occupied(
        &self,
        look: &Look,
        known: &BTreeSet<&Path>,
        from: &CommitId,
        to: &CommitId,
    ) -> Result<Vec<PathBuf>, GitError> {
        let place = self.place()?;
        let kind = |path: &Path| place.kind(path).map_err(self.failed("look at", path));
        let mut occupied = BTreeSet::new();
        for path in self.git().changed_paths(from, to)? {
            if known.contains(path.as_path()) {
                continue;
            }
            let ancestors = path.ancestors().skip(1);
            for folder in ancestors.filter(|folder| !folder.as_os_str().is_empty()) {
                let is_file = matches!(kind(folder)?, Kind::Entry(_) | Kind::Other);
                if is_file && !known.contains(folder) {
                    occupied.insert(folder.to_owned());
                }
            }
            match kind(&path)? {
                Kind::Absent => {}
                Kind::Entry(_) | Kind::Other => {
                    occupied.insert(path);
                }
                // Tracked files in it will be removed; git checks whether there are others.
                Kind::Folder if look.index.iter().any(|it| it.path.starts_with(&path)) => {}
                Kind::Folder => {
                    let inside = place.files(&path);
                    occupied.extend(inside.map_err(self.failed("look into", &path))?);
                }
            }
        }
        Ok(occupied.into_iter().collect())
    }

    /// Files that the new commit changes and that are written by a filter which is disabled:
    /// without it their content in the checkout would be wrong.
    fn filtered(&self, from: &CommitId, to: &CommitId) -> Result<Vec<PathBuf>, GitError> {
        let named = self.settings().names("filter", &[".smudge", ".process"]);
        if named.is_empty() {
            return Ok(Vec::new());
        }
        let users = self.git().users_names("filter")?;
        let off: BTreeSet<&String> = named.difference(&users).collect();
        let paths = self.git().changed_paths(from, to)?;
        let words = ["check-attr", "-z", "--stdin", "filter"];
        let call = self.call_as_of(to.as_str(), words);
        let call = call.input(zero_ended(paths.iter().map(PathBuf::as_path)));
        let bytes = call.bytes()?;
        let rows: Vec<&[u8]> = parts(&bytes).collect();
        let mut files = Vec::new();
        for row in rows.chunks(3) {
            let [name, _, value] = row else {
                return Err(call.garbled(&bytes));
            };
            if off.contains(&String::from_utf8_lossy(value).into_owned()) {
                files.push(path(name));
            }
        }
        Ok(files)
    }

    /// Updates index and files to the new commit; the branch follows later.
    fn bring_along(
        &self,
        from: &CommitId,
        to: &CommitId,
    ) -> Result<Option<MergeObstacle>, GitError> {
        self.note_forward(from, to)?;
        let refresh = ["update-index", "-q", "--refresh"];
        let _differing = self.call(refresh).working().answer()?;
        let read = self.call(["read-tree", "-m", "-u", from.as_str(), to.as_str()]);
        let read = read.working();
        Ok(read.succeed().err().map(|error| MergeObstacle::Unusable {
            checkout: self.path().to_owned(),
            reason: error.to_string(),
        }))
    }
}

//! Puts a workspace on a task's branch.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use orange_config::clock::Deadline;
use orange_engine::names::{BranchName, CommitId, TaskId};

use super::saved_contents::SavedContents;
use crate::command::CommandExit;
use crate::git::repository::name::{branch_ref, root_file, task_part};
use crate::git::worktree::is_same_place;
use crate::git::worktree::status::WorktreeStatus;
use crate::git::{
    AcquireRefusal, Base, Freshness, Git, GitError, Head, ListedWorktree, Marker, Operation, Phase,
    ReleaseRequest, ReleaseResult, Slot, SlotRefusal, Worktree,
};

/// How long a status that was read in advance stays valid.
const STATUS_VALIDITY: Duration = Duration::from_secs(1);

/// A workspace that a task should get.
#[derive(Clone, Copy, Debug)]
pub struct AcquireRequest<'a> {
    /// The workspace; the store has bound it to the task.
    pub slot: Slot<'a>,
    pub task: &'a TaskId,
    /// The task's branch; see [`crate::git::default_task_branch`] when the user named none.
    pub branch: &'a BranchName,
    /// The commit at which a branch that does not exist is created, if git has the commit.
    pub known_commit: Option<&'a CommitId>,
    /// The default branch, if configured.
    pub default: Option<&'a BranchName>,
    /// Whether the project's merges are not pushed.
    pub merges_stay_here: bool,
    /// The name of the task's file.
    pub task_file: &'a str,
    /// Other files at the root that orange writes and that must not be committed.
    pub excluded: &'a [&'a str],
    /// The directory that files of an earlier task are moved to; it is created only then.
    pub aside: &'a Path,
}

/// The result of acquiring a workspace.
#[derive(Debug)]
pub enum AcquireResult<'a> {
    /// The workspace is on the branch.
    Acquired(Box<AcquiredWorkspace<'a>>),
    /// The workspace is not on the branch, and nothing in it has changed.
    Refused(AcquireRefusal),
}

/// A workspace on a task's branch.
#[derive(Debug)]
pub struct AcquiredWorkspace<'a> {
    pub worktree: Worktree<'a>,
    /// HEAD; detached while a rebase of the branch is in progress.
    pub head: Head,
    /// The commit that new work starts from.
    pub base: Base,
    /// The result of the fetch.
    pub freshness: Freshness,
    /// Whether the task already had the workspace.
    pub was_acquired: bool,
    /// Whether the branch was just created.
    pub is_new_branch: bool,
    /// The operations in progress in it.
    pub operations: Vec<Operation>,
    /// Files that differ from the branch. In a workspace that was just acquired, they were ignored
    /// on its previous branch.
    pub changes: Vec<PathBuf>,
    /// Submodules that are not at the branch's commit.
    pub stale_submodules: Vec<PathBuf>,
    /// Whether the branch tracks the task's file, which must not be merged.
    pub is_task_file_tracked: bool,
    /// What an earlier task left, moved to `aside`.
    pub moved_aside: Vec<PathBuf>,
}

/// What is known about the target before the workspace is changed.
struct AcquireTarget {
    base: Base,
    freshness: Freshness,
    /// The commit to switch to.
    commit: CommitId,
    is_new_branch: bool,
    /// Another worktree that has the branch checked out.
    elsewhere: Option<PathBuf>,
    /// The state of the workspace, read during the fetch.
    early_status: Option<WorktreeStatus>,
}

impl Git {
    /// Puts a workspace on a task's branch; one that is already on it is left as it is.
    pub fn acquire(&self, acquire: &AcquireRequest<'_>) -> Result<AcquireResult<'_>, GitError> {
        let result = self.try_acquire(acquire)?;
        Ok(match result {
            Ok(acquired) => AcquireResult::Acquired(Box::new(acquired)),
            Err(refusal) => AcquireResult::Refused(refusal),
        })
    }

    fn try_acquire(
        &self,
        acquire: &AcquireRequest<'_>,
    ) -> Result<Result<AcquiredWorkspace<'_>, AcquireRefusal>, GitError> {
        task_part(acquire.task)?;
        branch_ref(acquire.branch)?;
        let task_file = root_file(acquire.task_file)?;
        let default = self.default_branch(acquire.default)?;
        if *acquire.branch == default {
            return Ok(Err(AcquireRefusal::DefaultBranch(default)));
        }
        let (freshness, early_status) = self.fetch_and_read_status(&default, acquire);
        let freshness = freshness?;
        let (tips, [local, theirs]) = self.tips_and_branch(&default, acquire.branch)?;
        let base = tips.start(acquire.merges_stay_here);
        let is_tracked = match &early_status {
            // The workspace is exactly at that commit, so its index has the same files.
            Some(status) if status.is_at(&base.commit) => status.has(task_file),
            _ => self.has_file(base.commit.as_str(), task_file)?,
        };
        if is_tracked {
            let file = task_file.to_owned();
            return Ok(Err(AcquireRefusal::TaskFileTracked { file }));
        }
        self.exclude(&[&[task_file], acquire.excluded].concat())?;
        let listed = self.worktrees()?;
        let is_new_branch = local.is_none();
        let commit = match (local.or(theirs), acquire.known_commit) {
            (Some(commit), _) => commit,
            (None, Some(known)) if self.has_commit(known)? => known.clone(),
            (None, _) => base.commit.clone(),
        };
        if is_new_branch
            && commit == base.commit
            && let Some(worktree) = self.create_on_branch(acquire, &listed, &commit)?
        {
            return Ok(Ok(new_workspace(acquire, worktree, base, freshness)));
        }
        let worktree = match self.workspace(&acquire.slot, &listed, &base.commit)? {
            Ok(worktree) => worktree,
            Err(refusal) => return Ok(Err(AcquireRefusal::Slot(refusal))),
        };
        let is_on_it = |it: &&ListedWorktree| it.branch.as_ref() == Some(acquire.branch);
        let elsewhere = listed.iter().filter(is_on_it);
        let mut elsewhere = elsewhere.filter(|it| !is_same_place(&it.path, worktree.path()));
        let target = AcquireTarget {
            freshness,
            is_new_branch,
            commit,
            base,
            elsewhere: elsewhere.next().map(|it| it.path.clone()),
            early_status,
        };
        worktree.take(acquire, target)
    }

    /// Fetches from the remote, and meanwhile reads the status of the workspace, if it is free. The
    /// status is dropped if the fetch took long.
    fn fetch_and_read_status(
        &self,
        default: &BranchName,
        acquire: &AcquireRequest<'_>,
    ) -> (Result<Freshness, GitError>, Option<WorktreeStatus>) {
        let validity = Deadline::after(STATUS_VALIDITY);
        let (freshness, status) = thread::scope(|scope| {
            let status = scope.spawn(|| self.read_in_advance(&acquire.slot));
            let freshness = self.fetch(&[default, acquire.branch]);
            (freshness, status.join().ok().flatten())
        });
        (freshness, status.filter(|_| !validity.has_passed()))
    }
}

/// A workspace that was just created on a new branch, at a commit without the task's file.
fn new_workspace<'a>(
    acquire: &AcquireRequest<'_>,
    worktree: Worktree<'a>,
    base: Base,
    freshness: Freshness,
) -> AcquiredWorkspace<'a> {
    AcquiredWorkspace {
        worktree,
        head: Head::Branch {
            name: acquire.branch.clone(),
            commit: Some(base.commit.clone()),
        },
        base,
        freshness,
        was_acquired: false,
        is_new_branch: true,
        operations: Vec::new(),
        changes: Vec::new(),
        stale_submodules: Vec::new(),
        is_task_file_tracked: false,
        moved_aside: Vec::new(),
    }
}

impl<'a> Worktree<'a> {
    fn take(
        self,
        acquire: &AcquireRequest<'_>,
        mut target: AcquireTarget,
    ) -> Result<Result<AcquiredWorkspace<'a>, AcquireRefusal>, GitError> {
        let Some(mut marker) = self.marker()? else {
            let refusal = SlotRefusal::NotOurs(self.path().to_owned());
            return Ok(Err(AcquireRefusal::Slot(refusal)));
        };
        if let Some(task) = marker.phase.task().filter(|task| *task != acquire.task) {
            return Ok(Err(AcquireRefusal::HasOtherTask(task.clone())));
        }
        if let Phase::Bound { .. } = marker.phase {
            return self.keep_bound(acquire, target, &mut marker);
        }
        if let Phase::Releasing { .. } = marker.phase {
            let release = ReleaseRequest {
                slot: acquire.slot,
                task: acquire.task,
                branch: Some(acquire.branch),
                default: acquire.default,
            };
            match self.git().release(&release)? {
                ReleaseResult::Free { .. } => marker.phase = Phase::Idle,
                other => return Ok(Err(AcquireRefusal::NotReleased(Box::new(other)))),
            }
        }
        if let Some(path) = target.elsewhere.take() {
            return Ok(Err(if self.git().is_workspace(&path)? {
                AcquireRefusal::HasOtherWorkspace(path)
            } else {
                AcquireRefusal::CheckedOutElsewhere(path)
            }));
        }
        let early_status = target.early_status.take();
        let status = match self.require_clean(&marker, &target, early_status)? {
            Ok(status) => status,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let (status, moved_aside) =
            match self.switch_to_branch(acquire, &target, &mut marker, status)? {
                Ok(switched) => switched,
                Err(refusal) => return Ok(Err(refusal)),
            };
        let mut acquired = self.acquired_workspace(acquire, target, status, false);
        acquired.moved_aside = moved_aside;
        Ok(Ok(acquired))
    }

    /// A workspace that the task already has. Nothing in it is changed.
    fn keep_bound(
        self,
        acquire: &AcquireRequest<'_>,
        target: AcquireTarget,
        marker: &mut Marker,
    ) -> Result<Result<AcquiredWorkspace<'a>, AcquireRefusal>, GitError> {
        let status = self.status()?;
        let head = &status.head;
        let operation_branch = Operation::branch_in(self.directory());
        let is_on_branch = head.branch() == Some(acquire.branch)
            || (head.branch().is_none() && operation_branch.as_ref() == Some(acquire.branch));
        if !is_on_branch {
            let head = status.head;
            return Ok(Err(AcquireRefusal::OnAnotherBranch { head }));
        }
        let phase = Phase::Bound {
            task: acquire.task.clone(),
            branch: acquire.branch.clone(),
        };
        if marker.phase != phase {
            self.set_phase(marker, phase)?;
        }
        Ok(Ok(self.acquired_workspace(acquire, target, status, true)))
    }

    /// Makes sure that the workspace is clean: what a killed attempt left is repaired; anything
    /// else may be unsaved work and is refused.
    fn require_clean(
        &self,
        marker: &Marker,
        target: &AcquireTarget,
        early_status: Option<WorktreeStatus>,
    ) -> Result<Result<WorktreeStatus, AcquireRefusal>, GitError> {
        self.require_unlocked()?;
        let early_status = early_status.filter(|status| self.is_head(&status.head));
        let status = match &marker.phase {
            Phase::Acquiring { .. } => {
                self.restore_held(|| self.switch_contents(marker))?;
                let head = self.head()?;
                let missing = || GitError::FilesChanging(self.path().to_owned());
                let commit = head.commit().ok_or_else(missing)?;
                let saved = || self.switch_contents(marker)?.and_commit(self.git(), commit);
                self.reset_to_head(commit, saved)?.1
            }
            _ => match early_status {
                Some(status) => status,
                None => match self.status() {
                    Err(GitError::NotRegularFile(path)) => {
                        let refusal = SlotRefusal::NotRegularFile(path);
                        return Ok(Err(AcquireRefusal::Slot(refusal)));
                    }
                    status => status?,
                },
            },
        };
        let mut paths: Vec<PathBuf> = status.changes.keys().cloned().collect();
        paths.extend(status.repositories.iter().cloned());
        paths.extend(self.dirty_submodules(&status)?);
        let is_expected_head = match (&marker.phase, status.head.branch()) {
            (Phase::Acquiring { branch, .. }, Some(on)) => branch == on,
            (_, on) => on.is_none(),
        };
        let known = [&target.base.commit, &target.commit];
        let is_known = |commit: &CommitId| known.contains(&commit);
        let is_clean = paths.is_empty()
            && status.operations.is_empty()
            && is_expected_head
            && (status.head.commit().is_some_and(is_known)
                || !self.is_unreachable(&status.head)?);
        Ok(if is_clean {
            Ok(status)
        } else {
            Err(AcquireRefusal::NotClean {
                head: status.head,
                paths,
                operations: status.operations,
            })
        })
    }

    /// The content of both commits of a switch that may have been killed midway.
    fn switch_contents(&self, marker: &Marker) -> Result<SavedContents, GitError> {
        let saved = SavedContents::default();
        match &marker.phase {
            Phase::Acquiring { from, to, .. } => saved
                .and_commit(self.git(), from)?
                .and_commit(self.git(), to),
            _ => Ok(saved),
        }
    }

    /// Switches from a clean commit to the branch; also returns what was moved aside.
    fn switch_to_branch(
        &self,
        acquire: &AcquireRequest<'_>,
        target: &AcquireTarget,
        marker: &mut Marker,
        mut status: WorktreeStatus,
    ) -> Result<Result<(WorktreeStatus, Vec<PathBuf>), AcquireRefusal>, GitError> {
        let mut moved_aside = Vec::new();
        let changing = || GitError::FilesChanging(self.path().to_owned());
        let name = branch_ref(acquire.branch)?;
        let commit = target.commit.as_str();
        if status.head.branch() != Some(acquire.branch) {
            let from = status.head.commit().ok_or_else(changing)?.clone();
            let phase = Phase::Acquiring {
                task: acquire.task.clone(),
                branch: acquire.branch.clone(),
                from,
                to: target.commit.clone(),
            };
            self.set_phase(marker, phase)?;
            if !(status.is_at(&target.commit) && self.is_head(&status.head)) {
                let switch = ["switch", "--quiet", "--no-overwrite-ignore", "--detach"];
                if let Some(words) = self
                    .call(switch)
                    .with_arguments([commit])
                    .with_long_timeout()
                    .refusal()?
                {
                    self.set_phase(marker, Phase::Idle)?;
                    let words: Vec<&str> = words.split_whitespace().collect();
                    return Ok(Err(AcquireRefusal::IgnoredFilesInTheWay {
                        worktree: self.path().to_owned(),
                        message: words.join(" "),
                    }));
                }
                // A switch does not rewrite files that differ only by their attributes; they are
                // written again here. Files that differ otherwise were ignored before, or have just
                // appeared, and stay.
                status = self
                    .reset_to_head(&target.commit, || self.switch_contents(marker))?
                    .1;
                // The earlier commit ignored them, but this one does not: the next agent would
                // commit them. If this is killed midway, the rest makes the workspace unclean.
                if !status.is_clean() {
                    moved_aside = self.move_aside(&self.untracked_entries()?, acquire.aside)?;
                    status = self.status()?;
                }
            }
            if target.is_new_branch {
                self.create_branch(&name, &target.commit)?;
            } else {
                if self.git().branch(acquire.branch)?.as_ref() != Some(&target.commit) {
                    return Err(changing());
                }
                self.set_head(&name)?;
            }
            status.head = self.head_at(&name, acquire.branch, &target.commit)?;
        }
        if status.head.branch() != Some(acquire.branch) {
            return Err(changing());
        }
        let phase = Phase::Bound {
            task: acquire.task.clone(),
            branch: acquire.branch.clone(),
        };
        self.set_phase(marker, phase)?;
        Ok(Ok((status, moved_aside)))
    }

    /// Creates the branch at HEAD, and puts HEAD on it.
    ///
    /// Fails if the branch already exists, because it could be at another commit.
    fn create_branch(&self, name: &str, at: &CommitId) -> Result<(), GitError> {
        let update = ["update-ref", "-m", "orange: new branch"];
        let lines =
            format!("create {name} {at}\noption no-deref\nsymref-update HEAD {name} oid {at}\n");
        let call = self.call(update).with_arguments(["--stdin"]).input(lines);
        let finished = call.finish()?;
        match finished.ending {
            CommandExit::Code(0) => Ok(()),
            // git before 2.46 cannot do both in one step, and has changed nothing so far.
            CommandExit::Code(_) if finished.stderr.has(b"unknown command") => {
                let call = self.call(update).with_arguments([name, at.as_str()]);
                call.with_arguments([self.git().null_id()]).succeed()?;
                self.set_head(name)
            }
            _ => Err(call.error_for(finished)),
        }
    }

    fn set_head(&self, name: &str) -> Result<(), GitError> {
        let call = self.call(["symbolic-ref", "-m", "orange: switch to the branch", "HEAD"]);
        call.with_arguments([name]).succeed()
    }

    fn acquired_workspace(
        self,
        acquire: &AcquireRequest<'_>,
        target: AcquireTarget,
        status: WorktreeStatus,
        was_acquired: bool,
    ) -> AcquiredWorkspace<'a> {
        AcquiredWorkspace {
            is_task_file_tracked: status.has(acquire.task_file),
            moved_aside: Vec::new(),
            worktree: self,
            base: target.base,
            freshness: target.freshness,
            was_acquired,
            is_new_branch: target.is_new_branch && !was_acquired,
            operations: status.operations,
            changes: status.changes.into_keys().collect(),
            stale_submodules: status.moved_submodules,
            head: status.head,
        }
    }
}

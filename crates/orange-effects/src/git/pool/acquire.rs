//! Brings a workspace onto a task's branch.

use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use orange_config::clock::Deadline;
use orange_engine::names::{BranchName, CommitId, TaskId};

use super::saved::Saved;
use crate::command::Ending;
use crate::git::repository::name::{branch_ref, root_file, task_part};
use crate::git::worktree::is_same_place;
use crate::git::worktree::status::Look;
use crate::git::{
    AcquireRefusal, Base, Freshness, Git, GitError, Head, Listed, Marker, Operation, Phase,
    Release, Released, Slot, SlotRefusal, Worktree,
};

/// For how long what was seen in a workspace that nobody has is taken for what it holds.
const MOMENT: Duration = Duration::from_secs(1);

/// A workspace that a task is to have.
#[derive(Clone, Copy, Debug)]
pub struct Acquire<'a> {
    /// The workspace; the store has bound it to the task.
    pub slot: Slot<'a>,
    pub task: &'a TaskId,
    /// Its branch; see [`crate::git::usual_branch`] when nobody named one.
    pub branch: &'a BranchName,
    /// The default branch, if configured.
    pub default: Option<&'a BranchName>,
    /// What the task's file is called.
    pub task_file: &'a str,
    /// Other files at the root that orange writes and nobody is to commit.
    pub excluded: &'a [&'a str],
}

/// What came of it.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "one is made per start and taken apart at once"
)]
pub enum Acquisition<'a> {
    /// The workspace is on the branch.
    Acquired(Acquired<'a>),
    /// It is not, and nothing that was in it has changed.
    Refused(AcquireRefusal),
}

/// A workspace on a task's branch.
#[derive(Debug)]
pub struct Acquired<'a> {
    pub worktree: Worktree<'a>,
    /// What HEAD is; detached while a rebase of the branch is in progress.
    pub head: Head,
    /// The commit that new work starts from.
    pub base: Base,
    /// What asking the remote came to.
    pub freshness: Freshness,
    /// Whether all of this was so before.
    pub was_there: bool,
    /// Whether the branch was made just now.
    pub is_new_branch: bool,
    /// What is in progress in it.
    pub operations: Vec<Operation>,
    /// Files that differ from the branch. In a workspace that was just acquired, they were ignored
    /// on the branch that it was on before.
    pub changes: Vec<PathBuf>,
    /// Submodules that are at another commit than the branch says.
    pub stale_submodules: Vec<PathBuf>,
    /// Submodules without a file in them; git fills none by itself.
    pub empty_submodules: Vec<PathBuf>,
    /// Whether the branch tracks the task's file, which must not be merged.
    pub is_task_file_tracked: bool,
}

/// What goes on between a goal and its workspace.
struct Aim {
    base: Base,
    freshness: Freshness,
    target: CommitId,
    is_new_branch: bool,
    /// Another worktree that has the branch checked out.
    elsewhere: Option<PathBuf>,
    /// What was seen in the workspace while the remote was asked.
    ahead: Option<Look>,
}

impl Git {
    /// Brings a workspace onto a task's branch; one that is there already is left as it is.
    pub fn acquire(&self, acquire: &Acquire<'_>) -> Result<Acquisition<'_>, GitError> {
        let done = self.try_acquire(acquire)?;
        Ok(match done {
            Ok(acquired) => Acquisition::Acquired(acquired),
            Err(refusal) => Acquisition::Refused(refusal),
        })
    }

    fn try_acquire(
        &self,
        acquire: &Acquire<'_>,
    ) -> Result<Result<Acquired<'_>, AcquireRefusal>, GitError> {
        task_part(acquire.task)?;
        branch_ref(acquire.branch)?;
        let task_file = root_file(acquire.task_file)?;
        let default = self.default_branch(acquire.default)?;
        if *acquire.branch == default {
            return Ok(Err(AcquireRefusal::DefaultBranch(default)));
        }
        let (freshness, ahead) = self.fetch_and_look(&default, acquire);
        let freshness = freshness?;
        let (base, [local, theirs]) = self.base_and_branch(&default, acquire.branch)?;
        let is_tracked = match &ahead {
            // All that it has is what the commit has.
            Some(look) if look.is_at(&base.commit) => look.has(task_file),
            _ => self.has_file(base.commit.as_str(), task_file)?,
        };
        if is_tracked {
            let file = task_file.to_owned();
            return Ok(Err(AcquireRefusal::TaskFileTracked { file }));
        }
        self.exclude(&[&[task_file], acquire.excluded].concat())?;
        let listed = self.worktrees()?;
        let worktree = match self.workspace(&acquire.slot, &listed, &base.commit)? {
            Ok(worktree) => worktree,
            Err(refusal) => return Ok(Err(AcquireRefusal::Slot(refusal))),
        };
        let is_on_it = |it: &&Listed| it.branch.as_ref() == Some(acquire.branch);
        let elsewhere = listed.iter().filter(is_on_it);
        let mut elsewhere = elsewhere.filter(|it| !is_same_place(&it.path, worktree.path()));
        let aim = Aim {
            freshness,
            is_new_branch: local.is_none(),
            target: local.or(theirs).unwrap_or_else(|| base.commit.clone()),
            base,
            elsewhere: elsewhere.next().map(|it| it.path.clone()),
            ahead,
        };
        worktree.take(acquire, aim)
    }

    /// Asks the remote, and looks at the workspace meanwhile, if nobody has it. What was seen counts
    /// for a moment only: a remote may take long.
    fn fetch_and_look(
        &self,
        default: &BranchName,
        acquire: &Acquire<'_>,
    ) -> (Result<Freshness, GitError>, Option<Look>) {
        let moment = Deadline::after(MOMENT);
        let (freshness, look) = thread::scope(|scope| {
            let look = scope.spawn(|| self.look_ahead(&acquire.slot));
            let freshness = self.fetch(&[default, acquire.branch]);
            (freshness, look.join().ok().flatten())
        });
        (freshness, look.filter(|_| !moment.has_passed()))
    }
}

impl<'a> Worktree<'a> {
    fn take(
        self,
        acquire: &Acquire<'_>,
        mut aim: Aim,
    ) -> Result<Result<Acquired<'a>, AcquireRefusal>, GitError> {
        let Some(mut marker) = self.marker()? else {
            let refusal = SlotRefusal::NotOurs(self.path().to_owned());
            return Ok(Err(AcquireRefusal::Slot(refusal)));
        };
        if let Some(task) = marker.phase.task().filter(|task| *task != acquire.task) {
            return Ok(Err(AcquireRefusal::Taken(task.clone())));
        }
        if let Phase::Bound { .. } = marker.phase {
            return self.keep(acquire, aim, &mut marker);
        }
        if let Phase::Releasing { .. } = marker.phase {
            let release = Release {
                slot: acquire.slot,
                task: acquire.task,
                default: acquire.default,
            };
            match self.git().release(&release)? {
                Released::Free { .. } => marker.phase = Phase::Idle,
                other => return Ok(Err(AcquireRefusal::NotReleased(Box::new(other)))),
            }
        }
        if let Some(path) = aim.elsewhere.take() {
            return Ok(Err(AcquireRefusal::CheckedOutElsewhere(path)));
        }
        let ahead = aim.ahead.take();
        let rest = match self.require_rest(&marker, &aim, ahead)? {
            Ok(rest) => rest,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let look = match self.go(acquire, &aim, &mut marker, rest)? {
            Ok(look) => look,
            Err(refusal) => return Ok(Err(refusal)),
        };
        self.arrived(acquire, aim, look, false).map(Ok)
    }

    /// A workspace that the task has already. Nothing in it is changed.
    fn keep(
        self,
        acquire: &Acquire<'_>,
        aim: Aim,
        marker: &mut Marker,
    ) -> Result<Result<Acquired<'a>, AcquireRefusal>, GitError> {
        let look = self.look()?;
        let head = &look.head;
        let under_way = Operation::branch_in(self.directory());
        let is_there = head.branch() == Some(acquire.branch)
            || (head.branch().is_none() && under_way.as_ref() == Some(acquire.branch));
        if !is_there {
            let head = look.head;
            return Ok(Err(AcquireRefusal::OnAnotherBranch { head }));
        }
        let phase = Phase::Bound {
            task: acquire.task.clone(),
            branch: acquire.branch.clone(),
        };
        if marker.phase != phase {
            self.set_phase(marker, phase)?;
        }
        self.arrived(acquire, aim, look, true).map(Ok)
    }

    /// Makes sure that nothing is in the way: what a killed try left is put right, anything else
    /// is somebody's.
    fn require_rest(
        &self,
        marker: &Marker,
        aim: &Aim,
        ahead: Option<Look>,
    ) -> Result<Result<Look, AcquireRefusal>, GitError> {
        self.require_unlocked()?;
        let ahead = ahead.filter(|look| self.is_head(&look.head));
        let look = match &marker.phase {
            Phase::Acquiring { .. } => {
                self.put_back(|| self.on_the_way(marker))?;
                let head = self.head()?;
                let missing = || GitError::Changing(self.path().to_owned());
                let commit = head.commit().ok_or_else(missing)?;
                let saved = || self.on_the_way(marker)?.and_commit(self.git(), commit);
                self.settle(commit, saved)?.1
            }
            _ => match ahead {
                Some(look) => look,
                None => match self.look() {
                    Err(GitError::NoFile(path)) => {
                        let refusal = SlotRefusal::NoFile(path);
                        return Ok(Err(AcquireRefusal::Slot(refusal)));
                    }
                    look => look?,
                },
            },
        };
        let mut paths: Vec<PathBuf> = look.changes.keys().cloned().collect();
        paths.extend(look.repositories.iter().cloned());
        paths.extend(self.dirty_submodules(&look)?);
        let is_on_its_way = match (&marker.phase, look.head.branch()) {
            (Phase::Acquiring { branch, .. }, Some(on)) => branch == on,
            (_, on) => on.is_none(),
        };
        let known = [&aim.base.commit, &aim.target];
        let is_known = |commit: &CommitId| known.contains(&commit);
        let is_at_rest = paths.is_empty()
            && look.operations.is_empty()
            && is_on_its_way
            && (look.head.commit().is_some_and(is_known) || !self.is_adrift(&look.head)?);
        Ok(if is_at_rest {
            Ok(look)
        } else {
            Err(AcquireRefusal::NotAtRest {
                head: look.head,
                paths,
                operations: look.operations,
            })
        })
    }

    /// The commits between which a switch may have been killed.
    fn on_the_way(&self, marker: &Marker) -> Result<Saved, GitError> {
        let saved = Saved::default();
        match &marker.phase {
            Phase::Acquiring { from, to, .. } => saved
                .and_commit(self.git(), from)?
                .and_commit(self.git(), to),
            _ => Ok(saved),
        }
    }

    /// From a commit at rest to the branch.
    fn go(
        &self,
        acquire: &Acquire<'_>,
        aim: &Aim,
        marker: &mut Marker,
        mut look: Look,
    ) -> Result<Result<Look, AcquireRefusal>, GitError> {
        let changing = || GitError::Changing(self.path().to_owned());
        let name = branch_ref(acquire.branch)?;
        let target = aim.target.as_str();
        if look.head.branch() != Some(acquire.branch) {
            let from = look.head.commit().ok_or_else(changing)?.clone();
            let phase = Phase::Acquiring {
                task: acquire.task.clone(),
                branch: acquire.branch.clone(),
                from,
                to: aim.target.clone(),
            };
            self.set_phase(marker, phase)?;
            if !(look.is_at(&aim.target) && self.is_head(&look.head)) {
                let switch = ["switch", "--quiet", "--no-overwrite-ignore", "--detach"];
                if let Some(words) = self.call(switch).and([target]).working().objection()? {
                    self.set_phase(marker, Phase::Idle)?;
                    return Ok(Err(AcquireRefusal::InTheWay(words)));
                }
                // A switch leaves files alone that only their attributes make different; they are
                // written anew. What else differs was ignored before, or has just appeared, and
                // stays.
                look = self.settle(&aim.target, || self.on_the_way(marker))?.1;
            }
            if aim.is_new_branch {
                self.begin_branch(&name, &aim.target)?;
            } else {
                if self.git().branch(acquire.branch)?.as_ref() != Some(&aim.target) {
                    return Err(changing());
                }
                self.go_onto(&name)?;
            }
            look.head = self.head_at(&name, acquire.branch, &aim.target)?;
        }
        if look.head.branch() != Some(acquire.branch) {
            return Err(changing());
        }
        let phase = Phase::Bound {
            task: acquire.task.clone(),
            branch: acquire.branch.clone(),
        };
        self.set_phase(marker, phase)?;
        Ok(Ok(look))
    }

    /// Makes the branch where HEAD is, and puts HEAD onto it.
    ///
    /// It fails unless there was none, so that the branch is where it should be.
    fn begin_branch(&self, name: &str, at: &CommitId) -> Result<(), GitError> {
        let update = ["update-ref", "-m", "orange: new branch"];
        let lines =
            format!("create {name} {at}\noption no-deref\nsymref-update HEAD {name} oid {at}\n");
        let both = self.call(update).and(["--stdin"]).input(lines);
        let finished = both.finish()?;
        match finished.ending {
            Ending::Code(0) => Ok(()),
            // A git before 2.46 cannot do both at once, and has done nothing.
            Ending::Code(_) if finished.stderr.has(b"unknown command") => {
                let call = self.call(update).and([name, at.as_str()]);
                call.and([self.git().no_id()]).succeed()?;
                self.go_onto(name)
            }
            _ => Err(both.failed(finished)),
        }
    }

    fn go_onto(&self, name: &str) -> Result<(), GitError> {
        let call = self.call(["symbolic-ref", "-m", "orange: to the branch", "HEAD"]);
        call.and([name]).succeed()
    }

    fn arrived(
        self,
        acquire: &Acquire<'_>,
        aim: Aim,
        look: Look,
        was_there: bool,
    ) -> Result<Acquired<'a>, GitError> {
        let empty_submodules = self.empty_submodules(&look)?;
        Ok(Acquired {
            is_task_file_tracked: look.has(acquire.task_file),
            worktree: self,
            empty_submodules,
            base: aim.base,
            freshness: aim.freshness,
            was_there,
            is_new_branch: aim.is_new_branch && !was_there,
            operations: look.operations,
            changes: look.changes.into_keys().collect(),
            stale_submodules: look.moved_submodules,
            head: look.head,
        })
    }
}

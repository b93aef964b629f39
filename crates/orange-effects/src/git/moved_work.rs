//! Moves commits and unsaved files to another machine, as a bundle.

use std::path::Path;

use orange_engine::names::{BranchName, CommitId, TaskId};

use super::repository::name::{branch_ref, task_part};
use super::rescue::rescues::REFS;
use super::{Git, GitError, Rescue, Worktree};

/// The work of a task that other machines lack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackedWork {
    /// The commit that the bundle needs: the default branch of the remote.
    pub base: CommitId,
    /// The commits since and the unsaved files; empty if there are none.
    pub bundle: Vec<u8>,
}

/// What became of the work of another machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnpackedWork {
    Done,
    /// The branch here has commits that the other machine lacked. It stays, and the commits of the
    /// other machine are under this ref.
    Diverged {
        reference: String,
    },
}

impl Git {
    /// The commits of a branch, and a rescue, that the remote's default branch lacks.
    fn pack(
        &self,
        branch: &BranchName,
        rescue: Option<&Rescue>,
        default: &BranchName,
    ) -> Result<PackedWork, GitError> {
        let tips = self.tips(default)?;
        let base = tips.theirs.unwrap_or(tips.base.commit);
        let mut words = Vec::new();
        if let Some(tip) = self.branch(branch)?
            && self.merge_base(&tip, &base)?.as_ref() != Some(&tip)
        {
            words.push(branch_ref(branch)?);
        }
        words.extend(rescue.map(Rescue::reference));
        // git refuses to write a bundle without a commit.
        let bundle = if words.is_empty() {
            Vec::new()
        } else {
            let call = self.call(["bundle", "create", "--quiet", "-"]);
            let call = call.with_arguments(words);
            // Our own directory has files with the names of refs.
            call.with_arguments([format!("^{base}").as_str(), "--"])
                .bytes()?
        };
        Ok(PackedWork { base, bundle })
    }

    /// Brings the work of another machine here: moves the task's branch forward, and keeps unsaved
    /// files as a rescue, which the next acquisition restores. Only these two refs are read; the
    /// branch must not be checked out. It may be repeated.
    pub fn unpack_work(
        &self,
        bundle: &Path,
        task: &TaskId,
        branch: &BranchName,
    ) -> Result<UnpackedWork, GitError> {
        let call = self.call(["bundle", "unbundle"]);
        let text = call.with_arguments([bundle]).text()?;
        let rescues = format!("{REFS}/{}/", task_part(task)?);
        let own = branch_ref(branch)?;
        let mut unpacked = UnpackedWork::Done;
        for (id, name) in text.lines().filter_map(|line| line.split_once(' ')) {
            let commit = CommitId::new(id);
            if name == own {
                unpacked = self.move_forward(task, branch, &commit)?;
            } else if name.starts_with(&rescues) {
                self.add_rescue(task, &commit)?;
            }
        }
        Ok(unpacked)
    }

    fn move_forward(
        &self,
        task: &TaskId,
        branch: &BranchName,
        to: &CommitId,
    ) -> Result<UnpackedWork, GitError> {
        let Some(now) = self.branch(branch)? else {
            self.create_branch(branch, to)?;
            return Ok(UnpackedWork::Done);
        };
        let common = self.merge_base(&now, to)?;
        if common.as_ref() == Some(to) {
            return Ok(UnpackedWork::Done);
        }
        let update = ["update-ref", "-m", "orange: work of another machine"];
        if common.as_ref() == Some(&now) {
            let call = self.call(update).with_arguments([branch_ref(branch)?]);
            call.with_arguments([to.as_str(), now.as_str()]).succeed()?;
            return Ok(UnpackedWork::Done);
        }
        let reference = format!("refs/orange/moved/{}", task_part(task)?);
        let call = self.call(update).with_arguments([reference.as_str()]);
        call.with_arguments([to.as_str()]).succeed()?;
        Ok(UnpackedWork::Diverged { reference })
    }

    fn add_rescue(&self, task: &TaskId, commit: &CommitId) -> Result<(), GitError> {
        let known = self.rescues(task)?;
        if known.iter().any(|it| it.commit == *commit) {
            return Ok(());
        }
        let number = known.iter().map(|it| it.number).max().unwrap_or(0) + 1;
        let name = format!("{REFS}/{}/{number}", task_part(task)?);
        let call = self.call(["update-ref", "-m", "orange: rescue", &name, commit.as_str()]);
        call.with_arguments([self.null_id()]).succeed()
    }
}

impl Worktree<'_> {
    /// Packs the work in this worktree, unsaved files included. Changes nothing that stays: the
    /// rescue of this moment would be restored later, over what the agent did since.
    pub fn pack_work(
        &self,
        task: &TaskId,
        branch: &BranchName,
        default: &BranchName,
    ) -> Result<PackedWork, GitError> {
        let git = self.git();
        let known = git.rescues(task)?;
        let rescue = self.rescue(task)?;
        let packed = git.pack(branch, rescue.as_ref(), default);
        let is_new = |it: &&Rescue| known.iter().all(|known| known.number != it.number);
        if let Some(rescue) = rescue.as_ref().filter(is_new) {
            let name = rescue.reference();
            git.call(["update-ref", "-d", &name, rescue.commit.as_str()])
                .succeed()?;
        }
        packed
    }
}

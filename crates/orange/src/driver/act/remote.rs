//! Pushes and removes a branch at the remote, where there is one.

use std::path::PathBuf;

use orange_engine::Task;
use orange_engine::effect::EffectOutcome;
use orange_engine::names::BranchName;

use super::Failure;
use crate::driver::Driver;

impl Driver {
    /// Pushes the branch; a repository without a remote has nowhere to push to, and that is fine.
    pub(super) fn push(&self, task: &Task, branch: &BranchName) -> Result<EffectOutcome, Failure> {
        if let Some((path, remote)) = self.remote(task)? {
            let reference = format!("refs/heads/{branch}:refs/heads/{branch}");
            let push = ["push", "--quiet", &remote, &reference];
            self.git(&path, &push).map_err(Failure::passing)?;
        }
        Ok(EffectOutcome::Done)
    }

    /// Removes the branch at the remote, if it is there and not the default one.
    pub(super) fn delete_remote(
        &self,
        task: &Task,
        branch: &BranchName,
    ) -> Result<EffectOutcome, Failure> {
        let projects = self.projects().map_err(Failure::for_good)?;
        let project = projects.require(&task.project).map_err(Failure::for_good)?;
        if *branch == project.default_branch {
            return Err(Failure::for_good(format!(
                "`{branch}` is the default branch"
            )));
        }
        if let Some((path, remote)) = self.remote(task)? {
            let reference = format!("refs/heads/{branch}");
            let look = ["ls-remote", "--heads", &remote, &reference];
            if !self.git(&path, &look).map_err(Failure::passing)?.is_empty() {
                let delete = ["push", "--quiet", &remote, "--delete", &reference];
                self.git(&path, &delete).map_err(Failure::passing)?;
            }
        }
        Ok(EffectOutcome::Done)
    }

    /// The person's checkout and its remote: `origin`, else the first one.
    fn remote(&self, task: &Task) -> Result<Option<(PathBuf, String)>, Failure> {
        let projects = self.projects().map_err(Failure::for_good)?;
        let project = projects.require(&task.project).map_err(Failure::for_good)?;
        let path = project.path.clone();
        let remotes = self.git(&path, &["remote"]).map_err(Failure::passing)?;
        let mut names = remotes.lines();
        let origin = names.clone().find(|name| *name == "origin");
        let remote = origin.or_else(|| names.next());
        Ok(remote.map(|remote| (path, remote.to_owned())))
    }
}

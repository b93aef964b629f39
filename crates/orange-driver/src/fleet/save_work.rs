//! Saves uncommitted work at the server.

use std::time::Duration;

use orange_config::{LogLevel, clock};
use orange_effects::git::{PackedWork, UnpackedWork};
use orange_effects::{base64, private_file};
use orange_engine::Task;
use orange_engine::names::TaskId;
use orange_fleet::chain::Sha;
use orange_fleet::ids::{Epoch, TaskId as FleetTaskId};
use orange_fleet::message::Wip;
use orange_store::steps::reach;
use orange_store::{Store, WorkspaceState};
use serde_json::json;

use super::{Runner, engine_task};
use crate::DriverError;
use crate::workspaces::lifecycle::slot;

/// The most bytes of a bundle. Larger work is saved by its commits alone, once they are pushed.
const MOST_BYTES: usize = 1024 * 1024;

/// How often it is checked whether work is to be saved.
const PAUSE: Duration = Duration::from_secs(1);

impl Runner {
    /// Saves the work of every held task once; returns when to do it again.
    pub(super) fn save_work(&self) -> Result<Duration, DriverError> {
        let mut store = self.store()?;
        for (task, link) in self.membership()?.link.tasks() {
            if !link.is_active() {
                continue;
            }
            let id = engine_task(task);
            // A worktree that cannot be read now must not keep the others from being saved.
            if let Err(error) = self.save_work_of(&mut store, task, link.epoch()) {
                let context = &self.driver.context;
                let more = json!({ "error": error.to_string() });
                context.log(LogLevel::Warn, &id, "fleet.work_not_saved", more);
            }
        }
        Ok(self.save_every.max(PAUSE))
    }

    fn save_work_of(
        &self,
        store: &mut Store,
        task: &FleetTaskId,
        epoch: Epoch,
    ) -> Result<(), DriverError> {
        let id = engine_task(task);
        let is_bound = store
            .workspace_of(&id)?
            .is_some_and(|it| matches!(it.state, WorkspaceState::Bound(_)));
        let Some(document) = self.driver.requests.task_text(&id)?.filter(|_| is_bound) else {
            return Ok(());
        };
        let Some(packed) = self.pack(store, &id)? else {
            return Ok(());
        };
        reach("before work is saved at the server");
        let imported = store.last_import(&id)?;
        self.server.save_work(
            task,
            &Wip {
                epoch,
                // Only has to grow within the epoch, also across restarts.
                number: u64::try_from(clock::now().millis()).unwrap_or(0),
                base: packed.base.to_string(),
                bundle: base64::encode(&packed.bundle),
                document,
                imported: imported.and_then(|it| Sha::parse(&it.hash)),
            },
        )?;
        Ok(())
    }

    /// The work that other machines lack; `None` without a worktree.
    fn pack(&self, store: &Store, id: &TaskId) -> Result<Option<PackedWork>, DriverError> {
        let task = store.require(id)?.task;
        let Some(workspace) = store.workspace_of(id)? else {
            return Ok(None);
        };
        let _lock = self.driver.context.lock_workspace(&workspace.name)?;
        let (project, git) = self.driver.workspaces.repository_of(&task)?;
        let found = git.existing_workspace(&slot(&workspace))?;
        let Ok(Some(worktree)) = found else {
            return Ok(None);
        };
        let mut packed = worktree.pack_work(id, &task.branch, &project.default_branch)?;
        if packed.bundle.len() > MOST_BYTES {
            let more = json!({ "bytes": packed.bundle.len() });
            let context = &self.driver.context;
            context.log(LogLevel::Warn, id, "fleet.work_too_large", more);
            packed.bundle.clear();
        }
        Ok(Some(packed))
    }

    /// Brings saved work into the repository here. What cannot be read is left out, and the task
    /// continues from what the remote has.
    pub(super) fn unpack(&self, task: &Task, wip: &Wip) -> Result<Option<String>, DriverError> {
        if wip.bundle.is_empty() {
            return Ok(None);
        }
        let Some(bytes) = base64::decode(&wip.bundle) else {
            return Ok(Some(String::from(
                "the work that was saved on the other machine is damaged",
            )));
        };
        let (project, git) = self.driver.workspaces.repository_of(task)?;
        git.fetch(&[&project.default_branch])?;
        let file = self.driver.context.home.path().join("runner/arriving");
        let file = file.join(format!("{}.bundle", task.id));
        let failed = |error: private_file::PrivateFileError| DriverError::File {
            attempt: "write",
            path: file.clone(),
            reason: error.to_string(),
        };
        private_file::write_unsynced(&file, &bytes).map_err(failed)?;
        let unpacked = git.unpack_work(&file, &task.id, &task.branch);
        private_file::remove(&file).map_err(failed)?;
        Ok(match unpacked {
            Ok(UnpackedWork::Done) => None,
            Ok(UnpackedWork::Diverged { reference }) => Some(format!(
                "branch `{}` here has commits that the other machine lacked; its commits are in \
                 `{reference}`",
                task.branch
            )),
            Err(error) => Some(format!(
                "the work that was saved on the other machine cannot be used: {error}"
            )),
        })
    }
}

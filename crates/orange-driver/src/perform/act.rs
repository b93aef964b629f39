//! Performs one effect.

use orange_config::clock;
use orange_engine::Task;
use orange_engine::effect::{Effect, EffectOutcome};
use orange_store::{Pending, Store};

use crate::failure::Failure;
use crate::perform::Performer;

impl Performer {
    /// Performs an effect, or finds that it has already happened.
    pub(crate) fn perform_effect(
        &self,
        store: &mut Store,
        pending: &Pending,
    ) -> Result<EffectOutcome, Failure> {
        let task = store
            .require(&pending.task)
            .map_err(Failure::temporary)?
            .task;
        match &pending.planned.effect {
            Effect::AcquireWorkspace { restore } => {
                let mut notices = Vec::new();
                let acquired = self
                    .workspaces
                    .acquire(store, &task, *restore, &mut notices)?;
                self.notice(store, &task, notices)?;
                Ok(acquired)
            }
            Effect::ReleaseWorkspace { workspace } => {
                let workspace = workspace.as_ref();
                let notice = self.workspaces.tear_down(store, &task, workspace)?;
                self.notice(store, &task, notice)?;
                let late = self.workspaces.late_commits(store, &task);
                self.notice(store, &task, late.map_err(Failure::temporary)?)?;
                let unmerged = self.unmerged_children(store, &task);
                self.notice(store, &task, unmerged.map_err(Failure::temporary)?)?;
                self.workspaces.release(store, &task, workspace)
            }
            Effect::Spawn(spawn) => self.spawn(store, &task, spawn),
            Effect::Kill(kill) => self.kill(store, &task, kill),
            Effect::NotifyRole(notify) => {
                self.notify_role(store, &task, pending.planned.id, notify)
            }
            Effect::ArchiveSection { section } => {
                let archived =
                    orange_store::archive_section(store, &task.id, section, clock::now());
                match archived.map_err(Failure::temporary)?.deferred {
                    None => Ok(EffectOutcome::Done),
                    Some(unknown) => Err(Failure::temporary(format!("TASK.md: {unknown}"))),
                }
            }
            Effect::RunCommand { command } => {
                self.run_command(store, &task, &pending.planned, command)
            }
            Effect::Notify { message, via } => self.notify_user(&task, message, via),
            Effect::SpawnNext => self.spawn_next(store, &task),
            Effect::Route => self.route(store, &task, pending.planned.id),
            Effect::PushBranch { branch } => self.push(&task, branch),
            Effect::DeleteRemoteBranch { branch } => self.delete_remote(&task, branch),
            Effect::Merge(merge) => {
                let mut merged = self.merge(store, &task, pending, merge)?;
                if let EffectOutcome::Merged(result) = &mut merged {
                    // The merge has happened, even if the submodules cannot be read.
                    let unpublished = self.workspaces.unpublished_submodules(store, &task, merge);
                    result.warnings = unpublished.unwrap_or_default();
                }
                Ok(merged)
            }
            Effect::CreatePr(create) => self.create_pr(store, &task, create),
            Effect::ReadyPr => self.ready_pr(&task),
            Effect::RerunChecks { head } => self.rerun_checks(&task, head),
            Effect::MergePr { head, strategy } => self.merge_pr(&task, head, *strategy),
            Effect::CreateChildren { delegations } => {
                self.create_children(store, &task, pending.planned.id, delegations)
            }
            Effect::MergeChildren { children } => {
                self.merge_children(store, &task, pending, children)
            }
            // Only tasks pinned to an older workflow have it; the status posts took its place.
            Effect::WriteIssue => Ok(EffectOutcome::Done),
        }
    }

    /// Records notices for the user, whatever the result of the effect is.
    fn notice(
        &self,
        store: &mut Store,
        task: &Task,
        notices: impl IntoIterator<Item = String>,
    ) -> Result<(), Failure> {
        for what in notices {
            let noticed = self.steps.notice(store, &task.id, what);
            noticed.map_err(Failure::temporary)?;
        }
        Ok(())
    }
}

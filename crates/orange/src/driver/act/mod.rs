//! One effect: what is done in the world for it.

mod command;
mod conversation;
mod kill;
mod merge;
mod notify;
mod remote;
mod spawn;

use orange_engine::effect::{Effect, EffectOutcome};

use super::Driver;
use crate::clock;
use crate::store::{self, Pending, Store};

/// Why an effect did not come about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Failure {
    /// What stood in the way.
    pub(super) error: String,
    /// Whether trying again cannot help.
    pub(super) is_for_good: bool,
}

impl Failure {
    /// Trying again may help.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "`map_err` passes what failed by value"
    )]
    pub(super) fn passing(error: impl ToString) -> Failure {
        Failure {
            error: error.to_string(),
            is_for_good: false,
        }
    }

    /// Trying again does not help.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "`map_err` passes what failed by value"
    )]
    pub(super) fn for_good(error: impl ToString) -> Failure {
        Failure {
            error: error.to_string(),
            is_for_good: true,
        }
    }
}

impl Driver {
    /// Brings an effect about, or finds that it has come about already.
    pub(super) fn act(
        &self,
        store: &mut Store,
        pending: &Pending,
    ) -> Result<EffectOutcome, Failure> {
        let task = store.require(&pending.task).map_err(Failure::passing)?.task;
        match &pending.planned.effect {
            Effect::AcquireWorkspace { restore } => self.acquire(store, &task, *restore),
            Effect::ReleaseWorkspace { workspace } => {
                self.release(store, &task, workspace.as_ref())
            }
            Effect::Spawn(spawn) => self.spawn(store, &task, spawn),
            Effect::Kill(kill) => self.kill(store, &task, kill),
            Effect::NotifyRole(notify) => {
                self.notify_role(store, &task, pending.planned.id, notify)
            }
            Effect::ArchiveSection { section } => {
                let archived = store::archive_section(store, &task.id, section, clock::now());
                match archived.map_err(Failure::passing)?.deferred {
                    None => Ok(EffectOutcome::Done),
                    Some(unknown) => Err(Failure::passing(format!("TASK.md: {unknown}"))),
                }
            }
            Effect::RunCommand { command } => {
                self.run_command(store, &task, &pending.planned, command)
            }
            Effect::Notify { message, via } => self.notify_person(&task, message, via),
            Effect::SpawnNext => self.spawn_next(store, &task),
            // One harness is named for each task, so there is one way to go.
            Effect::Route => Ok(EffectOutcome::Routed(task.harness.clone())),
            Effect::PushBranch { branch } => self.push(&task, branch),
            Effect::DeleteRemoteBranch { branch } => self.delete_remote(&task, branch),
            Effect::Merge(merge) => self.merge(store, &task, pending, merge),
            Effect::CreatePr { .. } => Err(not_available("opening a pull request")),
            Effect::CreateChildren { .. } => Err(not_available("creating child tasks")),
            Effect::CommentIssue { .. } | Effect::LabelIssue { .. } | Effect::CloseIssue => {
                Err(not_available("writing to an issue"))
            }
        }
    }
}

fn not_available(what: &str) -> Failure {
    Failure::for_good(format!(
        "{what} is not available in this version of orange; do it yourself"
    ))
}

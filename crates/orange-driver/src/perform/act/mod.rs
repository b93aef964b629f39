//! One effect: what is done in the world for it.

mod children;
mod command;
mod conversation;
mod deliver;
mod kill;
mod merge;
mod notify;
mod remote;
mod spawn;

use std::time::Duration;

use orange_config::clock;
use orange_engine::effect::{Effect, EffectOutcome};
use orange_engine::parking::Parking;
use orange_engine::time::Timestamp;
use orange_store::{Pending, Store};

use crate::Driver;

/// Why an effect did not come about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    /// What stood in the way.
    pub(crate) error: String,
    /// Whether trying again cannot help.
    pub(crate) is_for_good: bool,
    /// When to try again, if it has only to wait and nothing went wrong.
    pub(crate) put_off_until: Option<Timestamp>,
    /// Whether somebody else has to go out of the way, which may take them a while.
    pub(crate) is_obstacle: bool,
}

/// How often is looked whether a person has ended what only a person can end.
const LOOKS_AGAIN: Duration = Duration::from_mins(1);

impl Failure {
    /// Trying again may help.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "`map_err` passes what failed by value"
    )]
    pub(crate) fn passing(error: impl ToString) -> Failure {
        Failure {
            error: error.to_string(),
            is_for_good: false,
            put_off_until: None,
            is_obstacle: false,
        }
    }

    /// Nothing is started on a harness for now.
    pub(crate) fn parked(parking: &Parking) -> Failure {
        let until = parking.until.unwrap_or(clock::after(LOOKS_AGAIN));
        Failure {
            put_off_until: Some(until),
            ..Failure::passing(parking)
        }
    }

    /// Trying again helps once somebody is out of the way.
    pub(crate) fn obstacle(what: impl ToString) -> Failure {
        Failure {
            is_obstacle: true,
            ..Failure::passing(what)
        }
    }

    /// Trying again does not help.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "`map_err` passes what failed by value"
    )]
    pub(crate) fn for_good(error: impl ToString) -> Failure {
        Failure {
            error: error.to_string(),
            is_for_good: true,
            put_off_until: None,
            is_obstacle: false,
        }
    }
}

impl Driver {
    /// Brings an effect about, or finds that it has come about already.
    pub(crate) fn act(
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
                let archived =
                    orange_store::archive_section(store, &task.id, section, clock::now());
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
            // Tasks pinned to an older workflow ask for it; their harness is the one they have.
            Effect::Route => Ok(EffectOutcome::Routed(task.harness.clone())),
            Effect::PushBranch { branch } => self.push(&task, branch),
            Effect::DeleteRemoteBranch { branch } => self.delete_remote(&task, branch),
            Effect::Merge(merge) => self.merge(store, &task, pending, merge),
            Effect::CreatePr { .. } => Err(not_available("opening a pull request")),
            Effect::CreateChildren { delegations } => {
                self.create_children(store, &task, pending.planned.id, delegations)
            }
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

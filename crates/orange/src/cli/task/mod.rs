//! `orange task`: work that agents do, task by task.

mod attach;
mod cancel;
pub(super) mod compare;
pub(super) mod create;
pub(super) mod delete;
pub(super) mod diff;
mod edit;
pub(super) mod history;
pub(super) mod keep;
pub(super) mod list;
pub(super) mod logs;
mod merge;
pub(super) mod merge_all;
pub(super) mod path;
mod pr;
mod reopen;
pub(super) mod respawn;
mod restart;
pub(super) mod restore;
mod retry;
mod shell;
mod short;
pub(super) mod show;
mod spawn;
mod stop;
pub(super) mod unblock;
mod update;
mod verbs;
pub(super) mod wait;
pub(super) mod why;

use clap::Subcommand;
pub use merge::Strategy;
pub use short::{SHORT_FORMS, Short};

use crate::cli::{Error, Exit};
use crate::output::Output;
use orange_config::Environment;
use orange_engine::input::RequestKind;
use orange_engine::language::verbs::Verb;

/// Create, move and inspect tasks.
///
/// Agents use these commands too. In an agent's session the default is its own task, and the agent
/// may request only what the workflow allows its role.
#[derive(Debug, Subcommand)]
pub enum Command {
    Create(Box<create::Args>),
    List(list::Args),
    Show(show::Args),
    Why(why::Args),
    History(history::Args),
    Logs(logs::Args),
    Wait(wait::Args),
    Update(update::Args),
    Spawn(spawn::Args),
    Respawn(respawn::Args),
    Stop(stop::Args),
    Restart(restart::Args),
    Attach(attach::Args),
    Diff(diff::Args),
    Compare(compare::Args),
    Keep(keep::Args),
    Path(path::Args),
    Shell(shell::Args),
    Edit(edit::Args),
    Complete(verbs::Complete),
    Stuck(verbs::Stuck),
    RequestChanges(verbs::RequestChanges),
    Tell(verbs::Tell),
    Pr(pr::Args),
    Merge(merge::Args),
    Cancel(cancel::Args),
    Reopen(reopen::Args),
    Restore(restore::Args),
    Retry(retry::Args),
    Unblock(unblock::Args),
    Delete(delete::Args),
}

impl Command {
    pub fn run(&self, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
        match self {
            Command::Create(args) => create::run(args, environment, output),
            Command::List(args) => list::run(args, environment, output),
            Command::Show(args) => show::run(args, environment, output),
            Command::Why(args) => why::run(args, environment, output),
            Command::History(args) => history::run(args, environment, output),
            Command::Logs(args) => logs::run(args, environment, output),
            Command::Wait(args) => wait::run(args, environment, output),
            Command::Update(args) => update::run(args, environment, output),
            Command::Spawn(args) => spawn::run(args, environment, output),
            Command::Respawn(args) => respawn::run(args, environment, output),
            Command::Stop(args) => stop::run(args, environment, output),
            Command::Restart(args) => restart::run(args, environment, output),
            Command::Attach(args) => attach::run(args, environment, output),
            Command::Diff(args) => diff::run(args, environment, output),
            Command::Compare(args) => compare::run(args, environment, output),
            Command::Keep(args) => keep::run(args, environment, output),
            Command::Path(args) => path::run(args, environment, output),
            Command::Shell(args) => shell::run(args, environment),
            Command::Edit(args) => edit::run(args, environment),
            Command::Complete(args) => {
                let kind = RequestKind::Verb(Verb::Complete);
                verbs::run(kind, &args.target, None, args.seen, environment, output)
            }
            Command::Stuck(args) => {
                let (kind, message) = (RequestKind::Verb(Verb::Stuck), args.message.as_ref());
                verbs::run(kind, &args.target, message, args.seen, environment, output)
            }
            Command::RequestChanges(args) => verbs::request_changes(args, environment, output),
            Command::Tell(args) => verbs::tell(args, environment, output),
            Command::Pr(args) => pr::run(args, environment, output),
            Command::Merge(args) => merge::run(args, environment, output),
            Command::Cancel(args) => cancel::run(args, environment, output),
            Command::Reopen(args) => reopen::run(args, environment, output),
            Command::Restore(args) => restore::run(args, environment, output),
            Command::Retry(args) => retry::run(args, environment, output),
            Command::Unblock(args) => unblock::run(args, environment, output),
            Command::Delete(args) => delete::run(args, environment, output),
        }
    }
}

//! `orange task complete`, `orange task stuck`, `orange task request-changes`, `orange task tell`.

use orange_config::Environment;
use orange_engine::input::RequestKind;
use orange_engine::language::verbs::Verb;
use orange_engine::role::Role;

use crate::cli::request::requests::{RequestDraft, Seen, Target, ask, driver};
use crate::cli::request::several::{Targets, ask_each};
use crate::cli::{Error, Exit};
use crate::output::Output;

/// Submit the work for review.
///
/// Takes the transition that the workflow names under `verbs: complete`, if its gates pass. Agents
/// report, the engine decides the status.
#[derive(Debug, clap::Args)]
pub struct Complete {
    #[command(flatten)]
    pub target: Target,
    #[command(flatten)]
    pub seen: Seen,
}

/// Report that the work is stuck.
///
/// Takes the transition that the workflow names under `verbs: stuck`.
#[derive(Debug, clap::Args)]
pub struct Stuck {
    #[command(flatten)]
    pub target: Target,
    /// A message for the agent that continues with the task.
    #[arg(long, short, value_name = "TEXT", allow_hyphen_values = true)]
    pub message: Option<String>,
    #[command(flatten)]
    pub seen: Seen,
}

/// Send the work back with a message.
///
/// The agent gets the message in its inbox. If no agent is running, one is started.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "orange task request-changes [OPTIONS] <--message <TEXT>|--merge-failure> [TASK]"
)]
pub struct RequestChanges {
    #[command(flatten)]
    pub target: Target,
    /// What to change; required unless `--merge-failure` is given.
    #[arg(
        long,
        short,
        value_name = "TEXT",
        allow_hyphen_values = true,
        required_unless_present = "merge_failure"
    )]
    pub message: Option<String>,
    /// Send what prevents the merge: the files in conflict, or the output of `merge.verify`.
    #[arg(long, conflicts_with = "message")]
    pub merge_failure: bool,
    #[command(flatten)]
    pub seen: Seen,
}

/// Send a message to agents.
///
/// The agent of each task gets the message in its inbox, and a line in its terminal tells it to
/// read the inbox. The status does not change; to send work back, use `orange task
/// request-changes`.
#[derive(Debug, clap::Args)]
// A message never needs a confirmation, but scripts may pass `--yes` to every command.
#[command(mut_arg("yes", |it| it.hide(true)))]
pub struct Tell {
    #[command(flatten)]
    pub targets: Targets,
    /// The agent's role [default: the one that the current status expects].
    #[arg(long, value_name = "ROLE")]
    pub role: Option<String>,
    /// The message.
    #[arg(
        long,
        short,
        value_name = "TEXT",
        allow_hyphen_values = true,
        required = true
    )]
    pub message: String,
}

/// Sends the work back with the message, or with what prevents the merge.
pub fn request_changes(
    args: &RequestChanges,
    environment: &Environment,
    output: &mut Output,
) -> Result<Exit, Error> {
    let mut message = args.message.clone();
    if args.merge_failure {
        let driver = driver(environment)?;
        let task = driver.callers.resolve_task(args.target.task.as_deref())?;
        message = Some(driver.requests.merge_feedback(&task)?);
    }
    let kind = RequestKind::Verb(Verb::RequestChanges);
    run(
        kind,
        &args.target,
        message.as_ref(),
        args.seen,
        environment,
        output,
    )
}

/// Sends the message.
pub fn tell(args: &Tell, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    if args.message.trim().is_empty() {
        let error = Error::usage("cannot send the message: the message is empty");
        return Err(error.hint("usage: `orange task tell TASK -m \"TEXT\"`"));
    }
    let role = args.role.as_deref().map(Role::from_name);
    let draft = RequestDraft {
        message: Some(args.message.clone()),
        ..RequestDraft::plain(RequestKind::Tell { role })
    };
    ask_each(&args.targets, &draft, environment, output)
}

/// Makes the request, with a message.
pub fn run(
    kind: RequestKind,
    target: &Target,
    message: Option<&String>,
    seen: Seen,
    environment: &Environment,
    output: &mut Output,
) -> Result<Exit, Error> {
    let draft = RequestDraft {
        message: message.cloned(),
        if_version: seen.if_version,
        ..RequestDraft::plain(kind)
    };
    ask(target, draft, environment, output)
}

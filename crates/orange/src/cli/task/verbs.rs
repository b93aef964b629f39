//! `orange task complete`, `orange task stuck`, `orange task request-changes`.

use orange_config::Environment;
use orange_engine::input::Ask;
use orange_engine::language::verbs::Verb;

use crate::cli::request::driving::{Target, Wanted, ask};
use crate::cli::{Error, Exit};
use crate::output::Output;

/// Say that the work is complete.
///
/// Takes the edge that the workflow names under `verbs: complete`, if its gates hold.
#[derive(Debug, clap::Args)]
pub struct Complete {
    #[command(flatten)]
    pub target: Target,
}

/// Say that the work is stuck.
///
/// Takes the edge that the workflow names under `verbs: stuck`.
#[derive(Debug, clap::Args)]
pub struct Stuck {
    #[command(flatten)]
    pub target: Target,
    /// What to say with it.
    #[arg(long, short, value_name = "TEXT", allow_hyphen_values = true)]
    pub message: Option<String>,
}

/// Send the work back with a message.
///
/// The agent gets the message in its inbox; one that is gone is started again.
#[derive(Debug, clap::Args)]
pub struct RequestChanges {
    #[command(flatten)]
    pub target: Target,
    /// What should be different.
    #[arg(
        long,
        short,
        value_name = "TEXT",
        allow_hyphen_values = true,
        required = true
    )]
    pub message: String,
}

/// Asks for the edge that the workflow names under the verb.
pub fn run(
    verb: Verb,
    target: &Target,
    message: Option<&String>,
    environment: &Environment,
    output: &mut Output,
) -> Result<Exit, Error> {
    let wanted = Wanted {
        message: message.cloned(),
        ..Wanted::plain(Ask::Verb(verb))
    };
    ask(target, wanted, environment, output)
}

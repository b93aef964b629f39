//! `orange task complete`, `orange task stuck`, `orange task request-changes`, `orange task tell`.

use orange_config::Environment;
use orange_engine::input::Ask;

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

/// Tell an agent something.
///
/// The agent gets the message in its inbox, and a line in its terminal says so. The status stays
/// as it is; to send work back, use `orange task request-changes`.
#[derive(Debug, clap::Args)]
pub struct Tell {
    #[command(flatten)]
    pub target: Target,
    /// Which agent; the one that the present status expects when left out.
    #[arg(long, value_name = "ROLE")]
    pub role: Option<String>,
    /// What it is told.
    #[arg(
        long,
        short,
        value_name = "TEXT",
        allow_hyphen_values = true,
        required = true
    )]
    pub message: String,
}

/// Makes the request, with a message.
pub fn run(
    ask_for: Ask,
    target: &Target,
    message: Option<&String>,
    environment: &Environment,
    output: &mut Output,
) -> Result<Exit, Error> {
    let wanted = Wanted {
        message: message.cloned(),
        ..Wanted::plain(ask_for)
    };
    ask(target, wanted, environment, output)
}

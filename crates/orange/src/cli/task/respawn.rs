//! `orange task respawn`.

use orange_engine::input::Ask;
use orange_engine::role::Role;

use crate::cli::driving::{Target, Wanted, ask};
use crate::cli::error::Error;
use crate::cli::exit::Exit;
use crate::config::Environment;
use crate::output::Output;

/// Bring an agent back that is gone.
///
/// The status stays. What the dead one left running is ended first.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub target: Target,
    /// Which agent: `worker`, `reviewer` or a role of the workflow; the one that is missing when
    /// left out.
    #[arg(long, value_name = "ROLE")]
    pub role: Option<String>,
}

/// Asks for it.
pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let role = args.role.as_deref().map(Role::named);
    let wanted = Wanted::plain(Ask::Respawn { role });
    ask(&args.target, wanted, environment, output)
}

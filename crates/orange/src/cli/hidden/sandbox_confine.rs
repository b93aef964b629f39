//! `orange sandbox-confine`: gives up rights, then becomes the agent.

use crate::cli::Exit;

/// Become the agent of a sandbox.
///
/// orange calls this itself; you do not need it.
#[derive(Debug, clap::Args)]
pub struct Args {}

pub fn run(_args: &Args) -> Exit {
    // `orange exec-run` prints the error.
    let _reported = orange_driver::confine();
    Exit::ExternalFailed
}

//! `orange runner join`.

use orange_config::Environment;
use orange_driver::fleet::JoinRequest;

use super::print;
use crate::cli::request::requests::driver;
use crate::cli::{Error, Exit};
use crate::output::Output;

/// Make this home a runner.
///
/// All tasks of this home must have ended. From then on it gets its tasks from the server; start
/// `orange runner run` to work on them. The projects that are registered here and the installed
/// harnesses decide which tasks it gets.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The address of the server, such as `https://box:7878`.
    #[arg(value_name = "URL")]
    pub server: String,
    /// The one-time code that the server has made for this runner, or its token.
    #[arg(value_name = "CODE")]
    pub token: String,
    /// The name of this runner, as in the code.
    #[arg(long, value_name = "NAME")]
    pub name: String,
    /// Seconds without an answer after which other machines may get its tasks.
    #[arg(long, value_name = "SECONDS", default_value_t = 90, value_parser = clap::value_parser!(u64).range(3..=900))]
    pub lost_after: u64,
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let driver = driver(environment)?;
    driver.join_fleet(&JoinRequest {
        server: args.server.clone(),
        runner: args.name.clone(),
        token: args.token.clone(),
        lost_after: args.lost_after,
    })?;
    let text = format!("joined as {}; start `orange runner run`", args.name);
    print(&driver, &text, output)
}

//! `orange runner leave`.

use orange_config::Environment;

use super::{Body, SHAPE, answer};
use crate::cli::request::requests::driver;
use crate::cli::{Error, Exit};
use crate::output::Output;

/// Make this home independent again.
///
/// Every task must have been given back, and `orange runner run` must have ended.
#[derive(Debug, clap::Args)]
pub struct Args {}

pub fn run(environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let driver = driver(environment)?;
    driver.leave_fleet()?;
    if output.is_json() {
        let body = Body {
            is_joined: false,
            runner: None,
        };
        return SHAPE.print(&body, output);
    }
    answer("this home has left the fleet", output)
}

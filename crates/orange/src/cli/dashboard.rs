//! `orange` without a command.

use std::ffi::OsString;

use orange_config::Environment;

use super::Dashboard;
use super::arguments::{Arguments, EarlyExit};
use super::request::requests::driver;
use crate::cli::{Error, Exit};
use crate::output::Output;

/// Opens the dashboard at a terminal; elsewhere prints the help.
pub fn run(
    arguments: &Arguments,
    dashboard: Dashboard,
    environment: &Environment,
    output: &mut Output,
) -> Result<Exit, Error> {
    if !output.is_interactive() {
        let arguments_for_help = ["orange", "--help"].map(OsString::from);
        if let Err(EarlyExit::Help(text)) =
            Arguments::parse(&arguments_for_help, output.answer_width())
        {
            output.answer(&text)?;
        }
        return Ok(Exit::Ok);
    }
    let driver = driver(environment)?;
    driver.callers.require_user("open the dashboard")?;
    let project = driver.callers.project_here(None)?.map(|it| it.name);
    let result = dashboard(&driver, project, arguments.all, &[], output);
    result.map_err(Error::dashboard)?;
    Ok(Exit::Ok)
}

//! Asks the user whether agents may start without a sandbox.

use orange_config::{Project, SandboxMode};
use orange_driver::{Driver, DriverError};

use super::requests::{Consent, ask_consent};
use crate::cli::{Error, Exit};
use crate::output::{Output, Style, Text};

/// Fails before anything is created if this machine can make no sandbox for an agent. At a
/// terminal, the user can decide to do without one, which is written into the settings.
///
/// `prepare` finds the project, and fails if the request would be refused anyway. It is called only
/// if a sandbox may be missing.
pub fn settle_missing_sandbox(
    driver: &Driver,
    prepare: impl FnOnce() -> Result<Option<Project>, Error>,
    output: &mut Output,
) -> Result<(), Error> {
    // Agents create tasks, but start none.
    if !driver.requests.may_lack_sandbox()?
        || driver.callers.require_user("turn off the sandbox").is_err()
    {
        return Ok(());
    }
    let project = prepare()?;
    let project = project.as_ref();
    let Err(missing) = driver.requests.require_sandbox(project) else {
        return Ok(());
    };
    let mode = driver.context.settings(project)?.sandbox.mode;
    let is_decidable =
        matches!(missing, DriverError::NoSandbox { .. }) && mode == SandboxMode::Auto;
    if !is_decidable || output.is_json() || !output.is_interactive() {
        return Err(missing.into());
    }
    let mut text = Text::new();
    text.push_line(
        &[(Style::Plain, &missing.to_string())],
        4,
        output.answer_width(),
    );
    output.answer(&text)?;
    let settings = driver.context.home().settings();
    let question = format!(
        "Start the agents of all projects without a sandbox from now on, with all your rights? \
         This writes `sandbox.mode = \"off\"` to `{}`.",
        settings.display()
    );
    if ask_consent(&question, output)? != Consent::Given {
        let message = "nothing was started: there is no sandbox, and you answered no";
        return Err(Error::new(Exit::Refused, "sandbox-missing", message)
            .hint("`orange doctor` shows what this machine can do"));
    }
    let path = driver.admin.turn_sandbox_off()?;
    let mut text = Text::new();
    let line = format!(
        "wrote `sandbox.mode = \"off\"` to `{}`; remove it once a sandbox is possible",
        path.display()
    );
    text.push_line(&[(Style::Plain, &line)], 4, output.answer_width());
    output.answer(&text)?;
    // The project or its policy may want one anyway.
    Ok(driver.requests.require_sandbox(project)?)
}

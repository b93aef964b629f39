//! Asks the user whether agents may start without a sandbox.

use orange_config::{Project, SandboxMode};
use orange_driver::{Driver, DriverError};

use super::requests::{Consent, ask_consent};
use crate::cli::{Error, narrate_hint};
use crate::output::{Output, Style, Text};

const QUESTION: &str = "Start agents without a sandbox from now on, with all your rights?";

/// Fails before anything is created if this machine can make no sandbox for an agent. At a
/// terminal, the user can decide to do without one, which is written into the settings. Which
/// project it is does not matter if there is a sandbox.
pub fn settle_missing_sandbox(
    driver: &Driver,
    project: impl FnOnce() -> Option<Project>,
    output: &mut Output,
) -> Result<(), Error> {
    // Agents create tasks, but start none.
    if driver.requests.has_best_sandbox()
        || driver.callers.require_user("turn off the sandbox").is_err()
    {
        return Ok(());
    }
    let project = project();
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
    if ask_consent(QUESTION, output)? != Consent::Given {
        return Err(missing.into());
    }
    let path = driver.admin.turn_sandbox_off()?;
    let hint = format!(
        "wrote `sandbox.mode = \"off\"` to `{}`; remove it once a sandbox is possible",
        path.display()
    );
    narrate_hint(&hint, output);
    // The project or its policy may want one anyway.
    Ok(driver.requests.require_sandbox(project)?)
}

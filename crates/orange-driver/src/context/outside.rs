//! Starts performers outside of a sandbox for calls from inside.

use std::ffi::OsStr;
use std::path::Path;

use orange_config::{Environment, ORANGE_CALLER, ORANGE_HOME};
use orange_effects::sandbox::StartOutside;

use crate::context::Context;

/// What starts `orange` for this home in the background, on behalf of an agent. `environment` is
/// that of the pane.
pub fn start_outside_of(environment: &Environment, orange: &Path, home: &OsStr) -> StartOutside {
    let mut variables = environment.variables().clone();
    variables.insert(ORANGE_HOME.into(), home.to_owned());
    variables.insert(ORANGE_CALLER.into(), "agent".into());
    let environment = Environment::of(variables);
    let orange = orange.to_owned();
    Box::new(move |words| {
        let context = Context::new(&environment, orange.clone()).ok()?;
        let started = context.start_in_background(words).ok()?;
        Some(started.pid)
    })
}

//! The last step in a sandbox: becomes the agent without rights.

use std::fs;
use std::io::{self, BufRead as _, BufReader};
use std::os::unix::net::UnixStream;
use std::path::Path;

use orange_config::Environment;

use super::kernel_rules::restrict;
use super::limits::set_limits;
use super::program::PLAN_VARIABLE;
use super::protocol::{Go, Plan, StartFailure};
use super::system_calls::refuse_system_calls;
use crate::command::{CommandError, Invocation};
use crate::run::RawText;
use crate::sandbox::places::{PLAN, START};
use crate::sandbox::unstarted::ConfineFailure;

/// Becomes the agent or the program; returns only on failure. The failure of an agent is reported
/// by process 1, and is not returned.
pub fn confine(environment: &Environment) -> Option<ConfineFailure> {
    if let Some(plan) = environment.variable(PLAN_VARIABLE) {
        let failure = match serde_json::from_slice(plan.as_encoded_bytes()) {
            Ok(plan) => become_program(&plan),
            Err(error) => failure("read the plan", &error),
        };
        return Some(ConfineFailure {
            is_missing: failure.is_missing,
            message: failure.message,
        });
    }
    let reported = UnixStream::connect(START).and_then(|mut start| {
        let failure = match read_plan(&mut start) {
            Ok(plan) => become_program(&plan),
            Err(error) => failure("read the plan", &error),
        };
        Ok(serde_json::to_writer(&start, &failure)?)
    });
    let error = reported.err()?;
    Some(ConfineFailure {
        is_missing: false,
        message: error.to_string(),
    })
}

fn become_program(plan: &Plan) -> StartFailure {
    if let Err(error) = set_limits(plan.limits) {
        return failure("set the limits", &error);
    }
    let writable = plan.writable.iter();
    let writable: Vec<&Path> = writable.map(|path| Path::new(path.as_os_str())).collect();
    if let Err(error) = restrict(&writable) {
        return failure("apply Landlock", &error);
    }
    if let Err(error) = refuse_system_calls() {
        return failure("apply seccomp", &error);
    }
    let error = Invocation::new(plan.program.as_os_str(), plan.variables())
        .arguments(plan.arguments.iter().map(RawText::as_os_str))
        .directory(plan.directory.as_os_str())
        .exec(None);
    StartFailure {
        is_missing: matches!(error, CommandError::Missing { .. }),
        message: error.to_string(),
    }
}

/// Waits for process 1, which first gives the terminal to this group, and reads the plan.
fn read_plan(start: &mut UnixStream) -> io::Result<Plan> {
    let mut line = String::new();
    BufReader::new(start).read_line(&mut line)?;
    let go: Go = serde_json::from_str(&line)?;
    let plan = fs::read(PLAN)?;
    // It names the variables of the run.
    fs::remove_file(PLAN)?;
    let mut plan: Plan = serde_json::from_slice(&plan)?;
    plan.add_variables(&go.variables);
    Ok(plan)
}

fn failure(what: &str, error: &dyn std::fmt::Display) -> StartFailure {
    StartFailure {
        is_missing: false,
        message: format!("cannot {what} in the sandbox: {error}"),
    }
}

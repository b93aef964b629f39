//! The last step in a sandbox: becomes the agent without rights.

use std::fs;
use std::io::{self, Read as _};
use std::os::unix::net::UnixStream;
use std::path::Path;

use super::kernel_rules::restrict;
use super::limits::set_limits;
use super::protocol::{Plan, StartFailure};
use super::system_calls::refuse_system_calls;
use crate::command::{CommandError, Invocation};
use crate::run::RawText;
use crate::sandbox::places::{PLAN, START};

/// Becomes the agent; returns only on failure, which process 1 reports.
pub fn confine() -> io::Error {
    match UnixStream::connect(START) {
        Ok(mut start) => {
            let failure = become_agent(&mut start);
            let error = io::Error::other(failure.message.clone());
            match serde_json::to_writer(&start, &failure) {
                Ok(()) => error,
                Err(unsent) => unsent.into(),
            }
        }
        Err(error) => error,
    }
}

fn become_agent(start: &mut UnixStream) -> StartFailure {
    let plan = match read_plan(start) {
        Ok(plan) => plan,
        Err(error) => return failure("read the plan", &error),
    };
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
    start.read_exact(&mut [0])?;
    let plan = fs::read(PLAN)?;
    // It names the secret of the run.
    fs::remove_file(PLAN)?;
    Ok(serde_json::from_slice(&plan)?)
}

fn failure(what: &str, error: &dyn std::fmt::Display) -> StartFailure {
    StartFailure {
        is_missing: false,
        message: format!("cannot {what} in the sandbox: {error}"),
    }
}

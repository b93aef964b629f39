//! The last step in a sandbox: becomes the agent without rights.

use std::fs;
use std::io::{self, BufRead as _, BufReader};
use std::os::unix::net::UnixStream;
use std::path::Path;

use orange_config::Environment;

use super::control::connect_in;
use super::kernel_rules::restrict;
use super::limits::set_limits;
use super::partial::{Confinement, drop_capabilities, restrict_in_place, with_running};
use super::protocol::{Go, PLAN_VARIABLE, Plan, StartFailure};
use super::system_calls::{Sockets, refuse_system_calls};
use crate::command::{CommandError, Invocation};
use crate::run::RawText;
use crate::sandbox::places::{PLAN_FILE, START_SOCKET, meeting_folder};
use crate::sandbox::unstarted::ConfineFailure;

/// Becomes the agent or the program; returns only on failure. The failure of an agent is reported
/// by `sandbox-init`, and is not returned.
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
    let folder = meeting_folder(environment);
    let reported = connect_in(&folder, START_SOCKET).and_then(|mut start| {
        let failure = match read_plan(&mut start, &folder) {
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
    let failed = match &plan.confinement {
        None => confine_in_namespaces(plan).err(),
        Some(confinement) => confine_in_place(plan, confinement).err(),
    };
    if let Some(failure) = failed {
        return failure;
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

/// Gives up rights where the mounts already hide the machine.
fn confine_in_namespaces(plan: &Plan) -> Result<(), StartFailure> {
    set_limits(plan.limits).map_err(|error| failure("set the limits", &error))?;
    let writable = plan.writable.iter();
    let writable: Vec<&Path> = writable.map(|path| Path::new(path.as_os_str())).collect();
    restrict(&writable).map_err(|error| failure("apply Landlock", &error))?;
    refuse_system_calls(Sockets::OfNamespaces).map_err(|error| failure("apply seccomp", &error))
}

/// Gives up rights at the partial level, where nothing is hidden yet.
fn confine_in_place(plan: &Plan, confinement: &Confinement) -> Result<(), StartFailure> {
    let limits = with_running(plan.limits);
    set_limits(limits).map_err(|error| failure("set the limits", &error))?;
    restrict_in_place(confinement).map_err(|error| failure("apply Landlock", &error))?;
    drop_capabilities().map_err(|error| failure("drop the capabilities", &error))?;
    let sockets = if confinement.is_network_limited {
        Sockets::ToPorts
    } else {
        Sockets::OfMachine
    };
    refuse_system_calls(sockets).map_err(|error| failure("apply seccomp", &error))
}

/// Waits for `sandbox-init`, which first gives the terminal to this group, and reads the plan.
fn read_plan(start: &mut UnixStream, folder: &Path) -> io::Result<Plan> {
    let mut line = String::new();
    BufReader::new(start).read_line(&mut line)?;
    let go: Go = serde_json::from_str(&line)?;
    let file = folder.join(PLAN_FILE);
    let plan = fs::read(&file)?;
    // It names the variables of the run.
    fs::remove_file(&file)?;
    let mut plan: Plan = serde_json::from_slice(&plan)?;
    plan.add_variables(&go.variables);
    plan.confinement = go.confinement;
    Ok(plan)
}

fn failure(what: &str, error: &dyn std::fmt::Display) -> StartFailure {
    StartFailure {
        is_missing: false,
        message: format!("cannot {what} in the sandbox: {error}"),
    }
}

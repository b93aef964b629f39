//! Starts programs without namespaces.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::process::Child;

use orange_config::{ORANGE_RUN_ID, ORANGE_SANDBOX_CALLS, ORANGE_SANDBOX_FOLDER};

use crate::command::Invocation;
use crate::private_file;
use crate::process::{KillTimeouts, end_with_variable};
use crate::sandbox::linux::control::IGNORING;
use crate::sandbox::linux::protocol::{PLAN_VARIABLE, Plan, visible_variables};
use crate::sandbox::network::Bridge;
use crate::sandbox::places::{BROKER_SOCKET, PLAN_FILE};
use crate::sandbox::sandboxed_run::SandboxedRun;
use crate::sandbox::secret::Secret;

/// The bridge for calls of `orange`.
pub(in crate::sandbox::linux) fn calls_bridge(secret: &Secret) -> Bridge {
    let value = format!("{{port}}:{}", secret.text());
    Bridge {
        socket: BROKER_SOCKET.to_owned(),
        variables: BTreeMap::from([(ORANGE_SANDBOX_CALLS.to_owned(), value)]),
    }
}

/// Starts `sandbox-init` in the folder of the run, where it finds its plan and the sockets.
pub(in crate::sandbox::linux) fn start_init(
    run: &SandboxedRun<'_>,
    plan: &Plan,
) -> io::Result<Child> {
    let bytes = serde_json::to_vec(plan)?;
    private_file::write_unsynced(&run.folder.join(PLAN_FILE), &bytes).map_err(io::Error::other)?;
    let environment = visible_variables(run.description, &run.environment);
    let environment = environment.map(|(name, value)| (name.clone(), value.clone()));
    let command = Invocation::new("/bin/sh", environment.collect())
        .variable(ORANGE_SANDBOX_FOLDER, ".")
        .arguments(["-c", IGNORING, "sh"])
        .arguments([run.description.orange.as_os_str(), "sandbox-init".as_ref()])
        .directory(run.folder);
    let output = run.output.as_ref().map(File::try_clone).transpose()?;
    command
        .start_in_terminal(output, false)
        .map_err(io::Error::other)
}

/// The command that runs a program; calls of `orange` in it are refused.
pub(in crate::sandbox::linux) fn prepare_program(
    plan: &mut Plan,
    variables: BTreeMap<OsString, OsString>,
) -> Invocation {
    let none = BTreeMap::from([(ORANGE_SANDBOX_CALLS.to_owned(), String::from("none"))]);
    plan.add_variables(&none);
    // Without a plan, nothing is started.
    let text = serde_json::to_string(plan).unwrap_or_default();
    Invocation::new(plan.orange.as_os_str(), variables)
        .variable(PLAN_VARIABLE, text)
        .arguments(["sandbox-init"])
        .directory("/")
}

/// Ends what an agent has left if `sandbox-init` was killed, as far as it has kept the variable of
/// its run.
pub(in crate::sandbox::linux) fn end_marked(environment: &BTreeMap<OsString, OsString>) {
    if let Some(run) = environment.get(std::ffi::OsStr::new(ORANGE_RUN_ID)) {
        let _unkillable = end_with_variable(ORANGE_RUN_ID, run, KillTimeouts::default());
    }
}

//! Runs a program without a terminal in a sandbox of its own.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;

use super::arguments::machine_arguments;
use super::partial::prepare_program;
use super::protocol::{PLAN_VARIABLE, Plan, visible_variables};
use super::proxy::StartedProxy;
use crate::command::Invocation;
use crate::run::RawText;
use crate::sandbox::description::Description;
use crate::sandbox::network::proxy_bridge;
use crate::sandbox::places::{BROKER, PROXY};

/// The command that runs a program in a sandbox; `proxy` is for the hosts of its list. A
/// signal that ends the program becomes an exit code, as in a shell. When the command is killed,
/// everything that the program started is too.
pub fn program_in_sandbox(
    description: &Description,
    program: &OsStr,
    arguments: &[RawText],
    environment: &BTreeMap<OsString, OsString>,
    directory: &Path,
    proxy: Option<&StartedProxy>,
) -> Invocation {
    let mut plan = Plan::new(description, program, arguments, environment, directory);
    let is_full = description.bwrap.is_some();
    plan.bridges = Vec::from_iter(proxy.map(|proxy| {
        let outside = proxy.socket.to_string_lossy();
        let socket = if is_full { PROXY } else { &outside };
        proxy_bridge(socket, proxy.secret.as_ref())
    }));
    let variables = visible_variables(description, environment);
    let variables = variables.map(|(name, value)| (name.clone(), value.clone()));
    let variables = variables.collect();
    let Some(bwrap) = &description.bwrap else {
        return prepare_program(&mut plan, variables);
    };
    let first = match proxy {
        Some(_) => "sandbox-init",
        None => "sandbox-confine",
    };
    // Without a plan, nothing is started inside.
    let plan = serde_json::to_string(&plan).unwrap_or_default();
    let mut words: Vec<OsString> = machine_arguments(description);
    if let Some(proxy) = proxy {
        words.extend(["--bind".into(), proxy.socket.clone().into(), PROXY.into()]);
    }
    Invocation::new(bwrap.as_os_str(), variables)
        .variable(PLAN_VARIABLE, plan)
        .arguments(words)
        // Its input is not a terminal; without a session of its own it could still open one.
        .arguments(["--new-session", "--symlink", "none", BROKER, "--chdir"])
        .arguments([directory])
        .arguments(["--"])
        .arguments([description.orange.as_os_str(), first.as_ref()])
        .directory("/")
}

//! Ends what a program leaves running, without a namespace that would.

use std::io;
use std::os::fd::AsFd as _;
use std::path::Path;
use std::process::Child;
use std::time::Duration;

use orange_config::Environment;
use orange_config::clock::Deadline;
use rustix::process::{
    Pid, Signal, WaitOptions, getpid, kill_process_group, set_child_subreaper, wait,
};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM};

use super::TemporaryFolder;
use crate::command::Invocation;
use crate::process::kill_descendants;
use crate::sandbox::linux::control::{Signals, wait_readable, watch_signals};
use crate::sandbox::linux::protocol::{PLAN_VARIABLE, Plan, code_of};
use crate::sandbox::network::open_bridges;

/// Marks the guard of a program.
const GUARD_VARIABLE: &str = "ORANGE_SANDBOX_GUARD";

/// How long killed processes may take to end.
const TIMEOUT: Duration = Duration::from_secs(5);

/// How long a program may take to end after SIGTERM. A command that is stopped has more time.
const GRACE: Duration = Duration::from_millis(300);

/// From now on, processes below this one that lose their parent become its children.
pub(in crate::sandbox::linux) fn adopt_orphans() -> io::Result<()> {
    Ok(set_child_subreaper(Some(getpid()))?)
}

/// Kills everything below this process. Nothing escapes by losing its parent, its session or its
/// variables.
pub(in crate::sandbox::linux) fn end_below() {
    // What cannot be killed is in the kernel, and ends when that lets it.
    let _unkillable = kill_descendants(TIMEOUT, || {
        while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
    });
}

/// Runs a program without a terminal. This process may be killed at any time, so a guard of its own
/// process group starts the program, and notices.
pub(in crate::sandbox::linux) fn run_guarded(
    plan: Plan,
    environment: &Environment,
) -> io::Result<u8> {
    if environment.variable(GUARD_VARIABLE).is_some() {
        return run_below(plan);
    }
    let orange = Path::new(plan.orange.as_os_str());
    let guard = Invocation::new(orange, environment.variables().clone())
        .arguments(["sandbox-init"])
        .variable(GUARD_VARIABLE, "1")
        .directory("/")
        .tethered(orange);
    let mut guard = guard
        .start_in_terminal(None, true)
        .map_err(io::Error::other)?;
    Ok(code_of(guard.wait()?))
}

fn run_below(mut plan: Plan) -> io::Result<u8> {
    adopt_orphans()?;
    let signals = watch_signals(&[SIGCHLD, SIGHUP, SIGINT, SIGTERM])?;
    let Some(mut confinement) = plan.confinement.take() else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let open = open_bridges(&plan.bridges)?;
    let temporary = TemporaryFolder::create(&confinement.temporary)?;
    plan.add_variables(&open.variables);
    plan.add_variables(&temporary.variables(confinement.is_home_temporary)?);
    confinement.add_writable(temporary.path());
    confinement.ports = open.ports;
    plan.confinement = Some(confinement);
    let program = Invocation::new(plan.orange.as_os_str(), plan.variables())
        .arguments(["sandbox-confine"])
        .variable(PLAN_VARIABLE, serde_json::to_string(&plan)?)
        .directory(Path::new(plan.directory.as_os_str()));
    let child = program
        .start_in_terminal(None, true)
        .map_err(io::Error::other)?;
    let code = wait_for(child, signals);
    end_below();
    drop(temporary);
    code
}

/// Waits for the program, or for a signal to end it.
fn wait_for(mut child: Child, mut signals: Signals) -> io::Result<u8> {
    let group = Pid::from_child(&child);
    let mut end_at: Option<Deadline> = None;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(code_of(status));
        }
        if end_at.is_some_and(Deadline::has_passed) {
            let _gone = kill_process_group(group, Signal::KILL);
            return Ok(code_of(child.wait()?));
        }
        let timeout = end_at.map(Deadline::remaining);
        wait_readable([Some(signals.get_read().as_fd())], timeout)?;
        let is_ended = signals.pending().any(|signal| signal != SIGCHLD);
        if is_ended && end_at.is_none() {
            let _gone = kill_process_group(group, Signal::TERM);
            end_at = Some(Deadline::after(GRACE));
        }
    }
}

//! Runs an agent below this process instead of in its place.
//!
//! tmux continues the process of a pane at once when it is stopped, but not a child of it. The agent
//! stays in the group of this process, which owns the terminal: so typed keys, a changed size and
//! reading from the terminal are the agent's as if it were the pane's process.

use std::fs::File;
use std::os::fd::AsFd as _;

use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};

use super::exec::ExecError;
use crate::command::Invocation;
use crate::sandbox::{AgentExit, wait_readable, watch_signals};

/// What ends a program by default, and the end of the agent. A typed interrupt reaches the agent
/// itself, so `SIGINT` and `SIGQUIT` are only kept from ending this process.
const WATCHED: [i32; 7] = [SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2];

/// What is passed on to the agent.
const FORWARDED: [i32; 4] = [SIGHUP, SIGTERM, SIGUSR1, SIGUSR2];

/// Runs the agent until it ends.
pub(super) fn run_below(agent: &Invocation, output: Option<File>) -> Result<AgentExit, ExecError> {
    // Before the agent starts, so that its end is noticed. It inherits no handlers.
    let signals = watch_signals(&WATCHED);
    let mut signals = signals.map_err(ExecError::NotWatched)?;
    let mut child = agent.start_in_terminal(output, false)?;
    loop {
        if let Some(status) = child.try_wait().map_err(ExecError::NotWatched)? {
            return Ok(status.into());
        }
        let readable = wait_readable([Some(signals.get_read().as_fd())], None);
        readable.map_err(ExecError::NotWatched)?;
        for signal in signals.pending() {
            if FORWARDED.contains(&signal)
                && let Some(signal) = Signal::from_named_raw(signal)
            {
                let _gone = kill_process(Pid::from_child(&child), signal);
            }
        }
    }
}

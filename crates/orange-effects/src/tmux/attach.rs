//! Builds the command that shows an agent to the user.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::time::Duration;

use orange_config::Environment;
use orange_config::clock::Deadline;
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

use super::call::Call;
use super::{Pane, Tmux};
use crate::command::Invocation;

/// How long the server may take to notice that a client was killed.
const NOTICE_TIMEOUT: Duration = Duration::from_secs(2);

/// How to show an agent to the user.
#[derive(Clone, Debug)]
pub struct AttachCommand {
    /// The command to exec, or to run as a child when `is_switch` is set.
    pub command: Invocation,
    /// Whether the user's own client only switches to another session.
    pub is_switch: bool,
    /// Whether one tmux will run inside another.
    pub is_nested: bool,
}

impl Tmux {
    /// The command that shows a run. Inside the same server it switches the client; inside another
    /// server it attaches a nested client, since a client cannot change its server.
    pub fn attach(&self, pane: &Pane, environment: &Environment) -> AttachCommand {
        let tmux_variable = environment.variable("TMUX").filter(|it| !it.is_empty());
        let is_switch =
            tmux_variable.is_some_and(|tmux_variable| self.is_inside(pane, tmux_variable));
        let is_nested = tmux_variable.is_some() && !is_switch;
        let (session, window) = (pane.session.to_string(), pane.window.to_string());
        let verb = if is_switch {
            "switch-client"
        } else {
            "attach-session"
        };
        // The client runs in the user's own terminal, so it gets all of the user's variables,
        // except those that would make tmux refuse to run inside itself.
        let mut variables = environment.variables().clone();
        if !is_switch {
            variables.remove(OsStr::new("TMUX"));
            variables.remove(OsStr::new("TMUX_PANE"));
        }
        let command = self.invocation_with(variables).arguments([
            verb,
            "-t",
            &session,
            ";",
            "select-window",
            "-t",
            &window,
        ]);
        AttachCommand {
            command,
            is_switch,
            is_nested,
        }
    }

    /// Waits until the server has noticed that a client was killed. Until then the server may reset
    /// the client's terminal, although something else is shown there by now.
    pub fn await_killed_clients(&self) {
        Deadline::after(NOTICE_TIMEOUT).wait_for(|| {
            let listed = self.call(&[Call::new(["list-clients", "-F", "#{client_pid}"])]);
            let listed = listed.unwrap_or_default();
            let mut pids = listed
                .lines()
                .filter_map(|it| Pid::from_raw(it.parse().ok()?));
            pids.all(|pid| test_kill_process(pid) != Err(Errno::SRCH))
        });
    }

    /// Whether a `TMUX` variable (socket, pid, session) names the pane's server.
    fn is_inside(&self, pane: &Pane, tmux_variable: &OsStr) -> bool {
        let mut parts = tmux_variable.as_bytes().rsplitn(3, |byte| *byte == b',');
        let (_session, pid, socket) = (parts.next(), parts.next(), parts.next());
        let expected = pane.server.process.pid.to_string();
        let same_socket = socket.is_some_and(|socket| {
            let socket = Path::new(OsStr::from_bytes(socket));
            let real = |path: &Path| path.canonicalize().ok();
            socket == self.socket()
                || (real(socket).is_some() && real(socket) == real(self.socket()))
        });
        same_socket && pid == Some(expected.as_bytes())
    }
}

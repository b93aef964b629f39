//! The command that shows an agent to a person.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use orange_config::Environment;

use super::{Pane, Tmux};
use crate::command::Invocation;

/// How a person gets to see an agent.
#[derive(Clone, Debug)]
pub struct Attach {
    /// What to become, or to run when the terminal stays where it is.
    pub command: Invocation,
    /// Whether the person's own client is only turned to another session.
    pub is_switch: bool,
    /// Whether one tmux will run inside another.
    pub is_nested: bool,
}

impl Tmux {
    /// The command that shows a run. From inside the same server the client is switched; from
    /// inside another one it is attached within, since a client cannot change its server.
    pub fn attach(&self, pane: &Pane, environment: &Environment) -> Attach {
        let inside = environment.variable("TMUX").filter(|it| !it.is_empty());
        let is_switch = inside.is_some_and(|inside| self.is_inside(pane, inside));
        let is_nested = inside.is_some() && !is_switch;
        let (session, window) = (pane.session.to_string(), pane.window.to_string());
        let verb = if is_switch {
            "switch-client"
        } else {
            "attach-session"
        };
        // The person's own terminal, so its own variables; tmux refuses to run within itself.
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
        Attach {
            command,
            is_switch,
            is_nested,
        }
    }

    /// Whether a `TMUX` variable (socket, pid, session) names the pane's server.
    fn is_inside(&self, pane: &Pane, inside: &OsStr) -> bool {
        let mut parts = inside.as_bytes().rsplitn(3, |byte| *byte == b',');
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

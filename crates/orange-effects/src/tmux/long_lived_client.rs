//! The long-lived client, and how an abandoned one is ended.
//!
//! The listener of a client is the orange process that reads the client's output. A server that is
//! asked to exit waits for its clients. With tmux 3.3, a client with output that nothing reads any
//! more does not exit on its own, and until it exits, the server refuses every connection. On Linux
//! the system ends the client when its listener ends.

use std::path::PathBuf;

use orange_config::ORANGE_LISTENER;
use serde::{Deserialize, Serialize};

use super::{Tmux, TmuxError};
use crate::command::Invocation;
use crate::process::{Liveness, ProcessIdentity, processes_with_variable, terminate};

/// The value of the variable by which a long-lived client names its listener and its server.
#[derive(Serialize, Deserialize)]
struct Listener {
    process: ProcessIdentity,
    socket: PathBuf,
}

impl Tmux {
    /// The client that connects and stays; its listener is this process.
    pub(super) fn long_lived_client(&self) -> Result<Invocation, TmuxError> {
        let listener = Listener {
            process: ProcessIdentity::of(std::process::id())?,
            socket: self.socket().to_owned(),
        };
        let listener = serde_json::to_string(&listener);
        let listener = listener.map_err(|error| TmuxError::Disconnected(error.to_string()))?;
        // Without `-N`, attaching would start a server when none runs, possibly beside one that is
        // starting.
        let client = self.invocation().arguments(["-N", "-C"]);
        let client = client.arguments(["attach-session", "-f", "no-output,ignore-size"]);
        let client = client.variable(ORANGE_LISTENER, listener);
        Ok(match &self.orange {
            Some(orange) => client.tethered(orange),
            None => client,
        })
    }

    /// Asks the long-lived clients of this server to exit if their listener is provably gone;
    /// returns how many.
    ///
    /// They get SIGTERM, never SIGKILL: killing a client has taken the server down with it.
    pub fn end_abandoned_clients(&self) -> Result<usize, TmuxError> {
        let mut ended = 0;
        for (client, value) in processes_with_variable(ORANGE_LISTENER)? {
            let listener = value.to_str().map(serde_json::from_str::<Listener>);
            let Some(Ok(listener)) = listener else {
                continue;
            };
            if listener.socket == self.socket() && listener.process.liveness() == Liveness::Gone {
                terminate(&client)?;
                ended += 1;
            }
        }
        Ok(ended)
    }
}

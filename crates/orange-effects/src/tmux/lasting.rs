//! The client that lasts, and how one without a listener goes.
//!
//! A server that is asked to end waits for its clients. One whose listener was killed at the same
//! moment does not go by itself, and until it has gone the server refuses everybody.

use std::path::PathBuf;

use orange_config::ORANGE_LISTENER;
use serde::{Deserialize, Serialize};

use super::{Tmux, TmuxError};
use crate::command::Invocation;
use crate::process::{Life, ProcessIdentity, ask_to_end, with_variable};

/// What a lasting client says of itself in its variables.
#[derive(Serialize, Deserialize)]
struct Listener {
    process: ProcessIdentity,
    socket: PathBuf,
}

impl Tmux {
    /// The program that connects and stays; it has a listener for as long as this process lives.
    pub(super) fn lasting_client(&self) -> Result<Invocation, TmuxError> {
        let listener = Listener {
            process: ProcessIdentity::of(std::process::id())?,
            socket: self.socket().to_owned(),
        };
        let listener = serde_json::to_string(&listener);
        let listener = listener.map_err(|error| TmuxError::Disconnected(error.to_string()))?;
        // Without `-N` attaching would start a server where none is, beside one that is starting.
        let client = self.invocation().arguments(["-N", "-C"]);
        let client = client.arguments(["attach-session", "-f", "no-output,ignore-size"]);
        Ok(client.variable(ORANGE_LISTENER, listener))
    }

    /// Asks the lasting clients of this server to end whose listener is provably gone; how many.
    ///
    /// They are asked, never killed: a client that is killed has taken its server along.
    pub fn end_abandoned_clients(&self) -> Result<usize, TmuxError> {
        let mut ended = 0;
        for (client, said) in with_variable(ORANGE_LISTENER)? {
            let said = said.to_str().map(serde_json::from_str::<Listener>);
            let Some(Ok(listener)) = said else {
                continue;
            };
            if listener.socket == self.socket() && listener.process.life() == Life::Gone {
                ask_to_end(&client)?;
                ended += 1;
            }
        }
        Ok(ended)
    }
}

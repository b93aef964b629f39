//! Runs a program in the user's terminal until it exits.

use super::{CommandError, CommandExit, Invocation};

impl Invocation {
    /// Runs it to its end with this process's own input and output and in this process's group. The
    /// user at the terminal controls it, so it has no timeout.
    pub fn run_in_terminal(&self) -> Result<CommandExit, CommandError> {
        let ended = self.command().status();
        ended
            .map(CommandExit::from)
            .map_err(|error| self.start_error(error))
    }
}

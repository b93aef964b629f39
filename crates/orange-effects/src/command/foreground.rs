//! A program that has the person's terminal until it ends.

use super::{CommandError, Ending, Invocation};

impl Invocation {
    /// Runs it to its end with this process's own input and output, in its own group: it belongs to
    /// whoever sits at the terminal, so that no time is set for it.
    pub fn run_in_terminal(&self) -> Result<Ending, CommandError> {
        let ended = self.command().status();
        ended
            .map(Ending::from)
            .map_err(|error| self.not_started(error))
    }
}

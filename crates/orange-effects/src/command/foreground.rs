//! Runs a program in the user's terminal until it exits.

use std::io::{self, Write as _};
use std::process::Stdio;

use super::{CommandError, CommandExit, Invocation};

impl Invocation {
    /// Runs the program until it exits, with this process's input and output and in this process's
    /// group. The user at the terminal controls the program, so it has no timeout.
    pub fn run_in_terminal(&self) -> Result<CommandExit, CommandError> {
        let exit = self.command().status();
        exit.map(CommandExit::from)
            .map_err(|error| self.start_error(error))
    }

    /// Like [`Invocation::run_in_terminal`], but the program reads `input` from a pipe. A program
    /// that exits before it has read everything is not an error.
    pub fn feed_in_terminal(&self) -> Result<CommandExit, CommandError> {
        let failed = |error| self.start_error(error);
        let mut child = self
            .command()
            .stdin(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let written = child
            .stdin
            .take()
            .map(|mut pipe| pipe.write_all(&self.input));
        let exit = child.wait().map(CommandExit::from).map_err(failed)?;
        match written {
            Some(Err(error)) if error.kind() != io::ErrorKind::BrokenPipe => Err(failed(error)),
            _ => Ok(exit),
        }
    }
}

//! Runs a program in the terminal of this process.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Stdio};

use super::{CommandError, CommandExit, Invocation};

impl Invocation {
    /// Runs the program until it exits, with this process's input and output and in this process's
    /// group. The user at the terminal controls the program, so it has no timeout.
    pub fn run_in_terminal(&self) -> Result<CommandExit, CommandError> {
        let exit = self.command().status();
        exit.map(CommandExit::from)
            .map_err(|error| self.start_error(error))
    }

    /// Starts the program with this process's input and output, except that its output goes to
    /// `output` if that is given; in a process group of its own if that is wanted.
    pub(crate) fn start_in_terminal(
        &self,
        output: Option<File>,
        has_own_group: bool,
    ) -> Result<Child, CommandError> {
        let mut command = self.command();
        if has_own_group {
            command.process_group(0);
        }
        if let Some(output) = output {
            command.stdout(output);
        }
        command.spawn().map_err(|error| self.start_error(error))
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

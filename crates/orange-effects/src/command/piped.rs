//! Starts a program whose input and output the caller passes on.

use std::os::unix::process::CommandExt as _;
use std::process::{Child, Stdio};

use super::{CommandError, Invocation};

impl Invocation {
    /// Starts the program in a process group of its own, with pipes for its output and, unless it
    /// gets no input, for its input.
    pub(crate) fn start_piped(&self, has_input: bool) -> Result<Child, CommandError> {
        let mut command = self.command();
        command.process_group(0);
        command.stdin(if has_input {
            Stdio::piped()
        } else {
            Stdio::null()
        });
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().map_err(|error| self.start_error(error))
    }
}

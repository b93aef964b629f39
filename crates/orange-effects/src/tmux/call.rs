//! Calls the server, and parses its answers.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};

use super::{Socket, Tmux, TmuxError};
use crate::command::{CommandError, CommandExit, CommandOutput, Invocation};
use crate::private_file;
use crate::version::parse_version;

/// The first version that reports which signal ended a pane's process.
const MIN_VERSION: &str = "3.3";

/// The longest socket path that every system accepts.
const LONGEST_SOCKET: usize = 103;

/// One tmux command with its arguments.
pub(super) struct Call(Vec<OsString>);

impl Call {
    pub fn new<A: AsRef<OsStr>>(words: impl IntoIterator<Item = A>) -> Self {
        Self(
            words
                .into_iter()
                .map(|word| escape(word.as_ref()))
                .collect(),
        )
    }

    pub fn with_arguments<A: AsRef<OsStr>>(mut self, words: impl IntoIterator<Item = A>) -> Self {
        let more = words.into_iter().map(|word| escape(word.as_ref()));
        self.0.extend(more);
        self
    }
}

/// Escapes a `;` at the end of an argument: tmux would take it as the end of the command.
fn escape(word: &OsStr) -> OsString {
    let bytes = word.as_bytes();
    match bytes.strip_suffix(b";") {
        None => word.to_owned(),
        Some(rest) => OsString::from_vec([rest, b"\\;"].concat()),
    }
}

impl Tmux {
    /// The program with the arguments that select the server.
    pub(super) fn invocation(&self) -> Invocation {
        self.invocation_with(self.environment.clone())
    }

    /// Like [`Tmux::invocation`], with another environment.
    pub(super) fn invocation_with(&self, environment: BTreeMap<OsString, OsString>) -> Invocation {
        let tmux = Invocation::new(&self.program, environment).timeout(self.timeout);
        // Without `-u`, non-ASCII characters would come back as `_`.
        let tmux = tmux.arguments(["-u", "-S"]).arguments([self.socket()]);
        match self.socket {
            // A server that is started here must not keep the caller's directory in use.
            Socket::Private(_) => tmux
                .directory("/")
                .arguments(["-f".as_ref(), self.config.as_os_str()]),
            Socket::Own(_) => tmux,
        }
    }

    /// Runs commands in sequence and stops at the first that fails; returns the output.
    pub(super) fn call(&self, calls: &[Call]) -> Result<String, TmuxError> {
        let (finished, tmux) = self.run(calls)?;
        match finished.ending {
            CommandExit::Code(0) => {
                Ok(String::from_utf8_lossy(&finished.stdout.bytes).into_owned())
            }
            _ => Err(self.error_for(finished, &tmux)),
        }
    }

    /// Runs commands in sequence, whatever the result.
    pub(super) fn run(&self, calls: &[Call]) -> Result<(CommandOutput, Invocation), CommandError> {
        let mut tmux = self.invocation();
        for (index, call) in calls.iter().enumerate() {
            if index > 0 {
                tmux = tmux.arguments([";"]);
            }
            tmux = tmux.arguments(&call.0);
        }
        Ok((tmux.run()?, tmux))
    }

    /// The error for a failed call. A client that finds no server prints one of the messages below.
    pub(super) fn error_for(&self, finished: CommandOutput, tmux: &Invocation) -> TmuxError {
        let output = String::from_utf8_lossy(&finished.stderr.bytes);
        let is_without_server = output.starts_with("no server running on")
            || (output.starts_with("error connecting to")
                && (output.contains("No such file") || output.contains("Connection refused")));
        if is_without_server && matches!(finished.ending, CommandExit::Code(1)) {
            return TmuxError::NoServer(self.socket().to_owned());
        }
        TmuxError::Command(tmux.error_for(finished))
    }

    /// Fails when the socket path is too long; creates its directory.
    pub(super) fn prepare_socket(&self) -> Result<(), TmuxError> {
        self.require_short_path()?;
        private_file::make_folder(self.socket())?;
        Ok(())
    }

    /// Fails if the path of the socket is so long that no server can listen on it.
    pub fn require_short_path(&self) -> Result<(), TmuxError> {
        let path = self.socket();
        if path.as_os_str().len() > LONGEST_SOCKET {
            return Err(TmuxError::SocketTooLong {
                path: path.to_owned(),
                limit: LONGEST_SOCKET,
            });
        }
        Ok(())
    }

    pub(super) fn installed_version(&self) -> Result<String, TmuxError> {
        let tmux = Invocation::new(&self.program, self.environment.clone());
        let tmux = tmux.arguments(["-V"]).timeout(self.timeout);
        let finished = tmux.require_success()?;
        let output = String::from_utf8_lossy(&finished.stdout.bytes);
        Ok(output.trim().trim_start_matches("tmux ").to_owned())
    }
}

/// Fails when this tmux version is too old.
pub(super) fn require_version(found: String) -> Result<(), TmuxError> {
    match parse_version(&found) {
        Some(version) if Some(version) < parse_version(MIN_VERSION) => Err(TmuxError::TooOld {
            found,
            needed: MIN_VERSION,
        }),
        // A build from source reports its version as `master`.
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lesson_24_a_trailing_semicolon_is_kept() {
        assert_eq!(escape(OsStr::new("a;")), "a\\;");
        assert_eq!(escape(OsStr::new(";")), "\\;");
        assert_eq!(escape(OsStr::new("a;b")), "a;b");
    }
}

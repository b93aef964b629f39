//! Calls git with a known environment, without the repository's settings.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use orange_engine::time::Timestamp;

use super::caller::{IDENTITY, Variables};
use super::settings::{Remote, Setting};
use crate::command::{CommandExit, CommandOutput, FedOutput, Invocation};
use crate::git::{Git, GitError};

/// One git command.
pub(crate) struct Call {
    invocation: Invocation,
    /// The timeout for a command that is known to take long.
    long_timeout: Duration,
}

/// The author of a commit, if it is not the user.
pub(crate) struct Author {
    pub(crate) name: String,
    pub(crate) email: String,
    /// Seconds since 1970 and the time zone, as git writes them.
    pub(crate) date: String,
}

impl Git {
    /// A command about the repository as a whole; no attributes apply.
    pub(crate) fn call<A: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = A>) -> Call {
        self.call_as_of(self.no_attributes(), words)
    }

    /// The empty tree: if git reads attributes from it, none apply.
    pub(crate) fn no_attributes(&self) -> &'static str {
        if self.id_digits() == 64 {
            "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321"
        } else {
            "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
        }
    }

    /// Like [`Git::call`], but with the attributes of a commit; git before 2.41 finds none.
    pub(crate) fn call_as_of<A: AsRef<OsStr>>(
        &self,
        commit: &str,
        words: impl IntoIterator<Item = A>,
    ) -> Call {
        let mut variables = self.caller.variables(&[]);
        self.set_directories(&mut variables, self.directory());
        variables.insert("GIT_ATTR_SOURCE".into(), commit.into());
        // Without a worktree, git looks for files in the directory it runs in; our own
        // directory has none.
        self.caller
            .invoke(variables, self.own.path())
            .with_arguments(words)
    }

    /// Like [`Git::call`], but in the user's name and at a given time. The name comes from the
    /// user's own configuration unless `identity` sets one; `author` replaces the author of a
    /// commit.
    pub(crate) fn call_as_user<A: AsRef<OsStr>>(
        &self,
        at: Timestamp,
        author: Option<&Author>,
        identity: &[Setting],
        words: impl IntoIterator<Item = A>,
    ) -> Call {
        let mut variables = self.caller.variables(identity);
        self.set_directories(&mut variables, self.directory());
        for (name, _) in IDENTITY {
            variables.remove(OsStr::new(name));
        }
        let date = format!("@{} +0000", at.millis().div_euclid(1000));
        for name in ["GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"] {
            variables.insert(name.into(), date.clone().into());
        }
        if let Some(author) = author {
            for (name, value) in [
                ("GIT_AUTHOR_NAME", &author.name),
                ("GIT_AUTHOR_EMAIL", &author.email),
                ("GIT_AUTHOR_DATE", &author.date),
            ] {
                variables.insert(name.into(), value.into());
            }
        }
        // Without this setting, git may derive a name from the machine, which identifies no user.
        let config_only = ["-c", "user.useConfigOnly=true"];
        self.caller
            .invoke(variables, self.own.path())
            .with_arguments(config_only)
            .with_arguments(words)
    }

    /// A command about git's records of worktrees. It runs with the repository's own directory,
    /// because git derives the paths that it records from its directory. It reads the repository's
    /// configuration, but runs no program named there.
    pub(crate) fn call_recording<A: AsRef<OsStr>>(
        &self,
        words: impl IntoIterator<Item = A>,
    ) -> Call {
        let mut variables = self.caller.variables(&[]);
        variables.insert("GIT_DIR".into(), self.directory().into());
        self.caller
            .invoke(variables, self.directory())
            .with_arguments(words)
    }

    /// Makes git use this directory of the repository, and our own directory as the common
    /// directory.
    pub(in crate::git) fn set_directories(&self, variables: &mut Variables, directory: &Path) {
        variables.insert("GIT_DIR".into(), directory.into());
        variables.insert("GIT_COMMON_DIR".into(), self.own.path().into());
    }

    /// Every `NAME` in a key `SECTION.NAME.END` of the user's own configuration, for these `ends`.
    pub(crate) fn user_names(
        &self,
        section: &str,
        ends: &[&str],
    ) -> Result<BTreeSet<String>, GitError> {
        let pattern = format!("^{section}\\..*\\.");
        let call = self.call(["config", "--name-only", "-z", "--get-regexp", &pattern]);
        let output = call.answer()?.unwrap_or_default();
        let name = |part: &[u8]| {
            let key = String::from_utf8_lossy(part).into_owned();
            let rest = key.split_once('.')?.1;
            let name = ends.iter().find_map(|end| rest.strip_suffix(end))?;
            Some(name.to_owned())
        };
        Ok(split_zero_terminated(&output).filter_map(name).collect())
    }

    /// A value of the user's own configuration, or of the system's; never of the repository's.
    pub fn user_setting(&self, key: &str) -> Result<Option<String>, GitError> {
        let call = self.call(["config", "-z", "--get", key]);
        let value = call.answer()?;
        let value = value.map(|it| String::from_utf8_lossy(&it).into_owned());
        Ok(value.map(|it| it.trim_end_matches('\0').to_owned()))
    }

    /// A command that contacts the remote, with the network timeout.
    pub(crate) fn call_remote<A: AsRef<OsStr>>(
        &self,
        words: impl IntoIterator<Item = A>,
        remote: &Remote,
    ) -> Call {
        let mut settings = remote.settings();
        if remote.uses_ssh() && !self.has_ssh_command() {
            let batch_mode = ("core.sshCommand", "ssh -oBatchMode=yes");
            settings.push((batch_mode.0.to_owned(), batch_mode.1.to_owned()));
        }
        let mut variables = self.caller.variables(&settings);
        self.set_directories(&mut variables, self.directory());
        // git runs in the checkout, because a remote may be a path relative to it.
        let checkout = self.directory().parent();
        let checkout = checkout.filter(|_| self.directory().ends_with(".git"));
        let call = self
            .caller
            .invoke(variables, checkout.unwrap_or(self.directory()));
        let call = call
            .with_arguments(words)
            .with_arguments(["--", &remote.name]);
        call.timeout(self.network_timeout())
    }

    fn has_ssh_command(&self) -> bool {
        let call = self.call(["config", "--get", "core.sshCommand"]);
        matches!(call.answer(), Ok(Some(_)))
    }

    pub(crate) fn network_timeout(&self) -> Duration {
        self.caller.timeouts.network
    }
}

impl Call {
    pub fn new(invocation: Invocation, long_timeout: Duration) -> Self {
        Self {
            invocation,
            long_timeout,
        }
    }

    pub fn with_arguments<A: AsRef<OsStr>>(self, words: impl IntoIterator<Item = A>) -> Self {
        self.with(|it| it.arguments(words))
    }

    pub fn input(self, input: impl Into<Vec<u8>>) -> Self {
        self.with(|it| it.input(input))
    }

    pub fn variable(self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.with(|it| it.variable(name, value))
    }

    pub fn timeout(self, timeout: Duration) -> Self {
        self.with(|it| it.timeout(timeout))
    }

    /// For a command that reads or writes many files: a longer timeout.
    pub fn with_long_timeout(self) -> Self {
        let long_timeout = self.long_timeout;
        self.timeout(long_timeout)
    }

    fn with(self, change: impl FnOnce(Invocation) -> Invocation) -> Self {
        let Self {
            invocation,
            long_timeout,
        } = self;
        Self {
            invocation: change(invocation),
            long_timeout,
        }
    }

    /// The command's output; an error if the command failed.
    pub fn bytes(&self) -> Result<Vec<u8>, GitError> {
        self.require_complete(self.invocation.require_success()?)
    }

    /// The command's result, whatever its exit status.
    pub fn finish(&self) -> Result<CommandOutput, GitError> {
        let finished = self.invocation.run()?;
        if finished.stdout.is_truncated {
            return Err(GitError::TooLong(self.invocation.to_string()));
        }
        Ok(finished)
    }

    /// Runs the command with another program's output as its input; any exit status is accepted.
    pub fn run_fed_by(&self, source: &Invocation) -> Result<FedOutput, GitError> {
        Ok(self.invocation.run_fed_by(source)?)
    }

    /// The error for a result that the caller does not accept.
    pub fn error_for(&self, finished: CommandOutput) -> GitError {
        self.invocation.error_for(finished).into()
    }

    /// The command's output, or `None` if the command exited with code 1.
    pub fn answer(&self) -> Result<Option<Vec<u8>>, GitError> {
        let finished = self.invocation.run()?;
        match finished.ending {
            CommandExit::Code(0) => self.require_complete(finished).map(Some),
            CommandExit::Code(1) => Ok(None),
            _ => Err(self.invocation.error_for(finished).into()),
        }
    }

    /// `None` if the command succeeded, or its error output if it exited with code 1.
    pub fn refusal(&self) -> Result<Option<String>, GitError> {
        let finished = self.invocation.run()?;
        match finished.ending {
            CommandExit::Code(0) => Ok(None),
            CommandExit::Code(1) => {
                let message = String::from_utf8_lossy(&finished.stderr.bytes);
                Ok(Some(message.trim().to_owned()))
            }
            _ => Err(self.invocation.error_for(finished).into()),
        }
    }

    pub fn succeed(&self) -> Result<(), GitError> {
        self.bytes().map(drop)
    }

    /// The one line of the command's output.
    pub fn text(&self) -> Result<String, GitError> {
        let bytes = self.bytes()?;
        let text =
            String::from_utf8(bytes).map_err(|error| self.malformed_output(error.as_bytes()))?;
        Ok(text.trim_end_matches('\n').to_owned())
    }

    /// The path in the command's output.
    pub fn path(&self) -> Result<PathBuf, GitError> {
        let mut bytes = self.bytes()?;
        if bytes.pop() != Some(b'\n') || bytes.is_empty() {
            return Err(self.malformed_output(&bytes));
        }
        Ok(OsString::from_vec(bytes).into())
    }

    /// The error for malformed output.
    pub fn malformed_output(&self, output: &[u8]) -> GitError {
        let output = String::from_utf8_lossy(output);
        GitError::Garbled {
            call: self.invocation.to_string(),
            answer: output.escape_debug().take(200).collect(),
        }
    }

    fn require_complete(&self, finished: CommandOutput) -> Result<Vec<u8>, GitError> {
        if finished.stdout.is_truncated {
            return Err(GitError::TooLong(self.invocation.to_string()));
        }
        Ok(finished.stdout.bytes)
    }
}

/// The parts of an output in which every part ends with a zero byte.
pub(crate) fn split_zero_terminated(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes
        .strip_suffix(b"\0")
        .into_iter()
        .flat_map(|bytes| bytes.split(|byte| *byte == 0))
}

/// A path as git prints it with `-z`.
pub(crate) fn path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}

/// Paths as git reads them with `-z`.
pub(crate) fn join_zero_terminated<'a>(paths: impl IntoIterator<Item = &'a Path>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for path in paths {
        bytes.extend_from_slice(path.as_os_str().as_bytes());
        bytes.push(0);
    }
    bytes
}

/// A quoted path, for commands that read one path per line.
pub(crate) fn quote_path(path: &Path) -> Vec<u8> {
    let mut quoted = vec![b'"'];
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' => {
                quoted.push(*byte);
            }
            byte => quoted.extend_from_slice(format!("\\{byte:03o}").as_bytes()),
        }
    }
    quoted.extend_from_slice(b"\"\n");
    quoted
}

//! The only place that starts programs.
//!
//! A program gets its arguments as they are, never through a shell, and an environment that starts
//! empty. It has its own process group, so that a timeout kills everything the program started.

mod capture;
mod conversation;
mod feed;
mod find;
mod foreground;
mod piped;
mod tether;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use capture::Pipes;

pub use conversation::{Conversation, Lines};
pub use feed::FedOutput;
use find::find;
use orange_config::clock::Deadline;
use rustix::process::{Pid, Signal, kill_process, kill_process_group, setsid};
pub use tether::end_with_caller;

const DEFAULT_TIMEOUT: Duration = Duration::from_mins(1);

/// How many bytes of each stream are kept by default.
const DEFAULT_LIMIT: usize = 16 * 1024 * 1024;

/// How long a program that timed out has to clean up before it is killed.
const GRACE: Duration = Duration::from_millis(500);

/// How many characters of an argument or of a program's output a message shows.
const MAX_SHOWN: usize = 200;

/// A program with everything needed to start it.
#[derive(Clone, PartialEq, Eq)]
pub struct Invocation {
    program: OsString,
    arguments: Vec<OsString>,
    environment: BTreeMap<OsString, OsString>,
    directory: Option<PathBuf>,
    input: Vec<u8>,
    timeout: Duration,
    limit: usize,
    has_own_group: bool,
}

/// How a program ended, and its output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandOutput {
    pub ending: CommandExit,
    pub stdout: CapturedStream,
    pub stderr: CapturedStream,
}

/// The captured part of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CapturedStream {
    pub bytes: Vec<u8>,
    /// Whether there was more than the limit.
    pub is_truncated: bool,
}

impl CapturedStream {
    /// Whether the output contains these bytes.
    pub fn has(&self, bytes: &[u8]) -> bool {
        self.bytes.windows(bytes.len().max(1)).any(|it| it == bytes)
    }
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandExit {
    /// It exited with this code.
    Code(i32),
    Signal(i32),
    /// It took longer than this and was killed.
    TimedOut(Duration),
}

/// Why a program failed.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    #[error("cannot run {command}: the program was not found; install it, or correct the path")]
    Missing {
        /// The command as messages show it.
        command: String,
    },
    #[error("cannot run {command}: {source}")]
    NotStarted {
        /// The command as messages show it.
        command: String,
        source: io::Error,
    },
    /// It ran, but ended with an error.
    #[error("{command} {ending}{}", stderr_suffix(.stderr))]
    Failed {
        command: String,
        ending: CommandExit,
        stderr: Vec<u8>,
    },
}

impl CommandError {
    /// What the program said, or else how it ended; without the command itself.
    pub fn without_command(&self) -> String {
        match self {
            CommandError::Failed { ending, stderr, .. } => {
                match String::from_utf8_lossy(stderr).trim() {
                    "" => ending.to_string(),
                    message => shorten(message),
                }
            }
            CommandError::Missing { .. } | CommandError::NotStarted { .. } => self.to_string(),
        }
    }
}

impl Invocation {
    /// A program, given by its path or by a name on the `PATH` of `environment`. It gets no other
    /// variables than these.
    pub fn new(program: impl AsRef<OsStr>, environment: BTreeMap<OsString, OsString>) -> Self {
        Self {
            program: program.as_ref().to_owned(),
            arguments: Vec::new(),
            environment,
            directory: None,
            input: Vec::new(),
            timeout: DEFAULT_TIMEOUT,
            limit: DEFAULT_LIMIT,
            has_own_group: true,
        }
    }

    /// Appends these arguments.
    #[must_use]
    pub fn arguments<A: AsRef<OsStr>>(mut self, more: impl IntoIterator<Item = A>) -> Self {
        let more = more.into_iter().map(|it| it.as_ref().to_owned());
        self.arguments.extend(more);
        self
    }

    #[must_use]
    pub fn variable(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        let value = value.as_ref().to_owned();
        self.environment.insert(name.into(), value);
        self
    }

    #[must_use]
    pub fn directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.directory = Some(directory.into());
        self
    }

    #[must_use]
    pub fn input(mut self, input: impl Into<Vec<u8>>) -> Self {
        self.input = input.into();
        self
    }

    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Keeps at most this many bytes of each stream.
    #[must_use]
    pub fn limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }

    /// Runs the program until it exits; every exit status is `Ok`.
    pub fn run(&self) -> Result<CommandOutput, CommandError> {
        let mut command = self.command();
        if self.has_own_group {
            command.process_group(0);
        }
        let has_input = !self.input.is_empty();
        command.stdin(if has_input {
            Stdio::piped()
        } else {
            Stdio::null()
        });
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| self.start_error(error))?;
        let failed = |error| self.start_error(error);
        let pipes = Pipes::new(&mut child, self.input.clone(), self.limit);
        let mut pipes = pipes.map_err(failed)?;
        let ending = self.wait(&mut child, &mut pipes).map_err(failed)?;
        let [stdout, stderr] = pipes.take();
        Ok(CommandOutput {
            ending,
            stdout,
            stderr,
        })
    }

    /// Runs the program without input until it exits; its output goes directly to a file.
    pub fn run_into(&self, file: File) -> Result<CommandExit, CommandError> {
        let stderr = file.try_clone().map_err(|error| self.start_error(error))?;
        let mut command = self.command();
        command.process_group(0).stdin(Stdio::null());
        command.stdout(file).stderr(stderr);
        let mut child = command.spawn().map_err(|error| self.start_error(error))?;
        let failed = |error| self.start_error(error);
        let mut pipes = Pipes::new(&mut child, Vec::new(), 0).map_err(failed)?;
        self.wait(&mut child, &mut pipes).map_err(failed)
    }

    /// Starts the program and exchanges lines with it until either side closes its pipe.
    pub fn converse(&self) -> Result<Conversation, CommandError> {
        let mut command = self.command();
        command.process_group(0).stderr(Stdio::null());
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let failed = |error| self.start_error(error);
        let (sender, receiver) = mpsc::channel();
        let (starter, is_over) = mpsc::channel::<()>();
        // The system ends a tethered program when the thread that started it ends, so this thread
        // waits until the conversation is dropped.
        let thread = thread::Builder::new().name(String::from("starter"));
        let started = thread.spawn(move || {
            let _gone = sender.send(command.spawn());
            let _over = is_over.recv();
        });
        started.map_err(failed)?;
        let child = receiver.recv().map_err(io::Error::other).flatten();
        let child = child.map_err(failed)?;
        Conversation::new(child, starter).map_err(failed)
    }

    /// Runs it, and treats anything but success as a failure.
    pub fn require_success(&self) -> Result<CommandOutput, CommandError> {
        let finished = self.run()?;
        match finished.ending {
            CommandExit::Code(0) => Ok(finished),
            _ => Err(self.error_for(finished)),
        }
    }

    /// The error for a result that the caller does not accept.
    pub fn error_for(&self, finished: CommandOutput) -> CommandError {
        CommandError::Failed {
            command: self.to_string(),
            ending: finished.ending,
            stderr: finished.stderr.bytes,
        }
    }

    /// Replaces this process with the program; returns only on failure. The program inherits this
    /// process's streams, except that its output goes to `output` if that is given.
    pub fn exec(&self, output: Option<File>) -> CommandError {
        let output = output.map_or_else(Stdio::inherit, Stdio::from);
        self.start_error(self.command().stdout(output).exec())
    }

    /// Starts it in the same session without input or output, and does not wait for it.
    ///
    /// This is the second half of detaching a program; [`start_detached`] does all of it.
    pub fn start_unattended(&self) -> Result<u32, CommandError> {
        let mut command = self.command();
        command.stdin(Stdio::null());
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().map_err(|error| self.start_error(error))?;
        Ok(child.id())
    }

    /// Waits for the program to exit, and kills it and its group on a timeout.
    fn wait(&self, child: &mut Child, pipes: &mut Pipes) -> io::Result<CommandExit> {
        if let Some(status) = pipes.wait(child, Deadline::after(self.timeout))? {
            return Ok(CommandExit::from(status));
        }
        let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        // SIGKILL follows even if the program has exited: processes that it started may have
        // ignored SIGTERM. A process that even SIGKILL does not end is left to the system rather
        // than waited for.
        for signal in [Signal::TERM, Signal::KILL] {
            // A failed signal is ignored: the program may have exited just now.
            let _ignored = match group {
                Some(group) if self.has_own_group => kill_process_group(group, signal),
                Some(single) => kill_process(single, signal),
                None => Ok(()),
            };
            let _ended = pipes.wait(child, Deadline::after(GRACE))?;
        }
        Ok(CommandExit::TimedOut(self.timeout))
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "this is the only place that starts programs"
    )]
    fn command(&self) -> Command {
        let mut command = match find(&self.program, &self.environment) {
            Some(found) => {
                let mut command = Command::new(found);
                command.arg0(&self.program);
                command
            }
            None => Command::new(&self.program),
        };
        command.args(&self.arguments);
        command.env_clear().envs(&self.environment);
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        command
    }

    fn start_error(&self, source: io::Error) -> CommandError {
        let shown = self.to_string();
        let directory_exists = self.directory.as_deref().is_none_or(Path::is_dir);
        match source.kind() {
            io::ErrorKind::NotFound if directory_exists => CommandError::Missing { command: shown },
            _ => CommandError::NotStarted {
                command: shown,
                source,
            },
        }
    }
}

/// Starts a program outside the caller's process tree: its own session, no surviving parent, no
/// input or output. Whatever ends the caller does not end the program.
///
/// Creating a session before a program starts needs `unsafe`, so `orange` runs itself in between:
/// `orange detach` creates the session, starts the program, prints its pid and exits.
pub fn start_detached(orange: &Path, program: &Invocation) -> Result<u32, CommandError> {
    let mut detacher = Invocation::new(orange, program.environment.clone())
        .arguments(["detach", "--"])
        .arguments([&program.program])
        .arguments(&program.arguments)
        .timeout(Duration::from_secs(10));
    detacher.directory.clone_from(&program.directory);
    // A process group leader cannot create a session.
    detacher.has_own_group = false;
    let mut finished = detacher.run()?;
    if finished.ending == CommandExit::Signal(Signal::INT.as_raw()) {
        // Until `orange detach` has its own session, the terminal's interrupt key ends it too.
        // Before that it starts nothing, so it can be run again.
        finished = detacher.run()?;
    }
    if finished.ending != CommandExit::Code(0) {
        return Err(detacher.error_for(finished));
    }
    let output = String::from_utf8_lossy(&finished.stdout.bytes);
    let pid = output.trim().parse();
    pid.map_err(|_| detacher.error_for(finished))
}

/// Gives this process its own session, without a terminal.
pub fn create_session() -> io::Result<()> {
    setsid()?;
    Ok(())
}

impl From<ExitStatus> for CommandExit {
    fn from(status: ExitStatus) -> Self {
        match (status.code(), status.signal()) {
            (Some(code), _) => CommandExit::Code(code),
            (None, Some(signal)) => CommandExit::Signal(signal),
            (None, None) => CommandExit::Code(-1),
        }
    }
}

impl fmt::Display for CommandExit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CommandExit::Code(code) => write!(formatter, "exited with code {code}"),
            CommandExit::Signal(signal) => write!(formatter, "was killed by signal {signal}"),
            CommandExit::TimedOut(after) => {
                write!(formatter, "timed out after {} ms", after.as_millis())
            }
        }
    }
}

/// The program and its arguments. The environment and the input may be secrets, so they are not
/// shown.
impl fmt::Display for Invocation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "`{}", self.program.to_string_lossy())?;
        for argument in &self.arguments {
            write!(formatter, " {}", shorten(&argument.to_string_lossy()))?;
        }
        formatter.write_str("`")
    }
}

impl fmt::Debug for Invocation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

/// A program's error output, for the end of a message.
fn stderr_suffix(stderr: &[u8]) -> String {
    match String::from_utf8_lossy(stderr).trim() {
        "" => String::new(),
        message => format!(": {}", shorten(message)),
    }
}

/// The text on one line, shortened.
fn shorten(text: &str) -> String {
    let visible = |character: char| {
        if character.is_control() {
            ' '
        } else {
            character
        }
    };
    let mut short: String = text.chars().take(MAX_SHOWN).map(visible).collect();
    if text.chars().nth(MAX_SHOWN).is_some() {
        short.push('…');
    }
    short
}

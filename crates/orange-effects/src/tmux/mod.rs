//! One tmux server, and the runs in its panes.
//!
//! A pane is identified by its id together with the server that assigned the id. Before a command
//! closes a pane or writes to it, the server itself checks that it is the expected server and that
//! the pane has the expected mark. A restarted server assigns the same ids again, and a name can
//! match more than one target, so neither an id nor a name is ever enough.

mod attach;
mod bell;
mod call;
mod capture;
mod connecting;
mod control;
mod guard;
mod id;
mod kill;
mod listing;
mod long_lived_client;
mod name;
mod nudge;
mod observe;
mod pane_snapshot;
mod screen;
mod screens;
mod start;

pub use attach::AttachCommand;
pub use capture::PaneOutput;
pub use control::{Control, ControlEvent};
pub use id::{IdError, PaneId, SessionId, WindowId};
pub use kill::{KillRequest, KillResult, Leftovers};
pub use listing::{ListedPane, Listing, PaneState};
pub use name::{session_name, window_name};
pub use nudge::{Obstacle, TypingState};
pub use observe::{Observation, observe};
pub use pane_snapshot::{PaneEntry, PaneSnapshot};
pub use screen::Screen;
pub use screens::{PaneScreen, Screens};
pub use start::{StartRequest, StartResult};

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use orange_config::Environment;
use orange_engine::names::RunId;
use serde::{Deserialize, Serialize};

use super::command::CommandError;
use super::private_file::PrivateFileError;
use super::process::{ProcessError, ProcessIdentity};

/// How long tmux may take to answer.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);

/// Which server to use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Socket {
    /// Orange's server, at this path; the user's settings do not affect it.
    Private(PathBuf),
    /// The user's server, at this path; its options are left unchanged.
    Own(PathBuf),
}

impl Socket {
    /// The server that the user reaches with a plain `tmux`. The `TMUX` variable is ignored: a
    /// performer must find the same server wherever it was started.
    pub fn of_user(environment: &Environment) -> Self {
        let folder = environment
            .variable("TMUX_TMPDIR")
            .unwrap_or("/tmp".as_ref());
        let user = rustix::process::getuid().as_raw();
        let folder = Path::new(folder).join(format!("tmux-{user}"));
        Self::Own(folder.join("default"))
    }
}

/// A tmux server, whether it runs or not.
#[derive(Clone, Debug)]
pub struct Tmux {
    program: OsString,
    socket: Socket,
    environment: BTreeMap<OsString, OsString>,
    timeout: Duration,
    /// The configuration that a new private server reads.
    config: PathBuf,
    /// The shell command that prints a task's status; it gets the task as its argument.
    status_command: Option<String>,
    /// The `orange` binary that ends long-lived tmux clients when this process ends.
    orange: Option<PathBuf>,
}

/// One server process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerIdentity {
    /// The socket it listens on.
    pub socket: PathBuf,
    pub process: ProcessIdentity,
    /// When it started, in seconds since the epoch, as it reports itself.
    pub started: i64,
}

/// The pane of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pane {
    /// The run; the pane carries its id as its mark.
    pub run: RunId,
    /// The run file it was started from.
    pub run_file: PathBuf,
    /// The server that assigned the ids.
    pub server: ServerIdentity,
    pub session: SessionId,
    pub window: WindowId,
    pub pane: PaneId,
    /// The agent's process, unless it exited before we looked.
    pub process: Option<ProcessIdentity>,
    pub session_name: String,
    pub window_name: String,
}

/// Why a tmux operation failed.
#[derive(Debug, thiserror::Error)]
pub enum TmuxError {
    /// No server is listening.
    #[error("no tmux server listens on `{}`", .0.display())]
    NoServer(PathBuf),
    /// The call failed, or tmux refused.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// The answer of tmux is malformed.
    #[error("cannot parse the answer of tmux: `{0}`")]
    Garbled(String),
    #[error("tmux {found} is too old: orange needs {needed} or newer; install a newer tmux")]
    TooOld {
        /// The installed version.
        found: String,
        needed: &'static str,
    },
    /// The path of the socket is too long.
    #[error(
        "cannot listen on `{}`: the path of a socket has at most {limit} bytes; choose a shorter \
         ORANGE_HOME",
        .path.display()
    )]
    SocketTooLong {
        path: PathBuf,
        /// The longest allowed path.
        limit: usize,
    },
    /// The value has a special meaning to tmux.
    #[error("cannot give tmux the {what} `{value}`: an id has letters, digits, `-` and `_` only")]
    NotPlain {
        /// The kind of value.
        what: &'static str,
        value: String,
    },
    /// The long-lived client has lost its server.
    #[error("the connection to tmux has ended: {0}")]
    Disconnected(String),
    /// The pane is gone, or is not ours.
    #[error("pane {pane} no longer belongs to run `{run}`: nothing was done")]
    NotOurs {
        pane: PaneId,
        /// The expected run.
        run: RunId,
    },
    /// The user is scrolling in it, or its agent has ended.
    #[error("pane {0} accepts no input now: you are scrolling in it, or its agent has exited")]
    NoInput(PaneId),
    /// A nudge must be one short line.
    #[error("cannot type `{0}` into the terminal of an agent: it must be one line of at most {limit} characters", limit = nudge::MAX_CHARS)]
    NotALine(String),
    #[error(transparent)]
    File(#[from] PrivateFileError),
    #[error(transparent)]
    Process(#[from] ProcessError),
}

impl Tmux {
    /// The server at a socket; `program` is a path or a name on the `PATH` of `environment`.
    pub fn new(program: impl Into<OsString>, socket: Socket, environment: &Environment) -> Self {
        Self {
            program: program.into(),
            socket,
            environment: environment.passed_variables([]),
            timeout: DEFAULT_TIMEOUT,
            config: PathBuf::from("/dev/null"),
            status_command: None,
            orange: None,
        }
    }

    /// Sets the `orange` binary that ends long-lived tmux clients when this process ends.
    #[must_use]
    pub fn tethered(mut self, orange: PathBuf) -> Self {
        self.orange = Some(orange);
        self
    }

    /// Shows the output of this shell command in the status line, with the task as its argument.
    /// tmux runs it only while a client is attached.
    #[must_use]
    pub fn status_command(mut self, command: Option<String>) -> Self {
        self.status_command = command;
        self
    }

    /// Makes a new private server read the user's configuration.
    #[must_use]
    pub fn config(mut self, config: Option<PathBuf>) -> Self {
        self.config = config.unwrap_or(self.config);
        self
    }

    /// Sets the timeout for each answer.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sets an environment variable for every tmux call, and so for a server that a call starts.
    #[must_use]
    pub fn variable(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.environment
            .insert(name.into(), value.as_ref().to_owned());
        self
    }

    pub fn socket(&self) -> &Path {
        match &self.socket {
            Socket::Private(path) | Socket::Own(path) => path,
        }
    }
}

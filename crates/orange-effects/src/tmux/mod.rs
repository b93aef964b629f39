//! One tmux server, and the runs in its panes.
//!
//! Panes are meant by their id together with the server that gave it, and everything that ends or
//! writes to one is done by the server itself under the condition that the server and the pane's own
//! mark are the expected ones. A restarted server hands out the same ids again, and names match more
//! than they say, so neither is ever enough.

mod attach;
mod bell;
mod call;
mod capture;
mod control;
mod guard;
mod id;
mod kill;
mod lasting;
mod listing;
mod name;
mod nudge;
mod observe;
mod roll;
mod screen;
mod screens;
mod start;

pub use attach::Attach;
pub use capture::Captured;
pub use control::{Control, Heard};
pub use id::{IdError, PaneId, SessionId, WindowId};
pub use kill::{Kill, Killed, Leftovers};
pub use listing::{Listed, Listing, PaneState};
pub use name::{session_name, window_name};
pub use nudge::{Ground, Obstacle};
pub use observe::{Observation, observe};
pub use roll::{Called, Roll};
pub use screen::Screen;
pub use screens::{Screens, Shown};
pub use start::{Start, Started};

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
const USUAL_TIMEOUT: Duration = Duration::from_secs(10);

/// Which server is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Socket {
    /// One of our own, at this path; the person's settings do not reach it.
    Private(PathBuf),
    /// The person's own, at this path; its options are left as they are.
    Own(PathBuf),
}

impl Socket {
    /// The server that a person gets who types `tmux`. A `TMUX` variable is not asked: whoever
    /// performs must find the same server from wherever it was started.
    pub fn own(environment: &Environment) -> Self {
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
}

/// One life of a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerIdentity {
    /// Where it listens.
    pub socket: PathBuf,
    pub process: ProcessIdentity,
    /// When it started, in seconds since the epoch, by its own account.
    pub started: i64,
}

/// Where a run lives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pane {
    /// The run, which the pane carries as its mark.
    pub run: RunId,
    /// What it was started from.
    pub run_file: PathBuf,
    /// The server that gave the ids.
    pub server: ServerIdentity,
    pub session: SessionId,
    pub window: WindowId,
    pub pane: PaneId,
    /// The agent's process, unless it ended before it was looked at.
    pub process: Option<ProcessIdentity>,
    /// What people call the session.
    pub session_name: String,
    /// What people call the window.
    pub window_name: String,
}

/// Why tmux did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum TmuxError {
    /// Nobody listens.
    #[error("no tmux server listens on `{}`", .0.display())]
    NoServer(PathBuf),
    /// It could not be asked, or said no.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// Its answer makes no sense.
    #[error("cannot understand tmux: it answered `{0}`")]
    Garbled(String),
    /// It lacks what is needed.
    #[error("tmux {found} is too old: orange needs {needed} or newer; install a newer tmux")]
    TooOld {
        /// What is installed.
        found: String,
        needed: &'static str,
    },
    /// A socket's path may be only so long.
    #[error(
        "cannot listen on `{}`: the path of a socket has at most {limit} bytes; choose a shorter \
         ORANGE_HOME",
        .path.display()
    )]
    SocketTooLong {
        path: PathBuf,
        /// How long it may be.
        limit: usize,
    },
    /// It would mean something to tmux.
    #[error("cannot give tmux the {what} `{value}`: an id has letters, digits, `-` and `_` only")]
    NotPlain {
        /// Which value.
        what: &'static str,
        value: String,
    },
    /// The watching client has lost its server.
    #[error("the connection to tmux has ended: {0}")]
    Disconnected(String),
    /// The pane is gone, or somebody else's.
    #[error("pane {pane} is not that of run `{run}` any more: nothing was done")]
    NotOurs {
        pane: PaneId,
        /// The run that was expected in it.
        run: RunId,
    },
    /// Somebody scrolls in it, or its agent has ended.
    #[error("pane {0} takes no input now: somebody scrolls in it, or its agent has ended")]
    NoInput(PaneId),
    /// A nudge is one short line.
    #[error("cannot nudge with `{0}`: write one line of at most {limit} characters", limit = nudge::LONGEST)]
    NotALine(String),
    /// A file could not be written.
    #[error(transparent)]
    File(#[from] PrivateFileError),
    /// A process could not be looked at or ended.
    #[error(transparent)]
    Process(#[from] ProcessError),
}

impl Tmux {
    /// The server at a socket; `program` is a path or a name on the `PATH` of `environment`.
    pub fn new(program: impl Into<OsString>, socket: Socket, environment: &Environment) -> Self {
        Self {
            program: program.into(),
            socket,
            environment: environment.passed([]),
            timeout: USUAL_TIMEOUT,
        }
    }

    /// With this much time for each answer.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// With a variable that the server sees too, when a call starts it.
    #[must_use]
    pub fn variable(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.environment
            .insert(name.into(), value.as_ref().to_owned());
        self
    }

    /// Where it listens.
    pub fn socket(&self) -> &Path {
        match &self.socket {
            Socket::Private(path) | Socket::Own(path) => path,
        }
    }
}

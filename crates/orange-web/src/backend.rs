//! What the server needs from orange, as functions.

use std::ffi::OsString;
use std::fmt;
use std::net::SocketAddrV4;
use std::time::Duration;

use serde::Serialize;

use crate::operations::Scope;

/// A question that may fail. No HTTP answer contains the error.
type Question<Input, Output> = Box<dyn Fn(Input) -> Result<Output, String> + Send + Sync>;
type TextQuestion<Output> = Box<dyn Fn(&str) -> Result<Output, String> + Send + Sync>;

/// The functions. Each may take long, so the server calls them on threads of their own.
pub struct Backend {
    /// Runs a command.
    pub call: Box<dyn Fn(&Call) -> Reply + Send + Sync>,
    /// Finds the device with a token; an error refuses every device.
    pub device: TextQuestion<Option<Device>>,
    /// The ids of all devices.
    pub device_ids: Question<(), Vec<String>>,
    /// Pairs a device by its code; `None` if the code cannot be used.
    pub pair: TextQuestion<Option<Pairing>>,
    /// The secret of webhooks; `None` while they are off.
    pub webhook_secret: Question<(), Option<String>>,
    /// Notes that something may have changed in the repository with a URL.
    pub hint: TextQuestion<()>,
    /// Who has connected from the first address to the second.
    pub peer: Box<dyn Fn(SocketAddrV4, SocketAddrV4) -> Peer + Send + Sync>,
    /// Waits until something may have changed, at most this long; whether there was a sign.
    pub wait_for_change: Box<dyn Fn(Duration) -> bool + Send + Sync>,
    /// The ids of the requests for permission that wait for an answer.
    pub open_requests: Question<(), Vec<String>>,
    /// What was changed after a commit.
    pub commits_after: Question<u64, Commits>,
    /// The description of the API.
    pub description: String,
}

impl fmt::Debug for Backend {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Backend").finish_non_exhaustive()
    }
}

/// A command to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The words of the command line, with the program's name.
    pub words: Vec<OsString>,
}

/// What a command answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// Its exit code.
    pub exit: u8,
    /// Its answer in JSON.
    pub answer: Vec<u8>,
}

/// A device that was found by its token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// Names this pairing of the device.
    pub id: String,
    pub scope: Scope,
}

/// A device that was just paired.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Pairing {
    /// The name of the device.
    pub name: String,
    pub scope: Scope,
    /// Send it as `Authorization: Bearer TOKEN`; it is shown only here.
    pub token: String,
}

/// Who is at the other end of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Peer {
    User,
    /// An agent, or something that cannot be identified.
    Refused(String),
    /// The system does not tell.
    Unknown,
}

/// What commits have changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Commits {
    /// Tells the database from another one that replaced it, and that counts anew; zeros if there is
    /// none yet.
    pub database: (u64, u64),
    /// The last commit.
    pub last: u64,
    /// The last commit that was looked at; if there are many, the last ones are not.
    pub sequence: u64,
    pub commits: Vec<Commit>,
}

/// What one commit has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    pub sequence: u64,
    pub changes: Vec<Change>,
}

/// A task that has changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[schemars(rename = "ChangedTask")]
pub struct Change {
    pub task: String,
    /// Its version after the commit.
    pub version: u64,
    /// Its status after the commit.
    pub status: String,
}

//! Prevents changes of sessions while a client connects to the server.
//!
//! Before tmux 3.7, a server crashes if it has to report a change to a client in control mode that
//! has not finished connecting, and every agent dies with it. So orange makes no change while one
//! of its clients connects, and no client connects to a server that does not answer: clients that
//! gave up would stay in its queue, and the server would report each of them to the next. What the
//! user does in tmux at that moment cannot be held back.

use std::ffi::OsString;
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;
use std::time::Duration;

use orange_config::clock::Deadline;

use super::call::Call;
use super::{Tmux, TmuxError};

/// How long a permit is waited for; a server that does not answer must not block orange.
const PERMIT_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a server may take to answer before a client connects to it.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);

/// The permission to connect, or to change sessions, until it is dropped.
#[derive(Debug)]
pub(super) struct Permit {
    _file: Option<File>,
}

impl Tmux {
    /// Waits until no client is connecting; none will connect while sessions are changed.
    pub(super) fn permit_change(&self) -> Permit {
        self.wait_for_permit(File::try_lock_shared)
    }

    /// Waits until no session is being changed; none will be changed while a client connects.
    ///
    /// Fails if the server does not answer. Once it answers, it has dealt with every earlier
    /// client, because it accepts them in order.
    pub(super) fn permit_connection(&self) -> Result<Permit, TmuxError> {
        let permit = self.wait_for_permit(File::try_lock);
        let tmux = self.clone().timeout(ANSWER_TIMEOUT);
        match tmux.call(&[Call::new(["display-message", "-p", ""])]) {
            Ok(_) | Err(TmuxError::NoServer(_)) => Ok(permit),
            Err(error) => Err(error),
        }
    }

    /// If the lock file cannot be opened, or after the timeout, orange goes on without protection.
    fn wait_for_permit(&self, lock: impl Fn(&File) -> Result<(), TryLockError>) -> Permit {
        let Ok(file) = self.open_permit() else {
            return Permit { _file: None };
        };
        Deadline::after(PERMIT_TIMEOUT)
            .wait_for(|| !matches!(lock(&file), Err(TryLockError::WouldBlock)));
        Permit { _file: Some(file) }
    }

    fn open_permit(&self) -> io::Result<File> {
        let mut path = OsString::from(self.socket());
        path.push(".clients");
        let mut options = OpenOptions::new();
        let options = options.write(true).create(true).truncate(false).mode(0o600);
        options.open(PathBuf::from(path))
    }
}

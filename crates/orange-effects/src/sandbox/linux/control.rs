//! Sockets and files between the processes around a sandboxed agent.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, Mode, OFlags, memfd_create, open};
use signal_hook::iterator::backend::SignalDelivery;
use signal_hook::iterator::exfiltrator::SignalOnly;

/// How long a message that is already on its way may take.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Becomes the next process with the usual signals ignored: a kill of a run signals all its processes, and bwrap
/// would take the agent down before the agent can clean up. `sandbox-init` gets its own handlers.
pub(super) const IGNORING: &str = "trap '' HUP INT QUIT TERM; exec \"$@\"";

/// The signals that a process receives, which a poll notices.
pub(crate) type Signals = SignalDelivery<UnixStream, SignalOnly>;

/// From now on these signals are only reported.
pub(crate) fn watch_signals(signals: &[i32]) -> io::Result<Signals> {
    let (read, write) = UnixStream::pair()?;
    SignalDelivery::with_pipe(read, write, SignalOnly, signals)
}

/// A file in memory that a child inherits; its position is at the start.
pub(super) fn inherited_file(bytes: &[u8]) -> io::Result<File> {
    let mut file = File::from(memfd_create("orange", MemfdFlags::empty())?);
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(file)
}

/// Listens at a name in a folder, in place of an earlier socket. The name of a socket is short, so
/// the folder is named by its descriptor.
pub(super) fn listen_in(folder: &Path, name: &str) -> io::Result<UnixListener> {
    use std::os::fd::AsRawFd as _;
    match fs::remove_file(folder.join(name)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = open(folder, flags, Mode::empty())?;
    UnixListener::bind(format!("/proc/self/fd/{}/{name}", opened.as_raw_fd()))
}

/// Connects to a socket in a folder, whose path may be too long for a connection.
pub(super) fn connect_in(folder: &Path, name: &str) -> io::Result<UnixStream> {
    connect_file(&folder.join(name))
}

/// Connects to a socket at a path that may be too long for a connection.
pub(super) fn connect_file(path: &Path) -> io::Result<UnixStream> {
    use std::os::fd::AsRawFd as _;
    let socket = open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
    UnixStream::connect(format!("/proc/self/fd/{}", socket.as_raw_fd()))
}

/// Waits until one of the descriptors can be read; says for each whether it can.
pub(crate) fn wait_readable<const N: usize>(
    descriptors: [Option<BorrowedFd<'_>>; N],
    timeout: Option<Duration>,
) -> io::Result<[bool; N]> {
    let timeout = timeout.and_then(|it| Timespec::try_from(it).ok());
    let present = descriptors.iter().flatten();
    let mut polled: Vec<PollFd<'_>> = present
        .map(|it| PollFd::from_borrowed_fd(*it, PollFlags::IN))
        .collect();
    match poll(&mut polled, timeout.as_ref()) {
        Err(rustix::io::Errno::INTR) => return Ok([false; N]),
        result => result?,
    };
    let mut results = polled.iter().map(|it| !it.revents().is_empty());
    Ok(descriptors.map(|it| it.is_some() && results.next().unwrap_or(false)))
}

/// The end of a conversation in which only the first connection counts.
pub(super) enum FirstConnection {
    Listening(UnixListener),
    Open(UnixStream, Vec<u8>),
    Closed(Vec<u8>),
}

impl FirstConnection {
    pub(super) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        match self {
            FirstConnection::Listening(listener) => Some(listener.as_fd()),
            FirstConnection::Open(stream, _) => Some(stream.as_fd()),
            FirstConnection::Closed(_) => None,
        }
    }

    /// Accepts the connection or reads from it. Returns whether it was accepted now.
    pub(super) fn advance(&mut self) -> io::Result<bool> {
        match self {
            FirstConnection::Listening(listener) => {
                let (stream, _) = listener.accept()?;
                *self = FirstConnection::Open(stream, Vec::new());
                Ok(true)
            }
            FirstConnection::Open(stream, received) => {
                let mut part = [0; 4096];
                let count = stream.read(&mut part).unwrap_or(0);
                received.extend_from_slice(&part[..count]);
                if count == 0 {
                    *self = FirstConnection::Closed(std::mem::take(received));
                }
                Ok(false)
            }
            FirstConnection::Closed(_) => Ok(false),
        }
    }

    /// Sends to the other side, if it is there.
    pub(super) fn send(&mut self, bytes: &[u8]) -> bool {
        match self {
            FirstConnection::Open(stream, _) => stream.write_all(bytes).is_ok(),
            _ => false,
        }
    }

    /// Everything that was received, once the other side has ended. `None` if it never connected.
    pub(super) fn into_received(mut self) -> Option<Vec<u8>> {
        if let FirstConnection::Listening(listener) = &self {
            listener.set_nonblocking(true).ok()?;
            self.advance().ok()?;
        }
        match self {
            FirstConnection::Listening(_) => None,
            FirstConnection::Open(mut stream, mut received) => {
                let _as_before = stream.set_nonblocking(false);
                let _as_before = stream.set_read_timeout(Some(LAST_WORDS));
                let _incomplete = stream.read_to_end(&mut received);
                Some(received)
            }
            FirstConnection::Closed(received) => Some(received),
        }
    }
}

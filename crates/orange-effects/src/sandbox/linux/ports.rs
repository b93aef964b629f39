//! Finds process 1 of a sandbox, for ports inside it.

use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::net::UnixStream;
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags, fstat, open, openat};

use crate::sandbox::network::{PortForward, reach};
use crate::sandbox::places::{PORTS_FOLDER, PORTS_SOCKET};

/// Whether a server listens on a port inside the sandbox whose sockets are in this folder.
pub fn has_server(folder: &Path, port: u16) -> io::Result<bool> {
    Ok(reach(connect(folder)?, port)?.is_some())
}

/// Passes connections on until this process ends.
pub fn forward_port(folder: &Path, forward: PortForward) {
    let folder = folder.to_owned();
    forward.serve(move || connect(&folder));
}

/// Connects to process 1. The agent can write in the folder of its socket, so no link there is
/// followed.
fn connect(folder: &Path) -> io::Result<UnixStream> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let ports = open(
        folder.join(PORTS_FOLDER),
        flags | OFlags::DIRECTORY,
        Mode::empty(),
    )?;
    let socket = openat(&ports, PORTS_SOCKET, flags, Mode::empty())?;
    if FileType::from_raw_mode(fstat(&socket)?.st_mode) != FileType::Socket {
        return Err(io::ErrorKind::NotFound.into());
    }
    UnixStream::connect(format!("/proc/self/fd/{}", socket.as_raw_fd()))
}

//! Our own files inside a sandbox.

use std::path::Path;

/// The folder with our own files inside a sandbox.
pub(super) const FOLDER: &str = "/run/orange";

/// What `sandbox-confine` starts; it removes the file before it does.
pub(super) const PLAN: &str = "/run/orange/plan.json";

/// The socket of `exec-run`, where process 1 reports the ending.
pub(super) const CONTROL: &str = "/run/orange/control";

/// The socket of process 1, where `sandbox-confine` reports a failed start.
pub(super) const START: &str = "/run/orange/start";

/// The socket of `exec-run` for calls of `orange`. For a program without an agent, a link to
/// nothing.
pub(super) const BROKER: &str = "/run/orange/broker";

/// The socket of the proxy for listed hosts.
pub(super) const PROXY: &str = "/run/orange/proxy";

/// The socket for requests with the user's login.
pub(super) const LOGIN: &str = "/run/orange/login";

/// The folder of the socket where process 1 connects callers from outside to ports inside. It has
/// this name outside.
pub(super) const PORTS: &str = "/run/orange/ports";
pub(super) const PORTS_FOLDER: &str = "ports";
pub(super) const PORTS_SOCKET: &str = "socket";

/// The objects of the real repository.
pub const OBJECTS: &str = "/run/orange/objects";

/// The repository that stands for the remote.
pub const UPSTREAM: &str = "/run/orange/upstream";

/// Whether this process runs in a sandbox of orange, where no home of orange is visible.
pub fn is_inside() -> bool {
    Path::new(BROKER).symlink_metadata().is_ok()
}

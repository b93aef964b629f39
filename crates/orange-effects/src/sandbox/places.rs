//! Our own files inside a sandbox.

use std::path::{Path, PathBuf};

use orange_config::{Environment, ORANGE_SANDBOX_CALLS, ORANGE_SANDBOX_FOLDER};

/// The folder with our own files inside a sandbox.
pub(super) const FOLDER: &str = "/run/orange";

/// What `sandbox-confine` starts; it removes the file before it does.
pub(super) const PLAN: &str = "/run/orange/plan.json";
pub(super) const PLAN_FILE: &str = "plan.json";

/// The socket of `exec-run`, where `sandbox-init` reports the ending.
pub(super) const CONTROL: &str = "/run/orange/control";
pub(super) const CONTROL_SOCKET: &str = "control";

/// The socket of `sandbox-init` in the same folder, where `sandbox-confine` reports a failed start.
pub(super) const START_SOCKET: &str = "start";

/// The socket of `exec-run` for calls of `orange`. For a program without an agent, a link to
/// nothing.
pub(super) const BROKER: &str = "/run/orange/broker";

/// The names of the sockets outside.
pub(super) const BROKER_SOCKET: &str = "broker";
pub(super) const PROXY_SOCKET: &str = "proxy";
pub(super) const LOGIN_SOCKET: &str = "login";

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

/// The folder in which the processes around an agent meet. At the partial level it is the working
/// directory of `sandbox-init`, because the path of a socket is short.
pub(super) fn meeting_folder(environment: &Environment) -> PathBuf {
    let named = environment.variable(ORANGE_SANDBOX_FOLDER);
    named.map_or_else(|| PathBuf::from(FOLDER), PathBuf::from)
}

/// Whether this process runs in a sandbox of orange, where it cannot use a home of orange.
pub fn is_inside(environment: &Environment) -> bool {
    environment.variable(ORANGE_SANDBOX_CALLS).is_some()
        || Path::new(BROKER).symlink_metadata().is_ok()
}

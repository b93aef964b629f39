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

/// The socket of `exec-run` for work that must be done outside.
pub(super) const OUTSIDE: &str = "/run/orange/outside";

/// Whether this process runs in a sandbox of orange: it cannot see the processes outside, so a
/// process that it does not find may still run.
pub fn is_inside() -> bool {
    Path::new(OUTSIDE).exists()
}

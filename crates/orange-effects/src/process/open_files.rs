//! This process's limit on open files.

use std::sync::OnceLock;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The limit before this process raised it.
static BEFORE: OnceLock<u64> = OnceLock::new();

/// Raises this process's limit on open files as far as the system allows: with a thousand agents, a
/// handle for each exceeds the usual limit.
///
/// If the system refuses, the usual limit stays.
pub fn raise_open_file_limit() {
    let limit = getrlimit(Resource::Nofile);
    if let Some(before) = limit.current {
        let _known = BEFORE.set(before);
    }
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    let _refused = setrlimit(Resource::Nofile, raised);
}

/// The open-file limit for agents that this process starts: the limit that this process had before
/// it raised it. Programs that use `select` break with a higher limit.
pub fn original_open_file_limit() -> Option<u64> {
    let current = || getrlimit(Resource::Nofile).current;
    BEFORE.get().copied().or_else(current)
}

/// Lowers the limit to this number, for the program that replaces this process.
pub fn set_open_file_limit(target: u64) {
    let limit = getrlimit(Resource::Nofile);
    let lowered = Rlimit {
        current: Some(limit.maximum.map_or(target, |most| target.min(most))),
        maximum: limit.maximum,
    };
    let _refused = setrlimit(Resource::Nofile, lowered);
}

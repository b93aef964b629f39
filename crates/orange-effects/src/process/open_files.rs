//! How many files this process may have open.

use std::sync::OnceLock;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// What was allowed before this process allowed itself more.
static BEFORE: OnceLock<u64> = OnceLock::new();

/// Allows this process as many open files as the system lets it ask for: a handle for each agent
/// is more than the usual number when there are a thousand.
///
/// Where the system says no, the usual number has to do.
pub fn allow_many_open_files() {
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

/// How many files an agent may have open that this process starts: as many as this process might
/// before it raised its own limit. Programs that wait for files by their numbers break with more.
pub fn usual_open_files() -> Option<u64> {
    let now = || getrlimit(Resource::Nofile).current;
    BEFORE.get().copied().or_else(now)
}

/// Takes the limit back to this number, for the program that this process becomes.
pub fn limit_open_files(usual: u64) {
    let limit = getrlimit(Resource::Nofile);
    let lowered = Rlimit {
        current: Some(limit.maximum.map_or(usual, |most| usual.min(most))),
        maximum: limit.maximum,
    };
    let _refused = setrlimit(Resource::Nofile, lowered);
}

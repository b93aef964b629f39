//! How many files this process may have open.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Allows this process as many open files as the system lets it ask for: a handle for each agent
/// is more than the usual number when there are a thousand.
///
/// Where the system says no, the usual number has to do.
pub fn allow_many_open_files() {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    let _refused = setrlimit(Resource::Nofile, raised);
}

//! Which run this process was started by, however indirectly.

use orange_engine::names::RunId;

use super::{ProcessError, system};
use crate::config::ORANGE_RUN_ID;

/// Nobody is nested deeper; a table that changes while it is walked must not hold us up.
const DEEPEST: usize = 256;

/// The run whose variables a process above this one carries, the nearest first.
///
/// An agent may hide its variables from what it starts; it cannot hide that it is the parent.
pub fn run_above() -> Result<Option<RunId>, ProcessError> {
    let mut pid = std::process::id();
    for _ in 0..DEEPEST {
        let Some(stat) = system::stat(pid)? else {
            return Ok(None);
        };
        if let Some(run) = run_of(stat.parent) {
            return Ok(Some(run));
        }
        if stat.parent <= 1 {
            return Ok(None);
        }
        pid = stat.parent;
    }
    Ok(None)
}

fn run_of(pid: u32) -> Option<RunId> {
    let environment = system::environment(pid)?;
    let mut entries = environment.split(|byte| *byte == 0);
    let value = entries.find_map(|entry| {
        let rest = entry.strip_prefix(ORANGE_RUN_ID.as_bytes())?;
        rest.strip_prefix(b"=")
    })?;
    let run = std::str::from_utf8(value).ok()?;
    (!run.is_empty()).then(|| RunId::new(run))
}

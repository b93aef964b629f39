//! Sets the limits of a sandboxed agent.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::sandbox::description::Limits;

/// Sets the limits; a lower limit that is already there stays.
pub(super) fn set_limits(limits: Limits) -> rustix::io::Result<()> {
    let wanted = [
        (Resource::Nproc, limits.processes),
        (Resource::Fsize, limits.file_bytes),
    ];
    for (resource, limit) in wanted {
        let Some(limit) = limit else { continue };
        let before = getrlimit(resource);
        let lowest = |known: Option<u64>| known.map_or(limit, |known| known.min(limit));
        let new = Rlimit {
            current: Some(lowest(before.current)),
            maximum: Some(lowest(before.maximum)),
        };
        setrlimit(resource, new)?;
    }
    Ok(())
}

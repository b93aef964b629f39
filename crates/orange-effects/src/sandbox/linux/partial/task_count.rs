//! Counts what already runs for this user.

use std::fs;
use std::os::unix::fs::MetadataExt as _;

use rustix::process::geteuid;

use crate::sandbox::description::Limits;

/// Where the number of threads is in `/proc/PID/stat`, after the name.
const THREADS: usize = 17;

/// The same limits, in a place where the processes of the user outside count too.
pub(in crate::sandbox::linux) fn with_running(limits: Limits) -> Limits {
    Limits {
        processes: limits.processes.map(|processes| processes + running()),
        ..limits
    }
}

fn running() -> u64 {
    let user = geteuid().as_raw();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let own = entries.filter(|entry| entry.metadata().is_ok_and(|it| it.uid() == user));
    own.filter_map(|entry| {
        let text = fs::read_to_string(entry.path().join("stat")).ok()?;
        let (_, rest) = text.rsplit_once(')')?;
        rest.split_whitespace().nth(THREADS)?.parse::<u64>().ok()
    })
    .sum()
}

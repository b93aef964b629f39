//! What every sandbox shows of the system.

use std::fs;
use std::path::{Path, PathBuf};

use super::description::Mount;

/// How many bytes a temporary folder such as `/tmp` holds at most; it is in memory.
pub(super) const TEMPORARY_BYTES: u64 = 4_000_000_000;

/// Folders with programs that are shown if they exist.
const PROGRAMS: [&str; 4] = ["/usr", "/opt", "/nix", "/etc"];

/// Folders that are links into `/usr` on most systems.
const MERGED: [&str; 6] = ["bin", "lib", "lib32", "lib64", "libx32", "sbin"];

/// The system's programs and settings, read-only, and empty folders for temporary files. Nothing
/// else of the machine is visible unless a later mount shows it.
pub(super) fn system_mounts() -> Vec<Mount> {
    let mut mounts = Vec::new();
    for path in PROGRAMS.iter().filter(|path| Path::new(path).is_dir()) {
        mounts.push(Mount::ReadOnly { path: path.into() });
    }
    for name in MERGED {
        let path = Path::new("/").join(name);
        match fs::read_link(&path) {
            Ok(target) => mounts.push(Mount::Link {
                path: path.into(),
                target: target.into(),
            }),
            Err(_) if path.is_dir() => mounts.push(Mount::ReadOnly { path: path.into() }),
            Err(_) => {}
        }
    }
    for (path, bytes) in [
        ("/tmp", Some(TEMPORARY_BYTES)),
        ("/run", None),
        ("/var", None),
        ("/var/tmp", Some(TEMPORARY_BYTES)),
    ] {
        let path = path.into();
        mounts.push(Mount::Temporary { path, bytes });
    }
    // The settings of name resolution are often a link to a file of a running service.
    let resolver = Path::new("/etc/resolv.conf").canonicalize();
    if let Some(path) = resolver.ok().filter(|path| is_hidden(path)) {
        mounts.push(Mount::ReadOnly { path: path.into() });
    }
    mounts
}

/// Whether one of the empty folders hides a path.
pub(super) fn is_hidden(path: &Path) -> bool {
    ["/tmp", "/run", "/var"]
        .iter()
        .any(|folder| path.starts_with(folder))
}

/// Whether the mounts of the system already show a path.
pub(super) fn is_in_system(path: &Path) -> bool {
    let merged = MERGED.iter().map(|name| PathBuf::from("/").join(name));
    let mut shown = PROGRAMS.iter().map(PathBuf::from).chain(merged);
    shown.any(|folder| path.starts_with(folder))
}

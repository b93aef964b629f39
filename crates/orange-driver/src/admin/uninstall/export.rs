//! Moves your own files out of the home, then removes the home.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use orange_config::{Home, reason};

use crate::DriverError;

/// Marks an export that was begun and not finished; the next attempt continues it.
const UNFINISHED: &str = ".unfinished";

/// Entries of the home that are yours, or that you may want to read.
const MOVED: [&str; 12] = [
    "tasks",
    "trash",
    "pull-requests",
    "workflows",
    "harnesses",
    "skills",
    "policies",
    "config.toml",
    "projects.json",
    "jobs.toml",
    "notes.json",
    "drafts.json",
];

/// Entries that only orange reads.
const DELETED_FILES: [&str; 16] = [
    "orange.db",
    "orange.db-wal",
    "orange.db-shm",
    "safe-workflows.json",
    "environment.json",
    "tmux.sock",
    "tmux.sock.clients",
    "projects.lock",
    "jobs.lock",
    "notes.lock",
    "drafts.lock",
    "posting.lock",
    "forge-looks.json",
    "notifications.json",
    "supervisor.wanted",
    "supervisor.lock",
];

/// Directories that only orange uses.
const DELETED_FOLDERS: [&str; 10] = [
    "attempts",
    "chat",
    "forge-hints",
    "git",
    "verification/.trash",
    "workspaces/.locks",
    "workspaces/.ports",
    "workspaces/.incoming",
    "workspaces/.removed",
    // Tokens are of no use without orange.
    "web",
];

/// Directories that are removed once they are empty.
const EMPTIED: [&str; 7] = [
    "workspaces/.set-aside",
    "workspaces",
    "verification",
    "tasks",
    "trash",
    "workflows",
    "harnesses",
];

/// The directory for your own files, beside the home: the one of an interrupted attempt, else a new
/// one. If the home is a link, the directory is beside the link's target, because a file can be
/// renamed only within its disk.
pub(super) fn folder(home: &Home) -> PathBuf {
    let home = real_path(home);
    let name = home.file_name().unwrap_or(OsStr::new("orange"));
    let name = name.to_string_lossy();
    let beside = |number: u32| match number {
        1 => home.with_file_name(format!("{name}-export")),
        _ => home.with_file_name(format!("{name}-export-{number}")),
    };
    let is_usable = |it: &PathBuf| !it.exists() || it.join(UNFINISHED).exists();
    let found = (1..=u32::MAX).map(beside).find(is_usable);
    found.unwrap_or_else(|| beside(1))
}

fn real_path(home: &Home) -> PathBuf {
    let real = home.path().canonicalize();
    real.unwrap_or_else(|_| home.path().to_owned())
}

/// Moves one path into the export, under a name that is free there.
pub(super) fn move_into(export: &Path, from: &Path, name: &str) -> Result<(), DriverError> {
    let failed = |error: &io::Error| file_error("move", from, error);
    let begun = fs::create_dir_all(export).and_then(|()| fs::write(export.join(UNFINISHED), ""));
    begun.map_err(|error| file_error("write", export, &error))?;
    let named = |number: u32| match number {
        1 => export.join(name),
        _ => export.join(format!("{name}-{number}")),
    };
    let free = (1..=u32::MAX)
        .map(named)
        .find(|to| fs::symlink_metadata(to).is_err());
    let to = free.unwrap_or_else(|| named(1));
    if let Some(parent) = to.parent() {
        fs::create_dir_all(parent).map_err(|error| failed(&error))?;
    }
    fs::rename(from, &to).map_err(|error| failed(&error))
}

/// Moves your own files, and deletes everything else that orange put into the home. Returns what is
/// left there.
pub(super) fn empty_home(home: &Home, export: &Path) -> Result<Vec<PathBuf>, DriverError> {
    let set_aside = home.set_aside();
    if !is_empty(&set_aside) {
        move_into(export, &set_aside, "set-aside")?;
    }
    for name in MOVED {
        let path = home.path().join(name);
        if !is_empty(&path) {
            move_into(export, &path, name)?;
        }
    }
    for path in entries(home.path()) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_log = name.starts_with("orange.log");
        let is_draft = name.starts_with("draft-");
        let is_database = name.starts_with("orange.db") && !DELETED_FILES.contains(&&*name);
        if is_draft || is_database {
            move_into(export, &path, &name)?;
        } else if is_log {
            remove(&path, fs::remove_file(&path))?;
        }
    }
    for name in DELETED_FOLDERS {
        let path = home.path().join(name);
        remove(&path, fs::remove_dir_all(&path))?;
    }
    for name in EMPTIED {
        remove_empty(&home.path().join(name));
    }
    let left: Vec<PathBuf> = entries(home.path())
        .into_iter()
        .filter(|it| is_unknown(it))
        .collect();
    for name in DELETED_FILES {
        let path = home.path().join(name);
        remove(&path, fs::remove_file(&path))?;
    }
    if left.is_empty() {
        let real = real_path(home);
        remove(&real, fs::remove_dir(&real))?;
        if home.path().is_symlink() {
            remove(home.path(), fs::remove_file(home.path()))?;
        }
    }
    let _none = fs::remove_file(export.join(UNFINISHED));
    Ok(left)
}

/// Removes the empty directories in a directory, at any depth, and then the directory itself if it
/// is empty. What is left is reported later.
fn remove_empty(folder: &Path) {
    for path in entries(folder) {
        if path.is_dir() && !path.is_symlink() {
            remove_empty(&path);
        }
    }
    let _left = fs::remove_dir(folder);
}

/// The directories of worktrees in the home; the names of orange's other directories there begin
/// with a dot.
pub(super) fn worktrees(home: &Home) -> Vec<PathBuf> {
    unhidden(&home.workspaces())
}

/// The paths in a directory that do not begin with a dot, sorted.
pub(super) fn unhidden(folder: &Path) -> Vec<PathBuf> {
    let mut paths = entries(folder);
    paths.retain(|it| {
        let name = it.file_name().unwrap_or_default();
        !name.as_encoded_bytes().starts_with(b".")
    });
    paths
}

/// The paths in a directory, sorted; none if it cannot be read.
pub(super) fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

fn is_unknown(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default();
    !DELETED_FILES.iter().any(|it| name == OsStr::new(it))
}

/// Whether a path does not exist, or is a directory that contains no files at any depth.
fn is_empty(path: &Path) -> bool {
    match fs::symlink_metadata(path) {
        Ok(metadata) => {
            metadata.is_dir() && entries(path).iter().all(|it| it.is_dir() && is_empty(it))
        }
        Err(_) => true,
    }
}

fn remove(path: &Path, removed: io::Result<()>) -> Result<(), DriverError> {
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(file_error("remove", path, &error))
        }
        _ => Ok(()),
    }
}

fn file_error(attempt: &'static str, path: &Path, error: &io::Error) -> DriverError {
    DriverError::File {
        attempt,
        path: path.to_owned(),
        reason: reason(error),
    }
}

//! Writes files and links atomically.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, symlink};
use std::path::{Path, PathBuf};

use crate::error::StoreError;
use crate::steps::reach;

/// Writes a file: a reader sees either the old content or all of the new.
pub(crate) fn write(path: &Path, content: &[u8], mode: u32) -> Result<(), StoreError> {
    let new = temporary(path);
    write_synced(&new, content, mode)?;
    reach("a new file is written");
    rename(&new, path)?;
    sync_directory_of(path)
}

/// Updates a copy of what the database has; returns whether the copy was out of date. After a power
/// loss the previous version may be back, complete, until the next update.
pub(crate) fn write_if_changed(path: &Path, content: &[u8]) -> Result<bool, StoreError> {
    if fs::read(path).is_ok_and(|found| found == content) {
        return Ok(false);
    }
    let new = temporary(path);
    write_synced(&new, content, 0o600)?;
    reach("a new file is written");
    rename(&new, path)?;
    Ok(true)
}

/// Writes a file whose path must not exist; returns `false` when it does.
pub(crate) fn write_new(path: &Path, content: &[u8], mode: u32) -> Result<bool, StoreError> {
    let new = temporary(path);
    write_synced(&new, content, mode)?;
    reach("a new file is written");
    // A hard link, unlike a rename, never replaces an existing file.
    let linked = fs::hard_link(&new, path);
    reach("a new file has its name");
    remove(&new)?;
    match linked {
        Ok(()) => sync_directory_of(path).map(|()| true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(StoreError::file("write", path, &error)),
    }
}

/// Writes a file that no other process reads yet, and syncs it.
pub(crate) fn write_synced(path: &Path, content: &[u8], mode: u32) -> Result<(), StoreError> {
    // Remove what a killed process may have left at this path.
    remove(path)?;
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(path)
        .and_then(|mut file| {
            file.write_all(content)?;
            file.sync_all()
        })
        .map_err(|error| StoreError::file("write", path, &error))
}

/// Appends to a file that no other process reads yet.
pub(crate) fn append(path: &Path, content: &[u8]) -> Result<(), StoreError> {
    OpenOptions::new()
        .append(true)
        .open(path)
        .and_then(|mut file| file.write_all(content))
        .map_err(|error| StoreError::file("write", path, &error))
}

/// Syncs a file to disk; one that is gone by now needs no sync.
pub(crate) fn sync(path: &Path) -> Result<(), StoreError> {
    match File::open(path).and_then(|file| file.sync_all()) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(StoreError::file("sync", path, &error))
        }
        _ => Ok(()),
    }
}

/// Makes a path a link to a target, whatever it was before.
pub(crate) fn write_link(path: &Path, target: &Path) -> Result<(), StoreError> {
    let new = temporary(path);
    remove(&new)?;
    symlink(target, &new).map_err(|error| StoreError::file("link", &new, &error))?;
    reach("a link is made");
    rename(&new, path)?;
    sync_directory_of(path)
}

pub(crate) fn rename(from: &Path, to: &Path) -> Result<(), StoreError> {
    fs::rename(from, to).map_err(|error| StoreError::file("rename", from, &error))?;
    reach("a file has another name");
    Ok(())
}

/// Removes a path; not an error when it is already gone.
pub(crate) fn remove(path: &Path) -> Result<(), StoreError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(StoreError::file("remove", path, &error))
        }
        _ => Ok(()),
    }
}

/// Syncs the directory of a file, so that its names are durable.
pub(crate) fn sync_directory_of(path: &Path) -> Result<(), StoreError> {
    let directory = path.parent().unwrap_or(Path::new("/"));
    File::open(directory)
        .and_then(|opened| opened.sync_all())
        .map_err(|error| StoreError::file("sync", directory, &error))
}

/// The temporary name of a file while it is being written.
pub(crate) fn temporary(path: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(".orange-new");
    path.with_file_name(name)
}

//! Writes files and links whole or not at all.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, symlink};
use std::path::{Path, PathBuf};

use crate::error::StoreError;
use crate::steps::reached;

/// Puts a text under a name: whoever looks sees what was there before, or all of it.
pub(crate) fn write(path: &Path, content: &[u8], mode: u32) -> Result<(), StoreError> {
    let new = temporary(path);
    write_synced(&new, content, mode)?;
    reached("a new file is written");
    rename(&new, path)?;
    sync_directory_of(path)
}

/// Brings a copy of what the database has up to date; whether there was something to do. After a
/// loss of power the one before may be back, whole, until the next time.
pub(crate) fn write_if_changed(path: &Path, content: &[u8]) -> Result<bool, StoreError> {
    if fs::read(path).is_ok_and(|found| found == content) {
        return Ok(false);
    }
    let new = temporary(path);
    write_synced(&new, content, 0o600)?;
    reached("a new file is written");
    rename(&new, path)?;
    Ok(true)
}

/// Puts a text under a name that is not taken; answers with `false` when it is.
pub(crate) fn write_new(path: &Path, content: &[u8], mode: u32) -> Result<bool, StoreError> {
    let new = temporary(path);
    write_synced(&new, content, mode)?;
    reached("a new file is written");
    // A link, unlike a rename, never takes the place of what is there.
    let linked = fs::hard_link(&new, path);
    reached("a new file has its name");
    remove(&new)?;
    match linked {
        Ok(()) => sync_directory_of(path).map(|()| true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(StoreError::file("write", path, &error)),
    }
}

/// Writes a file that nobody looks at yet, down to the disk.
pub(crate) fn write_synced(path: &Path, content: &[u8], mode: u32) -> Result<(), StoreError> {
    // What a killed process left under the name is of no use to anybody.
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

/// Adds to a file that nobody looks at yet.
pub(crate) fn append(path: &Path, content: &[u8]) -> Result<(), StoreError> {
    OpenOptions::new()
        .append(true)
        .open(path)
        .and_then(|mut file| file.write_all(content))
        .map_err(|error| StoreError::file("write", path, &error))
}

/// Brings a file down to the disk; one that is gone by now needs no more.
pub(crate) fn sync(path: &Path) -> Result<(), StoreError> {
    match File::open(path).and_then(|file| file.sync_all()) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(StoreError::file("sync", path, &error))
        }
        _ => Ok(()),
    }
}

/// Makes a name a link to a target, whatever it was before.
pub(crate) fn write_link(path: &Path, target: &Path) -> Result<(), StoreError> {
    let new = temporary(path);
    remove(&new)?;
    symlink(target, &new).map_err(|error| StoreError::file("link", &new, &error))?;
    reached("a link is made");
    rename(&new, path)?;
    sync_directory_of(path)
}

/// Gives a file another name.
pub(crate) fn rename(from: &Path, to: &Path) -> Result<(), StoreError> {
    fs::rename(from, to).map_err(|error| StoreError::file("rename", from, &error))?;
    reached("a file has another name");
    Ok(())
}

/// Removes a name; one that is not there is removed already.
pub(crate) fn remove(path: &Path) -> Result<(), StoreError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(StoreError::file("remove", path, &error))
        }
        _ => Ok(()),
    }
}

/// Makes the names in the directory of a file durable.
pub(crate) fn sync_directory_of(path: &Path) -> Result<(), StoreError> {
    let directory = path.parent().unwrap_or(Path::new("/"));
    File::open(directory)
        .and_then(|opened| opened.sync_all())
        .map_err(|error| StoreError::file("sync", directory, &error))
}

/// The name under which a file is written before it gets its own.
pub(crate) fn temporary(path: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(".orange-new");
    path.with_file_name(name)
}

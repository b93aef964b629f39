//! Files that only the user may read.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use orange_config::reason;
use rustix::fs::OFlags;

/// Makes the temporary names of one process unique.
static NEXT: AtomicU32 = AtomicU32::new(0);

/// Why a private file could not be read or written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PrivateFileError {
    #[error("cannot {verb} `{}`: {reason}", .path.display())]
    System {
        verb: &'static str,
        path: PathBuf,
        reason: String,
    },
    /// Other users could read secrets in it, or could have written it.
    #[error(
        "cannot trust `{}`: other users can access it (mode {mode:04o}); run `chmod 600 {0}` if it is yours",
        .path.display()
    )]
    Exposed {
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// Another user could have written it.
    #[error("cannot trust `{}`: it belongs to another user", .path.display())]
    NotOwned { path: PathBuf },
    /// A link, a pipe or a device may become something else while we read it.
    #[error("cannot read `{}`: it is not a regular file", .path.display())]
    NotRegular { path: PathBuf },
    #[error("cannot read `{}`: permission denied", .path.display())]
    Denied { path: PathBuf },
    /// It is larger than anything we write.
    #[error("cannot read `{}`: it has more than {limit} bytes", .path.display())]
    TooLarge {
        path: PathBuf,
        /// The largest allowed size.
        limit: u64,
    },
}

impl PrivateFileError {
    fn system(verb: &'static str, path: &Path, error: &io::Error) -> Self {
        Self::System {
            verb,
            path: path.to_owned(),
            reason: reason(error),
        }
    }
}

/// Writes the file atomically and syncs it to disk; creates its directory when it is missing.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), PrivateFileError> {
    write_file(path, bytes, true)?;
    // Some file systems cannot sync a directory; the file is written nevertheless.
    let folder = path.parent().unwrap_or(Path::new("/"));
    let _unsynced = File::open(folder).and_then(|folder| folder.sync_all());
    Ok(())
}

/// Like [`write()`], but without waiting for the disk, for a file that is of no use after a power
/// loss.
pub fn write_unsynced(path: &Path, bytes: &[u8]) -> Result<(), PrivateFileError> {
    write_file(path, bytes, false)
}

/// Replaces a file atomically; the new one has the mode of the old one from the beginning.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<(), PrivateFileError> {
    let failed = |error: io::Error| PrivateFileError::system("write", path, &error);
    let mode = fs::metadata(path).map_err(failed)?.permissions();
    replace_with(path, |temporary| {
        fill(temporary, bytes, true)?;
        fs::set_permissions(temporary, mode.clone())
    })
}

/// Opens the file for appending, and creates it when it is missing.
pub fn append(path: &Path) -> Result<File, PrivateFileError> {
    let failed = |error: io::Error| PrivateFileError::system("write", path, &error);
    make_folder(path)?;
    // Non-blocking, since opening a pipe could block forever.
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits();
    let mut options = OpenOptions::new();
    options.append(true).create(true).mode(0o600);
    let opened = options.custom_flags(flags.cast_signed()).open(path);
    let file = opened.map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    if metadata.is_file() {
        return Ok(file);
    }
    let path = path.to_owned();
    Err(PrivateFileError::NotRegular { path })
}

fn write_file(path: &Path, bytes: &[u8], is_synced: bool) -> Result<(), PrivateFileError> {
    replace_with(path, |temporary| fill(temporary, bytes, is_synced))
}

/// Calls `write` with a temporary path, then renames the written file to `path`.
fn replace_with(
    path: &Path,
    write: impl FnOnce(&Path) -> io::Result<()>,
) -> Result<(), PrivateFileError> {
    let failed = |error: io::Error| PrivateFileError::system("write", path, &error);
    let folder = make_folder(path)?;
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let temporary = folder.join(format!(".{}-{number}.new", std::process::id()));
    let written = write(&temporary).and_then(|()| fs::rename(&temporary, path));
    if let Err(error) = written {
        let _absent = fs::remove_file(&temporary);
        return Err(failed(error));
    }
    Ok(())
}

/// Creates the directory for a file, accessible only to the user; an existing one keeps its mode.
pub fn make_folder(path: &Path) -> Result<&Path, PrivateFileError> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    let mut directories = DirBuilder::new();
    let made = directories.recursive(true).mode(0o700).create(folder);
    made.map_err(|error| PrivateFileError::system("write into", folder, &error))?;
    Ok(folder)
}

fn fill(temporary: &Path, bytes: &[u8], is_synced: bool) -> io::Result<()> {
    // An earlier process with the same pid may have left the file; no other process uses this name.
    let _absent = fs::remove_file(temporary);
    let mut options = OpenOptions::new();
    let mut file = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(temporary)?;
    file.write_all(bytes)?;
    if is_synced { file.sync_all() } else { Ok(()) }
}

/// Removes the file; not an error when it is already gone.
pub fn remove(path: &Path) -> Result<(), PrivateFileError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(PrivateFileError::system("remove", path, &error))
        }
        _ => Ok(()),
    }
}

/// Reads the file, provided that no other user could have read or written it.
pub fn read(path: &Path, limit: u64) -> Result<Vec<u8>, PrivateFileError> {
    let file = open_regular(path)?;
    let failed = |error: io::Error| PrivateFileError::system("read", path, &error);
    let metadata = file.metadata().map_err(failed)?;
    let owned = || path.to_owned();
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return Err(PrivateFileError::NotOwned { path: owned() });
    }
    let mode = metadata.mode() & 0o7777;
    if mode & 0o077 != 0 {
        let path = owned();
        return Err(PrivateFileError::Exposed { path, mode });
    }
    read_within(file, path, limit)
}

/// Reads a file that an agent wrote, whatever its permissions; `None` when there is none.
pub fn read_from_agent(path: &Path, limit: u64) -> Result<Option<Vec<u8>>, PrivateFileError> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        // Checked before opening, because a socket cannot even be opened.
        Ok(found) if !found.is_file() => {
            let path = path.to_owned();
            Err(PrivateFileError::NotRegular { path })
        }
        _ => read_within(open_regular(path)?, path, limit).map(Some),
    }
}

fn open_regular(path: &Path) -> Result<File, PrivateFileError> {
    let failed = |error: io::Error| PrivateFileError::system("read", path, &error);
    let owned = || path.to_owned();
    // Non-blocking, since opening a pipe could block forever.
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits();
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(flags.cast_signed());
    let file = match options.open(path) {
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => {
            return Err(PrivateFileError::NotRegular { path: owned() });
        }
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            return Err(PrivateFileError::Denied { path: owned() });
        }
        opened => opened.map_err(failed)?,
    };
    if !file.metadata().map_err(failed)?.is_file() {
        return Err(PrivateFileError::NotRegular { path: owned() });
    }
    Ok(file)
}

fn read_within(file: File, path: &Path, limit: u64) -> Result<Vec<u8>, PrivateFileError> {
    let mut bytes = Vec::new();
    let read = file.take(limit.saturating_add(1)).read_to_end(&mut bytes);
    read.map_err(|error| PrivateFileError::system("read", path, &error))?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length > limit) {
        let path = path.to_owned();
        return Err(PrivateFileError::TooLarge { path, limit });
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    /// A process may be killed at any time, so what an observer sees in between must be complete.
    #[test]
    fn a_replaced_file_has_its_mode_at_every_moment() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("exclude");
        fs::write(&path, "0").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| {
                for number in 0..200 {
                    replace(&path, number.to_string().as_bytes()).unwrap();
                }
            });
            while !writer.is_finished() {
                let mode = fs::metadata(&path).unwrap().mode();
                assert_eq!(mode & 0o777, 0o644);
            }
        });
        assert_eq!(fs::read(&path).unwrap(), b"199");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}

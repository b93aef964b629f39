//! Changes a file of the user: one process at a time, atomically.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

/// Makes other processes that want to change the file wait; the lock ends when its holder exits.
/// The folder is created if it is missing.
pub(crate) fn lock(path: &Path) -> io::Result<File> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    let mut folders = DirBuilder::new();
    folders.recursive(true).mode(0o700).create(folder)?;
    let lock = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path.with_extension("lock"))?;
    lock.lock()?;
    Ok(lock)
}

/// Writes the file atomically.
pub(crate) fn write(path: &Path, text: &str) -> io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let temporary = path.with_file_name(format!(".{name}.new"));
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&temporary)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&temporary, path)?;
    // Some file systems cannot sync a folder; the file is written anyway.
    let folder = path.parent().unwrap_or(Path::new("/"));
    let _unsynced = File::open(folder).and_then(|folder| folder.sync_all());
    Ok(())
}

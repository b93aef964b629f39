//! Links in a private home to files of the user.

use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use rustix::fs::{AtFlags, Mode, OFlags, openat, readlinkat, symlinkat, unlinkat};

use crate::private_file;

/// Larger files are copied neither into a private home nor back.
pub(in crate::sandbox::linux) const MAX_COPY: u64 = 32 * 1024 * 1024;

/// Makes a name in a folder of the private home lead to a file of the user. A folder with content
/// that has the name stays: an agent made it.
pub(in crate::sandbox::linux) fn make_link(
    folder: &OwnedFd,
    name: &OsStr,
    target: &Path,
) -> io::Result<()> {
    use std::os::unix::ffi::OsStrExt as _;
    let found = readlinkat(folder, name, Vec::new());
    if found.is_ok_and(|found| found.as_bytes() == target.as_os_str().as_bytes()) {
        return Ok(());
    }
    let _absent_or_folder = unlinkat(folder, name, AtFlags::empty());
    let _absent_or_used = unlinkat(folder, name, AtFlags::REMOVEDIR);
    match symlinkat(target, folder, name) {
        Err(rustix::io::Errno::EXIST) | Ok(()) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Writes back a file that the agent shares with the user, if the agent has replaced the link to it
/// by a newer file: otherwise a login that the agent has renewed would be lost. The agent may write
/// the user's file anyway.
pub(in crate::sandbox::linux) fn return_shared_file(
    folder: &OwnedFd,
    name: &OsStr,
    target: &Path,
) -> io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let Ok(opened) = openat(folder, name, flags, Mode::empty()) else {
        // It is not there, or still the link.
        return Ok(());
    };
    let file = File::from(opened);
    let found = file.metadata()?;
    let Ok(before) = target.metadata() else {
        // The user has removed it, for example to log out.
        return Ok(());
    };
    let time = |it: &Metadata| (it.mtime(), it.mtime_nsec());
    let is_newer = time(&found) > time(&before);
    // The full level leaves an empty file where it showed the user's.
    let is_whole = found.is_file() && (1..=MAX_COPY).contains(&found.len());
    if !is_whole || !is_newer || !before.is_file() {
        return Ok(());
    }
    let mut bytes = Vec::new();
    file.take(MAX_COPY).read_to_end(&mut bytes)?;
    private_file::replace(&target.canonicalize()?, &bytes).map_err(io::Error::other)
}

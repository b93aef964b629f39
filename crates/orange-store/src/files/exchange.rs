//! Puts a file in the place of another and keeps the other.
//!
//! Linux and macOS exchange two names in one step, so there is no moment without the file, and the
//! one that was there is kept whatever it is by then. A file system that cannot exchange gets a
//! second name for the old file and a rename: a file that somebody puts there between those two
//! steps is lost, and an append to the old file is not.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

use crate::steps::reached;

/// Exchanges the file at `new` with the one at `live`.
pub(crate) fn exchange(new: &Path, live: &Path) -> io::Result<()> {
    reached("before an exchange");
    let exchanged = match renameat_with(CWD, new, CWD, live, RenameFlags::EXCHANGE) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => replace(new, live),
        exchanged => exchanged.map_err(io::Error::from),
    };
    reached("after an exchange");
    exchanged
}

/// What is done where names cannot be exchanged.
fn replace(new: &Path, live: &Path) -> io::Result<()> {
    let kept = kept_name(new);
    fs::hard_link(live, &kept)?;
    reached("the old file has a second name");
    fs::rename(new, live)?;
    reached("the new file is in place");
    fs::rename(&kept, new)
}

/// Where the old file is while the new one takes its place.
fn kept_name(new: &Path) -> PathBuf {
    let mut name = OsString::from(new);
    name.push(KEPT);
    PathBuf::from(name)
}

/// What the name of a file ends in that was kept by a process that died before the last step.
pub(crate) const KEPT: &str = ".kept";

#[cfg(test)]
mod tests {
    use super::*;

    type Way = fn(&Path, &Path) -> io::Result<()>;

    #[test]
    fn both_ways_keep_the_old_file() {
        for way in [exchange as Way, replace] {
            let directory = tempfile::tempdir().unwrap();
            let (new, live) = (directory.path().join("new"), directory.path().join("live"));
            fs::write(&new, "new").unwrap();
            fs::write(&live, "old").unwrap();
            let mut opened = fs::OpenOptions::new().append(true).open(&live).unwrap();
            way(&new, &live).unwrap();
            // Somebody who had it open goes on writing to the old one.
            io::Write::write_all(&mut opened, b" and more").unwrap();
            assert_eq!(fs::read_to_string(&live).unwrap(), "new");
            assert_eq!(fs::read_to_string(&new).unwrap(), "old and more");
            assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 2);
        }
    }

    #[test]
    fn without_an_old_file_nothing_happens() {
        for way in [exchange as Way, replace] {
            let directory = tempfile::tempdir().unwrap();
            let (new, live) = (directory.path().join("new"), directory.path().join("live"));
            fs::write(&new, "new").unwrap();
            assert_eq!(
                way(&new, &live).unwrap_err().kind(),
                io::ErrorKind::NotFound
            );
            assert!(new.exists() && !live.exists());
        }
    }
}

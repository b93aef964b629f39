//! Replaces a file with another and keeps the old one.
//!
//! Linux and macOS swap two names atomically, so the file is never missing, and whatever file is in
//! place at that moment is kept. On a file system that cannot swap, the old file gets a second
//! name, and the new file is renamed over the old name. A file that another process puts in place
//! between these two steps is lost, but an append to the old file is not.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

use crate::steps::reach;

/// Swaps the file at `new` with the one at `live`.
pub(crate) fn exchange(new: &Path, live: &Path) -> io::Result<()> {
    reach("before an exchange");
    let exchanged = match renameat_with(CWD, new, CWD, live, RenameFlags::EXCHANGE) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => replace(new, live),
        exchanged => exchanged.map_err(io::Error::from),
    };
    reach("after an exchange");
    exchanged
}

/// The fallback where names cannot be swapped.
fn replace(new: &Path, live: &Path) -> io::Result<()> {
    let second = second_name(new);
    fs::hard_link(live, &second)?;
    reach("the old file has a second name");
    fs::rename(new, live)?;
    reach("the new file is in place");
    fs::rename(&second, new)
}

/// The second name of the old file while the new one replaces it.
fn second_name(new: &Path) -> PathBuf {
    let mut name = OsString::from(new);
    name.push(KEPT);
    PathBuf::from(name)
}

/// The suffix of the old file's second name; it stays if the process dies before the last step.
pub(crate) const KEPT: &str = ".kept";

#[cfg(test)]
mod tests {
    use super::*;

    type Way = fn(&Path, &Path) -> io::Result<()>;

    #[test]
    fn both_methods_keep_the_old_file() {
        for way in [exchange as Way, replace] {
            let directory = tempfile::tempdir().unwrap();
            let (new, live) = (directory.path().join("new"), directory.path().join("live"));
            fs::write(&new, "new").unwrap();
            fs::write(&live, "old").unwrap();
            let mut opened = fs::OpenOptions::new().append(true).open(&live).unwrap();
            way(&new, &live).unwrap();
            // A process that has it open keeps writing to the old one.
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

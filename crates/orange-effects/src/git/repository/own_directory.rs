//! orange's own git directory, used instead of the repository's.
//!
//! Agents can write all of `.git`: its configuration, `info/attributes`, `info/grafts`, the
//! `commondir` of a worktree. git reads such files from the common directory, so we make git use
//! our own directory instead: objects, refs and reflogs are links to the repository's, the
//! configuration is ours, and the rest does not exist. Our directory lives as long as the
//! [`crate::git::Git`] that created it; a later process removes what a killed process left.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use rustix::fs::OFlags;

use crate::git::GitError;

/// Entries that are always linked to the repository's, because they may appear only later.
const FILES: [&str; 3] = ["packed-refs", "shallow", "worktrees"];

/// Directories that are linked to the repository's if they exist.
const FOLDERS: [&str; 4] = ["objects", "refs", "logs", "reftable"];

/// Upper bound on the size of a list of ignored files.
pub(crate) const LIMIT: u64 = 16 * 1024 * 1024;

/// Makes the names that this process chooses unique.
static NEXT: AtomicU32 = AtomicU32::new(0);

/// Whether this process has cleaned up after killed ones.
static HAS_TIDIED: AtomicBool = AtomicBool::new(false);

/// The directory; it is removed when this value is dropped.
#[derive(Debug)]
pub(crate) struct OwnDirectory {
    path: PathBuf,
    lock: PathBuf,
    /// Held while the directory is in use.
    _held: File,
}

impl OwnDirectory {
    /// Creates the directory for a repository, in the first of these folders that is writable.
    pub fn create(folders: &[PathBuf], repository: &Path, format: &str) -> Result<Self, GitError> {
        let mut failed = None;
        for folder in folders {
            match Self::make_in(folder, repository, format) {
                Ok(made) => return Ok(made),
                Err(error) => failed = failed.or(Some((folder, error))),
            }
        }
        let (folder, error) = failed.ok_or_else(|| {
            let missing = io::Error::from(io::ErrorKind::NotFound);
            GitError::system("create a directory for", repository)(missing)
        })?;
        Err(GitError::system("create a directory in", folder)(error))
    }

    fn make_in(folder: &Path, repository: &Path, format: &str) -> io::Result<Self> {
        // A home that does not exist is not created: the caller may only be reading.
        match DirBuilder::new().mode(0o700).create(folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        if !HAS_TIDIED.swap(true, Ordering::Relaxed) {
            remove_abandoned(folder);
        }
        let (lock, held) = loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let name = format!("{}-{number}.lock", std::process::id());
            let lock = folder.join(name);
            let mut options = OpenOptions::new();
            match options.write(true).create_new(true).mode(0o600).open(&lock) {
                // A process with this pid was killed; its directory is yet to be cleaned up.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                held => {
                    let held = held?;
                    if held.try_lock().is_ok() {
                        break (lock, held);
                    }
                }
            }
        };
        let own = Self {
            path: lock.with_extension(""),
            lock,
            _held: held,
        };
        own.fill(repository, format)?;
        Ok(own)
    }

    fn fill(&self, repository: &Path, format: &str) -> io::Result<()> {
        DirBuilder::new().mode(0o700).create(&self.path)?;
        fs::create_dir(self.path.join("info"))?;
        fs::write(self.path.join("config"), format)?;
        for name in FILES {
            symlink(repository.join(name), self.path.join(name))?;
        }
        for name in FOLDERS {
            let source = repository.join(name);
            if source.is_dir() {
                symlink(source, self.path.join(name))?;
            }
        }
        Ok(())
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Copies the repository's list of ignored files.
    pub fn copy_excludes(&self, repository: &Path) -> Result<(), GitError> {
        let theirs = repository.join("info").join("exclude");
        let ours = self.path.join("info").join("exclude");
        // An entry that is not a regular file excludes nothing; git would block on a pipe.
        let text = read_file(&theirs, LIMIT).unwrap_or_default();
        fs::write(&ours, text.unwrap_or_default()).map_err(GitError::system("write", &ours))
    }

    /// A directory for temporary files.
    pub fn scratch(&self) -> Result<PathBuf, GitError> {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = self.path.join(format!("scratch-{number}"));
        fs::create_dir(&path).map_err(GitError::system("create", &path))?;
        Ok(path)
    }
}

impl Drop for OwnDirectory {
    fn drop(&mut self) {
        let _left_for_later = fs::remove_dir_all(&self.path);
        let _left_for_later = fs::remove_file(&self.lock);
    }
}

/// Removes the directories of killed processes, whose locks are free.
fn remove_abandoned(folder: &Path) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries {
        let lock = entry.path();
        if lock.extension().is_none_or(|it| it != "lock") {
            continue;
        }
        let held = OpenOptions::new().write(true).open(&lock);
        if held.is_ok_and(|held| held.try_lock().is_ok()) {
            let _absent = fs::remove_dir_all(lock.with_extension(""));
            let _absent = fs::remove_file(&lock);
        }
    }
}

/// The content of a regular file, without blocking; `None` when there is none.
pub(crate) fn read_file(path: &Path, limit: u64) -> io::Result<Option<Vec<u8>>> {
    let mut options = OpenOptions::new();
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let file = match options.read(true).custom_flags(flags).open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut bytes = Vec::new();
    file.take(limit + 1).read_to_end(&mut bytes)?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length > limit) {
        return Err(io::Error::other("it is too large"));
    }
    Ok(Some(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_directory_is_removed_with_its_owner_and_leftovers_of_dead_processes_too() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("git");
        let own = OwnDirectory::make_in(&folder, root.path(), "").unwrap();
        let path = own.path().to_owned();
        assert!(path.join("config").is_file());
        fs::create_dir(folder.join("1-1")).unwrap();
        fs::write(folder.join("1-1.lock"), "").unwrap();
        remove_abandoned(&folder);
        assert!(!folder.join("1-1").exists() && path.exists());
        drop(own);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
    }

    #[test]
    fn a_home_that_does_not_exist_is_not_created() {
        let root = tempfile::tempdir().unwrap();
        let folders = [root.path().join("home/git"), root.path().join("temporary")];
        let own = OwnDirectory::create(&folders, root.path(), "").unwrap();
        assert!(own.path().starts_with(&folders[1]));
        assert!(!root.path().join("home").exists());
    }

    #[test]
    fn a_pipe_is_not_waited_for() {
        let root = tempfile::tempdir().unwrap();
        let pipe = root.path().join("pipe");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &pipe,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::from_raw_mode(0o600),
            0,
        )
        .unwrap();
        assert!(read_file(&pipe, 10).is_err());
        assert!(
            read_file(&root.path().join("absent"), 10)
                .unwrap()
                .is_none()
        );
    }
}

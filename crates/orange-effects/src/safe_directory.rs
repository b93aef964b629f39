//! Accesses files below a directory without following symbolic links.
//!
//! A link on the path could lead outside the worktree, so every directory on the way to a file is
//! opened without following links. A file that can be reached only through a link counts as absent.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, RenameFlags, mkdirat, openat, readlinkat,
    renameat_with, statat, symlinkat, unlinkat,
};
use rustix::io::Errno;

pub(crate) const FILE: u32 = 0o100_644;

pub(crate) const EXECUTABLE: u32 = 0o100_755;

pub(crate) const LINK: u32 = 0o120_000;

/// A directory, and everything below it that is reachable without a link.
pub(crate) struct SafeDirectory {
    folder: OwnedFd,
}

/// What is at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EntryKind {
    Absent,
    /// A file or link, with the mode that git would give it.
    Entry(u32),
    Folder,
    /// A pipe, a socket or a device, which git cannot store.
    Other,
}

impl SafeDirectory {
    pub fn open(path: &Path) -> io::Result<Self> {
        let folder = openat(CWD, path, folder_flags(), Mode::empty())?;
        Ok(Self { folder })
    }

    pub fn kind(&self, path: &Path) -> io::Result<EntryKind> {
        let Some((folder, name)) = self.parent(path, false)? else {
            return Ok(EntryKind::Absent);
        };
        let stat = match statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT | Errno::NOTDIR) => return Ok(EntryKind::Absent),
            stat => stat?,
        };
        Ok(match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile if stat.st_mode & 0o100 != 0 => EntryKind::Entry(EXECUTABLE),
            FileType::RegularFile => EntryKind::Entry(FILE),
            FileType::Symlink => EntryKind::Entry(LINK),
            FileType::Directory => EntryKind::Folder,
            _ => EntryKind::Other,
        })
    }

    pub fn read_link(&self, path: &Path) -> io::Result<Vec<u8>> {
        let (folder, name) = self.require_parent(path)?;
        Ok(readlinkat(&folder, name, Vec::new())?.into_bytes())
    }

    /// Moves a file unless the target exists; returns whether it moved.
    pub fn rename(&self, from: &Path, to: &Path) -> io::Result<bool> {
        let (old, old_name) = self.require_parent(from)?;
        let parent = self.parent(to, true)?;
        let (new, new_name) = parent.ok_or_else(|| not_a_directory(to))?;
        match renameat_with(&old, old_name, &new, new_name, RenameFlags::NOREPLACE) {
            Err(Errno::EXIST | Errno::NOTEMPTY) => Ok(false),
            renamed => Ok(renamed.map(|()| true)?),
        }
    }

    /// Writes a file or a link; the path must not exist yet.
    pub fn create(&self, path: &Path, mode: u32, content: &[u8]) -> io::Result<()> {
        let parent = self.parent(path, true)?;
        let (folder, name) = parent.ok_or_else(|| not_a_directory(path))?;
        if mode == LINK {
            return Ok(symlinkat(OsStr::from_bytes(content), &folder, name)?);
        }
        let rights = if mode == EXECUTABLE { 0o777 } else { 0o666 };
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let mut file = File::from(openat(&folder, name, flags, Mode::from_raw_mode(rights))?);
        file.write_all(content)?;
        file.sync_all()
    }

    /// Creates a directory unless it exists.
    pub fn make_folder(&self, path: &Path) -> io::Result<()> {
        let parent = self.parent(path, true)?;
        let (folder, name) = parent.ok_or_else(|| not_a_directory(path))?;
        match mkdirat(&folder, name, Mode::from_raw_mode(0o777)) {
            Err(Errno::EXIST) => Ok(()),
            result => Ok(result?),
        }
    }

    /// Opens a regular file for reading; fails for a link.
    pub fn open_file(&self, path: &Path) -> io::Result<File> {
        let (folder, name) = self.require_parent(path)?;
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = File::from(openat(&folder, name, flags, Mode::empty())?);
        if file.metadata()?.is_file() {
            Ok(file)
        } else {
            Err(io::ErrorKind::InvalidInput.into())
        }
    }

    /// Moves a file or directory from the directory `from` into this one, unless the target exists;
    /// returns whether it moved.
    pub fn move_from(&self, from: &SafeDirectory, old: &Path, new: &Path) -> io::Result<bool> {
        let (old_folder, old_name) = from.require_parent(old)?;
        let parent = self.parent(new, true)?;
        let (folder, name) = parent.ok_or_else(|| not_a_directory(new))?;
        match renameat_with(&old_folder, old_name, &folder, name, RenameFlags::NOREPLACE) {
            Err(Errno::EXIST | Errno::NOTEMPTY) => Ok(false),
            moved => Ok(moved.map(|()| true)?),
        }
    }

    pub fn remove(&self, path: &Path) -> io::Result<()> {
        match self.parent(path, false)? {
            None => Ok(()),
            Some((folder, name)) => match unlinkat(&folder, name, AtFlags::empty()) {
                Err(Errno::NOENT) => Ok(()),
                removed => Ok(removed?),
            },
        }
    }

    /// Removes the parent directories of a path that are now empty.
    pub fn remove_empty_parents(&self, path: &Path) {
        for folder in path.ancestors().skip(1) {
            if folder.as_os_str().is_empty() {
                return;
            }
            let removed = match self.parent(folder, false) {
                Ok(Some((above, name))) => unlinkat(&above, name, AtFlags::REMOVEDIR).is_ok(),
                _ => false,
            };
            if !removed {
                return;
            }
        }
    }

    /// The files, links and other entries at any depth below a directory, without the directories
    /// themselves; empty when there is no such directory.
    pub fn files(&self, below: &Path) -> io::Result<Vec<PathBuf>> {
        let mut found = Vec::new();
        let mut folders = vec![below.to_owned()];
        while let Some(folder) = folders.pop() {
            for name in self.names(&folder)? {
                let path = folder.join(name);
                match self.kind(&path)? {
                    EntryKind::Folder => folders.push(path),
                    EntryKind::Entry(_) | EntryKind::Other => found.push(path),
                    EntryKind::Absent => {}
                }
            }
        }
        Ok(found)
    }

    /// The entries of a directory; empty when there is no such directory.
    pub fn names(&self, folder: &Path) -> io::Result<Vec<OsString>> {
        let opened = if folder.as_os_str().is_empty() {
            openat(&self.folder, ".", folder_flags(), Mode::empty())
        } else {
            let Some((parent, name)) = self.parent(folder, false)? else {
                return Ok(Vec::new());
            };
            openat(&parent, name, folder_flags(), Mode::empty())
        };
        let opened = match opened {
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(Vec::new()),
            opened => opened?,
        };
        let mut names = Vec::new();
        for entry in Dir::read_from(&opened)? {
            let name = OsStr::from_bytes(entry?.file_name().to_bytes()).to_owned();
            if name != "." && name != ".." {
                names.push(name);
            }
        }
        Ok(names)
    }

    fn require_parent<'a>(&self, path: &'a Path) -> io::Result<(OwnedFd, &'a OsStr)> {
        let parent = self.parent(path, false)?;
        parent.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
    }

    /// The directory that contains a path, and the path's name in it.
    fn parent<'a>(
        &self,
        path: &'a Path,
        create_missing: bool,
    ) -> io::Result<Option<(OwnedFd, &'a OsStr)>> {
        let mut names = Vec::new();
        for component in path.components() {
            let Component::Normal(name) = component else {
                return Err(io::Error::other("the path leaves its directory"));
            };
            names.push(name);
        }
        let Some(name) = names.pop() else {
            return Err(io::Error::other("the path is empty"));
        };
        let mut folder = self.folder.try_clone()?;
        for step in names {
            if create_missing {
                match mkdirat(&folder, step, Mode::from_raw_mode(0o777)) {
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(error) => return Err(error.into()),
                }
            }
            folder = match openat(&folder, step, folder_flags(), Mode::empty()) {
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(None),
                opened => opened?,
            };
        }
        Ok(Some((folder, name)))
    }
}

fn folder_flags() -> OFlags {
    OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC
}

fn not_a_directory(path: &Path) -> io::Error {
    let message = format!("a parent of `{}` is not a directory", path.display());
    io::Error::other(message)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_link_is_never_followed() {
        let root = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("secret"), "x").unwrap();
        symlink(outside.path(), root.path().join("door")).unwrap();
        let place = SafeDirectory::open(root.path()).unwrap();
        let through = Path::new("door/secret");
        assert_eq!(place.kind(through).unwrap(), EntryKind::Absent);
        place.remove(through).unwrap();
        assert!(place.create(Path::new("door/new"), FILE, b"y").is_err());
        assert!(place.rename(through, Path::new("taken")).is_err());
        assert!(place.files(Path::new("door")).unwrap().is_empty());
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
        assert!(place.kind(Path::new("../x")).is_err());
        assert!(place.kind(Path::new("/etc/passwd")).is_err());
    }

    #[test]
    fn nothing_is_replaced() {
        let root = tempfile::tempdir().unwrap();
        let place = SafeDirectory::open(root.path()).unwrap();
        let (one, two) = (Path::new("a/one"), Path::new("a/two"));
        place.create(one, EXECUTABLE, b"1").unwrap();
        place.create(two, LINK, b"one").unwrap();
        assert!(place.create(one, FILE, b"2").is_err());
        assert!(!place.rename(one, two).unwrap());
        assert_eq!(place.kind(one).unwrap(), EntryKind::Entry(EXECUTABLE));
        assert_eq!(place.read_link(two).unwrap(), b"one");
        place.remove(one).unwrap();
        place.remove_empty_parents(one);
        assert_eq!(place.kind(Path::new("a")).unwrap(), EntryKind::Folder);
        place.remove(two).unwrap();
        place.remove_empty_parents(two);
        assert_eq!(place.kind(Path::new("a")).unwrap(), EntryKind::Absent);
    }
}

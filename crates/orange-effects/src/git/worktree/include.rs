//! Copies files listed in `.worktreeinclude` from the user's checkout.
//!
//! Only files that git ignores on both sides are copied, so that no secret can be committed by
//! accident. Only an unchanged copy is replaced, and no link is followed on either side.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Component, Path, PathBuf};

use super::entry::LINK;
use super::include_record::{CopyState, IncludeRecord, MAX_FILES, Stamp};
use crate::git::repository::call::{join_zero_terminated, path, split_zero_terminated};
use crate::git::{GitError, Worktree};
use crate::safe_directory::{EntryKind, SafeDirectory};

/// The list, in the syntax of `.gitignore`, at the root of the checkout.
const FILE: &str = ".worktreeinclude";

/// The temporary name of a copy before it is moved into place.
const COPY: &str = "copy";

/// The result of copying.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IncludeResult {
    /// The files that are new in the worktree, or were copied again.
    pub copied: Vec<PathBuf>,
    /// Files that have changed both in the checkout and in the worktree; they stay.
    pub changed: Vec<PathBuf>,
    /// Listed but not copied: not ignored in the worktree, behind a link, a link that points
    /// outside, or not a file.
    pub left_out: Vec<PathBuf>,
}

impl Worktree<'_> {
    /// Copies what the checkout's `.worktreeinclude` lists; `incoming` is a directory on the
    /// worktree's disk that no other process uses.
    ///
    /// With `refresh`, unchanged copies are replaced if their originals have changed. Safe to
    /// repeat: other files are not changed, and an incomplete copy of a killed process was never
    /// moved into place.
    pub fn include(
        &self,
        checkout: &Worktree<'_>,
        incoming: &Path,
        refresh: bool,
    ) -> Result<IncludeResult, GitError> {
        let from = checkout.place()?;
        let list = Path::new(FILE);
        let kind = from
            .kind(list)
            .map_err(checkout.file_error("inspect", list))?;
        if !matches!(kind, EntryKind::Entry(mode) if mode != LINK) {
            return Ok(IncludeResult::default());
        }
        let mut patterns = OsString::from("--exclude-from=");
        patterns.push(checkout.path().join(list));
        let call = checkout.call(["ls-files", "-z", "--others", "--ignored"]);
        let listed = call.with_arguments([patterns]).bytes()?;
        let listed: BTreeSet<PathBuf> = split_zero_terminated(&listed).map(path).collect();
        let listed = checkout.ignored(&listed)?;
        let to = self.place()?;
        let mut included = IncludeResult::default();
        let (mut missing, mut stale) = (BTreeSet::new(), BTreeSet::new());
        let is_remembered = listed.len() <= MAX_FILES;
        let mut record = IncludeRecord::read(incoming);
        for path in listed {
            let failed = self.file_error("inspect", &path);
            if has_blocked_parent(&to, &path).map_err(&failed)? {
                included.left_out.push(path);
            } else if to.kind(&path).map_err(&failed)? == EntryKind::Absent {
                missing.insert(path);
            } else if refresh && is_remembered {
                match record.compare(&from, &to, &path).map_err(&failed)? {
                    CopyState::Current => {}
                    CopyState::Stale => {
                        stale.insert(path);
                    }
                    CopyState::Changed => included.changed.push(path),
                }
            }
        }
        let ignored = self.ignored(&missing.union(&stale).cloned().collect())?;
        let exposed = missing.difference(&ignored).cloned();
        included.left_out.extend(exposed);
        if !ignored.is_empty() {
            let directory = IncomingDirectory::open(incoming)?;
            for path in ignored {
                let failed = self.file_error("copy", &path);
                if stale.contains(&path) {
                    // Killed here, the next attempt copies a file that is missing.
                    to.remove(&path).map_err(&failed)?;
                }
                let original = Stamp::read(&from, &path).filter(|_| is_remembered);
                if !directory.copy(&from, &to, &path).map_err(&failed)? {
                    included.left_out.push(path);
                    continue;
                }
                if let Some(original) = original {
                    record.add(&path, original, &to);
                }
                included.copied.push(path);
            }
        }
        let failed = GitError::system("write", incoming);
        record.write(incoming).map_err(failed)?;
        Ok(included)
    }

    /// The paths among these that git ignores here.
    fn ignored(&self, paths: &BTreeSet<PathBuf>) -> Result<BTreeSet<PathBuf>, GitError> {
        if paths.is_empty() {
            return Ok(BTreeSet::new());
        }
        // `check-ignore` does not support literal pathspecs; with the prefix `./`, no path is
        // parsed as a pattern.
        let dotted: Vec<PathBuf> = paths.iter().map(|it| Path::new(".").join(it)).collect();
        let input = join_zero_terminated(dotted.iter().map(PathBuf::as_path));
        let call = self.call(["--no-literal-pathspecs", "check-ignore", "-z", "--stdin"]);
        let output = call.input(input).answer()?.unwrap_or_default();
        let output = split_zero_terminated(&output)
            .map(|part| path(part.strip_prefix(b"./").unwrap_or(part)));
        let output: BTreeSet<PathBuf> = output.collect();
        Ok(paths.intersection(&output).cloned().collect())
    }
}

/// The directory in which copies are completed before they are moved into place.
struct IncomingDirectory {
    path: PathBuf,
    place: SafeDirectory,
}

impl IncomingDirectory {
    fn open(path: &Path) -> Result<Self, GitError> {
        let failed = GitError::system("create", path);
        fs::create_dir_all(path).map_err(&failed)?;
        let place = SafeDirectory::open(path).map_err(&failed)?;
        // A killed process may have left an incomplete copy; the original is still in the checkout.
        place.remove(Path::new(COPY)).map_err(&failed)?;
        Ok(Self {
            path: path.to_owned(),
            place,
        })
    }

    /// Copies one file or link; returns whether that was possible.
    fn copy(&self, from: &SafeDirectory, to: &SafeDirectory, path: &Path) -> io::Result<bool> {
        match from.kind(path)? {
            EntryKind::Entry(LINK) => {
                let target = from.read_link(path)?;
                if !is_inside(path, Path::new(OsStr::from_bytes(&target))) {
                    return Ok(false);
                }
                to.create(path, LINK, &target)?;
                Ok(true)
            }
            EntryKind::Entry(_) => {
                let mut source = from.open_file(path)?;
                let mode = source.metadata()?.permissions().mode() & 0o777;
                let copy = self.path.join(COPY);
                let mut options = OpenOptions::new();
                let mut file = options
                    .write(true)
                    .create_new(true)
                    .mode(0o600)
                    .open(copy)?;
                if !try_clone(&source, &file) {
                    io::copy(&mut source, &mut file)?;
                }
                file.set_permissions(fs::Permissions::from_mode(mode))?;
                let moved = to.move_from(&self.place, Path::new(COPY), path)?;
                if !moved {
                    self.place.remove(Path::new(COPY))?;
                }
                Ok(moved)
            }
            _ => Ok(false),
        }
    }
}

/// Makes both files share their blocks; returns whether the file system supports that.
#[cfg(target_os = "linux")]
fn try_clone(source: &File, copy: &File) -> bool {
    rustix::fs::ioctl_ficlone(copy, source).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn try_clone(_source: &File, _copy: &File) -> bool {
    false
}

/// Whether a parent of a path exists and is not a directory.
fn has_blocked_parent(place: &SafeDirectory, path: &Path) -> io::Result<bool> {
    for above in path.ancestors().skip(1) {
        if above.as_os_str().is_empty() {
            continue;
        }
        if matches!(place.kind(above)?, EntryKind::Entry(_) | EntryKind::Other) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether a link's target, without resolving other links, is below the same root.
fn is_inside(path: &Path, target: &Path) -> bool {
    let mut depth = path.components().count().saturating_sub(1);
    for component in target.components() {
        match component {
            Component::Normal(_) => depth += 1,
            Component::CurDir => {}
            Component::ParentDir if depth > 0 => depth -= 1,
            _ => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_that_leads_outside_is_recognised() {
        let inside = |path: &str, target: &str| is_inside(Path::new(path), Path::new(target));
        assert!(inside("a/b", "c") && inside("a/b", "../c") && inside("a", "./b/../c"));
        assert!(!inside("a", "../b") && !inside("a/b", "../../c") && !inside("a", "/etc/passwd"));
    }
}

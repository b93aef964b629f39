//! Remembers what was copied, to recognise unchanged copies.

use std::collections::BTreeMap;
use std::fs::{self, File, Metadata};
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::git::repository::call::path;
use crate::safe_directory::SafeDirectory;

/// The name of the record, beside the incomplete copies.
const FILE: &str = "copied";

/// For more files than this nothing is remembered: a start would take too long.
pub(super) const MAX_FILES: usize = 1000;

/// The largest file that is compared with its original byte by byte.
const MAX_COMPARED: u64 = 1 << 20;

/// The size of a file, and when it was last written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    bytes: u64,
    seconds: i64,
    nanoseconds: i64,
}

impl Stamp {
    /// The stamp of a regular file.
    pub(super) fn read(place: &SafeDirectory, path: &Path) -> Option<Self> {
        let file = place.open_file(path).ok()?;
        Some(Self::new(&file.metadata().ok()?))
    }

    fn new(file: &Metadata) -> Self {
        Self {
            bytes: file.size(),
            seconds: file.mtime(),
            nanoseconds: file.mtime_nsec(),
        }
    }
}

/// An original and its copy, as they were when it was copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Copied {
    original: Stamp,
    copy: Stamp,
}

/// Compares a copy with its original.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CopyState {
    /// The original has not changed since, or nothing is known about the copy.
    Current,
    /// The original has changed, and the copy has not.
    Stale,
    /// Both have changed.
    Changed,
}

/// The copies in one workspace.
#[derive(Debug, Default)]
pub(super) struct IncludeRecord {
    copies: BTreeMap<PathBuf, Copied>,
    is_changed: bool,
}

impl IncludeRecord {
    /// Reads the record; one that cannot be read counts as empty, so that no copy is replaced.
    pub(super) fn read(folder: &Path) -> Self {
        let bytes = fs::read(folder.join(FILE)).unwrap_or_default();
        let lines = bytes.split(|byte| *byte == 0).filter_map(parse);
        Self {
            copies: lines.collect(),
            is_changed: false,
        }
    }

    /// Writes the record if it has changed. A process that is killed before this knows the copies
    /// again by their content.
    pub(super) fn write(&self, folder: &Path) -> io::Result<()> {
        if !self.is_changed {
            return Ok(());
        }
        let mut text = Vec::new();
        for (path, Copied { original, copy }) in &self.copies {
            let stamps = [original, copy].map(|it| {
                let Stamp {
                    bytes,
                    seconds,
                    nanoseconds,
                } = it;
                format!("{bytes} {seconds} {nanoseconds} ")
            });
            text.extend(stamps.concat().into_bytes());
            text.extend(path.as_os_str().as_bytes());
            text.push(0);
        }
        fs::create_dir_all(folder)?;
        let new = folder.join("copied.new");
        fs::write(&new, text)?;
        fs::rename(&new, folder.join(FILE))
    }

    /// Compares a file with its original, and remembers one that has the same content.
    pub(super) fn compare(
        &mut self,
        from: &SafeDirectory,
        to: &SafeDirectory,
        path: &Path,
    ) -> io::Result<CopyState> {
        let (Ok(original), Ok(copy)) = (from.open_file(path), to.open_file(path)) else {
            return Ok(CopyState::Current);
        };
        let found = Copied {
            original: Stamp::new(&original.metadata()?),
            copy: Stamp::new(&copy.metadata()?),
        };
        let known = self.copies.get(path);
        if known.is_some_and(|known| known.original == found.original) {
            return Ok(CopyState::Current);
        }
        let is_unchanged = known.is_some_and(|known| known.copy == found.copy);
        let is_same = has_same_content(original, copy, &found)?;
        match known {
            Some(_) if !is_same && is_unchanged => return Ok(CopyState::Stale),
            None if !is_same => return Ok(CopyState::Current),
            _ => {}
        }
        // The difference is reported once.
        self.copies.insert(path.to_owned(), found);
        self.is_changed = true;
        Ok(if is_same {
            CopyState::Current
        } else {
            CopyState::Changed
        })
    }

    /// Remembers a new copy, with the stamp that its original had before.
    pub(super) fn add(&mut self, path: &Path, original: Stamp, to: &SafeDirectory) {
        if let Some(copy) = Stamp::read(to, path) {
            let copied = Copied { original, copy };
            self.copies.insert(path.to_owned(), copied);
            self.is_changed = true;
        }
    }
}

fn parse(line: &[u8]) -> Option<(PathBuf, Copied)> {
    let mut words = line.splitn(7, |byte| *byte == b' ');
    let mut number = || std::str::from_utf8(words.next()?).ok()?.parse::<i64>().ok();
    let mut stamp = || {
        Some(Stamp {
            bytes: u64::try_from(number()?).ok()?,
            seconds: number()?,
            nanoseconds: number()?,
        })
    };
    let (original, copy) = (stamp()?, stamp()?);
    Some((path(words.next()?), Copied { original, copy }))
}

fn has_same_content(original: File, copy: File, found: &Copied) -> io::Result<bool> {
    let bytes = found.original.bytes;
    if bytes != found.copy.bytes || bytes > MAX_COMPARED {
        return Ok(false);
    }
    let read = |file: File| {
        let mut content = Vec::new();
        file.take(MAX_COMPARED).read_to_end(&mut content)?;
        io::Result::Ok(content)
    };
    Ok(read(original)? == read(copy)?)
}

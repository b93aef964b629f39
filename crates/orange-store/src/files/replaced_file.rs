//! Replaced files, named after their content when they were replaced.
//!
//! The name contains everything needed to tell what was written since, and there is no second
//! record that could disagree. So a process can die between any two steps.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use orange_engine::time::Timestamp;
use sha2::{Digest as _, Sha256};

use super::exchange::KEPT;
use super::whole_file;
use crate::error::StoreError;
use crate::tables::texts;

/// Stands for an unknown hash.
const NONE: &str = "-";

/// A file that was replaced and may still be written to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReplacedFile {
    pub(crate) path: PathBuf,
    pub(crate) mark: Mark,
}

/// The information in the name of a replaced file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) number: u64,
    /// How many imports have read it again.
    pub(crate) reads: u64,
    /// When it was replaced, in seconds since the epoch.
    pub(crate) at: i64,
    /// How many of its bytes are already known.
    pub(crate) length: usize,
    /// The fingerprint of those bytes; `None` when none are known.
    pub(crate) known: Option<String>,
    /// The fingerprint of the text that replaced it.
    pub(crate) ours: Option<String>,
    /// The fingerprint of that text's body; while the live body matches it, the live body is
    /// unchanged.
    pub(crate) body: Option<String>,
    /// Set while more of this file is being copied over.
    pub(crate) copy: Option<CopyProgress>,
}

/// What is being copied over to the live file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CopyProgress {
    /// The number under which the live file is replaced by this copy.
    pub(crate) number: u64,
    /// How many bytes of the replaced file are known after the copy.
    pub(crate) length: usize,
}

/// The directory of replaced files, and the prefix of their names there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReplacedFolder {
    pub(crate) directory: PathBuf,
    pub(crate) prefix: String,
}

/// A short hash, long enough to distinguish the texts of one task.
pub(crate) fn fingerprint(content: &[u8]) -> String {
    Fingerprint::of(content).digits()
}

/// An incremental fingerprint, so that a longer text costs only what was added.
#[derive(Clone, Debug)]
pub(crate) struct Fingerprint(Sha256);

impl Fingerprint {
    pub(crate) fn of(content: &[u8]) -> Fingerprint {
        Fingerprint(Sha256::new_with_prefix(content))
    }

    /// Adds the bytes that follow.
    pub(crate) fn extend(&mut self, content: &[u8]) {
        self.0.update(content);
    }

    pub(crate) fn digits(&self) -> String {
        let hash = self.0.clone().finalize();
        let (short, _) = hash.split_at(8);
        texts::digits(short)
    }
}

impl Mark {
    /// The mark of a file whose content is unknown.
    pub(crate) fn new(number: u64, now: Timestamp) -> Mark {
        Mark {
            number,
            reads: 0,
            at: now.millis() / 1000,
            length: 0,
            known: None,
            ours: None,
            body: None,
            copy: None,
        }
    }

    /// The file name without the prefix of its folder.
    fn name(&self) -> String {
        let Mark {
            number,
            reads,
            at,
            length,
            ..
        } = self;
        let known = self.known.as_deref().unwrap_or(NONE);
        let ours = self.ours.as_deref().unwrap_or(NONE);
        let body = self.body.as_deref().unwrap_or(NONE);
        let copy = self.copy.map_or_else(String::new, |copy| {
            format!(".{}-{}", copy.number, copy.length)
        });
        format!("{number:08}.{reads}.{at}.{length}.{known}.{ours}.{body}{copy}")
    }

    fn read(name: &str) -> Option<Mark> {
        let name = name.strip_suffix(KEPT).unwrap_or(name);
        let parts: Vec<&str> = name.split('.').collect();
        let [number, reads, at, length, known, ours, body, copy @ ..] = parts.as_slice() else {
            return None;
        };
        let copy = match copy {
            [] => None,
            [copy] => {
                let (number, length) = copy.split_once('-')?;
                Some(CopyProgress {
                    number: number.parse().ok()?,
                    length: length.parse().ok()?,
                })
            }
            _ => return None,
        };
        let print = |text: &str| (text != NONE).then(|| text.to_owned());
        Some(Mark {
            number: number.parse().ok()?,
            reads: reads.parse().ok()?,
            at: at.parse().ok()?,
            length: length.parse().ok()?,
            known: print(known),
            ours: print(ours),
            body: print(body),
            copy,
        })
    }

    /// The mark of a file whose whole content is known.
    pub(crate) fn with_known_content(self, content: &[u8]) -> Mark {
        Mark {
            length: content.len(),
            known: Some(fingerprint(content)),
            copy: None,
            ..self
        }
    }
}

impl ReplacedFolder {
    /// Its replaced files, in order.
    pub(crate) fn files(&self) -> Result<Vec<ReplacedFile>, StoreError> {
        let failed = |error: io::Error| StoreError::file("list", &self.directory, &error);
        let entries = match fs::read_dir(&self.directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(failed)?,
        };
        let mut files = Vec::new();
        for entry in entries {
            let path = entry.map_err(failed)?.path();
            let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
            if let Some(mark) = name.strip_prefix(&self.prefix).and_then(Mark::read) {
                files.push(ReplacedFile { path, mark });
            }
        }
        files.sort_by_key(|file| file.mark.number);
        Ok(files)
    }

    /// The path of a file with this mark.
    pub(crate) fn path_of(&self, mark: &Mark) -> PathBuf {
        self.directory
            .join(format!("{}{}", self.prefix, mark.name()))
    }
}

impl ReplacedFile {
    /// Renames the file to carry another mark.
    pub(crate) fn rename_to_mark(
        &self,
        folder: &ReplacedFolder,
        mark: Mark,
    ) -> Result<ReplacedFile, StoreError> {
        let path = folder.path_of(&mark);
        whole_file::rename(&self.path, &path)?;
        Ok(ReplacedFile { path, mark })
    }
}

/// The content of a replaced file that is not known yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NewContent {
    Nothing,
    /// These bytes follow the known ones.
    Appended(Vec<u8>),
    /// The file was rewritten.
    Rewritten(Vec<u8>),
}

/// Compares a replaced file with its mark; `None` when it cannot be read now.
pub(crate) fn new_content(path: &Path, mark: &Mark) -> Option<NewContent> {
    let content = super::read_document::read(path).ok().flatten()?;
    let print = Some(fingerprint(&content));
    // `ours` matches if a process died before the swap and left its own new text under this name.
    if print == mark.known || print == mark.ours {
        return Some(NewContent::Nothing);
    }
    if content.iter().all(u8::is_ascii_whitespace) {
        return Some(NewContent::Nothing);
    }
    let (head, tail) = content.split_at_checked(mark.length).unwrap_or_default();
    if !tail.is_empty() && mark.known == Some(fingerprint(head)) {
        return Some(NewContent::Appended(tail.to_vec()));
    }
    Some(NewContent::Rewritten(content))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_reads_back() {
        let mark = Mark::new(7, Timestamp::from_millis(5000));
        let copy = Some(CopyProgress {
            number: 8,
            length: 9,
        });
        let with_copy = Mark {
            copy,
            ..mark.clone()
        };
        for mark in [mark.clone(), mark.with_known_content(b"abc"), with_copy] {
            assert_eq!(Mark::read(&mark.name()), Some(mark.clone()));
            assert_eq!(Mark::read(&format!("{}{KEPT}", mark.name())), Some(mark));
        }
        assert_eq!(Mark::read("TASK.md"), None);
        assert_eq!(Mark::read(".00000001.orange-new"), None);
    }

    #[test]
    fn new_text_is_distinguished_from_known_text() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        let mark = Mark {
            ours: Some(fingerprint(b"ours")),
            ..Mark::new(1, Timestamp::default()).with_known_content(b"known\n")
        };
        let table: [(&[u8], NewContent); 6] = [
            (b"known\n", NewContent::Nothing),
            (b"ours", NewContent::Nothing),
            (b"", NewContent::Nothing),
            (b"known\nmore\n", NewContent::Appended(b"more\n".to_vec())),
            (b"other\n", NewContent::Rewritten(b"other\n".to_vec())),
            (b"kn", NewContent::Rewritten(b"kn".to_vec())),
        ];
        for (content, expected) in table {
            fs::write(&path, content).unwrap();
            assert_eq!(new_content(&path, &mark), Some(expected));
        }
        assert_eq!(new_content(&directory.path().join("none"), &mark), None);
    }
}

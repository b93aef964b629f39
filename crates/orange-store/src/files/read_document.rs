//! Reads TASK.md, or reports why its content is unknown.

use std::fs::{self, File, Metadata};
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::thread;
use std::time::Duration;

use orange_config::reason;
use orange_engine::document::{Document, DocumentError, Frontmatter, MAX_DOCUMENT_BYTES};
use rustix::fs::{Mode, OFlags};

/// How often, and with which pause, a file that seems half written is read again: agents finish a
/// write within this time.
const TRIES: u32 = 10;
const RETRY_PAUSE: Duration = Duration::from_millis(3);

/// Why the content of a document is unknown. Nothing may be changed because of unknown content.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnreadableReason {
    /// It is empty; an agent is probably about to write.
    #[error("it is empty")]
    Empty,
    /// It changed while we read it.
    #[error("it is being written")]
    Changing,
    /// Its frontmatter is not closed; an agent is probably still writing.
    #[error("its frontmatter is not closed: write `---` on a line of its own below the keys")]
    Unclosed,
    /// It is not text, or too long.
    #[error("{0}")]
    NotADocument(DocumentError),
    /// A directory, a link, a pipe.
    #[error("it is not a regular file")]
    NotRegular,
    #[error("{0}")]
    Failed(String),
}

/// The result of reading a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FileContent {
    Text(Document),
    /// No file, in an existing directory.
    Missing,
    Unknown(UnreadableReason),
}

/// Reads a file, with a few retries while it seems to be half written.
pub(crate) fn read_document(path: &Path) -> FileContent {
    let mut tries = 0;
    loop {
        let found = read_document_once(path);
        tries += 1;
        let is_transient = matches!(
            found,
            FileContent::Missing
                | FileContent::Unknown(
                    UnreadableReason::Empty
                        | UnreadableReason::Changing
                        | UnreadableReason::Unclosed
                        | UnreadableReason::NotADocument(DocumentError::NotUtf8 { .. })
                )
        );
        if !is_transient || tries == TRIES {
            return found;
        }
        thread::sleep(RETRY_PAUSE);
    }
}

fn read_document_once(path: &Path) -> FileContent {
    // One byte more than a document may have, so that an endless file is refused.
    let limit = u64::try_from(MAX_DOCUMENT_BYTES).map_or(u64::MAX, |most| most + 1);
    let bytes = match read_up_to(path, limit) {
        Ok(Some(bytes)) => bytes,
        Ok(None) => return FileContent::Unknown(UnreadableReason::Changing),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let has_directory = path.parent().is_some_and(Path::is_dir);
            return if has_directory {
                FileContent::Missing
            } else {
                FileContent::Unknown(UnreadableReason::Failed(String::from(
                    "its directory is missing",
                )))
            };
        }
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
            return FileContent::Unknown(UnreadableReason::NotRegular);
        }
        Err(error) => return FileContent::Unknown(UnreadableReason::Failed(reason(&error))),
    };
    classify(&bytes)
}

/// Classifies the content of a file.
pub(crate) fn classify(bytes: &[u8]) -> FileContent {
    match Document::parse(bytes) {
        Err(error) => FileContent::Unknown(UnreadableReason::NotADocument(error)),
        Ok(document) if document.text().trim().is_empty() => {
            FileContent::Unknown(UnreadableReason::Empty)
        }
        Ok(document) if is_unclosed(&document) => FileContent::Unknown(UnreadableReason::Unclosed),
        Ok(document) => FileContent::Text(document),
    }
}

/// Whether the frontmatter is not closed: then the parser takes its first line only.
fn is_unclosed(document: &Document) -> bool {
    let frontmatter = document.text().len() - document.body().len();
    let frontmatter = document.text().get(..frontmatter).unwrap_or_default();
    matches!(document.frontmatter(), Frontmatter::Damaged(_)) && frontmatter.lines().count() <= 1
}

/// The bytes of a regular file; `None` when it changed meanwhile. For any other kind of file, the
/// error is `InvalidInput`.
pub(crate) fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    read_up_to(path, u64::MAX)
}

/// Whether the directory of a file is a link, so that the file may not be ours. An agent can
/// replace its worktree with a link.
pub(crate) fn is_behind_link(path: &Path) -> bool {
    path.parent().is_some_and(Path::is_symlink)
}

fn read_up_to(path: &Path, limit: u64) -> io::Result<Option<Vec<u8>>> {
    if is_behind_link(path) {
        return Err(io::Error::other("its directory is a symbolic link"));
    }
    // Links are not followed, and opening a pipe does not wait for a writer.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let opened = match rustix::fs::open(path, flags, Mode::empty()) {
        Err(rustix::io::Errno::LOOP) => return Err(io::ErrorKind::InvalidInput.into()),
        opened => opened?,
    };
    let mut file = File::from(opened);
    let before = file.metadata()?;
    if !before.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut bytes = Vec::new();
    (&mut file).take(limit).read_to_end(&mut bytes)?;
    let same = |found: &Metadata| state(found) == state(&before);
    let unchanged = same(&file.metadata()?) && same(&fs::symlink_metadata(path)?);
    Ok(unchanged.then_some(bytes))
}

/// Identifies the state of a file. Changes when the file is written to or replaced, unless two
/// writes of the same size fall into one clock tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileStamp {
    device: u64,
    inode: u64,
    size: u64,
    seconds: i64,
    nanoseconds: i64,
}

fn state(found: &Metadata) -> FileStamp {
    FileStamp {
        device: found.dev(),
        inode: found.ino(),
        size: found.size(),
        seconds: found.mtime(),
        nanoseconds: found.mtime_nsec(),
    }
}

/// The stamp of a file; `None` when the file does not exist.
pub(crate) fn stamp(path: &Path) -> Option<FileStamp> {
    fs::symlink_metadata(path).ok().map(|found| state(&found))
}

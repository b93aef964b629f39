//! Reads TASK.md, or says why what it says is unknown.

use std::fs::{self, File, Metadata};
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::thread;
use std::time::Duration;

use orange_config::reason;
use orange_engine::document::{Document, DocumentError, Frontmatter, MAX_DOCUMENT_BYTES};
use rustix::fs::{Mode, OFlags};

/// An agent that writes is through within this time; a file that stays as it is, is as it is.
const TRIES: u32 = 10;
const REST: Duration = Duration::from_millis(3);

/// Why nobody can tell what a document says. It never changes anything.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unknown {
    /// It has no text; somebody is about to write.
    #[error("it is empty")]
    Empty,
    /// It changed while it was read.
    #[error("it is being written")]
    Changing,
    /// Its frontmatter begins and does not end; somebody is still writing.
    #[error("its frontmatter is not closed: write `---` on a line of its own below the keys")]
    Unclosed,
    /// It is no text, or too long for one.
    #[error("{0}")]
    NotADocument(DocumentError),
    /// A directory, a link, a pipe.
    #[error("it is not a regular file")]
    NotRegular,
    #[error("{0}")]
    Failed(String),
}

/// What a look at a file found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    Text(Document),
    /// No file, in a directory that is there.
    Missing,
    /// Nobody can tell.
    Unknown(Unknown),
}

/// Looks at a file, a few times while it seems to be in the making.
pub(crate) fn look(path: &Path) -> Look {
    let mut tries = 0;
    loop {
        let found = look_once(path);
        tries += 1;
        let passing = matches!(
            found,
            Look::Missing
                | Look::Unknown(
                    Unknown::Empty
                        | Unknown::Changing
                        | Unknown::Unclosed
                        | Unknown::NotADocument(DocumentError::NotUtf8 { .. })
                )
        );
        if !passing || tries == TRIES {
            return found;
        }
        thread::sleep(REST);
    }
}

fn look_once(path: &Path) -> Look {
    // One byte more than a document may have, so that a file without end is refused.
    let limit = u64::try_from(MAX_DOCUMENT_BYTES).map_or(u64::MAX, |most| most + 1);
    let bytes = match read_up_to(path, limit) {
        Ok(Some(bytes)) => bytes,
        Ok(None) => return Look::Unknown(Unknown::Changing),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let has_directory = path.parent().is_some_and(Path::is_dir);
            return if has_directory {
                Look::Missing
            } else {
                Look::Unknown(Unknown::Failed(String::from("its directory is missing")))
            };
        }
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
            return Look::Unknown(Unknown::NotRegular);
        }
        Err(error) => return Look::Unknown(Unknown::Failed(reason(&error))),
    };
    judge(&bytes)
}

/// What a content amounts to.
pub(crate) fn judge(bytes: &[u8]) -> Look {
    match Document::parse(bytes) {
        Err(error) => Look::Unknown(Unknown::NotADocument(error)),
        Ok(document) if document.text().trim().is_empty() => Look::Unknown(Unknown::Empty),
        Ok(document) if is_unclosed(&document) => Look::Unknown(Unknown::Unclosed),
        Ok(document) => Look::Text(document),
    }
}

/// A frontmatter that is never closed is its first line only.
fn is_unclosed(document: &Document) -> bool {
    let opening = document.text().len() - document.body().len();
    let opening = document.text().get(..opening).unwrap_or_default();
    matches!(document.frontmatter(), Frontmatter::Damaged(_)) && opening.lines().count() <= 1
}

/// The bytes of a regular file; nothing when it changed meanwhile, `InvalidInput` for other kinds.
pub(crate) fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    read_up_to(path, u64::MAX)
}

/// Whether the directory of a file is a link, so that the file is somebody else's. An agent can put
/// one in the place of its worktree.
pub(crate) fn is_behind_link(path: &Path) -> bool {
    path.parent().is_some_and(Path::is_symlink)
}

fn read_up_to(path: &Path, limit: u64) -> io::Result<Option<Vec<u8>>> {
    if is_behind_link(path) {
        return Err(io::Error::other("a link is in the place of its directory"));
    }
    // A link is not followed, and a pipe does not make the reader wait for a writer.
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

/// What differs when a file is written to or replaced, but for two writes within one tick.
type Stamp = (u64, u64, u64, i64, i64);

fn state(found: &Metadata) -> Stamp {
    let (seconds, nanoseconds) = (found.mtime(), found.mtime_nsec());
    (found.dev(), found.ino(), found.size(), seconds, nanoseconds)
}

/// The stamp of a file; nothing when there is none.
pub(crate) fn stamp(path: &Path) -> Option<impl PartialEq + use<>> {
    fs::symlink_metadata(path).ok().map(|found| state(&found))
}

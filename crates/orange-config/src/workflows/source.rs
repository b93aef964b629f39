//! Where a workflow's text comes from, and how it is read.

use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use orange_engine::language::MAX_WORKFLOW_BYTES;
use orange_engine::shipped_workflows::ShippedWorkflow;

use crate::reason;

/// A workflow that was named but not read yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Its name; for a file outside the home, its path.
    pub name: String,
    pub origin: Origin,
}

/// Where a workflow's text is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Compiled into the program.
    Shipped(&'static ShippedWorkflow),
    Home {
        path: PathBuf,
        /// Whether it replaces the shipped workflow with the same name.
        overrides_shipped: bool,
    },
    /// The policy of a repository, which the user allowed.
    Policy {
        text: String,
        /// Whether it replaces the shipped workflow with the same name.
        overrides_shipped: bool,
    },
    /// A file that was given by its path.
    File(PathBuf),
    Stdin,
}

/// Why a text could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    #[error("it is a directory")]
    Directory,
    /// A pipe or a device in the home is not read, because reading it could block forever.
    #[error("it is not a regular file")]
    NotRegular,
    /// Larger than a workflow may be.
    #[error("it has more than {MAX_WORKFLOW_BYTES} bytes, which no workflow may have")]
    TooLarge,
    #[error("{0}")]
    System(String),
}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> Self {
        ReadError::System(reason(&error))
    }
}

impl Source {
    /// A file that was given by its path, if it exists.
    pub fn file(path: &Path) -> Option<Self> {
        let is_missing = fs::metadata(path).is_err_and(|error| {
            matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            )
        });
        (!is_missing).then(|| Self {
            name: path.display().to_string(),
            origin: Origin::File(path.to_owned()),
        })
    }

    pub fn stdin() -> Self {
        Self {
            name: "-".to_owned(),
            origin: Origin::Stdin,
        }
    }

    pub fn path(&self) -> Option<&Path> {
        match &self.origin {
            Origin::Home { path, .. } | Origin::File(path) => Some(path),
            Origin::Shipped(_) | Origin::Policy { .. } | Origin::Stdin => None,
        }
    }

    /// Whether it replaces a shipped workflow.
    pub fn overrides_shipped(&self) -> bool {
        matches!(
            self.origin,
            Origin::Home {
                overrides_shipped: true,
                ..
            } | Origin::Policy {
                overrides_shipped: true,
                ..
            }
        )
    }

    /// Reads the text, byte for byte.
    pub fn read(&self) -> Result<Cow<'static, [u8]>, ReadError> {
        match &self.origin {
            Origin::Shipped(shipped) => Ok(Cow::Borrowed(shipped.source.as_bytes())),
            Origin::Policy { text, .. } => Ok(Cow::Owned(text.clone().into_bytes())),
            Origin::Stdin => read_bounded(io::stdin().lock()),
            Origin::Home { path, .. } if !fs::metadata(path)?.is_file() => Err(if path.is_dir() {
                ReadError::Directory
            } else {
                ReadError::NotRegular
            }),
            Origin::File(path) if path.is_dir() => Err(ReadError::Directory),
            Origin::Home { path, .. } | Origin::File(path) => read_bounded(File::open(path)?),
        }
    }
}

/// Reads at most one byte more than a workflow may have, so that an endless device is rejected.
fn read_bounded(reader: impl Read) -> Result<Cow<'static, [u8]>, ReadError> {
    let mut bytes = Vec::new();
    let limit = u64::try_from(MAX_WORKFLOW_BYTES).unwrap_or(u64::MAX);
    reader
        .take(limit.saturating_add(1))
        .read_to_end(&mut bytes)?;
    if bytes.len() > MAX_WORKFLOW_BYTES {
        return Err(ReadError::TooLarge);
    }
    Ok(Cow::Owned(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endless_file_is_refused() {
        assert_eq!(read_bounded(io::repeat(b'a')), Err(ReadError::TooLarge));
        let largest = io::repeat(b'a').take(1024 * 1024);
        assert_eq!(
            read_bounded(largest).map(|bytes| bytes.len()),
            Ok(1024 * 1024)
        );
    }
}

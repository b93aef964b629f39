//! Reads a script for `orange workflow simulate`.

use std::path::Path;

use crate::{ReadError, Source};

/// Why a script could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScriptError {
    #[error("there is no such file")]
    Missing,
    /// Larger than any script written by hand.
    #[error("it is too large")]
    TooLarge,
    #[error("it is not UTF-8")]
    NotUtf8,
    #[error(transparent)]
    Read(ReadError),
}

/// Reads the script from a file, or from the standard input for `-`.
pub fn read_script(path: &Path) -> Result<String, ScriptError> {
    let source = if path.as_os_str() == "-" {
        Source::stdin()
    } else {
        Source::file(path).ok_or(ScriptError::Missing)?
    };
    let bytes = source.read().map_err(|error| match error {
        ReadError::TooLarge => ScriptError::TooLarge,
        error => ScriptError::Read(error),
    })?;
    String::from_utf8(bytes.into_owned()).map_err(|_| ScriptError::NotUtf8)
}

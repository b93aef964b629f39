//! Reads a script for `orange workflow simulate`.

use std::path::Path;

use crate::{ReadError, Source};

/// Why a script could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScriptError {
    /// There is no such file.
    #[error("there is no such file")]
    Missing,
    /// Nobody writes such a script by hand.
    #[error("it is too large")]
    TooLarge,
    /// It is not text.
    #[error("it is not UTF-8")]
    NotUtf8,
    #[error(transparent)]
    Read(ReadError),
}

/// Reads the script in a file, or for `-` the one on the standard input.
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

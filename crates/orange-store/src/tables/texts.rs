//! Texts by content hash: pinned workflows, imported documents.

use std::fmt::Write as _;

use rusqlite::{Connection, OptionalExtension as _, params};
use sha2::{Digest as _, Sha256};

use crate::error::{StoreError, failed};

/// The hash of a content, as 64 hexadecimal digits.
pub(crate) fn hash(content: &[u8]) -> String {
    digits(&Sha256::digest(content))
}

/// Bytes as hexadecimal digits.
pub(crate) fn digits(bytes: &[u8]) -> String {
    let mut digits = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        let _ = write!(digits, "{byte:02x}");
    }
    digits
}

/// Stores a text, unless it is already stored; returns its hash.
pub(crate) fn keep(connection: &Connection, text: &str) -> Result<String, StoreError> {
    let hash = hash(text.as_bytes());
    connection
        .execute(
            "INSERT INTO texts (hash, text) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
            params![hash, text.as_bytes()],
        )
        .map_err(failed("keep a text"))?;
    Ok(hash)
}

/// The text with this hash.
pub(crate) fn find(connection: &Connection, hash: &str) -> Result<Option<String>, StoreError> {
    let found: Option<Vec<u8>> = connection
        .query_row("SELECT text FROM texts WHERE hash = ?1", [hash], |row| {
            row.get(0)
        })
        .optional()
        .map_err(failed("read a text"))?;
    Ok(found.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
}

//! Hashes a section's content, ignoring whitespace that editors change.

use std::fmt;

use serde::{Deserialize, Deserializer, de};
use sha2::{Digest, Sha256};

use super::lines::lines;

/// The hash of a section's content. Content that differs only in line endings, trailing white space
/// or surrounding blank lines has the same hash.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SectionHash([u8; 32]);

/// Why a text is not a section hash.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a section hash; it must be 64 lower-case hexadecimal digits")]
pub struct SectionHashError {
    text: String,
}

impl SectionHash {
    pub fn of(content: &str) -> SectionHash {
        let mut hasher = Sha256::new();
        let mut breaks = None;
        for (_, line) in lines(content) {
            let line = line.trim_end();
            if !line.is_empty() {
                for _ in 0..breaks.unwrap_or(0) {
                    hasher.update(b"\n");
                }
                hasher.update(line.as_bytes());
                breaks = Some(0);
            }
            breaks = breaks.map(|count: usize| count + 1);
        }
        SectionHash(hasher.finalize().into())
    }

    /// Reads back what `Display` writes.
    pub fn parse(text: &str) -> Result<SectionHash, SectionHashError> {
        let error = || SectionHashError {
            text: super::lines::cut(text, 80),
        };
        let mut bytes = [0; 32];
        if text.len() != 2 * bytes.len() {
            return Err(error());
        }
        for (byte, digits) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
            for digit in digits {
                let value = match digit {
                    b'0'..=b'9' => digit - b'0',
                    b'a'..=b'f' => digit - b'a' + 10,
                    _ => return Err(error()),
                };
                *byte = *byte << 4 | value;
            }
        }
        Ok(SectionHash(bytes))
    }
}

impl fmt::Display for SectionHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0
            .iter()
            .try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl fmt::Debug for SectionHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "SectionHash({self})")
    }
}

crate::names::written_as_text!(SectionHash);

impl<'de> Deserialize<'de> for SectionHash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        SectionHash::parse(&text).map_err(de::Error::custom)
    }
}

//! OS strings in JSON, without losing a byte.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// An argument, a value or a path: serialized as text if it is valid text, else as bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawText(pub OsString);

#[derive(Deserialize)]
#[serde(untagged)]
enum EncodedText {
    Text(String),
    Bytes(Vec<u8>),
}

impl RawText {
    pub fn as_os_str(&self) -> &OsStr {
        &self.0
    }

    /// Whether it holds a NUL, so that it cannot be passed to a program.
    pub fn has_nul(&self) -> bool {
        self.0.as_bytes().contains(&0)
    }
}

impl<T: AsRef<OsStr>> From<T> for RawText {
    fn from(text: T) -> Self {
        Self(text.as_ref().to_owned())
    }
}

impl Serialize for RawText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.to_str() {
            Some(text) => serializer.serialize_str(text),
            None => serializer.collect_seq(self.0.as_bytes()),
        }
    }
}

impl<'de> Deserialize<'de> for RawText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(match EncodedText::deserialize(deserializer)? {
            EncodedText::Text(text) => text.into(),
            EncodedText::Bytes(bytes) => OsString::from_vec(bytes),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_survives() {
        let all: Vec<u8> = (1..=255).collect();
        for bytes in [
            &b"plain"[..],
            b"",
            "ä🦀\u{1b}\n".as_bytes(),
            b"\xff\xfe",
            &all,
        ] {
            let text = RawText(OsStr::from_bytes(bytes).to_owned());
            let written = serde_json::to_string(&text).unwrap();
            assert_eq!(serde_json::from_str::<RawText>(&written).unwrap(), text);
        }
    }
}

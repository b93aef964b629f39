//! JSON that the protocol carries without reading it.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

/// A JSON value as the text that its author wrote.
///
/// Hashes are over this text, so nothing on the way may reformat it.
#[derive(Clone, Debug)]
pub struct Json(Arc<RawValue>);

impl Json {
    /// `None` when the text is not one JSON value.
    pub fn new(text: impl Into<String>) -> Option<Self> {
        let raw = RawValue::from_string(text.into()).ok()?;
        Some(Self(Arc::from(raw)))
    }

    pub fn null() -> Self {
        Self(Arc::from(RawValue::NULL.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        self.0.get()
    }
}

impl PartialEq for Json {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Json {}

impl PartialOrd for Json {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Json {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_str().cmp(other.as_str())
    }
}

impl Hash for Json {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        Ok(Self(Arc::from(raw)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_passes_unchanged() {
        let text = r#"{ "b":1.0,"a" : [1e3, "ü\u00fc"] }"#;
        let read: Vec<Json> = serde_json::from_str(&format!("[{text}]")).unwrap();
        assert_eq!(read[0].as_str(), text);
        let written = serde_json::to_string(&read).unwrap();
        assert_eq!(written, format!("[{text}]"));
    }

    #[test]
    fn text_that_is_not_json_is_refused() {
        for text in ["", "{", "1 2", "nul", "{}x"] {
            assert_eq!(Json::new(text), None, "{text}");
        }
        assert_eq!(Json::null().as_str(), "null");
    }
}

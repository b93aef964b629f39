//! How an agent's transcript says that a turn failed.

use serde::Deserialize;
use serde_json::Value;

use super::harness_place::Place;

/// How many of the last lines may say so: what comes after a failure is little, a new turn is more.
const LAST_LINES: usize = 4;

/// A line of a transcript of JSON lines that tells of a turn that failed.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct TranscriptError(Place);

impl TranscriptError {
    /// Why the last turn failed, by the end of a transcript; a line that is half written is none.
    pub fn find(&self, transcript: &[u8]) -> Option<String> {
        let lines = transcript.split(|byte| *byte == b'\n').rev();
        let lines = lines.filter(|line| !line.trim_ascii().is_empty());
        let mut lines = lines.take(LAST_LINES);
        lines.find_map(|line| {
            let line: Value = serde_json::from_slice(line).ok()?;
            self.0.text(&line)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transcript_error() -> TranscriptError {
        let place = "with = { type = \"error\" }\nkeys = [\"why\", \"message\"]";
        TranscriptError(toml::from_str(place).unwrap())
    }

    #[test]
    fn only_the_end_of_a_transcript_tells() {
        let find = |text: &str| transcript_error().find(text.as_bytes());
        let failed = r#"{"type":"error","why":{"message":"no quota"}}"#;
        assert_eq!(find(""), None);
        assert_eq!(find(failed).as_deref(), Some("no quota"));
        let noted = format!("{failed}\n{{}}\n\n{{\"type\":\"info\"}}\n");
        assert_eq!(find(&noted).as_deref(), Some("no quota"));
        assert_eq!(find(&format!("{failed}\n{}", "{}\n".repeat(4))), None);
        assert_eq!(find(&failed[..30]), None);
        assert_eq!(find(&failed.replace("error", "answer")), None);
    }
}

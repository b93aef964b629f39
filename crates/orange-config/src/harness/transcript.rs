//! How an agent's transcript says that a turn failed.

use orange_engine::time::Timestamp;
use serde::Deserialize;
use serde_json::Value;

use super::json_location::JsonLocation;

/// How many lines at the end are searched for a failure. After a failure come fewer lines than
/// that, and a new turn adds more.
const LAST_LINES: usize = 4;

/// A JSON line of a transcript that reports a failed turn.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TranscriptError {
    /// Which line, and where the reason is in it.
    failed: JsonLocation,
    /// Where a line says when it was written.
    at: JsonLocation,
}

impl TranscriptError {
    /// Why the last turn failed, according to the end of a transcript; an incomplete line is
    /// ignored.
    ///
    /// Lines from before `since`, the start of this run, are ignored: they belong to an earlier run
    /// of the same conversation.
    pub fn find(&self, transcript: &[u8], since: Timestamp) -> Option<String> {
        let lines = transcript.split(|byte| *byte == b'\n').rev();
        let lines = lines.filter(|line| !line.trim_ascii().is_empty());
        let mut lines = lines.take(LAST_LINES);
        lines.find_map(|line| {
            let line: Value = serde_json::from_slice(line).ok()?;
            let at = Timestamp::parse(&self.at.text(&line)?).ok()?;
            self.failed.text(&line).filter(|_| at >= since)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transcript_error() -> TranscriptError {
        let text = "failed = { with = { type = \"error\" }, keys = [\"why\", \"message\"] }\n\
                    at = { keys = [\"at\"] }";
        toml::from_str(text).unwrap()
    }

    #[test]
    fn only_the_end_of_a_transcript_counts() {
        let since = Timestamp::parse("2026-11-15T10:00:00Z").unwrap();
        let find = |text: &str| transcript_error().find(text.as_bytes(), since);
        let failed =
            r#"{"type":"error","why":{"message":"no quota"},"at":"2026-11-15T10:00:00.000Z"}"#;
        assert_eq!(find(""), None);
        assert_eq!(find(failed).as_deref(), Some("no quota"));
        let noted = format!("{failed}\n{{}}\n\n{{\"type\":\"info\"}}\n");
        assert_eq!(find(&noted).as_deref(), Some("no quota"));
        assert_eq!(find(&format!("{failed}\n{}", "{}\n".repeat(4))), None);
        assert_eq!(find(&failed[..30]), None);
        assert_eq!(find(&failed.replace("error", "answer")), None);
    }

    #[test]
    fn a_failure_before_the_agent_started_is_not_the_agents() {
        let since = Timestamp::parse("2026-11-15T10:00:00.001Z").unwrap();
        let find = |text: &str| transcript_error().find(text.as_bytes(), since);
        let line = |at: &str| format!(r#"{{"type":"error","why":{{"message":"no"}}{at}}}"#);
        assert_eq!(find(&line(r#","at":"2026-11-15T10:00:00.000Z""#)), None);
        assert_eq!(find(&line("")), None);
        assert_eq!(find(&line(r#","at":"yesterday""#)), None);
        let own = line(r#","at":"2026-11-15T10:00:01Z""#);
        assert_eq!(find(&own).as_deref(), Some("no"));
    }
}

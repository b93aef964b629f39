//! Events reported by agents: an append-only file per run.
//!
//! Many hooks write at once, and none may block: each line is one append without a lock. Readers
//! skip a line that a full disk or a killed process left incomplete.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use orange_config::clock;
use orange_engine::activity::AgentEvent;
use orange_engine::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The longest line, in bytes: an event whose line would be longer is stored without its payload.
const MAX_LINE_BYTES: usize = 16 * 1024;

/// Above this file size payloads are dropped and only the events are kept.
const MAX_FILE_BYTES: u64 = 16 * 1024 * 1024;

/// How many bytes one call reads at most; they always hold several lines.
const TAIL: u64 = 64 * 1024;

#[derive(Serialize)]
struct Line<'a> {
    #[serde(flatten)]
    event: &'a AgentEvent,
    #[serde(skip_serializing_if = "Option::is_none")]
    payload: Option<&'a Value>,
}

/// The events file in a run's directory.
pub fn agent_events_file(run_directory: &Path) -> PathBuf {
    run_directory.join("events.jsonl")
}

/// Creates the events file of a run whose agent reports its start. While the file is empty, the
/// agent has reported nothing.
pub fn expect_agent_events(run_directory: &Path) -> io::Result<()> {
    open_to_append(run_directory).map(|_| ())
}

/// Restarts the time that `silent_since` measures, for a run that has reported nothing.
pub fn restart_event_clock(run_directory: &Path) -> io::Result<()> {
    let file = OpenOptions::new()
        .append(true)
        .open(agent_events_file(run_directory));
    match file {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        file => file?.set_modified(clock::system()),
    }
}

/// Since when a run that should report events has reported nothing.
pub fn silent_since(run_directory: &Path) -> Option<Timestamp> {
    let metadata = fs::metadata(agent_events_file(run_directory)).ok()?;
    let modified = metadata.modified().ok().filter(|_| metadata.len() == 0);
    modified.map(clock::stamp)
}

fn open_to_append(run_directory: &Path) -> io::Result<File> {
    OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .open(agent_events_file(run_directory))
}

/// Appends an event from an agent, with its payload unless the line or the file would become too
/// long.
pub fn append_agent_event(
    run_directory: &Path,
    event: &AgentEvent,
    payload: Option<&Value>,
) -> io::Result<()> {
    let mut file = open_to_append(run_directory)?;
    let is_small = file.metadata()?.len() < MAX_FILE_BYTES;
    let encode = |payload| serde_json::to_vec(&Line { event, payload });
    let mut line = encode(payload.filter(|_| is_small))?;
    if line.len() > MAX_LINE_BYTES {
        line = encode(None)?;
    }
    // The newline in front ends an incomplete line, if a writer left one; otherwise it only adds an
    // empty line.
    line.insert(0, b'\n');
    line.push(b'\n');
    file.write_all(&line)
}

/// An event, with the payload that the agent's hook received.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct ReportedEvent {
    #[serde(flatten)]
    pub event: AgentEvent,
    #[serde(default)]
    pub payload: Option<Value>,
}

/// Reads the events of a run as they arrive.
#[derive(Debug)]
pub struct AgentEventReader {
    file: PathBuf,
    /// How many bytes have been read so far.
    position: u64,
}

impl AgentEventReader {
    /// A reader that skips the events that are already there.
    pub fn at_end(run_directory: &Path) -> AgentEventReader {
        let file = agent_events_file(run_directory);
        let position = fs::metadata(&file).map_or(0, |it| it.len());
        AgentEventReader { file, position }
    }

    /// The events since the last call; a line that is still being written comes with the next call.
    pub fn read_new(&mut self) -> Vec<ReportedEvent> {
        let length = fs::metadata(&self.file).map_or(0, |it| it.len());
        if length <= self.position {
            return Vec::new();
        }
        let mut bytes = Vec::new();
        let read = File::open(&self.file).and_then(|mut file| {
            file.seek(SeekFrom::Start(self.position))?;
            file.take(TAIL).read_to_end(&mut bytes)
        });
        let end = bytes.iter().rposition(|byte| *byte == b'\n');
        // A file that cannot be read now may be readable at the next call.
        let (Ok(_), Some(end)) = (read, end) else {
            return Vec::new();
        };
        self.position += u64::try_from(end + 1).unwrap_or(0);
        let lines = bytes
            .get(..end)
            .unwrap_or_default()
            .split(|byte| *byte == b'\n');
        lines
            .filter_map(|line| serde_json::from_slice(line).ok())
            .collect()
    }
}

/// The latest events of a run, in order of arrival; empty when it never reported any.
pub fn latest_agent_events(run_directory: &Path) -> io::Result<Vec<AgentEvent>> {
    let mut file = match File::open(agent_events_file(run_directory)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        opened => opened?,
    };
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL)))?;
    let mut bytes = Vec::new();
    file.take(TAIL).read_to_end(&mut bytes)?;
    let lines = bytes.split(|byte| *byte == b'\n');
    // Skip lines that do not parse: the first may have lost its start, and the last may be half
    // written.
    Ok(lines
        .filter_map(|line| serde_json::from_slice(line).ok())
        .collect())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::{Duration, SystemTime};

    use orange_engine::activity::{Activity, ActivityState, AgentEventKind};
    use orange_engine::time::Timestamp;
    use serde_json::json;

    use super::*;

    fn event(sequence: u64, kind: AgentEventKind) -> AgentEvent {
        AgentEvent {
            kind,
            sequence,
            at: Timestamp::default(),
            session_id: None,
            transcript: None,
            message: None,
            request: None,
        }
    }

    #[test]
    fn a_torn_line_loses_only_itself() {
        let folder = tempfile::tempdir().unwrap();
        let (folder, file) = (folder.path(), agent_events_file(folder.path()));
        assert_eq!(latest_agent_events(folder).unwrap(), []);
        let events = [
            event(1, AgentEventKind::SessionStart),
            event(2, AgentEventKind::Idle),
        ];
        append_agent_event(folder, &events[0], Some(&json!({ "tool": "Bash" }))).unwrap();
        // A writer died midway and left a line without its end.
        let mut torn = fs::read(&file).unwrap();
        torn.extend_from_slice(b"{\"kind\":\"working\",\"seq");
        fs::write(&file, torn).unwrap();
        append_agent_event(folder, &events[1], None).unwrap();
        assert_eq!(latest_agent_events(folder).unwrap(), events);
        let text = fs::read_to_string(&file).unwrap();
        assert!(text.contains("\"payload\":{\"tool\":\"Bash\"}"), "{text}");
    }

    #[test]
    fn an_expected_agent_with_an_empty_file_has_no_events() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        restart_event_clock(folder).unwrap();
        assert_eq!(silent_since(folder), None, "nothing is expected");
        let before = clock::now().millis();
        expect_agent_events(folder).unwrap();
        let since = silent_since(folder).unwrap();
        assert!((since.millis() - before).abs() < 10_000, "{since}");
        let file = File::options().append(true).open(agent_events_file(folder));
        let earlier = SystemTime::UNIX_EPOCH + Duration::from_secs(5);
        file.unwrap().set_modified(earlier).unwrap();
        expect_agent_events(folder).unwrap();
        assert_eq!(silent_since(folder), Some(Timestamp::from_millis(5000)));
        restart_event_clock(folder).unwrap();
        assert!(silent_since(folder).unwrap().millis() >= before - 10_000);
        append_agent_event(folder, &event(1, AgentEventKind::Working), None).unwrap();
        expect_agent_events(folder).unwrap();
        restart_event_clock(folder).unwrap();
        assert_eq!(silent_since(folder), None);
        assert_eq!(latest_agent_events(folder).unwrap().len(), 1, "it is kept");
    }

    #[test]
    fn the_newest_event_is_found_in_a_long_file() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let long = json!("x".repeat(MAX_LINE_BYTES - 200));
        let too_long = json!("y".repeat(MAX_LINE_BYTES));
        for sequence in 0..20 {
            let working = event(sequence, AgentEventKind::Working);
            append_agent_event(folder, &working, Some(&long)).unwrap();
        }
        append_agent_event(folder, &event(20, AgentEventKind::Idle), Some(&too_long)).unwrap();
        let latest = latest_agent_events(folder).unwrap();
        assert!((3..20).contains(&latest.len()), "{}", latest.len());
        assert_eq!(Activity::from_events(&latest).state, ActivityState::Idle);
        let text = fs::read_to_string(agent_events_file(folder)).unwrap();
        assert!(!text.contains("yy"), "too long to be kept");
    }

    #[test]
    fn a_reader_gets_each_event_once_and_whole() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let working = |sequence| event(sequence, AgentEventKind::Working);
        append_agent_event(folder, &working(1), None).unwrap();
        let mut reader = AgentEventReader::at_end(folder);
        assert_eq!(reader.read_new(), []);
        let payload = json!({ "tool": "Bash" });
        append_agent_event(folder, &working(2), Some(&payload)).unwrap();
        let mut half = OpenOptions::new();
        let half = half.append(true).open(agent_events_file(folder));
        half.unwrap().write_all(b"{\"kind\":").unwrap();
        let read = reader.read_new();
        assert_eq!(read.len(), 1, "{read:?}");
        assert_eq!(
            (&read[0].event, &read[0].payload),
            (&working(2), &Some(payload))
        );
        assert_eq!(reader.read_new(), []);
        append_agent_event(folder, &working(3), None).unwrap();
        let read = reader.read_new();
        assert_eq!(read.len(), 1, "{read:?}");
        assert_eq!(read[0].event, working(3));
    }

    #[test]
    fn concurrent_writers_lose_no_line() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        std::thread::scope(|scope| {
            for thread in 0..8 {
                scope.spawn(move || {
                    for number in 0..20 {
                        let working = event(thread * 100 + number, AgentEventKind::Working);
                        append_agent_event(folder, &working, None).unwrap();
                    }
                });
            }
        });
        let mut sequences: Vec<u64> = latest_agent_events(folder)
            .unwrap()
            .iter()
            .map(|event| event.sequence)
            .collect();
        sequences.sort_unstable();
        let expected = (0..8).flat_map(|thread| (0..20).map(move |number| thread * 100 + number));
        assert_eq!(sequences, expected.collect::<Vec<u64>>());
    }
}

//! The copy of a task's events: one line each in `history.jsonl`.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use orange_engine::event::Event;
use orange_engine::names::TaskId;
use serde::{Deserialize, Serialize};

use super::error::StoreError;
use super::events::RecordedEvent;
use super::task_directory::TaskDirectory;
use super::{Store, whole_file};
use crate::steps::reached;

/// One line: an event, and the commit that brought it.
#[derive(Serialize, Deserialize)]
pub(super) struct Line {
    pub(super) sequence: u64,
    #[serde(flatten)]
    pub(super) event: Event,
}

/// Appends what the file does not have yet; whoever calls holds the lock of the task's files.
///
/// Where to go on is read from the file itself, so it does not matter after which line an earlier
/// process was killed. A line that was cut short is cut off.
pub(super) fn append(store: &Store, directory: &TaskDirectory) -> Result<(), StoreError> {
    let path = directory.history();
    let failed = |error: io::Error| StoreError::file("append to", &path, &error);
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(&path)
        .map_err(failed)?;
    let Some(end) = find_end(&mut file).map_err(failed)? else {
        return rewrite(store, directory);
    };
    let new = store.events(directory.task(), end.version)?;
    if new.is_empty() {
        let database = store.require(directory.task())?.task.version;
        if end.version > database {
            return Err(StoreError::HistoryAhead {
                task: directory.task().clone(),
                path,
                file: end.version,
                database,
            });
        }
        if end.offset == end.length {
            return Ok(());
        }
    }
    let text = lines(directory.task(), new)?;
    let append = |file: &mut File| {
        file.set_len(end.offset)?;
        file.seek(SeekFrom::Start(end.offset))?;
        // In two parts, so that the tests can die in the middle of a line.
        let (head, tail) = text.as_bytes().split_at(text.len() / 2);
        file.write_all(head)?;
        reached("half of the new lines are written");
        file.write_all(tail)?;
        reached("the new lines are written");
        file.sync_data()
    };
    append(&mut file).map_err(failed)
}

/// Writes the whole file again; the damaged one is kept beside it.
fn rewrite(store: &Store, directory: &TaskDirectory) -> Result<(), StoreError> {
    let path = directory.history();
    whole_file::rename(&path, &path.with_extension("jsonl.damaged"))?;
    let text = lines(directory.task(), store.events(directory.task(), 0)?)?;
    whole_file::write(&path, text.as_bytes(), 0o600)
}

fn lines(task: &TaskId, events: Vec<RecordedEvent>) -> Result<String, StoreError> {
    let mut text = String::new();
    for RecordedEvent {
        sequence, event, ..
    } in events
    {
        let line = serde_json::to_string(&Line { sequence, event })
            .map_err(|error| StoreError::json("an event", task, &error))?;
        text.push_str(&line);
        text.push('\n');
    }
    Ok(text)
}

/// Where a history ends.
struct End {
    /// The version of its last whole line; 0 when there is none.
    version: u64,
    /// Where that line ends.
    offset: u64,
    /// Where the file ends.
    length: u64,
}

/// Finds the last whole line; `None` when it is not an event.
fn find_end(file: &mut File) -> io::Result<Option<End>> {
    let length = file.seek(SeekFrom::End(0))?;
    let mut window = 64 * 1024;
    loop {
        let start = length.saturating_sub(window);
        file.seek(SeekFrom::Start(start))?;
        let mut tail = Vec::new();
        file.read_to_end(&mut tail)?;
        let last = tail.iter().rposition(|byte| *byte == b'\n');
        let whole = tail.get(..last.unwrap_or(0)).unwrap_or_default();
        let previous = whole.iter().rposition(|byte| *byte == b'\n');
        if start > 0 && previous.is_none() {
            window *= 4;
            continue;
        }
        let Some(last) = last else {
            let (version, offset) = (0, 0);
            return Ok(Some(End {
                version,
                offset,
                length,
            }));
        };
        let line = whole
            .get(previous.map_or(0, |at| at + 1)..)
            .unwrap_or_default();
        let offset = start + u64::try_from(last).unwrap_or_default() + 1;
        let line: Result<Line, _> = serde_json::from_slice(line);
        return Ok(line.ok().map(|line| End {
            version: line.event.version,
            offset,
            length,
        }));
    }
}

/// A history as it is read back.
pub(super) struct History {
    pub(super) lines: Vec<Line>,
    /// Whether the last line was cut short and left out.
    pub(super) torn: bool,
}

/// Reads a whole history; only its last line may be damaged.
pub(super) fn read(path: &Path) -> Result<History, String> {
    let text = std::fs::read(path).map_err(|error| crate::config::reason(&error))?;
    let mut history = History {
        lines: Vec::new(),
        torn: false,
    };
    let mut rest = text.split_inclusive(|byte| *byte == b'\n').peekable();
    let mut number = 0;
    while let Some(line) = rest.next() {
        number += 1;
        match serde_json::from_slice(line) {
            // A line without its end was still being written, even if what is there reads well.
            Ok(line_read) if line.ends_with(b"\n") => history.lines.push(line_read),
            _ if rest.peek().is_none() => history.torn = true,
            Ok(_) => {}
            Err(error) => return Err(format!("line {number}: {error}")),
        }
    }
    Ok(history)
}

//! Copies a task's events to `history.jsonl`, one per line.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use orange_engine::Task;
use orange_engine::event::Event;
use orange_engine::names::TaskId;
use serde::{Deserialize, Serialize};

use super::task_directory::TaskDirectory;
use super::whole_file;
use crate::Store;
use crate::error::{StoreError, require_readable};
use crate::migrations::renames;
use crate::steps::reach;
use crate::tables::events::RecordedEvent;

/// One line: an event, and the commit that recorded it.
#[derive(Serialize, Deserialize)]
pub(crate) struct Line {
    pub(crate) sequence: u64,
    #[serde(flatten)]
    pub(crate) event: Event,
}

/// Appends the events that the file lacks; the caller holds the lock of the task's files.
///
/// The starting point is read from the file itself, so it does not matter after which line an
/// earlier process was killed. An incomplete last line is truncated.
pub(crate) fn append(store: &Store, directory: &TaskDirectory) -> Result<(), StoreError> {
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
    require_recorded(store, directory, &end)?;
    let new = store.events(directory.task(), end.version())?;
    if new.is_empty() && end.offset == end.length {
        return Ok(());
    }
    let text = lines(directory.task(), new)?;
    let append = |file: &mut File| {
        file.set_len(end.offset)?;
        file.seek(SeekFrom::Start(end.offset))?;
        // Write in two parts, so that the tests can kill the process in the middle of a line.
        let (head, tail) = text.as_bytes().split_at(text.len() / 2);
        file.write_all(head)?;
        reach("half of the new lines are written");
        file.write_all(tail)?;
        reach("the new lines are written");
        file.sync_data()
    };
    append(&mut file).map_err(failed)
}

impl Store {
    /// Fails when the history file of a task has events that the database has lost.
    ///
    /// A database that lost its last commits, because its log was deleted or an old copy was
    /// restored, would record other events under the same versions. The file is read before the
    /// database, so a commit in between does no harm: a line is written only after its event was
    /// committed. An unreadable file proves nothing; the next projection reports it.
    pub fn require_same_history(&self, task: &Task) -> Result<(), StoreError> {
        let directory = TaskDirectory::new(&self.home, &task.project, &task.id)?;
        let file = File::open(directory.history());
        let end = file.and_then(|mut file| find_end(&mut file));
        match end {
            Ok(Some(end)) => require_recorded(self, &directory, &end),
            Ok(None) | Err(_) => Ok(()),
        }
    }
}

/// Compares the last event of a history with the database's event of that version.
fn require_recorded(store: &Store, directory: &TaskDirectory, end: &End) -> Result<(), StoreError> {
    let Some(event) = &end.event else {
        return Ok(());
    };
    let (task, path) = (directory.task().clone(), directory.history());
    match store.event(&task, event.version)? {
        Some(recorded) if recorded == *event => Ok(()),
        Some(_) => Err(StoreError::HistoryDiffers {
            task,
            path,
            version: event.version,
        }),
        None => Err(StoreError::HistoryAhead {
            database: store.require(&task)?.task.version,
            task,
            path,
            file: event.version,
        }),
    }
}

/// Rewrites the whole file; the damaged one is kept beside it.
fn rewrite(store: &Store, directory: &TaskDirectory) -> Result<(), StoreError> {
    let path = directory.history();
    let text = lines(directory.task(), store.events(directory.task(), 0)?)?;
    whole_file::rename(&path, &path.with_extension("jsonl.damaged"))?;
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
    /// The event of its last complete line.
    event: Option<Event>,
    /// Where this line ends.
    offset: u64,
    /// Where the file ends.
    length: u64,
}

impl End {
    /// The version of the last event; 0 when there is none.
    fn version(&self) -> u64 {
        self.event.as_ref().map_or(0, |event| event.version)
    }
}

/// Finds the last complete line; `None` when it is not an event.
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
            return Ok(Some(End {
                event: None,
                offset: 0,
                length,
            }));
        };
        let line = whole
            .get(previous.map_or(0, |at| at + 1)..)
            .unwrap_or_default();
        let offset = start + u64::try_from(last).unwrap_or_default() + 1;
        let line: Result<Line, _> = renames::read(line);
        return Ok(line.ok().map(|line| End {
            event: Some(line.event),
            offset,
            length,
        }));
    }
}

/// A history read from its file.
pub(crate) struct History {
    pub(crate) lines: Vec<Line>,
    /// Whether the last line was incomplete and left out.
    pub(crate) is_truncated: bool,
}

/// Reads a whole history; only its last line may be damaged.
pub(crate) fn read(path: &Path) -> Result<History, String> {
    let text = std::fs::read(path).map_err(|error| orange_config::reason(&error))?;
    let mut history = History {
        lines: Vec::new(),
        is_truncated: false,
    };
    let mut rest = text.split_inclusive(|byte| *byte == b'\n').peekable();
    let mut number = 0;
    while let Some(line) = rest.next() {
        number += 1;
        let is_complete = line.ends_with(b"\n");
        match renames::read(line) {
            // A line without its newline was still being written, even if it parses.
            Ok(line_read) if is_complete => history.lines.push(line_read),
            Ok(_) => history.is_truncated = true,
            Err(error) => {
                // Nothing is wrong with such a line, so it must not be left out.
                require_readable(line).map_err(|newer| format!("line {number}: {newer}"))?;
                if rest.peek().is_some() {
                    return Err(format!("line {number}: {error}"));
                }
                history.is_truncated = true;
            }
        }
    }
    Ok(history)
}

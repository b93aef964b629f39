//! The log: one JSON line per event, in `orange.log`.
//!
//! Many processes write at once: each line is one append, and the process that finds the file too
//! large renames it under a lock. A line that cannot be written causes no failure.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use orange_config::clock;
use orange_config::{LogLevel, LogSettings, reason};
use orange_engine::event::{Event, Fact};
use orange_engine::input::{Cause, Observation, RequestKind};
use orange_engine::names::TaskId;
use orange_engine::{Refusal, Task};
use serde_json::{Map, Value, json};

use crate::DriverError;
use crate::context::Context;

/// The most characters of a value; an error may contain the whole output of a program.
const LONGEST_TEXT: usize = 2000;

/// The defaults when the settings cannot be read.
pub(crate) const DEFAULT_SETTINGS: LogSettings = LogSettings {
    level: LogLevel::Info,
    max_size: 10_000_000,
    keep: 3,
};

impl Context {
    /// Writes a line about a task if its level is enabled; ignores failures.
    pub fn log(&self, level: LogLevel, task: &TaskId, name: &'static str, more: Value) {
        if level <= self.log.level {
            let _unwritten = self.try_log(level, task, name, more);
        }
    }

    /// Writes a line that is not about a single task.
    pub fn log_for_all(&self, level: LogLevel, name: &'static str, more: Value) {
        if level <= self.log.level {
            let _unwritten = self.write_line(level, None, name, more);
        }
    }

    /// Like [`Context::log`], but writes at every level and returns a failure.
    pub(crate) fn try_log(
        &self,
        level: LogLevel,
        task: &TaskId,
        name: &'static str,
        more: Value,
    ) -> Result<(), DriverError> {
        self.write_line(level, Some(task), name, more)
    }

    fn write_line(
        &self,
        level: LogLevel,
        task: Option<&TaskId>,
        name: &'static str,
        more: Value,
    ) -> Result<(), DriverError> {
        let mut line = Map::new();
        line.insert("at".to_owned(), json!(clock::now()));
        line.insert("level".to_owned(), level.name().into());
        line.insert("pid".to_owned(), std::process::id().into());
        if let Some(task) = task {
            line.insert("task".to_owned(), json!(task));
        }
        line.insert("name".to_owned(), name.into());
        if let Value::Object(more) = more {
            line.extend(more.into_iter().map(|(key, value)| (key, shorten(value))));
        }
        let path = self.home.log();
        let line = format!("{}\n", Value::Object(line));
        let written = append(&path, line.as_bytes()).and_then(|size| {
            if size > self.log.max_size {
                rotate(&path, self.log)?;
            }
            Ok(())
        });
        written.map_err(|error| DriverError::File {
            attempt: "write",
            reason: reason(&error),
            path,
        })
    }

    /// Logs a decision; one that changes no status is logged as debug.
    pub(crate) fn log_decision(&self, task: &Task, cause: &Cause, events: &[Event]) {
        let mut moves = events.iter().rev().filter_map(|event| match &event.fact {
            Fact::StatusChanged(changed) => Some(changed.to.to_string()),
            _ => None,
        });
        let (level, to) = match moves.next() {
            Some(to) => (LogLevel::Info, Some(to)),
            None => (LogLevel::Debug, None),
        };
        let (cause, by) = cause_and_role(cause);
        let version = task.version;
        let more =
            json!({ "cause": cause, "by": by, "from": task.status, "to": to, "version": version });
        self.log(level, &task.id, "decided", more);
    }

    pub(crate) fn log_refusal(&self, task: &Task, cause: &Cause, refusal: &Refusal) {
        let (cause, by) = cause_and_role(cause);
        let code = refusal.code();
        let more = json!({ "cause": cause, "by": by, "from": task.status, "code": code });
        self.log(LogLevel::Info, &task.id, "refused", more);
    }
}

/// What triggered a decision, and which role asked.
fn cause_and_role(cause: &Cause) -> (&'static str, Option<String>) {
    match cause {
        Cause::Request(request) => {
            let kind = match &request.kind {
                RequestKind::Move { .. } => "move",
                RequestKind::Verb(_) => "verb",
                RequestKind::Merge { .. } => "merge",
                RequestKind::Respawn { .. } => "respawn",
                RequestKind::Stop { .. } => "stop",
                RequestKind::Restart { .. } => "restart",
                RequestKind::Reopen => "reopen",
                RequestKind::OpenPullRequest { .. } => "open_pull_request",
                RequestKind::HandEdit { .. } => "hand_edit",
                RequestKind::Amend { .. } => "amend",
                RequestKind::RetryEffects => "retry_effects",
                RequestKind::ClearAttention => "clear_attention",
                RequestKind::RetryReleases => "retry_releases",
                RequestKind::ChangeWorkflow { .. } => "adopt",
                RequestKind::Split => "split",
                RequestKind::Delete => "delete",
                RequestKind::Restore => "bring_back",
                RequestKind::Tell { .. } => "tell",
            };
            (kind, Some(request.by.to_string()))
        }
        Cause::Observation(observation) => {
            let kind = match observation {
                Observation::DocumentRead { .. } => "document_read",
                Observation::RunEnded { .. } => "run_ended",
                Observation::EffectDone { .. } => "effect_done",
                Observation::EffectFailed { .. } => "effect_failed",
                Observation::StandIn { .. } => "stand_in",
                Observation::Merged { .. } => "merged",
                Observation::PullRequest(_) => "pull_request",
                Observation::TimedOut => "timed_out",
                _ => "observed",
            };
            (kind, None)
        }
    }
}

fn shorten(value: Value) -> Value {
    match value {
        Value::String(text) if text.chars().count() > LONGEST_TEXT => {
            let kept: String = text.chars().take(LONGEST_TEXT).collect();
            Value::String(kept + "…")
        }
        value => value,
    }
}

/// Appends a line in one write, so that lines of several processes never mix; returns the new size.
fn append(path: &Path, line: &[u8]) -> io::Result<u64> {
    let mut options = OpenOptions::new();
    let mut file = options.append(true).create(true).mode(0o600).open(path)?;
    file.write_all(line)?;
    Ok(file.metadata()?.len())
}

/// Starts a new file. A process that does not get the lock, or finds a small file, does nothing.
fn rotate(path: &Path, settings: LogSettings) -> io::Result<()> {
    let lock_path = path.with_extension("log.lock");
    let mut options = OpenOptions::new();
    let options = options.write(true).create(true).truncate(false).mode(0o600);
    let lock: File = options.open(lock_path)?;
    if lock.try_lock().is_err() || fs::metadata(path)?.len() <= settings.max_size {
        return Ok(());
    }
    if settings.keep == 0 {
        return fs::remove_file(path);
    }
    for number in (1..settings.keep).rev() {
        let _absent = fs::rename(rotated_path(path, number), rotated_path(path, number + 1));
    }
    fs::rename(path, rotated_path(path, 1))
}

/// The path of an older log; a higher number is older.
pub(crate) fn rotated_path(path: &Path, number: u32) -> PathBuf {
    path.with_extension(format!("log.{number}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_rotated_logs_is_limited() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("orange.log");
        let settings = LogSettings {
            max_size: 10,
            keep: 2,
            ..DEFAULT_SETTINGS
        };
        for number in 0..5 {
            let size = append(&path, format!("line number {number}\n").as_bytes()).unwrap();
            assert!(size > settings.max_size);
            rotate(&path, settings).unwrap();
        }
        let read = |path: PathBuf| fs::read_to_string(path).unwrap_or_default();
        assert_eq!(read(rotated_path(&path, 1)), "line number 4\n");
        assert_eq!(read(rotated_path(&path, 2)), "line number 3\n");
        assert!(!rotated_path(&path, 3).exists());
        assert!(!path.exists());
    }

    #[test]
    fn rotation_skips_a_small_file_and_a_held_lock() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("orange.log");
        append(&path, b"a line of some length\n").unwrap();
        rotate(&path, DEFAULT_SETTINGS).unwrap();
        let lock = File::create(path.with_extension("log.lock")).unwrap();
        lock.lock().unwrap();
        let small = LogSettings {
            max_size: 1,
            ..DEFAULT_SETTINGS
        };
        rotate(&path, small).unwrap();
        assert!(path.exists());
        drop(lock);
        rotate(&path, small).unwrap();
        assert!(!path.exists());
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        let cut = shorten(Value::String("🦀".repeat(LONGEST_TEXT + 1)));
        assert_eq!(cut.as_str().unwrap().chars().count(), LONGEST_TEXT + 1);
    }
}

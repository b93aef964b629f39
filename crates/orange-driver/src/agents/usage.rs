//! What runs used, as their agents report it.
//!
//! A transcript can be large and may be deleted by its agent, so what was counted is kept in the
//! run's directory, with the position to continue from. The record is written when an agent ends a
//! turn and when a run ends. Views continue from there and write nothing.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use orange_config::{
    Harness, Harnesses, LogLevel, RunPeriod, UsageCount, UsageLocations, UsageSource, clock, reason,
};
use orange_effects::private_file;
use orange_effects::transcript::open_transcript;
use orange_engine::effect::Spawn;
use orange_engine::names::{HarnessName, ProjectName, RunId, TaskId};
use orange_engine::time::Timestamp;
use orange_engine::usage::{Cost, RunUsage, Usage};
use orange_store::{RunRecord, Store};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::DriverError;
use crate::agents::Agents;
use crate::context::run_location::report_folder;
use crate::context::run_sandbox::RunSandbox;

/// How many bytes are read at once; the next reading continues after them.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// The longest line that is read; a longer one is skipped.
const MAX_LINE: u64 = 16 * 1024 * 1024;

/// The most transcripts that are counted for a run; a user may begin several conversations.
const MAX_TRANSCRIPTS: usize = 32;

/// The largest `usage.json` that is read.
const MAX_RECORD: u64 = 1024 * 1024;

/// What was counted for a run, in `usage.json` of its directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct UsageRecord {
    harness: HarnessName,
    /// When the run was prepared; older parts of a conversation are not counted.
    since: Timestamp,
    /// Whether the run resumes the conversation of an earlier one.
    #[serde(default)]
    is_resumed: bool,
    #[serde(default)]
    transcripts: Vec<TranscriptCount>,
    /// Whether transcripts were left out, or it is unknown which transcripts existed.
    #[serde(default)]
    has_omissions: bool,
    /// What a headless run printed about itself, once it has ended.
    #[serde(default)]
    printed: Option<RunUsage>,
}

/// How far a transcript was read, and what was counted in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct TranscriptCount {
    path: PathBuf,
    /// The inode of the file. A different file at the same path is counted from its beginning.
    inode: u64,
    offset: u64,
    /// Whether the transcript lacks a part of what the agent uses.
    is_partial: bool,
    /// Whether lines were too long to be counted.
    has_gaps: bool,
    /// Whether the file was longer than could be read at once, or could not be read.
    has_more: bool,
    count: UsageCount,
}

impl UsageRecord {
    fn new(harness: HarnessName, since: Timestamp, is_resumed: bool) -> Self {
        Self {
            harness,
            since,
            is_resumed,
            transcripts: Vec::new(),
            has_omissions: false,
            printed: None,
        }
    }

    fn load(run_directory: &Path) -> Option<Self> {
        let bytes = private_file::read(&usage_file(run_directory), MAX_RECORD).ok()?;
        serde_json::from_slice(&bytes).ok()
    }

    fn save(&self, run_directory: &Path) -> io::Result<()> {
        let json = serde_json::to_vec(self)?;
        let saved = private_file::write_unsynced(&usage_file(run_directory), &json);
        saved.map_err(|error| io::Error::other(error.to_string()))
    }

    /// What the run used. The numbers that it printed take precedence over its transcripts, which
    /// lack the requests to smaller models.
    fn usage(&self) -> RunUsage {
        let counts = self.transcripts.iter().map(|it| it.count.usage());
        let counted = counts.fold(RunUsage::default(), |sum, it| sum.plus(it));
        let mut usage = match &self.printed {
            Some(printed) => printed.or(&counted),
            None => counted,
        };
        // An agent reports a cost of zero for a model whose price it does not know.
        usage.cost = usage.cost.filter(|it| *it > Cost::default());
        usage
    }

    /// Whether the run may have used more than was counted. What it printed is complete, unless a
    /// number is missing there and comes from the transcripts.
    fn is_minimum(&self) -> bool {
        let mut transcripts = self.transcripts.iter();
        let is_incomplete = self.has_omissions || transcripts.any(TranscriptCount::is_incomplete);
        let usage = self.usage().without_models();
        let is_printed = self
            .printed
            .as_ref()
            .is_some_and(|it| it.without_models() == usage);
        is_incomplete && !is_printed
    }

    /// Adds the transcripts that are not counted yet, as far as there is room.
    fn add_transcripts(&mut self, paths: Vec<PathBuf>) {
        for path in paths {
            if self.transcripts.iter().any(|it| it.path == path) {
                continue;
            }
            if self.transcripts.len() >= MAX_TRANSCRIPTS {
                self.has_omissions = true;
                return;
            }
            self.transcripts.push(TranscriptCount {
                path,
                ..TranscriptCount::default()
            });
        }
    }
}

impl Agents {
    /// Prepares the count for a run that is about to start.
    pub(crate) fn begin_usage(
        &self,
        project: &ProjectName,
        task: &TaskId,
        spawn: &Spawn,
        is_resumed: bool,
    ) -> Result<(), DriverError> {
        let directory = self.context.run_directory(project, task, &spawn.run)?;
        let record = UsageRecord::new(spawn.harness.clone(), clock::now(), is_resumed);
        let saved = record.save(&directory);
        saved.map_err(|error| DriverError::File {
            attempt: "write",
            path: usage_file(&directory),
            reason: reason(&error),
        })
    }

    /// What the runs of a task used. Without the definitions of the harnesses only what was counted
    /// before is known.
    pub(crate) fn usage(
        &self,
        harnesses: Option<&Harnesses>,
        project: &ProjectName,
        runs: &[RunRecord],
    ) -> Usage {
        let mut usage = Usage::default();
        for run in runs {
            // A run that was never prepared has used nothing.
            let Some(setup) = &run.setup else { continue };
            let until = run.ended_at.unwrap_or_else(clock::now);
            let record = self.current_usage(harnesses, project, run, setup.at);
            let seconds = until.seconds_since(setup.at);
            match record {
                Some(record) => usage.add_run(&record.usage(), seconds, record.is_minimum()),
                None => usage.add_run(&RunUsage::default(), seconds, false),
            }
        }
        usage
    }

    /// What was counted for a run, continued to the end of its transcript.
    fn current_usage(
        &self,
        harnesses: Option<&Harnesses>,
        project: &ProjectName,
        run: &RunRecord,
        since: Timestamp,
    ) -> Option<UsageRecord> {
        let directory = self.context.run_directory(project, &run.task, &run.id);
        let directory = directory.ok()?;
        let record = UsageRecord::load(&directory);
        // Without a record, as for a run of an earlier version, nothing says whether the run was
        // resumed and which conversations it had.
        let mut record = record.unwrap_or_else(|| UsageRecord {
            has_omissions: true,
            ..UsageRecord::new(run.harness.clone(), since, true)
        });
        self.continue_count(
            &mut record,
            harnesses,
            project,
            &run.task,
            &run.id,
            run.ended_at,
        );
        if record.printed.is_none() && run.headless {
            record.printed = self.printed_usage(project, run, record.is_resumed);
        }
        Some(record)
    }

    /// Counts what a run has used since it was counted last, and keeps the result. A failure is
    /// only logged, because nothing depends on the count.
    pub(crate) fn record_usage(&self, project: &ProjectName, task: &TaskId, run: &RunId) {
        let recorded = self.try_record(project, task, run, None);
        self.log_usage_failure(task, run, recorded);
    }

    /// Like `record_usage`, for a run that has ended and may have printed what it used.
    pub(crate) fn record_usage_of_ended(&self, store: &Store, task: &TaskId, run: &RunId) {
        // Views count what could not be recorded here.
        let (Ok(stored), Ok(runs)) = (store.require(task), store.runs(task)) else {
            return;
        };
        if let Some(record) = runs.iter().find(|it| it.id == *run) {
            let recorded = self.try_record(&stored.task.project, task, run, Some(record));
            let recorded = recorded.and_then(|()| {
                let spent = self.record_spend_of_ended(&stored.task.project, record);
                spent.map_err(|error| io::Error::other(error.to_string()))
            });
            self.log_usage_failure(task, run, recorded);
        }
    }

    /// What was counted for a run when its agent last ended a turn, and since when; `None` if
    /// nothing was.
    pub(super) fn counted_usage(
        &self,
        project: &ProjectName,
        task: &TaskId,
        run: &RunId,
    ) -> Result<Option<(RunUsage, Timestamp)>, DriverError> {
        let directory = self.context.run_directory(project, task, run)?;
        let record = UsageRecord::load(&directory);
        Ok(record.map(|it| (it.usage(), it.since)))
    }

    fn log_usage_failure(&self, task: &TaskId, run: &RunId, recorded: io::Result<()>) {
        if let Err(error) = recorded {
            let more = json!({ "run": run, "error": error.to_string() });
            self.context
                .log(LogLevel::Warn, task, "usage.not_recorded", more);
        }
    }

    fn try_record(
        &self,
        project: &ProjectName,
        task: &TaskId,
        id: &RunId,
        ended: Option<&RunRecord>,
    ) -> io::Result<()> {
        let directory = self.context.run_directory(project, task, id);
        let directory = directory.map_err(|error| io::Error::other(error.to_string()))?;
        let Some(before) = UsageRecord::load(&directory) else {
            return Ok(());
        };
        let mut record = before.clone();
        let harnesses = self.context.harnesses().ok();
        let ended_at = ended.and_then(|run| run.ended_at);
        self.continue_count(&mut record, harnesses.as_ref(), project, task, id, ended_at);
        if let Some(run) = ended.filter(|run| run.headless) {
            record.printed = self.printed_usage(project, run, record.is_resumed);
        }
        if record == before {
            return Ok(());
        }
        record.save(&directory)
    }

    /// Counts what was written since the last reading, and before the run ended: the next run may
    /// continue its conversation.
    fn continue_count(
        &self,
        record: &mut UsageRecord,
        harnesses: Option<&Harnesses>,
        project: &ProjectName,
        task: &TaskId,
        run: &RunId,
        until: Option<Timestamp>,
    ) {
        let harness = harnesses.and_then(|it| it.require(&record.harness).ok());
        let Some((harness, locations)) = harness.and_then(|it| Some((it, it.usage.as_ref()?)))
        else {
            return;
        };
        let Some((folder, paths)) = self.transcripts_of(harness, project, task, run) else {
            return;
        };
        record.add_transcripts(paths);
        // Continue earlier transcripts too: a conversation may have grown between the last count
        // and its end.
        let period = RunPeriod {
            since: record.since,
            until,
        };
        for count in &mut record.transcripts {
            count.try_advance(&folder, locations, period);
        }
    }

    /// The transcripts that a run reported recently, and the folder that they must be in.
    fn transcripts_of(
        &self,
        harness: &Harness,
        project: &ProjectName,
        task: &TaskId,
        run: &RunId,
    ) -> Option<(PathBuf, Vec<PathBuf>)> {
        let directory = self.context.run_directory(project, task, run).ok()?;
        match harness.usage_source(&self.context.environment)? {
            UsageSource::RunFile(name) => {
                let folder = report_folder(&directory);
                let path = folder.join(name);
                Some((folder, vec![path]))
            }
            UsageSource::Transcripts(folder) => {
                let events = self.events_of(project, task, run);
                let paths = events.into_iter().filter_map(|it| it.transcript);
                let paths = paths.map(PathBuf::from);
                Some(match RunSandbox::load(&directory) {
                    // The agent names its files as it sees them.
                    Some(sandbox) => {
                        let home = sandbox.private_home()?.to_owned();
                        let paths = paths.filter_map(|path| sandbox.outside(&path));
                        (home, paths.collect())
                    }
                    None => (folder, paths.collect()),
                })
            }
        }
    }

    /// The usage that a headless run printed; `None` if it has printed none yet, or if its numbers
    /// may include earlier runs.
    fn printed_usage(
        &self,
        project: &ProjectName,
        run: &RunRecord,
        is_resumed: bool,
    ) -> Option<RunUsage> {
        let harnesses = self.context.harnesses().ok()?;
        let harness = harnesses.require(&run.harness).ok()?;
        if is_resumed && harness.result.as_ref()?.is_cumulative {
            return None;
        }
        let printed = self.result_of(project, run)?.usage();
        Some(printed).filter(|it| !it.is_unknown())
    }
}

impl TranscriptCount {
    /// Whether the agent may have used more than was counted.
    fn is_incomplete(&self) -> bool {
        self.is_partial || self.has_gaps || self.has_more
    }

    fn try_advance(&mut self, folder: &Path, locations: &UsageLocations, period: RunPeriod) {
        let read = self.advance(folder, locations, period);
        // An agent creates a transcript with its first message, and may delete an old one.
        if read.is_err_and(|error| error.kind() != io::ErrorKind::NotFound) {
            self.has_more = true;
        }
    }

    fn advance(
        &mut self,
        folder: &Path,
        locations: &UsageLocations,
        period: RunPeriod,
    ) -> io::Result<()> {
        let mut file = open_transcript(folder, &self.path)?;
        let metadata = file.metadata()?;
        if self.inode != metadata.ino() || metadata.len() < self.offset {
            *self = TranscriptCount {
                path: std::mem::take(&mut self.path),
                inode: metadata.ino(),
                ..TranscriptCount::default()
            };
        }
        self.is_partial = locations.is_partial;
        file.seek(SeekFrom::Start(self.offset))?;
        self.read_lines(
            &mut BufReader::new(file),
            locations,
            period,
            MAX_BYTES,
            MAX_LINE,
        )
    }

    /// Counts complete lines, up to `max_bytes` bytes. Leaves a last line that is still being
    /// written.
    fn read_lines(
        &mut self,
        reader: &mut BufReader<File>,
        locations: &UsageLocations,
        period: RunPeriod,
        max_bytes: u64,
        max_line: u64,
    ) -> io::Result<()> {
        let end = self.offset.saturating_add(max_bytes);
        let mut line = Vec::new();
        loop {
            self.has_more = self.offset >= end;
            if self.has_more {
                return Ok(());
            }
            line.clear();
            let read = reader
                .by_ref()
                .take(max_line)
                .read_until(b'\n', &mut line)?;
            let read = u64::try_from(read).unwrap_or(u64::MAX);
            if line.last() == Some(&b'\n') {
                locations.count(&mut self.count, &line, period);
            } else if read == max_line {
                // The rest of the line is read as a line of its own, which is not JSON.
                self.has_gaps = true;
            } else {
                return Ok(());
            }
            self.offset = self.offset.saturating_add(read);
        }
    }
}

fn usage_file(run_directory: &Path) -> PathBuf {
    run_directory.join("usage.json")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn locations() -> UsageLocations {
        let harness = "name = \"a\"\nbinary = \"a\"\n[args]\nfull = []\n[usage]\nrun_file = \
                       \"u.jsonl\"\nat = { keys = [\"at\"] }\ninput_tokens = [{ keys = [\"in\"] }]\n";
        Harness::parse("a.toml", harness).unwrap().usage.unwrap()
    }

    fn line(tokens: u64) -> String {
        format!("{{\"at\":\"2026-11-15T10:00:00Z\",\"in\":{tokens}}}\n")
    }

    #[test]
    fn what_is_left_out_makes_the_count_a_minimum() {
        let new = || UsageRecord::new(HarnessName::new("a"), Timestamp::default(), false);
        let paths = |count: usize| (0..count).map(|it| PathBuf::from(it.to_string())).collect();
        let mut record = new();
        record.add_transcripts(paths(MAX_TRANSCRIPTS));
        record.add_transcripts(paths(MAX_TRANSCRIPTS));
        assert!(!record.is_minimum(), "all of them are counted");
        record.add_transcripts(paths(MAX_TRANSCRIPTS + 1));
        assert_eq!(record.transcripts.len(), MAX_TRANSCRIPTS);
        assert!(record.is_minimum());
        let json = serde_json::to_vec(&record).unwrap();
        let read: UsageRecord = serde_json::from_slice(&json).unwrap();
        assert!(read.is_minimum(), "also after it was kept on disk");
        // A printed sum is complete for the numbers that it contains.
        let known = |tokens| RunUsage {
            input_tokens: Some(tokens),
            ..RunUsage::default()
        };
        record.printed = Some(known(5));
        assert!(!record.is_minimum());
        // A transcript that is not there yet adds nothing; one that is not a file is left out.
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("u.jsonl");
        let mut record = new();
        record.add_transcripts(vec![path.clone()]);
        let advance = |record: &mut UsageRecord| {
            let period = RunPeriod::default();
            record.transcripts[0].try_advance(folder.path(), &locations(), period);
            record.is_minimum()
        };
        assert!(!advance(&mut record));
        fs::create_dir(&path).unwrap();
        assert!(advance(&mut record));
        fs::remove_dir(&path).unwrap();
        fs::write(&path, line(5)).unwrap();
        assert!(!advance(&mut record), "it can be read again");
    }

    #[test]
    fn a_large_transcript_is_counted_piece_by_piece() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("u.jsonl");
        let all: String = (0..10).map(|_| line(5)).collect();
        fs::write(&path, &all).unwrap();
        let mut counted = TranscriptCount::default();
        let mut read = |max_bytes: u64| {
            let mut file = File::open(&path).unwrap();
            file.seek(SeekFrom::Start(counted.offset)).unwrap();
            let mut reader = BufReader::new(file);
            let period = RunPeriod::default();
            let result = counted.read_lines(&mut reader, &locations(), period, max_bytes, 1000);
            result.unwrap();
            (counted.count.usage().input_tokens, counted.has_more)
        };
        let three = u64::try_from(line(5).len() * 3).unwrap();
        assert_eq!(read(three), (Some(15), true));
        assert_eq!(read(three), (Some(30), true));
        assert_eq!(read(1_000_000), (Some(50), false));
        assert_eq!(
            read(1_000_000),
            (Some(50), false),
            "nothing is counted twice"
        );
    }

    #[test]
    fn a_line_that_is_too_long_is_skipped_and_makes_a_minimum() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("u.jsonl");
        fs::write(
            &path,
            format!("{}{}\n{}", line(1), "x".repeat(5000), line(2)),
        )
        .unwrap();
        let mut counted = TranscriptCount::default();
        let mut reader = BufReader::new(File::open(&path).unwrap());
        let period = RunPeriod::default();
        counted
            .read_lines(&mut reader, &locations(), period, 1_000_000, 1000)
            .unwrap();
        assert_eq!(counted.count.usage().input_tokens, Some(3));
        assert!(counted.has_gaps && !counted.has_more);
    }

    #[test]
    fn a_file_that_was_replaced_is_counted_from_its_beginning() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("u.jsonl");
        let mut counted = TranscriptCount {
            path: path.clone(),
            ..TranscriptCount::default()
        };
        for (text, tokens) in [(line(1) + &line(2), 3), (line(7), 7)] {
            fs::write(&path, text).unwrap();
            let period = RunPeriod::default();
            counted
                .advance(folder.path(), &locations(), period)
                .unwrap();
            assert_eq!(counted.count.usage().input_tokens, Some(tokens));
        }
    }
}

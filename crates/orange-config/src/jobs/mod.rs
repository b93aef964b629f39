//! Jobs: `jobs.toml`, which the user may edit.
//!
//! A mistake in one job disables that job and no other. How far a schedule was followed is not in
//! this file: it is the user's, and orange writes to it only when the user adds, removes, enables
//! or disables a job.

mod edit;
mod schedule;

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use orange_engine::job::{JobRules, Missed, Overlap};
use orange_engine::names::{HarnessName, JobName, ProjectName};
use orange_engine::task::AgentSettings;
use orange_engine::time::Timestamp;
use serde::Deserialize;
use toml::Spanned;

pub use edit::NewJob;
pub use schedule::{Schedule, ScheduleError};

use crate::settings::value::{Kind, Value};
use crate::{Home, reason};

/// The longest name of a job, in bytes.
const MAX_NAME_BYTES: usize = 64;

/// How long ago a missed instant may be, unless the job says otherwise.
const DEFAULT_WINDOW: Duration = Duration::from_hours(24);

/// The longest window: more instants are never considered at once.
const MAX_WINDOW: Duration = Duration::from_hours(31 * 24);

/// The timeout of a command, unless the job says otherwise.
const DEFAULT_TIMEOUT: Duration = Duration::from_mins(30);

/// How many failures in a row pause a job, unless it says otherwise.
const DEFAULT_PAUSE_AFTER: u32 = 3;

/// The jobs of the file.
#[derive(Clone, Debug, Default)]
pub struct Jobs {
    /// Those that can run, in the order of the file.
    pub jobs: Vec<Job>,
    /// Those that cannot.
    pub problems: Vec<JobProblem>,
}

/// What happens by the clock.
#[derive(Clone, Debug)]
pub struct Job {
    pub name: JobName,
    pub schedule: Schedule,
    pub project: ProjectName,
    pub work: JobWork,
    pub rules: JobRules,
    pub is_enabled: bool,
}

/// What a job does at each instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobWork {
    /// It creates a task.
    Task(Box<JobTask>),
    /// It runs a shell command in the project's directory.
    Command { command: String, timeout: Duration },
}

/// The task that a job creates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobTask {
    pub summary: String,
    pub context: Option<String>,
    pub workflow: Option<String>,
    pub harness: Option<HarnessName>,
    pub agent_settings: AgentSettings,
    pub priority: i64,
}

/// A job that cannot run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobProblem {
    /// Its name, if it has one.
    pub name: Option<String>,
    /// Where it begins in the file, counted from 1.
    pub line: usize,
    pub reason: String,
}

/// Why the jobs cannot be read or changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JobsError {
    #[error("cannot {attempt} `{}`: {reason}", .path.display())]
    File {
        attempt: &'static str,
        path: PathBuf,
        reason: String,
    },
    #[error("cannot read `{}`: line {line}: {reason}", .path.display())]
    Invalid {
        path: PathBuf,
        line: usize,
        reason: String,
    },
    #[error("there is already a job `{0}`")]
    Exists(String),
    #[error("there is no job `{name}`")]
    Unknown { name: String, names: Vec<String> },
    #[error("the job cannot run: {0}")]
    NotAJob(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct JobsText {
    #[serde(default)]
    job: Vec<Spanned<toml::Value>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct JobText {
    name: String,
    schedule: String,
    zone: Option<String>,
    project: String,
    summary: Option<String>,
    context: Option<String>,
    workflow: Option<String>,
    harness: Option<String>,
    model: Option<String>,
    effort: Option<String>,
    #[serde(default)]
    priority: i64,
    command: Option<String>,
    timeout: Option<String>,
    #[serde(default)]
    missed: Missed,
    window: Option<String>,
    #[serde(default)]
    overlap: Overlap,
    pause_after: Option<u32>,
    #[serde(default = "enabled")]
    enabled: bool,
}

fn enabled() -> bool {
    true
}

impl Jobs {
    /// Reads the file; a home without one has no jobs.
    pub fn load(home: &Home, now: Timestamp) -> Result<Jobs, JobsError> {
        match fs::read_to_string(home.jobs()) {
            Ok(text) => Jobs::read(home, &text, now),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Jobs::default()),
            Err(error) => Err(JobsError::File {
                attempt: "read",
                path: home.jobs(),
                reason: reason(&error),
            }),
        }
    }

    fn read(home: &Home, text: &str, now: Timestamp) -> Result<Jobs, JobsError> {
        let read: JobsText = toml::from_str(text).map_err(|error| JobsError::Invalid {
            path: home.jobs(),
            line: line_of(text, error.span().unwrap_or(0..0).start),
            reason: error.message().trim().replace('\n', ", "),
        })?;
        let mut found = Jobs::default();
        let mut names = BTreeSet::new();
        for job in read.job {
            let line = line_of(text, job.span().start);
            let value = job.into_inner();
            let name = value.get("name").and_then(|it| it.as_str());
            let name = name.map(str::to_owned);
            let job = match read_job(value, now) {
                Ok(job) if !names.insert(job.name.clone()) => {
                    Err(format!("another job is named `{}` too", job.name))
                }
                job => job,
            };
            match job {
                Ok(job) => found.jobs.push(job),
                Err(reason) => found.problems.push(JobProblem { name, line, reason }),
            }
        }
        Ok(found)
    }

    pub fn require(&self, name: &str) -> Result<&Job, JobsError> {
        let found = self.jobs.iter().find(|it| it.name.as_str() == name);
        found.ok_or_else(|| {
            let problem = self.problems.iter();
            let mut problem = problem.filter(|it| it.name.as_deref() == Some(name));
            if let Some(problem) = problem.next() {
                return JobsError::NotAJob(problem.reason.clone());
            }
            let names = self.jobs.iter().map(|it| it.name.to_string());
            JobsError::Unknown {
                name: name.to_owned(),
                names: names.collect(),
            }
        })
    }
}

impl Job {
    /// Identifies when it is due: a changed schedule does not make up for instants of the past.
    pub fn schedule_key(&self) -> String {
        let zone = self.schedule.zone_name().unwrap_or("local");
        format!("{} {zone}", self.schedule.text())
    }
}

fn read_job(value: toml::Value, now: Timestamp) -> Result<Job, String> {
    let text = JobText::deserialize(value).map_err(|error| {
        let message = error.message().trim();
        message.replace('\n', ", ")
    })?;
    require_name(&text.name)?;
    let schedule = Schedule::parse(&text.schedule, text.zone.as_deref(), now);
    let schedule = schedule.map_err(|error| error.to_string())?;
    let window = duration("window", text.window.as_deref())?.unwrap_or(DEFAULT_WINDOW);
    if window > MAX_WINDOW {
        return Err(String::from("`window` can be at most 744h"));
    }
    let rules = JobRules {
        missed: text.missed,
        window: window.as_secs(),
        overlap: text.overlap,
        pause_after: text.pause_after.unwrap_or(DEFAULT_PAUSE_AFTER),
    };
    let timeout = duration("timeout", text.timeout.as_deref())?;
    let work = match (text.summary, text.command) {
        (Some(summary), None) if timeout.is_none() => JobWork::Task(Box::new(JobTask {
            summary,
            context: text.context,
            workflow: text.workflow,
            harness: text.harness.map(HarnessName::new),
            agent_settings: AgentSettings {
                model: text.model,
                effort: text.effort,
                ..AgentSettings::default()
            },
            priority: text.priority,
        })),
        (Some(_), None) => return Err(String::from("`timeout` is for a `command`")),
        (None, Some(command)) => {
            let others = [&text.context, &text.workflow, &text.harness];
            if others
                .into_iter()
                .chain([&text.model, &text.effort])
                .any(Option::is_some)
            {
                return Err(String::from(
                    "`context`, `workflow`, `harness`, `model` and `effort` are for a `summary`, \
                     not for a `command`",
                ));
            }
            let timeout = timeout.unwrap_or(DEFAULT_TIMEOUT);
            JobWork::Command { command, timeout }
        }
        _ => {
            return Err(String::from(
                "write either `summary`, for a task, or `command`",
            ));
        }
    };
    Ok(Job {
        name: JobName::new(text.name),
        schedule,
        project: ProjectName::new(text.project),
        work,
        rules,
        is_enabled: text.enabled,
    })
}

fn duration(key: &str, text: Option<&str>) -> Result<Option<Duration>, String> {
    let Some(text) = text else {
        return Ok(None);
    };
    match Kind::Duration.read(text) {
        Some(Value::Duration(duration)) => Ok(Some(duration)),
        _ => Err(format!("`{key}` must be a duration such as `30m` or `24h`")),
    }
}

/// Rejects unusual characters, because a name becomes part of commands and paths.
fn require_name(name: &str) -> Result<(), String> {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "-_".contains(it);
    let has_plain_start = name.starts_with(|it: char| it.is_ascii_alphanumeric());
    if has_plain_start && name.len() <= MAX_NAME_BYTES && name.chars().all(is_plain) {
        return Ok(());
    }
    Err(format!(
        "`{name}` cannot be the name of a job: use at most {MAX_NAME_BYTES} letters, digits, `-` \
         and `_`"
    ))
}

fn line_of(text: &str, position: usize) -> usize {
    let before = text.get(..position).unwrap_or(text);
    before.matches('\n').count() + 1
}

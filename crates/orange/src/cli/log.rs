//! `orange log`.

use std::time::Duration;

use clap::ValueEnum;
use orange_config::Environment;
use orange_config::clock;
use orange_driver::LogReader;
use orange_engine::names::TaskId;
use orange_engine::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::request::progress::{WaitMode, run_with_progress};
use super::request::requests::driver;
use crate::cli::answer::words::parse_duration;
use crate::cli::{Error, Exit, Shape};
use crate::output::{Output, Style, Text, with_local_times};

/// Poll interval of `--follow`.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

pub const SHAPE: Shape = Shape::of::<Line>("orange.log/1");

/// Show the log.
///
/// The log records decisions, actions, refusals and failures. It is the file `orange.log` in
/// orange's home directory, with one JSON object per line. The settings `log.level`, `log.max_size`
/// and `log.keep` limit what is written and kept; `orange config show` prints them.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only lines about this task.
    #[arg(long, value_name = "TASK")]
    pub task: Option<String>,
    /// Only lines of this level or a more important one.
    #[arg(long, value_enum, value_name = "LEVEL", default_value = "debug")]
    pub level: Level,
    /// Only lines since this time, such as `2026-01-31T09:30:00Z`, or within this duration, such as
    /// `10m`.
    #[arg(long, value_name = "TIME", value_parser = since)]
    pub since: Option<Timestamp>,
    /// Print new lines until interrupted.
    #[arg(long, short)]
    pub follow: bool,
}

/// A line of the log.
#[derive(Debug, Deserialize, Serialize, schemars::JsonSchema)]
struct Line {
    /// The time, in UTC.
    at: String,
    /// `error`, `warn`, `info` or `debug`.
    level: String,
    /// The process that wrote the line.
    pid: u32,
    /// The task that the line is about; absent if it is not about one task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    task: Option<String>,
    /// What happened, such as `decided`, `refused`, `performed` or `failed`.
    #[serde(alias = "what")]
    name: String,
    /// The details: who requested it, from and to which status, which effect, how long it took.
    #[serde(flatten)]
    more: Map<String, Value>,
}

/// How important a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Level {
    /// Something failed permanently.
    Error,
    /// Something failed and will be retried.
    Warn,
    /// Decisions and actions.
    Info,
    /// Everything.
    Debug,
}

fn since(text: &str) -> Result<Timestamp, String> {
    if let Ok(instant) = Timestamp::parse(text) {
        return Ok(instant);
    }
    let seconds = parse_duration(text).ok_or("write a duration such as `10m`, or a time")?;
    let millis = i64::try_from(seconds.saturating_mul(1000)).unwrap_or(i64::MAX);
    let now = clock::now().millis();
    Ok(Timestamp::from_millis(now.saturating_sub(millis)))
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let driver = driver(environment)?;
    let task = args.task.as_deref();
    let task = task
        .map(|name| driver.callers.resolve_task(Some(name)))
        .transpose()?;
    if let Some(task) = &task {
        // An unknown task must be an error, not an empty log.
        driver.views.show(task)?;
    }
    let mut reader = LogReader::default();
    if !args.follow {
        let lines = driver.admin.log_lines(&mut reader)?;
        print(lines, args, task.as_ref(), output)?;
        return Ok(Exit::Ok);
    }
    // An interrupt is the normal way to end `--follow`, so it is not an error.
    let (result, signal) =
        run_with_progress(driver.context.progress(), WaitMode::for_printing(), || {
            while !driver.context.progress().is_over() {
                let lines = driver.admin.log_lines(&mut reader)?;
                print(lines, args, task.as_ref(), output)?;
                clock::sleep_until(clock::after(POLL_INTERVAL), POLL_INTERVAL);
            }
            Ok::<(), Error>(())
        });
    result?;
    Ok(signal.map_or(Exit::Ok, Exit::from))
}

fn print(
    lines: Vec<Value>,
    args: &Args,
    task: Option<&TaskId>,
    output: &mut Output,
) -> Result<(), Error> {
    // Skip JSON that is not a log line; `log_lines` has already skipped lines that are not JSON.
    let lines = lines.into_iter();
    let lines = lines.filter_map(|line| serde_json::from_value::<Line>(line).ok());
    for line in lines.filter(|line| is_wanted(line, args, task)) {
        if output.is_json() {
            SHAPE.print_line(&line, output)?;
        } else {
            output.answer(&line_text(&line, output.answer_width()))?;
        }
    }
    Ok(())
}

fn is_wanted(line: &Line, args: &Args, task: Option<&TaskId>) -> bool {
    let level = Level::from_str(&line.level, false).unwrap_or(Level::Info);
    let at = Timestamp::parse(&line.at).unwrap_or_default();
    level <= args.level
        && task.is_none_or(|task| line.task.as_deref() == Some(task.as_str()))
        && args.since.is_none_or(|since| at >= since)
}

fn line_text(line: &Line, width: Option<usize>) -> Text {
    let style = match line.level.as_str() {
        "error" => Style::Bad,
        "warn" => Style::Warn,
        "debug" => Style::Dim,
        _ => Style::Plain,
    };
    let mut parts = vec![
        (Style::Dim, with_local_times(&line.at).into_owned()),
        (style, format!(" {:<5}", line.level)),
    ];
    if let Some(task) = &line.task {
        parts.push((Style::Bold, format!(" {task}")));
    }
    parts.push((Style::Plain, format!(" {}", line.name)));
    for (key, value) in &line.more {
        let value = match value {
            Value::Null => continue,
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        parts.extend([(Style::Dim, format!(" {key}=")), (Style::Plain, value)]);
    }
    let parts: Vec<(Style, &str)> = parts
        .iter()
        .map(|(it, part)| (*it, part.as_str()))
        .collect();
    let mut text = Text::new();
    text.push_line(&parts, 4, width);
    text
}

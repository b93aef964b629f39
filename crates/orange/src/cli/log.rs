//! `orange log`.

use std::time::Duration;

use clap::ValueEnum;
use orange_engine::names::TaskId;
use orange_engine::time::Timestamp;
use serde_json::Value;

use super::age::span;
use super::driving::driver;
use super::error::Error;
use super::exit::Exit;
use crate::clock;
use crate::config::Environment;
use crate::driver::LogReader;
use crate::output::{Output, Style, Text};

/// How long one who follows rests between two looks.
const REST: Duration = Duration::from_millis(250);

/// What every line has, and is not told again.
const USUAL: [&str; 5] = ["at", "level", "pid", "task", "what"];

/// Read what was decided and done.
///
/// Refusals and failures too. Every line of `orange.log` in the home of orange is an object in JSON. `orange config show`
/// tells how much is written and kept (`log.level`, `log.max_size`, `log.keep`).
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only about this task.
    #[arg(long, value_name = "TASK")]
    pub task: Option<String>,
    /// Nothing less important than this.
    #[arg(long, value_enum, value_name = "LEVEL", default_value = "debug")]
    pub level: Level,
    /// Nothing older: a span of time such as `10m`, or an instant such as `2026-01-31T09:30:00Z`.
    #[arg(long, value_name = "TIME", value_parser = since)]
    pub since: Option<Timestamp>,
    /// Wait for more, until interrupted.
    #[arg(long, short)]
    pub follow: bool,
    /// The lines as they are, for programs.
    #[arg(long)]
    pub json: bool,
}

/// How important a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Level {
    /// Something failed for good.
    Error,
    /// Something failed and is tried again.
    Warn,
    /// What was decided and done.
    Info,
    /// Everything.
    Debug,
}

fn since(text: &str) -> Result<Timestamp, String> {
    if let Ok(instant) = Timestamp::parse(text) {
        return Ok(instant);
    }
    let seconds = span(text).ok_or("write a span of time such as `10m`, or an instant")?;
    let millis = i64::try_from(seconds.saturating_mul(1000)).unwrap_or(i64::MAX);
    let now = clock::now().millis();
    Ok(Timestamp::from_millis(now.saturating_sub(millis)))
}

/// Prints what is wanted.
pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let driver = driver(environment)?;
    let task = args.task.as_deref().map(TaskId::new);
    let mut reader = LogReader::default();
    loop {
        for line in driver.log_lines(&mut reader)? {
            if is_wanted(&line, args, task.as_ref()) {
                if args.json {
                    output.answer_exactly(format!("{line}\n").as_bytes())?;
                } else {
                    output.answer(&told(&line))?;
                }
            }
        }
        if !args.follow {
            return Ok(Exit::Ok);
        }
        clock::rest_until(clock::after(REST), REST);
    }
}

fn is_wanted(line: &Value, args: &Args, task: Option<&TaskId>) -> bool {
    let text = |key: &str| line[key].as_str().unwrap_or_default();
    let level = Level::from_str(text("level"), false).unwrap_or(Level::Info);
    let at = Timestamp::parse(text("at")).unwrap_or_default();
    level <= args.level
        && task.is_none_or(|task| text("task") == task.as_str())
        && args.since.is_none_or(|since| at >= since)
}

fn told(line: &Value) -> Text {
    let word = |key: &str| line[key].as_str().unwrap_or_default();
    let style = match word("level") {
        "error" => Style::Bad,
        "warn" => Style::Warn,
        "debug" => Style::Dim,
        _ => Style::Plain,
    };
    let mut text = Text::new();
    text.push(Style::Dim, word("at"));
    text.push(Style::Plain, " ");
    text.push(style, &format!("{:<5}", word("level")));
    text.push(Style::Bold, &format!(" {}", word("task")));
    text.push(Style::Plain, &format!(" {}", word("what")));
    let more = line.as_object().into_iter().flatten();
    for (key, value) in more.filter(|(key, _)| !USUAL.contains(&key.as_str())) {
        let value = match value {
            Value::Null => continue,
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        text.push(Style::Dim, &format!(" {key}="));
        text.push(Style::Plain, &value);
    }
    text.end_line();
    text
}

//! `orange task history`.

use orange_config::Environment;
use orange_engine::event::{Event, Fact};
use orange_engine::history::{describe, is_notable};
use serde::Serialize;

use crate::cli::request::requests::TaskArg;
use crate::cli::{Error, Exit, Shape};
use crate::output::{Output, Style, Text, local_time};

pub const SHAPE: Shape = Shape::of::<Body<'static>>("orange.task.history/1");

/// Show what happened to a task.
///
/// Oldest first: each status change with the role that requested it and the reasons, how agents and
/// effects ended, and every warning. `--all` adds orange's own bookkeeping.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub task: TaskArg,
    /// Show every recorded event.
    #[arg(long)]
    pub all: bool,
}

#[derive(Serialize, schemars::JsonSchema)]
struct Body<'a> {
    task: &'a str,
    events: Vec<Line<'a>>,
}

#[derive(Serialize, schemars::JsonSchema)]
#[schemars(rename = "HistoryLine")]
struct Line<'a> {
    #[serde(flatten)]
    event: &'a Event,
    text: String,
    /// Whether it is shown without `--all`.
    is_notable: bool,
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let (driver, task) = args.task.find(environment)?;
    let events = driver.views.history(&task, 0)?;
    if output.is_json() {
        let lines = events.iter().map(|event| Line {
            event,
            text: describe(&event.fact, &events),
            is_notable: is_notable(&event.fact),
        });
        let body = Body {
            task: task.as_str(),
            events: lines.collect(),
        };
        return SHAPE.print(&body, output);
    }
    let width = output.answer_width();
    let mut text = Text::new();
    for event in events.iter().filter(|it| args.all || is_notable(&it.fact)) {
        let message = describe(&event.fact, &events);
        let mut lines = message.lines();
        let style = match &event.fact {
            Fact::StatusChanged(_) | Fact::TaskCreated(_) => Style::Bold,
            Fact::AttentionRaised { .. } | Fact::EffectFailed { .. } => Style::Bad,
            _ => Style::Plain,
        };
        let at = format!("{}  ", local_time(event.at));
        let first = lines.next().unwrap_or_default();
        text.push_line(&[(Style::Plain, &at), (style, first)], 6, width);
        for line in lines {
            let line = format!("    {line}");
            text.push_line(&[(Style::Plain, &line)], 6, width);
        }
    }
    output.answer(&text)?;
    Ok(Exit::Ok)
}

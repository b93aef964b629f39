//! `orange report`.

mod durations;
mod html;
mod page;
mod plot;
mod tables;
mod words;

use std::path::PathBuf;

use orange_config::Environment;
use orange_engine::names::ProjectName;
use orange_engine::statistics::Statistics;
use serde::Serialize;

use super::request::requests::driver;
use crate::cli::answer::words::parse_duration;
use crate::cli::{Error, Exit, Shape};
use crate::output::{Output, Style, Text};

pub const SHAPE: Shape = Shape::of::<Body<'static>>("orange.report/1");

const WEEK: u64 = 7 * 24 * 60 * 60;

/// The longest window, in weeks: ten years.
const MOST_WEEKS: u64 = 522;

/// Show what happened: tasks, times, failures, cost.
///
/// Counts tasks that were created, done and cancelled, and shows how long they were in each status,
/// how often reviews sent them back, what went wrong, and what agents used. Days are UTC days. A
/// cost that an agent did not report is shown as unknown, and `≥` means that some runs are missing.
///
/// `--html` writes the same as one page with plots that needs no other file. An existing file is
/// replaced only if `orange report` wrote it.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// How far back to look, such as `24h`, `7d` or `2w`.
    #[arg(long, value_name = "TIME", default_value = "7d", value_parser = parse_since)]
    pub since: u64,
    /// Count only the tasks of this project.
    #[arg(long, value_name = "NAME")]
    pub project: Option<String>,
    /// Write an HTML page instead.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

/// The seconds in a duration such as `24h`, `7d` or `2w`.
fn parse_since(text: &str) -> Result<u64, String> {
    let weeks = text.strip_suffix('w').and_then(|it| it.parse::<u64>().ok());
    let seconds = match weeks {
        Some(weeks) => weeks.checked_mul(WEEK),
        None => parse_duration(text),
    };
    match seconds {
        Some(0) | None => Err(String::from("write a duration such as `24h`, `7d` or `2w`")),
        Some(seconds) if seconds > MOST_WEEKS * WEEK => {
            Err(format!("write a duration of at most `{MOST_WEEKS}w`"))
        }
        Some(seconds) => Ok(seconds),
    }
}

#[derive(Serialize, schemars::JsonSchema)]
struct Body<'a> {
    /// The project; `null` for all projects.
    project: Option<&'a ProjectName>,
    /// The path of the written page.
    #[serde(skip_serializing_if = "Option::is_none")]
    html: Option<String>,
    #[serde(flatten)]
    statistics: &'a Statistics,
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let driver = driver(environment)?;
    let project = match args.project.as_deref().map(ProjectName::new) {
        Some(name) => driver.callers.project_here(Some(&name))?.map(|it| it.name),
        None => None,
    };
    let statistics = driver.views.statistics(args.since, project.as_ref())?;
    let heading = heading(args.since, project.as_ref());
    if let Some(path) = &args.html {
        let page = page::render(&statistics, &heading);
        driver.views.write_page(path, page::MARK, &page)?;
    }
    let path = args.html.as_ref().map(|it| it.display().to_string());
    if output.is_json() {
        let body = Body {
            project: project.as_ref(),
            html: path,
            statistics: &statistics,
        };
        return SHAPE.print(&body, output);
    }
    let texts = match path {
        Some(path) => vec![Text::line(Style::Bold, &path)],
        None => tables::render(&statistics, &heading, output.answer_width()),
    };
    for text in texts {
        output.answer(&text)?;
    }
    Ok(Exit::Ok)
}

/// Which time and which tasks the report is about.
fn heading(seconds: u64, project: Option<&ProjectName>) -> String {
    let place = match project {
        Some(name) => format!("project {name}"),
        None => String::from("all projects"),
    };
    format!("The last {}, {place}", durations::in_words(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_a_unit_and_an_end() {
        for (text, seconds) in [("24h", 86_400), ("7d", WEEK), ("2w", 2 * WEEK), ("90s", 90)] {
            assert_eq!(parse_since(text), Ok(seconds), "{text}");
        }
        for text in [
            "",
            "7",
            "w",
            "0d",
            "-1d",
            "1y",
            "523w",
            "99999999999999999999d",
            "1.5d",
        ] {
            assert!(parse_since(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_heading_names_time_and_tasks() {
        assert_eq!(heading(WEEK, None), "The last 7 days, all projects");
        let project = ProjectName::new("app");
        assert_eq!(
            heading(3600, Some(&project)),
            "The last 1 hour, project app"
        );
    }
}

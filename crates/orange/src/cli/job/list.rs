//! `orange job list`.

use orange_config::Environment;
use orange_driver::{JobActivity, JobReport};
use serde::Serialize;

use super::{outcome_word, when_next};
use crate::cli::request::requests::driver;
use crate::cli::{Error, Exit, Shape};
use crate::output::{Output, Style, Text, local_time};

pub const SHAPE: Shape = Shape::of::<Body>("orange.job.list/1");

/// List the jobs, when they are due and how they ran.
///
/// A job with a mistake in `jobs.toml` is listed with the line and the reason; it does not run, and
/// the others do.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// How many of the latest runs of each job to show.
    #[arg(long, value_name = "COUNT", default_value_t = 1)]
    pub runs: u32,
}

#[derive(Serialize, schemars::JsonSchema)]
struct Body {
    jobs: Vec<JobReport>,
    problems: Vec<Problem>,
}

/// A job that cannot run.
#[derive(Serialize, schemars::JsonSchema)]
#[schemars(rename = "JobProblem")]
struct Problem {
    /// Its name, if it has one.
    name: Option<String>,
    /// Where it begins in `jobs.toml`, counted from 1.
    line: usize,
    /// What is wrong.
    reason: String,
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let driver = driver(environment)?;
    let found = driver.requests.list_jobs(args.runs)?;
    let problems = found.problems.into_iter().map(|it| Problem {
        name: it.name,
        line: it.line,
        reason: it.reason,
    });
    let body = Body {
        problems: problems.collect(),
        jobs: found.jobs,
    };
    if output.is_json() {
        return SHAPE.print(&body, output);
    }
    let mut text = Text::new();
    let width = output.answer_width();
    for job in &body.jobs {
        push_job(job, &mut text, width);
    }
    for problem in &body.problems {
        let name = problem.name.as_deref().unwrap_or("a job without a name");
        let sentence = format!(
            " cannot run: jobs.toml, line {}: {}",
            problem.line, problem.reason
        );
        text.push_line(&[(Style::Bold, name), (Style::Bad, &sentence)], 4, width);
    }
    if body.jobs.is_empty() && body.problems.is_empty() {
        let sentence = "no jobs; `orange job add --help` shows how to add one";
        text.push_line(&[(Style::Plain, sentence)], 4, width);
    }
    output.answer(&text)?;
    Ok(Exit::Ok)
}

fn push_job(job: &JobReport, text: &mut Text, width: Option<usize>) {
    let zone = job.zone.as_ref().map(|it| format!(" {it}"));
    let schedule = format!(" {}{}", job.schedule, zone.unwrap_or_default());
    let style = match job.state {
        JobActivity::Enabled => Style::Plain,
        JobActivity::Disabled | JobActivity::Paused => Style::Warn,
    };
    let when = format!("; {}", when_next(job));
    let parts = [
        (Style::Bold, job.name.as_str()),
        (Style::Plain, schedule.as_str()),
        (style, when.as_str()),
    ];
    text.push_line(&parts, 4, width);
    let work = match (&job.summary, &job.command) {
        (Some(summary), _) => format!("    task in `{}`: {summary}", job.project),
        (None, command) => {
            let command = command.as_deref().unwrap_or_default();
            format!("    command in `{}`: {command}", job.project)
        }
    };
    text.push_line(&[(Style::Plain, &work)], 4, width);
    if let Some(problem) = &job.problem {
        let problem = format!("    cannot run: {problem}");
        text.push_line(&[(Style::Bad, &problem)], 4, width);
    }
    for run in &job.runs {
        let task = run.task.as_ref().map(|it| format!(", task `{it}`"));
        let detail = run.detail.as_deref().and_then(|it| it.lines().next());
        let detail = detail.map(|it| format!(": {it}"));
        let line = format!(
            "    {} {}{}{}",
            local_time(run.instant),
            outcome_word(run.outcome),
            task.unwrap_or_default(),
            detail.unwrap_or_default()
        );
        text.push_line(&[(Style::Plain, &line)], 4, width);
    }
}

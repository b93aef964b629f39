//! `orange task list`.

use orange_engine::Task;
use orange_engine::names::{ProjectName, Status};
use serde::Serialize;

use crate::cli::driving::driver;
use crate::cli::error::Error;
use crate::cli::exit::Exit;
use crate::cli::json::Answer;
use crate::config::Environment;
use crate::output::{Alignment, Cell, Output, Style, Table};

/// List the tasks.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only those of this project.
    #[arg(long, value_name = "NAME")]
    pub project: Option<String>,
    /// Only those in this status.
    #[arg(long, value_name = "STATUS")]
    pub status: Option<String>,
    /// Answer in JSON, for programs.
    #[arg(long)]
    pub json: bool,
}

#[derive(Serialize)]
struct Body<'a> {
    as_of: u64,
    tasks: Vec<&'a Task>,
}

/// Prints the list.
pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let driver = driver(environment)?;
    let listing = driver.list(
        args.project.as_deref().map(ProjectName::new),
        args.status.as_deref().map(Status::new),
    )?;
    let tasks: Vec<&Task> = listing.tasks.iter().map(|summary| &summary.task).collect();
    if args.json {
        let as_of = listing.sequence;
        let answer = Answer {
            schema: "orange.task.list/1",
            body: Body { as_of, tasks },
        };
        output.answer_exactly(answer.to_text()?.as_bytes())?;
        return Ok(Exit::Ok);
    }
    let columns = ["TASK", "PROJECT", "STATUS"].map(|name| (name, Alignment::Left));
    let mut table = Table::new(columns, "SUMMARY");
    for task in tasks {
        let style = if task.attention.is_empty() {
            Style::Plain
        } else {
            Style::Bad
        };
        let row = [
            Cell::new(Style::Bold, task.id.as_str()),
            Cell::new(Style::Plain, task.project.as_str()),
            Cell::new(style, task.status.as_str()),
        ];
        table.push(row, Cell::new(Style::Plain, &task.summary));
    }
    output.answer(&table.to_text(output.answer_width()))?;
    Ok(Exit::Ok)
}

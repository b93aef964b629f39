//! `orange rebuild`.

use orange_config::Environment;
use orange_driver::RebuildReport;
use orange_engine::names::{TaskId, WorkspaceName};
use serde::Serialize;

use super::request::requests::driver;
use crate::cli::{Error, Exit, Shape, hint_paragraph};
use crate::output::{Output, Style, Text};

pub const SHAPE: Shape = Shape::of::<Body<'static>>("orange.rebuild/1");

/// Rebuild a lost or damaged database.
///
/// Recreates the database from the task directories. Every task is restored as it was when its
/// directory was last written; later decisions are lost. Running agents keep running, and orange
/// recognizes them again.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Rename the existing database and build a new one; nothing is deleted.
    #[arg(long)]
    pub move_aside: bool,
}

#[derive(Serialize, schemars::JsonSchema)]
struct Body<'a> {
    tasks: Vec<RestoredTask<'a>>,
    skipped: Vec<SkippedDirectory<'a>>,
    workspaces: &'a [WorkspaceName],
    old_database: Option<String>,
}

#[derive(Serialize, schemars::JsonSchema)]
struct RestoredTask<'a> {
    task: &'a TaskId,
    version: u64,
    remarks: &'a [String],
}

#[derive(Serialize, schemars::JsonSchema)]
struct SkippedDirectory<'a> {
    path: String,
    reason: &'a str,
}

/// Rebuilds the database; a directory that cannot be read is reported and left as it is.
pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let report = driver(environment)?.admin.rebuild(args.move_aside)?;
    let exit = if report.skipped.is_empty() {
        Exit::Ok
    } else {
        Exit::Refused
    };
    if output.is_json() {
        SHAPE.print(&body(&report), output)?;
        return Ok(exit);
    }
    output.answer(&text(&report, output.answer_width()))?;
    let mut narration = Text::new();
    for hint in hints(&report) {
        narration.push_paragraph(&hint_paragraph(&hint, 0), output.narration_width());
    }
    output.narrate(&narration);
    Ok(exit)
}

fn body(report: &RebuildReport) -> Body<'_> {
    let tasks = report.tasks.iter().map(|it| RestoredTask {
        task: &it.task,
        version: it.version,
        remarks: &it.remarks,
    });
    let skipped = report.skipped.iter().map(|it| SkippedDirectory {
        path: it.path.display().to_string(),
        reason: &it.reason,
    });
    Body {
        tasks: tasks.collect(),
        skipped: skipped.collect(),
        workspaces: &report.workspaces,
        old_database: report
            .old_database
            .as_ref()
            .map(|it| it.display().to_string()),
    }
}

fn text(report: &RebuildReport, width: Option<usize>) -> Text {
    let mut text = Text::new();
    for task in &report.tasks {
        let mut message = format!(": restored, version {}", task.version);
        for remark in &task.remarks {
            message.push_str("; ");
            message.push_str(remark);
        }
        let parts = [(Style::Bold, task.task.as_str()), (Style::Plain, &message)];
        text.push_line(&parts, 4, width);
    }
    for skipped in &report.skipped {
        let path = skipped.path.display().to_string();
        let message = format!(": skipped, {}", skipped.reason);
        text.push_line(&[(Style::Bad, &path), (Style::Plain, &message)], 4, width);
    }
    for name in &report.workspaces {
        text.push(Style::Bold, name.as_str());
        text.push(Style::Plain, ": free, back in the pool");
        text.end_line();
    }
    if report.tasks.is_empty() && report.skipped.is_empty() {
        text.push(Style::Plain, "no tasks found");
        text.end_line();
    }
    if let Some(old) = &report.old_database {
        let message = format!("the old database is now `{}`", old.display());
        text.push_line(&[(Style::Plain, &message)], 4, width);
    }
    text
}

fn hints(report: &RebuildReport) -> Vec<String> {
    let mut hints = vec![String::from(
        "decisions made after a task directory was last written are lost; `orange task list` shows \
         the status of every task now",
    )];
    if !report.skipped.is_empty() {
        hints.push(String::from(
            "fix or move away the skipped directories, then run `orange rebuild --move-aside`",
        ));
    }
    hints
}

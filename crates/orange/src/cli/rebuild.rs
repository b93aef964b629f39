//! `orange rebuild`.

use orange_config::Environment;
use orange_driver::Rebuilt;
use orange_engine::names::{TaskId, WorkspaceName};
use serde::Serialize;

use super::request::driving::driver;
use crate::cli::{Error, Exit, Shape, hint_paragraph};
use crate::output::{Output, Style, Text};

pub const SHAPE: Shape = Shape::of::<Body<'static>>("orange.rebuild/1");

/// Restore a database that is lost.
///
/// Or one that is damaged: it is made anew from the task directories. Every task comes back as it was when its directory was
/// last written; what was decided after that is lost. Agents that run go on running, and are known
/// again.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Rename a database that is there, and build a new one in its place; nothing is deleted.
    #[arg(long)]
    pub move_aside: bool,
}

#[derive(Serialize, schemars::JsonSchema)]
struct Body<'a> {
    tasks: Vec<Restored<'a>>,
    skipped: Vec<Skipped<'a>>,
    workspaces: &'a [WorkspaceName],
    old_database: Option<String>,
}

#[derive(Serialize, schemars::JsonSchema)]
struct Restored<'a> {
    task: &'a TaskId,
    version: u64,
    remarks: &'a [String],
}

#[derive(Serialize, schemars::JsonSchema)]
struct Skipped<'a> {
    path: String,
    reason: &'a str,
}

/// Rebuilds the database; a directory that cannot be read is reported and left as it is.
pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let rebuilt = driver(environment)?.admin.rebuild(args.move_aside)?;
    let exit = if rebuilt.skipped.is_empty() {
        Exit::Ok
    } else {
        Exit::Refused
    };
    if output.is_json() {
        SHAPE.print(&body(&rebuilt), output)?;
        return Ok(exit);
    }
    output.answer(&text(&rebuilt, output.answer_width()))?;
    let mut narration = Text::new();
    for hint in hints(&rebuilt) {
        narration.push_paragraph(&hint_paragraph(&hint, 0), output.narration_width());
    }
    output.narrate(&narration);
    Ok(exit)
}

fn body(rebuilt: &Rebuilt) -> Body<'_> {
    let tasks = rebuilt.tasks.iter().map(|it| Restored {
        task: &it.task,
        version: it.version,
        remarks: &it.remarks,
    });
    let skipped = rebuilt.skipped.iter().map(|it| Skipped {
        path: it.path.display().to_string(),
        reason: &it.reason,
    });
    Body {
        tasks: tasks.collect(),
        skipped: skipped.collect(),
        workspaces: &rebuilt.workspaces,
        old_database: rebuilt
            .old_database
            .as_ref()
            .map(|it| it.display().to_string()),
    }
}

fn text(rebuilt: &Rebuilt, width: Option<usize>) -> Text {
    let mut text = Text::new();
    for task in &rebuilt.tasks {
        let mut told = format!(": restored, version {}", task.version);
        for remark in &task.remarks {
            told.push_str("; ");
            told.push_str(remark);
        }
        let parts = [(Style::Bold, task.task.as_str()), (Style::Plain, &told)];
        text.push_line(&parts, 4, width);
    }
    for skipped in &rebuilt.skipped {
        let path = skipped.path.display().to_string();
        let told = format!(": left alone, {}", skipped.reason);
        text.push_line(&[(Style::Bad, &path), (Style::Plain, &told)], 4, width);
    }
    for name in &rebuilt.workspaces {
        text.push(Style::Bold, name.as_str());
        text.push(Style::Plain, ": free, in the pool again");
        text.end_line();
    }
    if rebuilt.tasks.is_empty() && rebuilt.skipped.is_empty() {
        text.push(Style::Plain, "no task was found");
        text.end_line();
    }
    if let Some(old) = &rebuilt.old_database {
        let told = format!("the old database is now `{}`", old.display());
        text.push_line(&[(Style::Plain, &told)], 4, width);
    }
    text
}

fn hints(rebuilt: &Rebuilt) -> Vec<String> {
    let mut hints = vec![String::from(
        "what was decided after a task directory was last written is lost; `orange task list` shows \
         where every task is now",
    )];
    if !rebuilt.skipped.is_empty() {
        hints.push(String::from(
            "mend or move away the directories that were left alone, then run `orange rebuild \
             --move-aside`",
        ));
    }
    hints
}

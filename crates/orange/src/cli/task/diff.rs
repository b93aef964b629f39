//! `orange task diff`.

use serde::Serialize;
use serde_json::{Value, json};

use crate::cli::driving::{driver, meant};
use crate::cli::error::Error;
use crate::cli::exit::Exit;
use crate::cli::json::Answer;
use crate::cli::schemas::Shape;
use crate::config::Environment;
use crate::driver::Difference;
use crate::output::{Output, Style, Text};

/// The shape of its answer.
pub const SHAPE: Shape = Shape::of::<Body>("orange.task.diff/1");

/// Show what a task has changed.
///
/// Everything since its branch left the default branch: commits, and in its worktree also what is
/// not committed, new files included.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The task, by its id, the beginning of it, or its branch; inside an agent's session or a
    /// task's worktree, its own when left out.
    #[arg(value_name = "TASK")]
    pub task: Option<String>,
    /// Only how much each file has changed.
    #[arg(long)]
    pub stat: bool,
    /// Answer in JSON, for programs.
    #[arg(long)]
    pub json: bool,
}

#[derive(Serialize, schemars::JsonSchema)]
struct Body {
    task: String,
    base: String,
    head: String,
    has_uncommitted: bool,
    files: Vec<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<String>,
}

/// Prints it.
pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let driver = driver(environment)?;
    let task = meant(&driver, args.task.as_deref())?;
    let is_coloured = output.is_coloured() && !args.json;
    let difference = driver.diff(&task, args.stat, is_coloured)?;
    if args.json {
        let answer = Answer {
            schema: SHAPE.name,
            body: body(task.to_string(), &difference, args.stat),
        };
        output.answer_exactly(answer.to_text()?.as_bytes())?;
        return Ok(Exit::Ok);
    }
    output.answer_foreign(&difference.text)?;
    if difference.text.is_empty() {
        let mut narration = Text::new();
        let told = format!("{task}: nothing has changed since {}", difference.base);
        narration.push(Style::Plain, &told);
        narration.end_line();
        output.narrate(&narration);
    }
    Ok(Exit::Ok)
}

fn body(task: String, difference: &Difference, stat: bool) -> Body {
    let files = difference.files.iter().map(|file| {
        json!({
            "path": file.path.to_string_lossy(),
            "added": file.added,
            "removed": file.removed,
        })
    });
    let text = String::from_utf8_lossy(&difference.text);
    Body {
        task,
        base: difference.base.to_string(),
        head: difference.head.to_string(),
        has_uncommitted: difference.has_uncommitted,
        files: files.collect(),
        diff: (!stat).then(|| text.into_owned()),
    }
}

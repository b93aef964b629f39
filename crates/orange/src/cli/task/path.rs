//! `orange task path`.

use orange_config::Environment;
use serde::Serialize;

use crate::cli::request::requests::TaskArg;
use crate::cli::{Error, Exit, Shape};
use crate::output::{Output, Style, Text};

pub const SHAPE: Shape = Shape::of::<Body<'static>>("orange.task.path/1");

/// Print the path of a task's worktree.
///
/// For example: `cd "$(orange task path TASK)"`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub target: TaskArg,
}

#[derive(Serialize, schemars::JsonSchema)]
struct Body<'a> {
    task: &'a str,
    path: String,
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let (driver, task) = args.target.find(environment)?;
    let path = driver.workspaces.worktree_path(&task)?;
    let path = path.display().to_string();
    if output.is_json() {
        let body = Body {
            task: task.as_str(),
            path,
        };
        return SHAPE.print(&body, output);
    }
    let mut text = Text::new();
    text.push(Style::Plain, &path);
    text.end_line();
    output.answer(&text)?;
    Ok(Exit::Ok)
}

//! `orange workspace remove`.

use orange_config::Environment;
use orange_driver::RemovedWorkspace;
use orange_engine::names::WorkspaceName;
use serde::Serialize;

use crate::cli::answer::words::SUBMODULES_KEPT;
use crate::cli::request::requests::driver;
use crate::cli::{Error, Exit, Shape};
use crate::output::{Output, Style, Text};

pub const SHAPE: Shape = Shape::of::<Body>("orange.workspace.remove/1");

/// Remove worktrees that no task uses.
///
/// Deletes the worktree and git's record of it; orange creates one again when a task needs it.
/// Branches stay, and ignored files are moved to `workspaces/.set-aside` in orange's home
/// directory; submodules with commits of their own are moved to `.git/orange-submodules`. A
/// worktree with work that is saved nowhere is left as it is.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The workspaces, as `orange workspace list` names them.
    #[arg(value_name = "WORKSPACE", required = true)]
    pub names: Vec<String>,
}

#[derive(Serialize, schemars::JsonSchema)]
struct Body {
    workspaces: Vec<Line>,
}

#[derive(Serialize, schemars::JsonSchema)]
#[schemars(rename = "RemovedLine")]
struct Line {
    workspace: String,
    /// The removed worktree.
    #[serde(skip_serializing_if = "Option::is_none")]
    removed: Option<RemovedWorkspace>,
    /// Why it was not removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Error>,
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let driver = driver(environment)?;
    let mut lines = Vec::new();
    for name in &args.names {
        let removed = driver.admin.remove_workspace(&WorkspaceName::new(name));
        let (removed, error) = match removed.map_err(Error::from) {
            Ok(removed) => (Some(removed), None),
            Err(error) if args.names.len() == 1 => return Err(error),
            Err(error) => (None, Some(error)),
        };
        lines.push(Line {
            workspace: name.clone(),
            removed,
            error,
        });
    }
    let failed = lines.iter().any(|line| line.error.is_some());
    if output.is_json() {
        SHAPE.print(&Body { workspaces: lines }, output)?;
    } else {
        output.answer(&text(&lines, output.answer_width()))?;
    }
    Ok(if failed { Exit::Refused } else { Exit::Ok })
}

fn text(lines: &[Line], width: Option<usize>) -> Text {
    let mut text = Text::new();
    for line in lines {
        let (style, message) = match (&line.removed, &line.error) {
            (_, Some(error)) => (Style::Bad, error.message.clone()),
            (removed, None) => {
                let moved = removed.as_ref().and_then(|it| it.moved_to.as_ref());
                let moved = moved.map(|it| format!("; ignored files are in `{}`", it.display()));
                let moved = moved.unwrap_or_default();
                let kept = removed.as_ref().and_then(|it| it.submodules.as_ref());
                let kept = kept.map(|it| format!("; {SUBMODULES_KEPT} `{}`", it.display()));
                let kept = kept.unwrap_or_default();
                (Style::Plain, format!("removed{moved}{kept}"))
            }
        };
        let message = format!(": {message}");
        let parts = [(Style::Bold, line.workspace.as_str()), (style, &message)];
        text.push_line(&parts, 4, width);
        let hints = line.error.iter().flat_map(Error::hints_given);
        for hint in hints {
            text.push_line(&[(Style::Plain, &format!("  hint: {hint}"))], 4, width);
        }
    }
    text
}

//! `orange task diff`.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use orange_config::Environment;
use orange_driver::{BranchDiff, DiffPart};
use serde::Serialize;
use serde_json::{Value, json};
use signal_hook::consts::SIGINT;
use signal_hook::flag;

use super::cancel::saved_work;
use crate::cli::request::requests::TaskArg;
use crate::cli::{Error, Exit, Shape, hint_paragraph};
use crate::output::{Output, Style, Text};

/// How many digits of a commit id are shown; enough for git to find it.
const SHORT: usize = 12;

/// How many files are listed by name if their changes are not shown.
const MAX_NAMED_FILES: usize = 10;

pub const SHAPE: Shape = Shape::of::<Body>("orange.task.diff/1");

/// Show a task's changes.
///
/// Shows two parts: the changes of its commits since its branch left the default branch, and the
/// uncommitted changes in its worktree, including new files. A merge takes only the first part.
///
/// In a terminal, your pager shows it: `GIT_PAGER`, `pager.diff` or `core.pager` of your own git
/// configuration, PAGER, or less.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub task: TaskArg,
    /// Show only how much each file has changed.
    #[arg(long)]
    pub stat: bool,
    /// Print the diff without a pager.
    #[arg(long)]
    pub no_pager: bool,
}

#[derive(Serialize, schemars::JsonSchema)]
struct Body {
    task: String,
    base: String,
    head: String,
    commits: u64,
    has_uncommitted: bool,
    committed: PartBody,
    #[serde(skip_serializing_if = "Option::is_none")]
    uncommitted: Option<PartBody>,
}

#[derive(Serialize, schemars::JsonSchema)]
struct PartBody {
    files: Vec<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    omitted: Vec<String>,
    /// Files that may look uncommitted only because their filter is not run, and the filter.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    unfiltered: BTreeMap<String, String>,
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let (driver, task) = args.task.find(environment)?;
    let is_coloured = output.is_coloured() && !output.is_json();
    let diff = driver.workspaces.diff(&task, args.stat, is_coloured)?;
    if output.is_json() {
        return SHAPE.print(&body(task.to_string(), &diff, args.stat), output);
    }
    if diff.committed.files.is_empty() && diff.uncommitted.is_none() {
        let mut narration = Text::new();
        let text = format!("{task}: nothing has changed since {}", diff.base.short());
        narration.push(Style::Plain, &text);
        narration.end_line();
        output.narrate(&narration);
    } else {
        let text = render(&diff, output)?;
        // Ctrl-C is for the pager; this process exits when the pager does.
        let is_paged = output.answer_width().is_some() && !args.no_pager && {
            let _ignored = flag::register(SIGINT, Arc::default());
            driver.workspaces.page(&task, &text)?
        };
        if !is_paged {
            output.answer_exactly(&text)?;
        }
    }
    // Work that was saved when the worktree was released is not in the diff.
    if let Some(saved) = saved_work(&driver, &task) {
        let mut narration = Text::new();
        narration.push_paragraph(&hint_paragraph(&saved, 0), output.narration_width());
        output.narrate(&narration);
    }
    Ok(Exit::Ok)
}

fn render(diff: &BranchDiff, output: &Output) -> io::Result<Vec<u8>> {
    let mut text = output.render(&heading(&committed_heading(diff)))?;
    text.extend(output.render_foreign(&diff.committed.text));
    if let Some(uncommitted) = &diff.uncommitted {
        text.extend(output.render(&heading(""))?);
        text.extend(output.render(&heading("NOT COMMITTED (will not be merged)"))?);
        text.extend(output.render(&unfiltered_text(uncommitted))?);
        text.extend(output.render_foreign(&uncommitted.text));
        text.extend(output.render(&omitted_text(uncommitted))?);
    }
    Ok(text)
}

fn heading(line: &str) -> Text {
    Text::line(Style::Bold, line)
}

fn committed_heading(diff: &BranchDiff) -> String {
    let short = |commit: &str| commit.get(..SHORT).unwrap_or(commit).to_owned();
    let (base, head) = (short(diff.base.as_str()), short(diff.head.as_str()));
    match diff.commits {
        0 => format!("Committed: nothing since {base}"),
        1 => format!("Committed: {base}..{head}, 1 commit"),
        commits => format!("Committed: {base}..{head}, {commits} commits"),
    }
}

fn unfiltered_text(part: &DiffPart) -> Text {
    let mut text = Text::new();
    for (path, filter) in part.unfiltered.iter().take(MAX_NAMED_FILES) {
        let (path, filter) = (path.to_string_lossy(), filter.escape_debug());
        let line = format!(
            "{}: perhaps committed; its filter `{filter}` is not in ~/.gitconfig",
            path.escape_debug()
        );
        text.push(Style::Warn, &line);
        text.end_line();
    }
    let more = part.unfiltered.len().saturating_sub(MAX_NAMED_FILES);
    if more > 0 {
        let line = format!("{more} more files have a filter that is not in ~/.gitconfig");
        text.push(Style::Warn, &line);
        text.end_line();
    }
    if let Some(filter) = part.unfiltered.values().next() {
        let filter = filter.escape_debug();
        let line = format!(
            "if `git status` lists no change, run `git config --global filter.{filter}.clean \
             COMMAND`"
        );
        text.push(Style::Warn, &line);
        text.end_line();
    }
    text
}

fn omitted_text(part: &DiffPart) -> Text {
    let mut text = Text::new();
    let named = part.omitted.iter().take(MAX_NAMED_FILES);
    for path in named {
        let path = path.to_string_lossy();
        text.push(Style::Plain, &format!("not shown: {}", path.escape_debug()));
        text.end_line();
    }
    let more = part.omitted.len().saturating_sub(MAX_NAMED_FILES);
    if more > 0 {
        text.push(Style::Plain, &format!("not shown: {more} more"));
        text.end_line();
    }
    text
}

fn body(task: String, diff: &BranchDiff, stat: bool) -> Body {
    Body {
        task,
        base: diff.base.to_string(),
        head: diff.head.to_string(),
        commits: diff.commits,
        has_uncommitted: diff.uncommitted.is_some(),
        committed: part_body(&diff.committed, stat),
        uncommitted: diff.uncommitted.as_ref().map(|part| part_body(part, stat)),
    }
}

fn part_body(part: &DiffPart, stat: bool) -> PartBody {
    let files = part.files.iter().map(|file| {
        json!({
            "path": file.path.to_string_lossy(),
            "added": file.added,
            "removed": file.removed,
        })
    });
    let text = String::from_utf8_lossy(&part.text);
    let unfiltered = part.unfiltered.iter();
    let unfiltered =
        unfiltered.map(|(path, filter)| (path.to_string_lossy().into_owned(), filter.clone()));
    let omitted = part.omitted.iter().map(|it| it.to_string_lossy());
    PartBody {
        files: files.collect(),
        diff: (!stat).then(|| text.into_owned()),
        omitted: omitted.map(std::borrow::Cow::into_owned).collect(),
        unfiltered: unfiltered.collect(),
    }
}

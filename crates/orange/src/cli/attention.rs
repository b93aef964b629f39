//! `orange attention`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use orange_config::Environment;
use orange_config::clock;
use orange_driver::{Answer, AttentionEntry, Driver, WaitPolicy};
use orange_engine::attention::Item;
use orange_engine::input::{Request, RequestKind};
use orange_engine::names::ProjectName;
use orange_engine::time::Timestamp;
use serde::Serialize;

use super::request::permission;
use super::request::progress::{WaitMode, run_with_progress};
use super::request::requests::{Extras, driver, print_with};
use crate::cli::answer::words::age;
use crate::cli::{Error, Exit, Shape, narrate_hint};
use crate::output::{Column, Grid, Output, Style, Text, with_local_times};

/// Poll interval of `--follow`.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

pub const SHAPE: Shape = Shape::of::<Body<'static>>("orange.attention/1");

pub const CHANGE_SHAPE: Shape = Shape::of::<Change<'static>>("orange.attention.change/1");

/// List what needs you.
///
/// One queue for all tasks, the longest wait first: questions from agents, work to review,
/// decisions, tasks that are stuck or in trouble, failed effects, undelivered messages, agents that
/// wait for permission or an answer, silent agents (started, but nothing reported), stalled agents
/// (idle, although the status waits for their work), agents that exited while no supervisor is
/// running, and parked harnesses (out of quota, not logged in or without their service for a while,
/// so that no agent is started with them), and repositories whose policy is no longer the one that
/// you allowed. Each entry says what to run next; a request for permission is shown in full.
///
/// Inside a project only its tasks and all parked harnesses are listed. The failed effects of a
/// finished task stay in the list until `orange task retry` succeeds or you remove them with
/// `--clear`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// List the tasks of all projects.
    #[arg(long)]
    pub all: bool,
    /// Print changes until interrupted; with `--json`, one object per line.
    #[arg(long, short)]
    pub follow: bool,
    /// Clear the problems of a finished task.
    #[arg(long, value_name = "TASK", conflicts_with_all = ["all", "follow"])]
    pub clear: Option<String>,
}

#[derive(Serialize, schemars::JsonSchema)]
struct Body<'a> {
    as_of: u64,
    project: Option<&'a ProjectName>,
    items: Vec<ItemBody<'a>>,
}

#[derive(Serialize, schemars::JsonSchema)]
struct ItemBody<'a> {
    #[serde(flatten)]
    item: &'a Item,
    #[serde(skip_serializing_if = "Option::is_none")]
    project: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<&'a str>,
}

#[derive(Serialize, schemars::JsonSchema)]
struct Change<'a> {
    change: ItemChange,
    item: ItemBody<'a>,
}

/// How the queue changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
enum ItemChange {
    /// The item needs you now.
    Added,
    /// The item no longer needs you.
    Gone,
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let driver = driver(environment)?;
    if let Some(task) = &args.clear {
        return clear(&driver, task, output);
    }
    let project = if args.all {
        None
    } else {
        driver.callers.project_here(None)?.map(|it| it.name)
    };
    if args.follow {
        return follow(&driver, project.as_ref(), output);
    }
    let attention = driver.views.attention(project.as_ref())?;
    if output.is_json() {
        let body = Body {
            as_of: attention.sequence,
            project: project.as_ref(),
            items: attention.items.iter().map(body).collect(),
        };
        SHAPE.print(&body, output)?;
    } else if attention.items.is_empty() {
        output.narrate(&empty_text(project.as_ref()));
    } else {
        output.answer_grid(&grid(&attention.items, project.is_some()))?;
        output.answer(&requests(&attention.items))?;
    }
    Ok(Exit::Ok)
}

fn clear(driver: &Driver, task: &str, output: &mut Output) -> Result<Exit, Error> {
    let task = driver.callers.resolve_task(Some(task))?;
    let request = |by| Request::new(by, RequestKind::ClearAttention);
    let answer = driver.requests.ask_as_caller(
        &task,
        request,
        WaitPolicy::Detached(driver.context.default_wait()),
    )?;
    let extras = Extras {
        already: Some("has no problems to clear"),
        ..Extras::default()
    };
    let has_failed_release = match &answer {
        Answer::Done(report) | Answer::StillRunning(report) => !report.task.attention.is_empty(),
        Answer::AlreadyDone(_) | Answer::Refused(_) => false,
    };
    let exit = print_with(answer, &extras, output)?;
    if has_failed_release {
        let hint = "its workspace could not be released, so that problem stays listed; run \
                    `orange workspace gc` to solve it";
        narrate_hint(hint, output);
    }
    Ok(exit)
}

fn body(entry: &AttentionEntry) -> ItemBody<'_> {
    ItemBody {
        item: &entry.item,
        project: entry.project.as_ref().map(ProjectName::as_str),
        summary: entry.summary.as_deref(),
    }
}

/// Prints the current items, then every change.
fn follow(
    driver: &Driver,
    project: Option<&ProjectName>,
    output: &mut Output,
) -> Result<Exit, Error> {
    let mut previous_entries: BTreeMap<String, AttentionEntry> = BTreeMap::new();
    // An interrupt is the normal way to end `--follow`, so no error is printed.
    let (result, signal) =
        run_with_progress(driver.context.progress(), WaitMode::for_printing(), || {
            while !driver.context.progress().is_over() {
                let now = driver.views.attention(project)?.items;
                let is_present = |key: &String| now.iter().any(|it| it.item.key == *key);
                for (_, gone) in previous_entries.extract_if(.., |key, _| !is_present(key)) {
                    print_change(ItemChange::Gone, &gone, output)?;
                }
                for entry in now {
                    let key = entry.item.key.clone();
                    let previous = previous_entries.insert(key, entry.clone());
                    if previous.is_none_or(|previous| previous.item.text != entry.item.text) {
                        print_change(ItemChange::Added, &entry, output)?;
                    }
                }
                clock::sleep_until(clock::after(POLL_INTERVAL), POLL_INTERVAL);
            }
            Ok::<(), Error>(())
        });
    result?;
    Ok(signal.map_or(Exit::Ok, Exit::from))
}

fn print_change(
    change: ItemChange,
    entry: &AttentionEntry,
    output: &mut Output,
) -> Result<(), Error> {
    if output.is_json() {
        let body = Change {
            change,
            item: body(entry),
        };
        CHANGE_SHAPE.print_line(&body, output)?;
        return Ok(());
    }
    let item = &entry.item;
    let (sign, style) = match change {
        ItemChange::Added => ("+", Style::Warn),
        ItemChange::Gone => ("-", Style::Dim),
    };
    let mut text = Text::new();
    text.push(style, sign);
    text.push(Style::Bold, &format!(" {}", item.subject()));
    text.push(style, &format!(" {}", item.kind));
    text.push(Style::Plain, &format!(": {}", with_local_times(&item.text)));
    if change == ItemChange::Added {
        text.push(Style::Dim, &format!(" ({})", item.command));
    }
    text.end_line();
    if change == ItemChange::Added {
        push_request(&mut text, item);
    }
    output.answer(&text)?;
    Ok(())
}

/// The text below the table: every request in full, since its table row has only one line.
fn requests(items: &[AttentionEntry]) -> Text {
    let mut text = Text::new();
    for AttentionEntry { item, .. } in items.iter().filter(|it| it.item.request.is_some()) {
        text.end_line();
        push_request(&mut text, item);
    }
    text
}

fn push_request(text: &mut Text, item: &Item) {
    let Some(request) = &item.request else {
        return;
    };
    let (id, task) = (request.id.as_str(), item.subject());
    text.push(Style::Bold, id);
    let place = request.directory.as_ref();
    let place = place.map(|it| format!(" in {it}")).unwrap_or_default();
    text.push(
        Style::Plain,
        &format!(": {task} asks to use {}{place}:", request.tool),
    );
    text.end_line();
    permission::push_command(text, request);
    let answers = format!("run: orange allow {id}, orange deny {id} or orange task attach {task}");
    text.push(Style::Dim, &answers);
    text.end_line();
}

fn grid(items: &[AttentionEntry], in_one_project: bool) -> Grid<'_, 6> {
    let column = Column::text;
    let mut grid = Grid::new([
        Column::number("AGE"),
        column("TASK", None),
        column("WHAT", None),
        column("PROJECT", Some(8)),
        column("NEEDED", Some(20)),
        column("RUN", None),
    ]);
    let now: Timestamp = clock::now();
    for AttentionEntry { item, project, .. } in items {
        let project = project.as_ref().filter(|_| !in_one_project);
        let project = project.map_or("", ProjectName::as_str);
        grid.push([
            (Style::Dim, Cow::from(age(now, item.since))),
            (Style::Bold, Cow::from(item.subject())),
            (Style::Warn, Cow::from(item.kind.as_str())),
            (Style::Plain, Cow::from(project)),
            (Style::Plain, with_local_times(&item.text)),
            (Style::Dim, Cow::from(item.command.as_str())),
        ]);
    }
    grid
}

fn empty_text(project: Option<&ProjectName>) -> Text {
    let mut text = Text::new();
    let message = match project {
        Some(name) => {
            format!("nothing in project `{name}` needs you; `--all` includes other projects")
        }
        None => String::from("nothing needs you"),
    };
    text.push(Style::Plain, &message);
    text.end_line();
    text
}

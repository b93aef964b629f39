//! `orange workflow simulate`.

mod answer;
mod body;
mod dialogue;
mod effect_words;
mod expectation;
mod interactive;
mod menu;
mod parse;
mod place;
mod request;
mod script;
mod view;

use std::path::PathBuf;

use body::{StartBody, WalkBody};
use orange_config::{Environment, Source, read_script};
use orange_engine::Workflow;
use parse::UnknownLine;
use script::{Event, Walk};
use serde_json::json;
use view::View;

use super::source::SourceBody;
use super::target::{Target, load, resolve};
use crate::cli::answer::words::count_noun;
use crate::cli::{Error, Exit, Shape};
use crate::output::Output;

pub const SHAPE: Shape = Shape::of::<WalkBody>("orange.workflow.simulate/1");

pub const START_SHAPE: Shape = Shape::of::<StartBody>("orange.workflow.simulate.start/1");

/// Walk a task through a workflow.
///
/// Shows the task's status and a menu of what can happen next. Choose a step, and it shows the
/// decision and the effects that would run, or the refusal that you or an agent would see. The
/// engine decides as for a real task, but no agent is started, no file is written and nothing is
/// merged. Every effect succeeds, unless the step says which one fails.
///
/// A script replaces the dialogue. Each line is a step, written as in the menu, such as `the worker
/// requests working, with ## Plan`, or an expectation: `expect status working`, `expect refused
/// gate-failed`, `expect alive worker`, `expect no agent alive`, `expect workspace`, `expect no
/// workspace`, `expect review_round 1`, `expect fresh ## Handoff`, `expect effects kill_session,
/// spawn_next`, `expect no effects`. `#` starts a comment. If a step is refused, the next line must
/// be `expect refused`. The exit code is 0 if every expectation is met, 3 if one is not, and 2 if
/// the script cannot be read.
///
/// With `--json`, a script prints every step and its decision. Without a script, `--json` prints
/// the statuses in which a task can begin and the next steps from there.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A workflow name, a file path, or, with a script or `--json`, `-` for the standard input.
    ///
    /// An argument that has a path separator or ends in `.yml` or `.yaml` is a file. Otherwise it
    /// is a name: your own workflow first, then the shipped one.
    #[arg(
        value_name = "NAME|FILE",
        value_parser = Target::parser(),
        default_value = "default"
    )]
    pub workflow: Target,
    /// A script to run, or `-` for the standard input.
    #[arg(long, value_name = "FILE")]
    pub script: Option<PathBuf>,
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    refuse_two_inputs(args, output)?;
    let targets = std::slice::from_ref(&args.workflow);
    for source in resolve("simulate", targets, environment)? {
        let workflow = load("simulate", &source)?;
        match &args.script {
            Some(script) => {
                let name = script.display().to_string();
                let text = read_script(script);
                let text = text.map_err(|reason| {
                    let message = format!("cannot read the script `{name}`: {reason}");
                    Error::new(Exit::Usage, "script-unreadable", message)
                        .hint(
                            "pass a text file: `orange workflow simulate --script FILE`, or `-` \
                             for the standard input",
                        )
                        .details(json!({ "name": name, "reason": reason.to_string() }))
                })?;
                let walk = script::walk(&workflow, &text);
                return print_walk(&source, &name, walk, output);
            }
            None if output.is_json() => print_start(&source, &workflow, output)?,
            None => interactive::run(&workflow, output)?,
        }
    }
    Ok(Exit::Ok)
}

/// Stdin can be only one of these: the workflow, the script or the dialogue.
fn refuse_two_inputs(args: &Args, output: &Output) -> Result<(), Error> {
    let script_is_input = args
        .script
        .as_ref()
        .is_some_and(|script| script.as_os_str() == "-");
    let is_dialogue = args.script.is_none() && !output.is_json();
    if args.workflow != Target::Stdin || !(script_is_input || is_dialogue) {
        return Ok(());
    }
    let other = if is_dialogue {
        "the dialogue"
    } else {
        "the script"
    };
    Err(Error::usage(format!(
        "cannot simulate `-`: the standard input is used for {other}"
    ))
    .hint("save the workflow as a file, then run `orange workflow simulate ./mine.yml`"))
}

fn unknown_line(script: &str, line: usize, text: &str, unknown: &UnknownLine) -> Error {
    let UnknownLine { reason, nearest } = unknown;
    let message = format!("cannot run line {line} of the script `{script}`, `{text}`: {reason}");
    Error::new(Exit::Usage, "script-line-unknown", message)
        .hints(nearest.iter().map(|line| format!("possible here: {line}")))
        .hint(
            "`orange workflow simulate --help` explains scripts, and `orange workflow simulate` \
             shows what can happen",
        )
        .details(json!({
            "script": script,
            "line": line,
            "text": text,
            "reason": reason,
            "nearest": nearest,
        }))
}

/// Prints the result of a script. If a line cannot be read, prints the results of the lines before
/// it and returns an error; in JSON, prints only the error.
fn print_walk(
    source: &Source,
    script: &str,
    mut walk: Walk<'_>,
    output: &mut Output,
) -> Result<Exit, Error> {
    let line_error = walk
        .unread_line
        .take()
        .map(|(line, text, unknown)| unknown_line(script, line, &text, &unknown));
    if output.is_json() {
        if let Some(error) = line_error {
            return Err(error);
        }
        SHAPE.print(&WalkBody::of(SourceBody::from(source), &walk), output)?;
    } else {
        let mut view = View::new(output.answer_width());
        view.sentence(&format!("Walking a task through `{}`.", source.name));
        for line_event in &walk.events {
            view.event(line_event.line, &line_event.event);
        }
        view.gap();
        if let Some(error) = line_error {
            output.answer(&view.into_text())?;
            return Err(error);
        }
        summarize(&mut view, &walk);
        output.answer(&view.into_text())?;
    }
    let is_ok = walk.failures().next().is_none();
    Ok(if is_ok { Exit::Ok } else { Exit::Refused })
}

fn summarize(view: &mut View, walk: &Walk<'_>) {
    let count = |is_counted: fn(&Event) -> bool| {
        let events = walk.events.iter().map(|line_event| &line_event.event);
        events.filter(|event| is_counted(event)).count()
    };
    let steps = count_noun(count(|event| matches!(event, Event::Step { .. })), "step");
    let met = count(|event| matches!(event, Event::Met(_)));
    let failed = walk.failures().count();
    view.sentence(&format!(
        "{steps}; {} met, {failed} not met",
        count_noun(met, "expectation")
    ));
    for (line, failure) in walk.failures() {
        view.failure(line, failure, 0);
    }
}

fn print_start(source: &Source, workflow: &Workflow, output: &mut Output) -> Result<(), Error> {
    START_SHAPE.print(&StartBody::of(SourceBody::from(source), workflow), output)?;
    Ok(())
}

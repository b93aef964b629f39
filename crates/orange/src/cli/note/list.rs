//! `orange note list`.

use orange_config::Environment;
use orange_driver::{Note, NoteState};
use orange_engine::names::ProjectName;
use serde::Serialize;

use crate::cli::request::requests::driver;
use crate::cli::{Error, Exit, Shape};
use crate::output::{Output, Style, Text};

pub const SHAPE: Shape = Shape::of::<Body>("orange.note.list/1");

/// List the notes, and how many wait for you.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The project [default: that of this directory, else all].
    #[arg(long, value_name = "NAME")]
    pub project: Option<String>,
    /// List the notes of all projects.
    #[arg(long, conflicts_with = "project")]
    pub all: bool,
}

#[derive(Serialize, schemars::JsonSchema)]
struct Body {
    /// How many wait for the user.
    waiting: usize,
    notes: Vec<Note>,
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let driver = driver(environment)?;
    let named = args.project.as_deref().map(ProjectName::new);
    let project = if args.all {
        None
    } else {
        let here = driver.callers.project_here(named.as_ref())?;
        here.map(|it| it.name)
    };
    let notes = driver.requests.list_notes(project.as_ref())?;
    let is_waiting = |note: &&Note| note.state == NoteState::Waiting;
    let body = Body {
        waiting: notes.iter().filter(is_waiting).count(),
        notes,
    };
    if output.is_json() {
        return SHAPE.print(&body, output);
    }
    output.answer(&describe(&body, output.answer_width()))?;
    Ok(Exit::Ok)
}

fn describe(body: &Body, width: Option<usize>) -> Text {
    let mut text = Text::new();
    for note in &body.notes {
        let (style, state) = match (note.state, &note.task) {
            (NoteState::Accepted, _) => (Style::Plain, String::new()),
            (NoteState::Waiting, Some(task)) => {
                (Style::Warn, format!(" (waits, proposed by task `{task}`)"))
            }
            (NoteState::Waiting, None) => (Style::Warn, String::from(" (waits)")),
        };
        let number = note.number.to_string();
        let sentence = format!(" {}: {}", note.project, note.text);
        let parts = [
            (Style::Bold, number.as_str()),
            (Style::Plain, sentence.as_str()),
            (style, state.as_str()),
        ];
        text.push_line(&parts, 4, width);
    }
    let closing = match (body.notes.is_empty(), body.waiting) {
        (true, _) => String::from("no notes; `orange note add TEXT` writes one down"),
        (false, 0) => return text,
        (false, waiting) => {
            format!("{waiting} waiting: `orange note accept NUMBER` or `orange note reject NUMBER`")
        }
    };
    text.push_line(&[(Style::Plain, closing.as_str())], 4, width);
    text
}

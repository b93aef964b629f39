//! `orange note`: what every agent of a project should know.

pub(super) mod accept;
pub(super) mod add;
pub(super) mod list;
pub(super) mod reject;

use clap::Subcommand;
use orange_config::Environment;
use orange_driver::{Note, NoteState};

use crate::cli::{Error, Exit, Shape};
use crate::output::{Output, Style, Text};

pub const SHAPE: Shape = Shape::of::<Note>("orange.note/1");

/// Keep notes about a project for its agents.
///
/// A note is one line, such as "The tests need the database of `make db`". Agents propose notes,
/// and you accept or reject them. A note of yours is accepted at once. Runs are told the accepted
/// notes in their context file.
#[derive(Debug, Subcommand)]
pub enum Command {
    Add(add::Args),
    List(list::Args),
    Accept(accept::Args),
    Reject(reject::Args),
}

impl Command {
    pub fn run(&self, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
        match self {
            Command::Add(args) => add::run(args, environment, output),
            Command::List(args) => list::run(args, environment, output),
            Command::Accept(args) => accept::run(args, environment, output),
            Command::Reject(args) => reject::run(args, environment, output),
        }
    }
}

/// Prints a note and what happened to it.
fn print_note(note: &Note, what: &str, output: &mut Output) -> Result<Exit, Error> {
    if output.is_json() {
        return SHAPE.print(note, output);
    }
    let mut text = Text::new();
    let name = format!("note {}", note.number);
    let sentence = format!(": {what}");
    let parts = [(Style::Bold, name.as_str()), (Style::Plain, &sentence)];
    text.push_line(&parts, 4, output.answer_width());
    output.answer(&text)?;
    Ok(Exit::Ok)
}

fn state_word(note: &Note) -> &'static str {
    match note.state {
        NoteState::Waiting => "waits for the user",
        NoteState::Accepted => "accepted",
    }
}

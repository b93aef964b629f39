//! `orange sandbox try`.

use orange_config::Environment;
use orange_driver::{Attempt, SandboxTrial, TriedAttempt};

use crate::cli::request::requests::driver;
use crate::cli::{Error, Exit, Shape, push_error};
use crate::output::{Alignment, Cell, Output, Style, Table, Text};

pub const SHAPE: Shape = Shape::of::<SandboxTrial>("orange.sandbox.try/1");

/// Try on this machine what a sandbox holds.
///
/// Starts a sandbox, tries harmlessly to get out of it, and tries the same without a sandbox. Fails
/// if something succeeds inside that the settings do not allow.
#[derive(Debug, clap::Args)]
pub struct Args {}

pub fn run(_args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let driver = driver(environment)?;
    let project = driver.callers.project_for(None).ok();
    let trial = driver.workspaces.try_sandbox(project.as_ref())?;
    if output.is_json() {
        SHAPE.print(&trial, output)?;
    } else {
        output.answer(&table(&trial).to_text(output.answer_width()))?;
        let mut text = Text::new();
        for gap in &trial.gaps {
            text.push(Style::Bad, &gap.reason);
            text.push(Style::Plain, &format!(". To fix it: {}", gap.fix));
            text.end_line();
        }
        output.narrate(&text);
        let breaches = trial.breaches();
        if !breaches.is_empty() {
            let words = breaches.iter().map(|it| it.attempt.words());
            let words = words.collect::<Vec<_>>().join(", ");
            let message = format!("this sandbox does not hold: {words}");
            let mut text = Text::new();
            push_error(&mut text, &message, &[], output.narration_width(), 0);
            output.print_error(&text);
        }
    }
    Ok(if trial.breaches().is_empty() {
        Exit::Ok
    } else {
        Exit::Refused
    })
}

fn table(trial: &SandboxTrial) -> Table<2> {
    let columns = ["ATTEMPT", "WITHOUT A SANDBOX"].map(|name| (name, Alignment::Left));
    let mut table = Table::new(columns, "INSIDE");
    for it in &trial.attempts {
        let row = [
            Cell::new(Style::Plain, it.attempt.words()),
            Cell::new(Style::Plain, word(it.succeeds_without)),
        ];
        table.push(row, inside(it));
    }
    table
}

fn inside(attempt: &TriedAttempt) -> Cell {
    match (attempt.succeeds_inside, attempt.is_allowed) {
        (Some(true), true) if attempt.attempt == Attempt::ConnectPort => {
            Cell::new(Style::Plain, "possible (`sandbox.network`)")
        }
        (Some(true), true) => Cell::new(Style::Plain, "possible (partial level)"),
        (Some(true), false) => Cell::new(Style::Bad, "possible"),
        (result, _) => Cell::new(Style::Good, word(result)),
    }
}

fn word(result: Option<bool>) -> &'static str {
    match result {
        Some(true) => "possible",
        Some(false) => "no",
        None => "not tried",
    }
}

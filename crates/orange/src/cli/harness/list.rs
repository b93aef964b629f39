//! `orange harness list`.

use std::path::Path;

use orange_config::Environment;
use orange_driver::KnownHarness;
use orange_engine::parking::{Parking, Reason};
use serde::Serialize;

use crate::cli::request::requests::driver;
use crate::cli::{Error, Exit, Shape};
use crate::output::{Alignment, Cell, Output, Style, Table, local_time};

pub const SHAPE: Shape = Shape::of::<Body<'static>>("orange.harness.list/1");

/// List the harnesses.
///
/// A harness is `ready` if its program is installed, `missing` if not, `broken` if its definition
/// has a mistake, and `parked` while no agent is started with it: until the time shown, or until
/// you run `orange harness unpark`. `orange doctor` checks whether an agent is logged in, and
/// whether it would ask a question when it starts.
#[derive(Debug, clap::Args)]
pub struct Args {}

#[derive(Serialize, schemars::JsonSchema)]
struct Body<'a> {
    harnesses: Vec<Line<'a>>,
}

#[derive(Serialize, schemars::JsonSchema)]
#[schemars(rename = "HarnessLine")]
struct Line<'a> {
    name: &'a str,
    /// `ready`, `missing`, `parked` or `broken`.
    state: &'static str,
    /// The program, as the definition names it; absent if the definition has a mistake.
    binary: Option<&'a str>,
    /// The path of the program.
    program: Option<&'a Path>,
    /// What is wrong with the definition, or why the program cannot be run.
    problem: Option<&'a str>,
    /// Why nothing is started on it, since when and until when.
    parked: Option<&'a Parking>,
}

pub fn run(environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let driver = driver(environment)?;
    let harnesses = driver.scheduler.known_harnesses()?;
    if output.is_json() {
        let body = Body {
            harnesses: harnesses.iter().map(line).collect(),
        };
        return SHAPE.print(&body, output);
    }
    let columns = ["HARNESS", "STATE", "UNTIL"].map(|name| (name, Alignment::Left));
    let mut table = Table::new(columns, "PROGRAM");
    for harness in &harnesses {
        let state = state(harness);
        let style = match state {
            "ready" => Style::Good,
            "parked" => Style::Warn,
            "missing" => Style::Plain,
            _ => Style::Bad,
        };
        let state_text = match &harness.parked {
            Some(parking) => format!("{state}: {}", word(parking.reason)),
            None => state.to_owned(),
        };
        let row = [
            Cell::new(Style::Bold, &harness.name),
            Cell::new(style, &state_text),
            Cell::new(Style::Plain, &until(harness.parked.as_ref())),
        ];
        let program = match (&harness.binary, &harness.program) {
            (_, Ok(program)) => program.display().to_string(),
            (Ok(binary), Err(_)) => binary.clone(),
            (Err(problem), Err(_)) => problem.clone(),
        };
        table.push(row, Cell::new(Style::Plain, &program));
    }
    output.answer(&table.to_text(output.answer_width()))?;
    Ok(Exit::Ok)
}

fn line(harness: &KnownHarness) -> Line<'_> {
    Line {
        name: &harness.name,
        state: state(harness),
        binary: harness.binary.as_deref().ok(),
        program: harness.program.as_deref().ok(),
        problem: harness.program.as_ref().err().map(String::as_str),
        parked: harness.parked.as_ref(),
    }
}

fn state(harness: &KnownHarness) -> &'static str {
    match (&harness.parked, &harness.binary, &harness.program) {
        (Some(_), ..) => "parked",
        (None, Err(_), _) => "broken",
        (None, Ok(_), Err(_)) => "missing",
        (None, Ok(_), Ok(_)) => "ready",
    }
}

fn word(reason: Reason) -> &'static str {
    match reason {
        Reason::Quota => "no quota",
        Reason::Login => "not logged in",
        Reason::Overloaded => "overloaded",
        Reason::Network => "unreachable",
    }
}

fn until(parked: Option<&Parking>) -> String {
    match parked.map(|parking| parking.until) {
        None => String::new(),
        Some(Some(until)) => local_time(until),
        Some(None) => String::from("unparked"),
    }
}

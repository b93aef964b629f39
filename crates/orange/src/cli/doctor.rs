//! `orange doctor`.

use orange_config::Environment;
use orange_driver::{Checkup, Health};
use serde::Serialize;

use super::request::requests::driver;
use crate::cli::{Error, Exit, Shape};
use crate::output::{Alignment, Cell, Output, Style, Table};

pub const SHAPE: Shape = Shape::of::<Body<'static>>("orange.doctor/1");

/// Check git, tmux and your agents.
///
/// Checks git, tmux, orange's home directory, the disks, leftovers and saved work. For every
/// harness, checks whether its program is installed, in which version, whether it is logged in,
/// whether it would ask a question when it starts, and whether its skill is up to date. Each result
/// is `ok`, `missing` (not installed, and not needed), `warning`, `error` or `unknown`, and says
/// how to fix it. Changes nothing. Exits with 3 if there is an error.
#[derive(Debug, clap::Args)]
pub struct Args {}

#[derive(Serialize, schemars::JsonSchema)]
struct Body<'a> {
    checkups: &'a [Checkup],
}

pub fn run(environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let checkups = driver(environment)?.admin.check_up()?;
    if output.is_json() {
        let body = Body {
            checkups: &checkups,
        };
        SHAPE.print(&body, output)?;
    } else {
        output.answer(&table(&checkups).to_text(output.answer_width()))?;
    }
    let has_error = checkups.iter().any(|it| it.health == Health::Error);
    Ok(if has_error { Exit::Refused } else { Exit::Ok })
}

fn table(checkups: &[Checkup]) -> Table<2> {
    let columns = ["WHAT", "HEALTH"].map(|name| (name, Alignment::Left));
    let mut table = Table::new(columns, "FOUND");
    for it in checkups {
        let (word, style) = match it.health {
            Health::Ok => ("ok", Style::Good),
            Health::Missing => ("missing", Style::Plain),
            Health::Warning => ("warning", Style::Warn),
            Health::Error => ("error", Style::Bad),
            Health::Unknown => ("unknown", Style::Warn),
        };
        let found = match &it.fix {
            Some(fix) if it.health != Health::Missing => format!("{}: {fix}", it.message),
            _ => it.message.clone(),
        };
        let row = [Cell::new(Style::Bold, &it.subject), Cell::new(style, word)];
        table.push(row, Cell::new(Style::Plain, &found));
    }
    table
}

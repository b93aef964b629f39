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
/// Checks git, tmux, the home of orange, the disks, leftovers and kept unsaved work, and for every
/// harness: whether its program is installed and in which version, whether it is logged in, whether
/// it would ask a question first, and whether its skill is up to date. Each finding is `good`,
/// `absent`, `doubtful`, `bad` or `unknown`, and says how to fix it. Nothing is changed. Exits with
/// 3 if something is bad.
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
    let is_bad = checkups.iter().any(|it| it.health == Health::Bad);
    Ok(if is_bad { Exit::Refused } else { Exit::Ok })
}

fn table(checkups: &[Checkup]) -> Table<2> {
    let columns = ["WHAT", "HEALTH"].map(|name| (name, Alignment::Left));
    let mut table = Table::new(columns, "FOUND");
    for it in checkups {
        let (word, style) = match it.health {
            Health::Good => ("good", Style::Good),
            Health::Absent => ("absent", Style::Plain),
            Health::Doubtful => ("doubtful", Style::Warn),
            Health::Bad => ("bad", Style::Bad),
            Health::Unknown => ("unknown", Style::Warn),
        };
        let found = match &it.fix {
            Some(fix) if it.health != Health::Absent => format!("{}: {fix}", it.message),
            _ => it.message.clone(),
        };
        let row = [Cell::new(Style::Bold, &it.subject), Cell::new(style, word)];
        table.push(row, Cell::new(Style::Plain, &found));
    }
    table
}

//! `orange task respawn`.

use std::time::Duration;

use orange_config::Environment;
use orange_driver::BroughtBack;
use orange_engine::input::Ask;
use orange_engine::role::Role;
use serde::Serialize;

use crate::cli::request::attending::{Manner, attend};
use crate::cli::request::driving::{Target, Wanted, ask, driver};
use crate::cli::{Error, Exit, Shape};
use crate::output::{Output, Style, Text};

pub const SHAPE: Shape = Shape::of::<Body<'static>>("orange.task.respawn.lost/1");

/// Default of `--wait` in seconds, for all lost agents together.
const USUAL_WAIT: u64 = 30;

/// Bring an agent back that is gone.
///
/// The status stays. What the dead one left running is ended first. With `--lost`, after a restart
/// of the machine or of tmux, every agent that went away with it comes back.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub target: Target,
    /// Which agent: `worker`, `reviewer` or a role of the workflow; the one that is missing when
    /// left out.
    #[arg(long, value_name = "ROLE")]
    pub role: Option<String>,
    /// Every agent of every task that is provably gone with its machine or its tmux server.
    #[arg(long, conflicts_with_all = ["task", "role"])]
    pub lost: bool,
}

#[derive(Serialize, schemars::JsonSchema)]
struct Body<'a> {
    tasks: Vec<Line<'a>>,
}

#[derive(Serialize, schemars::JsonSchema)]
struct Line<'a> {
    task: &'a str,
    brought_back: Vec<&'a str>,
    problems: &'a [String],
    on_its_way: bool,
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    if args.lost {
        return bring_back_all(args, environment, output);
    }
    let role = args.role.as_deref().map(Role::named);
    let wanted = Wanted::plain(Ask::Respawn { role });
    ask(&args.target, wanted, environment, output)
}

fn bring_back_all(
    args: &Args,
    environment: &Environment,
    output: &mut Output,
) -> Result<Exit, Error> {
    let patience = &args.target.patience;
    let bound = Duration::from_secs(patience.wait.unwrap_or(USUAL_WAIT));
    let driver = driver(environment)?;
    let manner = Manner::waiting(output);
    let (found, signal) = attend(driver.context.meanwhile(), manner, || {
        driver.requests.respawn_lost(bound)
    });
    let found = found?;
    if output.is_json() {
        let body = Body {
            tasks: found.iter().map(line).collect(),
        };
        SHAPE.print(&body, output)?;
    } else {
        output.answer(&text(&found, output.answer_width()))?;
    }
    Ok(if found.iter().any(|it| !it.problems.is_empty()) {
        Exit::Refused
    } else if found.iter().any(|it| !it.is_settled) {
        signal.map_or(Exit::Busy, Exit::from)
    } else {
        Exit::Ok
    })
}

fn line(brought: &BroughtBack) -> Line<'_> {
    Line {
        task: brought.task.as_str(),
        brought_back: brought.roles.iter().map(Role::as_str).collect(),
        problems: &brought.problems,
        on_its_way: !brought.is_settled,
    }
}

fn text(found: &[BroughtBack], width: Option<usize>) -> Text {
    let mut text = Text::new();
    if found.is_empty() {
        text.push(Style::Plain, "no agent is lost");
        text.end_line();
    }
    for brought in found {
        let mut told = Vec::new();
        if !brought.roles.is_empty() {
            let roles: Vec<&str> = brought.roles.iter().map(Role::as_str).collect();
            let later = if brought.is_settled {
                ""
            } else {
                ", effects are on their way"
            };
            told.push(format!(
                "brought back the {}{later}",
                roles.join(" and the ")
            ));
        }
        told.extend(brought.problems.iter().cloned());
        let told = format!(": {}", told.join("; "));
        let parts = [(Style::Bold, brought.task.as_str()), (Style::Plain, &told)];
        text.push_line(&parts, 4, width);
    }
    text
}

//! `orange task respawn`.

use std::time::Duration;

use orange_config::Environment;
use orange_driver::{LostAgents, RespawnReport};
use orange_engine::input::RequestKind;
use orange_engine::names::TaskId;
use orange_engine::role::Role;
use serde::Serialize;

use crate::cli::answer::words::count_noun;
use crate::cli::request::progress::{WaitMode, run_with_progress};
use crate::cli::request::requests::{RequestDraft, driver};
use crate::cli::request::several::{Targets, ask_each};
use crate::cli::{Error, Exit, Shape};
use crate::output::{Output, Style, Text};

pub const SHAPE: Shape = Shape::of::<Body<'static>>("orange.task.respawn.lost/1");

/// Default of `--wait` in seconds, for all lost agents together.
const DEFAULT_WAIT: u64 = 30;

/// Respawn agents that are gone.
///
/// Starts the agent again in the same status. Processes that the exited agent left running are
/// killed first; an agent that is still running is left alone (see `orange task restart`). After a
/// restart of the machine or of tmux, use `--lost`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub targets: Targets,
    /// The agent's role: `worker`, `reviewer` or a role of the workflow [default: the missing one].
    #[arg(long, value_name = "ROLE")]
    pub role: Option<String>,
    /// Respawn every agent whose machine or tmux server went down, and name the tasks whose agents
    /// ended otherwise; waits 30 seconds for all of them unless `--wait` says otherwise.
    #[arg(long, conflicts_with_all = ["tasks", "role"])]
    pub lost: bool,
}

#[derive(Serialize, schemars::JsonSchema)]
struct Body<'a> {
    tasks: Vec<Line<'a>>,
    /// Tasks whose agent ended in another way; it was not restarted.
    exited: Vec<&'a str>,
}

#[derive(Serialize, schemars::JsonSchema)]
#[schemars(rename = "RespawnedLine")]
struct Line<'a> {
    task: &'a str,
    respawned: Vec<&'a str>,
    problems: &'a [String],
    in_flight: bool,
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    if args.lost {
        return respawn_lost(args, environment, output);
    }
    let role = args.role.as_deref().map(Role::from_name);
    let draft = RequestDraft::plain(RequestKind::Respawn { role });
    ask_each(&args.targets, &draft, environment, output)
}

fn respawn_lost(
    args: &Args,
    environment: &Environment,
    output: &mut Output,
) -> Result<Exit, Error> {
    let wait_options = &args.targets.wait_options;
    let timeout = Duration::from_secs(wait_options.wait.unwrap_or(DEFAULT_WAIT));
    let driver = driver(environment)?;
    let mode = WaitMode::for_wait(output);
    let (lost, signal) = run_with_progress(driver.context.progress(), mode, || {
        driver.requests.respawn_lost(timeout)
    });
    let lost = lost?;
    let reports = &lost.reports;
    if output.is_json() {
        let body = Body {
            tasks: reports.iter().map(line).collect(),
            exited: lost.exited.iter().map(TaskId::as_str).collect(),
        };
        SHAPE.print(&body, output)?;
    } else {
        output.answer(&text(&lost, output.answer_width()))?;
    }
    Ok(if reports.iter().any(|it| !it.problems.is_empty()) {
        Exit::Refused
    } else if reports.iter().any(|it| !it.is_settled) {
        signal.map_or(Exit::Busy, Exit::from)
    } else {
        Exit::Ok
    })
}

fn line(report: &RespawnReport) -> Line<'_> {
    Line {
        task: report.task.as_str(),
        respawned: report.roles.iter().map(Role::as_str).collect(),
        problems: &report.problems,
        in_flight: !report.is_settled,
    }
}

fn text(lost: &LostAgents, width: Option<usize>) -> Text {
    let LostAgents { reports, exited } = lost;
    let mut text = Text::new();
    if reports.is_empty() {
        text.push(Style::Plain, "no agent is lost");
        text.end_line();
    }
    for report in reports {
        let mut lines = Vec::new();
        if !report.roles.is_empty() {
            let roles: Vec<&str> = report.roles.iter().map(Role::as_str).collect();
            let suffix = if report.is_settled {
                ""
            } else {
                ", effects are in progress"
            };
            lines.push(format!("respawned the {}{suffix}", roles.join(" and the ")));
        }
        lines.extend(report.problems.iter().cloned());
        let lines = format!(": {}", lines.join("; "));
        let parts = [(Style::Bold, report.task.as_str()), (Style::Plain, &lines)];
        text.push_line(&parts, 4, width);
    }
    if !exited.is_empty() {
        let tasks: Vec<&str> = exited.iter().map(TaskId::as_str).collect();
        let (agents, tasks) = (count_noun(exited.len(), "agent"), tasks.join(" "));
        let line = format!("{agents} ended in another way: `orange task respawn {tasks}`");
        text.push_line(&[(Style::Plain, &line)], 4, width);
    }
    text
}

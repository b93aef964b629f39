//! What commands about tasks share: a driver, an asker, an answer.

use std::time::Duration;

use orange_engine::Task;
use orange_engine::event::{Event, Fact};
use orange_engine::input::{Ask, Request};
use orange_engine::names::TaskId;
use serde::Serialize;

use super::error::{Error, hint_paragraph};
use super::exit::Exit;
use super::json::Answer as JsonAnswer;
use crate::config::Environment;
use crate::driver::{Answer, Changed, Driver, Gathering, Waiting};
use crate::output::{Output, Style, Text};

/// Which task is meant, how long to wait, and how to answer.
#[derive(Debug, clap::Args)]
pub struct Target {
    /// The task; inside an agent's session or a task's worktree, its own when left out.
    #[arg(value_name = "TASK")]
    pub task: Option<String>,
    #[command(flatten)]
    pub patience: Patience,
}

/// How long to wait, and how to answer.
#[derive(Debug, clap::Args)]
pub struct Patience {
    /// Wait at most this many seconds for what was planned; past that the command exits with 5,
    /// and repeating it reads the result.
    #[arg(long, value_name = "SECONDS")]
    pub wait: Option<u64>,
    /// Answer in JSON, for programs.
    #[arg(long)]
    pub json: bool,
}

impl Patience {
    /// Who performs, and how long is waited.
    pub fn waiting(&self) -> Waiting {
        let asked = self.wait.map(Duration::from_secs);
        asked.map_or(Waiting::USUAL, Waiting::Detached)
    }

    /// Who runs the commands of gates, and how long is waited.
    fn gathering(&self) -> Gathering {
        let bound = match self.waiting() {
            Waiting::Detached(bound) => bound,
            Waiting::Here | Waiting::Not => Duration::ZERO,
        };
        Gathering::Detached(bound)
    }
}

#[derive(Serialize)]
struct Body<'a> {
    outcome: &'static str,
    task: &'a Task,
    events: &'a [Event],
}

/// The driver for this process.
pub fn driver(environment: &Environment) -> Result<Driver, Error> {
    let orange = std::env::current_exe().map_err(|error| Error::NotStarted(error.to_string()))?;
    let driver = Driver::new(environment, orange)?;
    Ok(driver.standing_in(Environment::current_directory()))
}

/// The task that was named, or the asker's own.
pub fn meant(driver: &Driver, named: Option<&str>) -> Result<TaskId, Error> {
    let named = named.map(TaskId::new);
    Ok(driver.meant(named.as_ref())?)
}

/// Asks for something, and prints what came of it.
pub fn ask(
    target: &Target,
    request: Wanted,
    environment: &Environment,
    output: &mut Output,
) -> Result<Exit, Error> {
    let answer = answer(target, request, environment)?;
    print(answer, target.patience.json, output)
}

/// Asks for something, and says what came of it.
pub fn answer(
    target: &Target,
    request: Wanted,
    environment: &Environment,
) -> Result<Answer, Error> {
    let driver = driver(environment)?.gathering(target.patience.gathering());
    let task = meant(&driver, target.task.as_deref())?;
    let request = |by| Request {
        by,
        ask: request.ask,
        confirmed: request.confirmed,
        message: request.message,
    };
    Ok(driver.ask_as_caller(&task, request, target.patience.waiting())?)
}

/// What is asked for, whoever asks.
#[derive(Debug)]
pub struct Wanted {
    /// What.
    pub ask: Ask,
    /// Whether the question of the edge was answered with yes.
    pub confirmed: bool,
    /// What is said with it.
    pub message: Option<String>,
}

impl Wanted {
    /// With nothing said and nothing confirmed.
    pub fn plain(ask: Ask) -> Wanted {
        Wanted {
            ask,
            confirmed: false,
            message: None,
        }
    }
}

/// Prints what asking came to.
pub fn print(answer: Answer, json: bool, output: &mut Output) -> Result<Exit, Error> {
    let (outcome, changed, exit) = match answer {
        Answer::Refused(refusal) => return Err(Error::Refused(refusal)),
        Answer::Done(changed) => (Outcome::Happened, changed, Exit::Ok),
        Answer::StillRunning(changed) => (Outcome::OnItsWay, changed, Exit::Busy),
        Answer::Already(task) => {
            let events = Vec::new();
            (
                Outcome::Before,
                Box::new(Changed {
                    task: *task,
                    events,
                }),
                Exit::Ok,
            )
        }
    };
    if json {
        let answer = JsonAnswer {
            schema: "orange.task.change/1",
            body: Body {
                outcome: outcome.code(),
                task: &changed.task,
                events: &changed.events,
            },
        };
        output.answer_exactly(answer.to_text()?.as_bytes())?;
        return Ok(exit);
    }
    let task = &changed.task;
    let mut text = Text::new();
    text.push(Style::Bold, task.id.as_str());
    text.push(Style::Plain, &format!(": {}", outcome.told(&changed)));
    text.end_line();
    output.answer(&text)?;
    let mut narration = Text::new();
    for reason in &task.attention {
        narration.push(Style::Bad, "attention:");
        narration.push(Style::Plain, &format!(" {reason}"));
        narration.end_line();
    }
    if exit == Exit::Busy {
        let hint = format!(
            "what this needs is still being done; `orange task show {}` tells how far it is",
            task.id
        );
        narration.push_paragraph(&hint_paragraph(&hint, 0), output.narration_width());
    }
    output.narrate(&narration);
    Ok(exit)
}

/// What asking came to, for who reads it.
#[derive(Clone, Copy)]
enum Outcome {
    Happened,
    OnItsWay,
    Before,
}

impl Outcome {
    fn code(self) -> &'static str {
        match self {
            Outcome::Happened => "happened",
            Outcome::OnItsWay => "on_its_way",
            Outcome::Before => "already",
        }
    }

    fn told(self, changed: &Changed) -> String {
        let status = &changed.task.status;
        let events = changed.events.iter().rev();
        let mut moves = events.filter_map(|event| match &event.fact {
            Fact::StatusChanged(changed) => Some(changed),
            _ => None,
        });
        let mut told = match (self, moves.next()) {
            (Outcome::Before, _) => format!("in `{status}` already"),
            (_, None) => format!("in `{status}`"),
            (_, Some(moved)) if moved.to == *status => {
                format!("from `{}` to `{status}`", moved.from)
            }
            // Somebody has moved it on while this was being done.
            (_, Some(moved)) => {
                format!(
                    "from `{}` to `{}`, by now in `{status}`",
                    moved.from, moved.to
                )
            }
        };
        if matches!(self, Outcome::OnItsWay) {
            told.push_str(", effects are on their way");
        }
        told
    }
}

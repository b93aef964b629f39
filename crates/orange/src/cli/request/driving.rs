//! What commands about tasks share: driver, request, printed result.

use std::time::Duration;

use orange_config::Environment;
use orange_driver::{Answer, Changed, Driver, DriverError, Gathering, GivenUp, Waiting};
use orange_engine::Task;
use orange_engine::event::Event;
use orange_engine::input::{Ask, Request};
use orange_engine::merged::Merged;
use orange_engine::names::{CommitId, TaskId};
use orange_engine::refusal::{Attempt, Missing};
use orange_engine::schedule::Wait;
use serde::Serialize;
use serde_json::{Value, json};

use super::attending::{Manner, attend};
use super::interrupted::Waited;
use super::outcome::{Outcome, copies_complaint};
use crate::cli::answer::words::{ToldWait, told_waits};
use crate::cli::{Error, Exit, Shape, hint_paragraph, push_error};
use crate::output::{Output, Style, Text};

pub const SHAPE: Shape = Shape::of::<Body<'static>>("orange.task.change/1");

/// Which task is meant.
#[derive(Debug, clap::Args)]
pub struct TaskArg {
    /// The task, by its id, the beginning of it, or its branch; inside an agent's session or a
    /// task's worktree, its own when left out.
    #[arg(value_name = "TASK")]
    pub task: Option<String>,
}

impl TaskArg {
    /// The task, and the driver that found it.
    pub fn find(&self, environment: &Environment) -> Result<(Driver, TaskId), Error> {
        let driver = driver(environment)?;
        let task = driver.callers.meant(self.task.as_deref())?;
        Ok((driver, task))
    }
}

/// Which task is meant, and how long to wait.
#[derive(Debug, clap::Args)]
pub struct Target {
    /// The task, by its id, the beginning of it, or its branch; inside an agent's session or a
    /// task's worktree, its own when left out.
    #[arg(value_name = "TASK")]
    pub task: Option<String>,
    /// Answer the question of the workflow, if it has one, with yes.
    #[arg(long)]
    pub yes: bool,
    #[command(flatten)]
    pub patience: Patience,
}

/// How long to wait.
#[derive(Debug, clap::Args)]
pub struct Patience {
    /// Wait at most this many seconds for what was planned; past that the command exits with 5,
    /// and repeating it reads the result.
    #[arg(long, value_name = "SECONDS")]
    pub wait: Option<u64>,
}

impl Patience {
    pub fn waiting(&self) -> Waiting {
        let asked = self.wait.map(Duration::from_secs);
        asked.map_or(Waiting::USUAL, Waiting::Detached)
    }

    /// Which process runs the commands of gates, and how long to wait for them.
    pub fn gathering(&self) -> Gathering {
        let bound = match self.waiting() {
            Waiting::Detached(bound) => bound,
            Waiting::Here | Waiting::Not => Duration::ZERO,
        };
        Gathering::Detached(bound)
    }
}

#[derive(Serialize, schemars::JsonSchema)]
struct Body<'a> {
    outcome: &'static str,
    task: &'a Task,
    events: &'a [Event],
    given_up: Vec<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    not_started: Option<&'a Error>,
    /// What keeps its start back, which happens by itself once that is gone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    waits: Vec<ToldWait<'a>>,
    /// What a merge came to: which commit is where now.
    #[serde(skip_serializing_if = "Option::is_none")]
    merged: Option<&'a Merged>,
    /// Why the files in the task directory are not up to date; the change itself is recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    copies_failed: Option<&'a str>,
}

/// What to print in addition to the result of a request.
#[derive(Default)]
pub struct Besides<'a> {
    /// Why the work was not started in the end.
    pub not_started: Option<&'a Error>,
    pub waits: &'a [Wait],
    pub merged: Option<&'a Merged>,
}

pub fn driver(environment: &Environment) -> Result<Driver, Error> {
    let orange = std::env::current_exe().map_err(Error::not_started)?;
    let driver = Driver::new(environment, orange)?;
    Ok(driver.standing_in(Environment::current_directory()))
}

/// Makes a request and prints the result.
pub fn ask(
    target: &Target,
    request: Wanted,
    environment: &Environment,
    output: &mut Output,
) -> Result<Exit, Error> {
    let answer = answer(target, request, environment, output)?;
    print(answer, output)
}

/// Makes a request and returns the result. If only an edge's confirmation is missing, asks the user
/// and tries again.
pub fn answer(
    target: &Target,
    wanted: Wanted,
    environment: &Environment,
    output: &mut Output,
) -> Result<Answer, Error> {
    let came = attempt(target, wanted.clone(), target.yes, environment, output)?;
    let Some((question, head)) = question(&came) else {
        return Ok(came);
    };
    let asked = match &head {
        Some(head) => format!("{question} ({})", head.short()),
        None => question,
    };
    // The answer holds for the commit that was shown.
    let wanted = Wanted {
        head: head.or(wanted.head.clone()),
        ..wanted
    };
    match consent(&asked, output)? {
        Consent::Given => attempt(target, wanted, true, environment, output),
        Consent::Denied | Consent::Nobody => Ok(came),
    }
}

pub fn answer_unasked(
    target: &Target,
    wanted: Wanted,
    environment: &Environment,
    output: &Output,
) -> Result<Answer, Error> {
    attempt(target, wanted, target.yes, environment, output)
}

fn attempt(
    target: &Target,
    wanted: Wanted,
    confirmed: bool,
    environment: &Environment,
    output: &Output,
) -> Result<Answer, Error> {
    let driver = driver(environment)?.gathering(target.patience.gathering());
    let task = driver.callers.meant(target.task.as_deref())?;
    let request = |by| Request {
        by,
        ask: wanted.ask,
        confirmed,
        message: wanted.message,
        head: wanted.head,
    };
    let waiting = target.patience.waiting();
    let manner = Manner::waiting(output);
    let (came, signal) = attend(driver.context.meanwhile(), manner, || {
        driver.requests.ask_as_caller(&task, request, waiting)
    });
    match (came, signal) {
        (Err(DriverError::GateRunning { .. }), Some(signal)) => {
            Err(signal.during(&Waited::Gate(task)))
        }
        (Ok(Answer::StillRunning(_)) | Err(_), Some(signal)) => {
            Err(signal.during(&Waited::Effects(task)))
        }
        (came, _) => Ok(came?),
    }
}

/// The confirmation, if it is all that is missing, and the commit it is about.
fn question(answer: &Answer) -> Option<(String, Option<CommitId>)> {
    let Answer::Refused(refusal) = answer else {
        return None;
    };
    match refusal.missing.as_slice() {
        [Missing::ConfirmationNeeded { question }] => {
            let head = match &refusal.attempt {
                Attempt::Verb { head, .. } => head.clone(),
                _ => None,
            };
            Some((question.clone(), head))
        }
        _ => None,
    }
}

#[derive(Clone, Debug)]
pub struct Wanted {
    pub ask: Ask,
    pub message: Option<String>,
    pub head: Option<CommitId>,
}

impl Wanted {
    pub fn plain(ask: Ask) -> Wanted {
        Wanted {
            ask,
            message: None,
            head: None,
        }
    }
}

/// The commit that a command's `--head` names.
pub fn named_commit(
    target: &Target,
    head: Option<&str>,
    environment: &Environment,
) -> Result<Option<CommitId>, Error> {
    let Some(head) = head else {
        return Ok(None);
    };
    let driver = driver(environment)?;
    let task = driver.callers.meant(target.task.as_deref())?;
    Ok(Some(driver.workspaces.commit_named(&task, head)?))
}

pub fn print(answer: Answer, output: &mut Output) -> Result<Exit, Error> {
    print_with(answer, &Besides::default(), output)
}

/// Prints the result of a request and the extras.
pub fn print_with(
    answer: Answer,
    besides: &Besides<'_>,
    output: &mut Output,
) -> Result<Exit, Error> {
    let not_started = besides.not_started;
    let (outcome, changed, exit) = match answer {
        Answer::Refused(refusal) => return Err(refusal.into()),
        Answer::Done(changed) | Answer::StillRunning(changed) if !changed.given_up.is_empty() => {
            (Outcome::Failed, changed, Exit::OutsideFailed)
        }
        Answer::Done(changed) => (Outcome::Happened, changed, Exit::Ok),
        Answer::StillRunning(changed) => (Outcome::OnItsWay, changed, Exit::Busy),
        Answer::Already(task) => {
            let changed = Changed {
                task: *task,
                events: Vec::new(),
                given_up: Vec::new(),
                copies_failed: None,
            };
            (Outcome::Before, Box::new(changed), Exit::Ok)
        }
    };
    let exit = not_started.map_or(exit, |error| error.exit);
    if output.is_json() {
        let body = Body {
            outcome: outcome.code(),
            task: &changed.task,
            events: &changed.events,
            given_up: changed.given_up.iter().map(told_to_programs).collect(),
            not_started,
            waits: told_waits(besides.waits),
            merged: besides.merged,
            copies_failed: changed.copies_failed.as_deref(),
        };
        SHAPE.print(&body, output)?;
        return Ok(exit);
    }
    let task = &changed.task;
    let width = output.answer_width();
    let mut text = Text::new();
    let told = format!(": {}", outcome.told(&changed));
    let parts = [(Style::Bold, task.id.as_str()), (Style::Plain, &told)];
    text.push_line(&parts, 4, width);
    if let Some(merged) = besides.merged {
        text.push_line(&[(Style::Plain, &format!("  {merged}"))], 4, width);
    }
    for wait in besides.waits {
        text.push_line(&[(Style::Plain, &format!("  waits: {wait}"))], 4, width);
    }
    output.answer(&text)?;
    output.complain(&copies_complaint(&changed, output.narration_width()));
    if let Some(error) = not_started {
        output.complain(&error.to_text(output.narration_width()));
        return Ok(exit);
    }
    output.complain(&complaint(&changed, output.narration_width()));
    output.narrate(&narration(&changed.task, exit, output.narration_width()));
    Ok(exit)
}

fn told_to_programs(given_up: &GivenUp) -> Value {
    json!({ "effect": given_up.effect, "error": given_up.error })
}

fn complaint(changed: &Changed, width: Option<usize>) -> Text {
    let (task, given_up) = (&changed.task, &changed.given_up);
    let mut text = Text::new();
    for failed in given_up {
        let message = format!("{} was given up: {}", failed.effect, failed.error);
        push_error(&mut text, &message, &[], width, 0);
    }
    // A failed effect is often a reason for attention too; print it once.
    let is_new = |reason: &&String| !given_up.iter().any(|it| reason.ends_with(&it.error));
    for reason in task.attention.iter().filter(is_new) {
        let reason = format!(" {reason}");
        let parts = [(Style::Bad, "attention:"), (Style::Plain, &reason)];
        text.push_line(&parts, 4, width);
    }
    text
}

/// What the user should know in addition to the answer.
fn narration(task: &Task, exit: Exit, width: Option<usize>) -> Text {
    let mut text = Text::new();
    let show = format!("`orange task show {}`", task.id);
    let hint = match exit {
        Exit::Busy => format!("what this needs is still being done; {show} tells how far it is"),
        Exit::OutsideFailed => format!("{show} tells where the task is now, and why"),
        _ => return text,
    };
    text.push_paragraph(&hint_paragraph(&hint, 0), width);
    text
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consent {
    Given,
    Denied,
    Nobody,
}

/// Asks whether to continue. The question says what will be touched and what is kept. It asks only
/// at a terminal, and anything but yes is no.
pub fn consent(question: &str, output: &mut Output) -> Result<Consent, Error> {
    if output.is_json() || !output.has_person() {
        return Ok(Consent::Nobody);
    }
    let typed = output.ask(&format!("{question} [y/N] "))?;
    let typed = typed.unwrap_or_default().trim().to_lowercase();
    Ok(if matches!(typed.as_str(), "y" | "yes") {
        Consent::Given
    } else {
        Consent::Denied
    })
}

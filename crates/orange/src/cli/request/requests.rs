//! What commands about tasks share: driver, request, printed result.

use std::time::Duration;

use orange_config::Environment;
use orange_driver::{
    Answer, ChangeReport, Driver, DriverError, FailedEffect, GatherPolicy, KeptWorktree, WaitPolicy,
};
use orange_engine::Task;
use orange_engine::event::Event;
use orange_engine::input::{Request, RequestKind};
use orange_engine::merge_result::MergeResult;
use orange_engine::names::{CommitId, TaskId};
use orange_engine::refusal::{Attempt, Blocker};
use orange_engine::schedule::Wait;
use serde::Serialize;
use serde_json::{Value, json};

use super::interruption::WaitSubject;
use super::outcome::{Outcome, is_merging, stale_files_warning, unsent_message_warning};
use super::progress::{WaitMode, run_with_progress};
use crate::cli::answer::words::{WaitBody, parse_seconds, wait_bodies};
use crate::cli::{Error, Exit, Shape, hint_paragraph, push_error};
use crate::output::{Output, Style, Text};

pub const SHAPE: Shape = Shape::of::<Body<'static>>("orange.task.change/1");

/// The task to act on.
#[derive(Debug, clap::Args)]
pub struct TaskArg {
    /// The task's id, the start of its id, or its branch [default: the task of this session or
    /// worktree].
    #[arg(value_name = "TASK")]
    pub task: Option<String>,
}

impl TaskArg {
    /// The task, and the driver that found it.
    pub fn find(&self, environment: &Environment) -> Result<(Driver, TaskId), Error> {
        let driver = driver(environment)?;
        let task = driver.callers.resolve_task(self.task.as_deref())?;
        Ok((driver, task))
    }
}

/// The task to act on, and how long to wait.
#[derive(Debug, clap::Args)]
pub struct Target {
    /// The task's id, the start of its id, or its branch [default: the task of this session or
    /// worktree].
    #[arg(value_name = "TASK")]
    pub task: Option<String>,
    /// Confirm without asking, if the workflow wants a confirmation.
    #[arg(long)]
    pub yes: bool,
    #[command(flatten)]
    pub wait_options: WaitArgs,
}

/// What a request was made from.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub struct Seen {
    /// Do nothing if the task has changed: `orange task show --json` prints its version.
    #[arg(long, value_name = "VERSION")]
    pub if_version: Option<u64>,
}

/// How long to wait.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct WaitArgs {
    /// Wait at most this many seconds for orange to finish its part, such as a start or a merge;
    /// then exit with 5 while orange continues [default: the setting `wait`].
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    pub wait: Option<u64>,
}

impl WaitArgs {
    pub fn wait_policy(&self, driver: &Driver) -> WaitPolicy {
        match self.timeout(driver) {
            // A caller that does not wait does not want to wait for a checkout either.
            Duration::ZERO => WaitPolicy::Detached(Duration::ZERO),
            timeout => WaitPolicy::Quick(timeout),
        }
    }

    /// A driver that also waits this long for the commands of gates.
    pub fn driver(&self, environment: &Environment) -> Result<Driver, Error> {
        let driver = driver(environment)?;
        let gathering = GatherPolicy::Detached(self.timeout(&driver));
        Ok(driver.with_gathering(gathering))
    }

    fn timeout(&self, driver: &Driver) -> Duration {
        let requested = self.wait.map(Duration::from_secs);
        requested.unwrap_or_else(|| driver.context.default_wait())
    }
}

#[derive(Serialize, schemars::JsonSchema)]
struct Body<'a> {
    outcome: &'static str,
    task: &'a Task,
    events: &'a [Event],
    failed_effects: Vec<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    not_started: Option<&'a Error>,
    /// What the start waits for; after that the task starts automatically.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    waits: Vec<WaitBody<'a>>,
    /// The result of a merge: which commit is where now.
    #[serde(skip_serializing_if = "Option::is_none")]
    merged: Option<&'a MergeResult>,
    /// Why the files in the task directory are not up to date; the change itself is recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    files_error: Option<&'a str>,
    /// The worktrees that could not be released without losing work, and why.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    kept_worktrees: &'a [KeptWorktree],
}

/// What to print in addition to the result of a request.
#[derive(Default)]
pub struct Extras<'a> {
    /// Why the work of a new task was not started.
    pub not_started: Option<&'a Error>,
    pub waits: &'a [Wait],
    pub merged: Option<&'a MergeResult>,
    /// What to say if there was nothing to do [default: the task's status].
    pub already: Option<&'a str>,
}

pub fn driver(environment: &Environment) -> Result<Driver, Error> {
    let orange = std::env::current_exe().map_err(Error::not_started)?;
    let driver = Driver::new(environment, orange)?;
    Ok(driver.with_directory(environment.directory()))
}

/// Makes a request and prints the result.
pub fn ask(
    target: &Target,
    request: RequestDraft,
    environment: &Environment,
    output: &mut Output,
) -> Result<Exit, Error> {
    let answer = request_with_confirmation(target, request, environment, output)?;
    print(answer, output)
}

/// Makes a request and returns the result. If only the user's confirmation is missing, asks for it
/// and makes the request again.
pub fn request_with_confirmation(
    target: &Target,
    draft: RequestDraft,
    environment: &Environment,
    output: &mut Output,
) -> Result<Answer, Error> {
    let result = send_request(target, draft.clone(), target.yes, environment, output)?;
    let Some((question, head)) = question(&result) else {
        if let (Answer::AlreadyDone(task), Some(_)) = (&result, &draft.message)
            && !output.is_json()
        {
            output.print_error(&unsent_message_warning(task, output.narration_width()));
        }
        return Ok(result);
    };
    let text = match &head {
        Some(head) => format!("{question} ({})", head.short()),
        None => question,
    };
    // The user's answer applies only to the commit that the question is about.
    let draft = RequestDraft {
        head: head.or(draft.head.clone()),
        ..draft
    };
    match ask_consent(&text, output)? {
        Consent::Given => send_request(target, draft, true, environment, output),
        Consent::Denied | Consent::NotAsked => Ok(result),
    }
}

pub fn request_without_confirmation(
    target: &Target,
    draft: RequestDraft,
    environment: &Environment,
    output: &Output,
) -> Result<Answer, Error> {
    send_request(target, draft, target.yes, environment, output)
}

fn send_request(
    target: &Target,
    draft: RequestDraft,
    is_confirmed: bool,
    environment: &Environment,
    output: &Output,
) -> Result<Answer, Error> {
    let driver = target.wait_options.driver(environment)?;
    let task = driver.callers.resolve_task(target.task.as_deref())?;
    let request = |by| Request {
        by,
        kind: draft.kind,
        is_confirmed,
        message: draft.message,
        head: draft.head,
        if_version: draft.if_version,
    };
    let wait_policy = target.wait_options.wait_policy(&driver);
    let mode = WaitMode::for_wait(output);
    let (result, signal) = run_with_progress(driver.context.progress(), mode, || {
        driver.requests.ask_as_caller(&task, request, wait_policy)
    });
    match (result, signal) {
        (Err(DriverError::GateRunning { .. }), Some(signal)) => {
            Err(signal.interruption_error(&WaitSubject::Gate(task)))
        }
        (Ok(Answer::StillRunning(_)) | Err(_), Some(signal)) => {
            Err(signal.interruption_error(&WaitSubject::Effects(task)))
        }
        (result, _) => Ok(result?),
    }
}

/// If only a confirmation is missing: the question, and the commit that the question is about.
fn question(answer: &Answer) -> Option<(String, Option<CommitId>)> {
    let Answer::Refused(refusal) = answer else {
        return None;
    };
    match refusal.missing.as_slice() {
        [Blocker::ConfirmationNeeded { question }] => {
            let head = match &refusal.attempt {
                Attempt::Verb { head, .. } => head.clone(),
                _ => None,
            };
            Some((question.clone(), head))
        }
        _ => None,
    }
}

/// A request without the caller's role and confirmation.
#[derive(Clone, Debug)]
pub struct RequestDraft {
    pub kind: RequestKind,
    pub message: Option<String>,
    pub head: Option<CommitId>,
    pub if_version: Option<u64>,
}

impl RequestDraft {
    pub fn plain(kind: RequestKind) -> RequestDraft {
        RequestDraft {
            kind,
            message: None,
            head: None,
            if_version: None,
        }
    }
}

/// The commit that a command's `--head` names.
pub fn resolve_head(
    target: &Target,
    head: Option<&str>,
    environment: &Environment,
) -> Result<Option<CommitId>, Error> {
    let Some(head) = head else {
        return Ok(None);
    };
    let driver = driver(environment)?;
    let task = driver.callers.resolve_task(target.task.as_deref())?;
    Ok(Some(driver.workspaces.commit_named(&task, head)?))
}

pub fn print(answer: Answer, output: &mut Output) -> Result<Exit, Error> {
    print_with(answer, &Extras::default(), output)
}

/// The outcome of a request, the change it made and the exit code; a refusal is an error.
pub fn require_outcome(answer: Answer) -> Result<(Outcome, Box<ChangeReport>, Exit), Error> {
    Ok(match answer {
        Answer::Refused(refusal) => return Err(refusal.into()),
        Answer::Done(report) | Answer::StillRunning(report)
            if !report.failed_effects.is_empty() =>
        {
            (Outcome::Failed, report, Exit::ExternalFailed)
        }
        Answer::Done(report) => (Outcome::Done, report, Exit::Ok),
        Answer::StillRunning(report) => (Outcome::InFlight, report, Exit::Busy),
        Answer::AlreadyDone(task) => {
            let report = ChangeReport {
                task: *task,
                events: Vec::new(),
                failed_effects: Vec::new(),
                copies_failed: None,
                kept_worktrees: Vec::new(),
            };
            (Outcome::Already, Box::new(report), Exit::Ok)
        }
    })
}

/// Prints the result of a request and the extras.
pub fn print_with(answer: Answer, extras: &Extras<'_>, output: &mut Output) -> Result<Exit, Error> {
    let not_started = extras.not_started;
    let (outcome, report, exit) = require_outcome(answer)?;
    let exit = not_started.map_or(exit, |error| error.exit);
    if output.is_json() {
        let body = Body {
            outcome: outcome.code(),
            task: &report.task,
            events: &report.events,
            failed_effects: report
                .failed_effects
                .iter()
                .map(failed_effect_json)
                .collect(),
            not_started,
            waits: wait_bodies(extras.waits),
            merged: extras.merged,
            files_error: report.copies_failed.as_deref(),
            kept_worktrees: &report.kept_worktrees,
        };
        SHAPE.print(&body, output)?;
        return Ok(exit);
    }
    let task = &report.task;
    let width = output.answer_width();
    let mut text = Text::new();
    let message = match (outcome, extras.already) {
        (Outcome::Already, Some(already)) => format!(": {already}"),
        _ => format!(": {}", outcome.describe(&report)),
    };
    let parts = [(Style::Bold, task.id.as_str()), (Style::Plain, &message)];
    text.push_line(&parts, 4, width);
    if let Some(merged) = extras.merged {
        text.push_line(&[(Style::Plain, &format!("  {merged}"))], 4, width);
    }
    for wait in extras.waits {
        text.push_line(&[(Style::Plain, &format!("  waits: {wait}"))], 4, width);
    }
    for kept in &report.kept_worktrees {
        let line = format!("  {}", kept.notice());
        text.push_line(&[(Style::Warn, &line)], 4, width);
    }
    output.answer(&text)?;
    output.print_error(&stale_files_warning(&report, output.narration_width()));
    if let Some(error) = not_started {
        output.print_error(&error.to_text(output.narration_width()));
        return Ok(exit);
    }
    output.print_error(&failures_text(&report, output.narration_width()));
    output.narrate(&hint_text(&report.task, exit, output.narration_width()));
    Ok(exit)
}

fn failed_effect_json(failed_effect: &FailedEffect) -> Value {
    json!({ "effect": failed_effect.effect, "error": failed_effect.error })
}

fn failures_text(report: &ChangeReport, width: Option<usize>) -> Text {
    let (task, failed_effects) = (&report.task, &report.failed_effects);
    let mut text = Text::new();
    for failed in failed_effects {
        let message = format!("{} failed: {}", failed.effect, failed.error);
        push_error(&mut text, &message, &[], width, 0);
    }
    // A failed effect is often a reason for attention too; print it once.
    let is_new = |reason: &&String| !failed_effects.iter().any(|it| reason.ends_with(&it.error));
    for reason in task.attention.iter().filter(is_new) {
        let reason = format!(" {reason}");
        let parts = [(Style::Bad, "attention:"), (Style::Plain, &reason)];
        text.push_line(&parts, 4, width);
    }
    text
}

/// What the user should know in addition to the answer.
fn hint_text(task: &Task, exit: Exit, width: Option<usize>) -> Text {
    let mut text = Text::new();
    let show = format!("`orange task show {}`", task.id);
    let hint = match exit {
        Exit::Busy if is_merging(task) => {
            format!("{show} shows how far it is; next time, `--wait SECONDS` waits longer")
        }
        Exit::Busy => format!("still in progress; {show} shows how far it is"),
        Exit::ExternalFailed => format!("{show} shows where the task is now, and why"),
        _ => return text,
    };
    text.push_paragraph(&hint_paragraph(&hint, 0), width);
    text
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consent {
    Given,
    Denied,
    NotAsked,
}

/// Asks whether to continue; the question says what will be touched and what is kept. Without a
/// terminal the user is not asked. Any answer but yes means no.
pub fn ask_consent(question: &str, output: &mut Output) -> Result<Consent, Error> {
    if output.is_json() || !output.is_interactive() {
        return Ok(Consent::NotAsked);
    }
    let typed = output.ask(&format!("{question} [y/N] "))?;
    let typed = typed.unwrap_or_default().trim().to_lowercase();
    Ok(if matches!(typed.as_str(), "y" | "yes") {
        Consent::Given
    } else {
        Consent::Denied
    })
}

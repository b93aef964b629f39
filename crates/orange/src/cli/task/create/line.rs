//! What became of one of several new tasks.

use orange_driver::{Answer, ChangeReport, CreatedTask, Start};
use orange_engine::task::PendingState;
use serde::Serialize;

use crate::cli::Error;
use crate::cli::request::outcome::Outcome;
use crate::cli::request::requests::require_outcome;
use crate::output::{Style, Text};

#[derive(Default, Serialize, schemars::JsonSchema)]
pub(super) struct CreatedLine {
    /// The task, if it was created.
    pub(super) task: Option<String>,
    branch: Option<String>,
    /// Whether its work is still being started.
    pub(super) in_flight: bool,
    /// Why it was not created or not started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) problem: Option<String>,
    /// What its start waits for; after that it starts automatically.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    waits: Vec<String>,
    /// Whether an effect has failed: `spawn` would not repeat that effect.
    #[serde(skip)]
    needs_retry: bool,
}

impl CreatedLine {
    pub(super) fn of(created: Result<CreatedTask, Error>) -> CreatedLine {
        let mut line = CreatedLine::default();
        let created = match created {
            Ok(created) => created,
            Err(error) => {
                line.problem = Some(error.message);
                return line;
            }
        };
        match created.created {
            Answer::Done(changed) | Answer::StillRunning(changed) => {
                line.task = Some(changed.task.id.to_string());
                line.branch = Some(changed.task.branch.to_string());
                line.note_failures(&changed);
            }
            Answer::AlreadyDone(_) => {}
            Answer::Refused(refusal) => line.problem = Some(refusal.to_string()),
        }
        match created.start {
            Start::Requested(Err(error)) => line.problem = Some(error.to_string()),
            Start::Requested(Ok(answer)) => match require_outcome(answer) {
                Err(error) => line.problem = Some(error.message),
                Ok((outcome, report, _)) => {
                    line.note_failures(&report);
                    line.in_flight = matches!(outcome, Outcome::InFlight);
                }
            },
            Start::Waits(waits) => line.waits = waits.iter().map(ToString::to_string).collect(),
            Start::NotRequested | Start::UserOnly => {}
        }
        line
    }

    /// A task that was there before.
    pub(super) fn existing(task: String, branch: String) -> CreatedLine {
        CreatedLine {
            task: Some(task),
            branch: Some(branch),
            ..CreatedLine::default()
        }
    }

    fn note_failures(&mut self, report: &ChangeReport) {
        let failed = report.failed_effects.first();
        self.problem = failed.map(|it| format!("{} failed: {}", it.effect, it.error));
        let mut pending = report.task.pending.iter();
        self.needs_retry |= pending.any(|it| matches!(it.state, PendingState::Failed { .. }));
    }

    /// Adds a line that names the task, or what it is about if it was not created.
    pub(super) fn push(&self, what: &str, text: &mut Text, width: Option<usize>) {
        let Some(task) = &self.task else {
            let problem = self.problem.as_deref().unwrap_or("unknown");
            let message = format!(": no task was created: {problem}");
            text.push_line(&[(Style::Bold, what), (Style::Bad, &message)], 4, width);
            return;
        };
        let branch = self.branch.as_deref();
        let branch = branch.map(|it| format!(" on `{it}`")).unwrap_or_default();
        let (style, message) = match (&self.problem, self.waits.first()) {
            (Some(problem), _) => {
                let fix = if self.needs_retry { "retry" } else { "spawn" };
                let message = format!(
                    ": {what}{branch} was not started: {problem}; run `orange task {fix} {task}`"
                );
                (Style::Bad, message)
            }
            (None, Some(wait)) => (Style::Plain, format!(": {what}{branch}, waits: {wait}")),
            (None, None) if self.in_flight => {
                (Style::Plain, format!(": {what}{branch}, still starting"))
            }
            (None, None) => (Style::Plain, format!(": {what}{branch}")),
        };
        text.push_line(&[(Style::Bold, task), (style, &message)], 4, width);
    }
}

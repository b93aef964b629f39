//! Why a command failed: exit code, code, message, details, hints.

use std::fmt::Display;
use std::io;

use orange_config::{CatalogError, HomeError, NewWorkflowError, reason};
use orange_driver::supervisor::SupervisorError;
use orange_driver::{DriverError, Kind};
use orange_engine::Refusal;
use orange_engine::names::TaskId;
use orange_engine::refusal::Blocker;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use crate::cli::{Exit, Shape};
use crate::output::{Output, Paragraph, Style, Text, with_local_times};

pub const SHAPE: Shape = Shape::of::<ErrorBody<'static>>("orange.error/1");

/// The body of an error.
#[derive(Serialize, JsonSchema)]
struct ErrorBody<'a> {
    error: &'a Error,
}

/// An error, in JSON.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ErrorFields")]
pub struct Error {
    #[serde(skip)]
    pub exit: Exit,
    code: &'static str,
    pub message: String,
    details: Value,
    hints: Vec<String>,
}

impl Error {
    /// An error without hints and details; scripts match on its code.
    pub fn new(exit: Exit, code: &'static str, message: impl Display) -> Error {
        Error {
            exit,
            code,
            message: message.to_string(),
            details: json!({}),
            hints: Vec::new(),
        }
    }

    /// Adds a hint about what to do next; each hint must make sense on its own.
    pub fn hint(mut self, hint: impl Into<String>) -> Error {
        self.hints.push(hint.into());
        self
    }

    pub fn hints(mut self, hints: impl IntoIterator<Item = String>) -> Error {
        self.hints.extend(hints);
        self
    }

    pub fn hints_given(&self) -> &[String] {
        &self.hints
    }

    /// Whether an agent asked for what only the user may do.
    pub fn is_user_only(&self) -> bool {
        self.code == "user-only"
    }

    pub fn details(self, details: Value) -> Error {
        Error { details, ..self }
    }

    /// Whether the user or another process stopped the command.
    pub fn is_interruption(&self) -> bool {
        matches!(self.exit, Exit::Interrupted | Exit::Terminated)
    }

    pub fn usage(message: impl Display) -> Error {
        Error::new(Exit::Usage, "usage", message)
    }

    /// This process could not start, or become, another program.
    pub fn not_started(error: impl Display) -> Error {
        Error::new(Exit::ExternalFailed, "program-not-started", error)
    }

    pub fn dashboard(message: impl Display) -> Error {
        Error::new(Exit::Unexpected, "system-failed", message)
            .hint("use the commands instead, such as `orange task list`")
    }

    /// The user answered the confirmation with no.
    pub fn denied(verb: &str, task: &TaskId) -> Error {
        not_confirmed(verb, task, "you answered no")
    }

    /// The user answered a question about several tasks with no.
    pub fn denied_for_all(verb: &str) -> Error {
        let message = format!("cannot {verb} these tasks: you answered no");
        Error::new(Exit::Refused, "not-confirmed", message)
    }

    /// A confirmation is needed, and there is no terminal to ask at.
    pub fn unconfirmed(verb: &str, task: &TaskId) -> Error {
        not_confirmed(verb, task, "this needs your confirmation").hint(format!(
            "run `orange task delete {task} --yes` to confirm; its directory is moved to the \
             trash; its branch, saved work and history are kept"
        ))
    }

    /// Reports the error: as JSON on stdout for programs, else as text on stderr.
    pub fn report(&self, output: &mut Output) -> Exit {
        let body = ErrorBody { error: self };
        let is_reported =
            self.exit == Exit::Ok || (output.is_json() && SHAPE.print(&body, output).is_ok());
        if !is_reported {
            output.print_error(&self.to_text(output.narration_width()));
        }
        self.exit
    }

    pub fn to_text(&self, width: Option<usize>) -> Text {
        let mut text = Text::new();
        push_error(&mut text, &self.message, &self.hints, width, 0);
        text
    }
}

fn not_confirmed(verb: &str, task: &TaskId, reason: &str) -> Error {
    let message = format!("cannot {verb} task `{task}`: {reason}");
    Error::new(Exit::Refused, "not-confirmed", message).details(json!({ "task": task }))
}

impl From<Kind> for Exit {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Usage => Exit::Usage,
            Kind::NotFound => Exit::NotFound,
            Kind::Refused => Exit::Refused,
            Kind::Busy => Exit::Busy,
            Kind::ExternalFailed => Exit::ExternalFailed,
            Kind::Unexpected => Exit::Unexpected,
        }
    }
}

impl From<DriverError> for Error {
    fn from(error: DriverError) -> Self {
        let report = error.report();
        Error {
            hints: report.hints,
            details: report.details,
            ..Error::new(report.kind.into(), report.code, error)
        }
    }
}

impl From<HomeError> for Error {
    fn from(error: HomeError) -> Self {
        DriverError::from(error).into()
    }
}

impl From<CatalogError> for Error {
    fn from(error: CatalogError) -> Self {
        DriverError::from(error).into()
    }
}

impl From<SupervisorError> for Error {
    fn from(error: SupervisorError) -> Self {
        match error {
            SupervisorError::Driver(error) => error.into(),
            other => Error::not_started(other),
        }
    }
}

impl From<Box<Refusal>> for Error {
    fn from(refusal: Box<Refusal>) -> Self {
        let (exit, code) = match refusal.missing.as_slice() {
            [Blocker::UnknownStatus { .. }] => (Exit::NotFound, "status-not-found"),
            [Blocker::UnknownRole { .. }] => (Exit::NotFound, "role-not-found"),
            _ => (Exit::Refused, "refused"),
        };
        Error::new(exit, code, &refusal)
            .hints(refusal.hints.clone())
            .details(json!({ "refusal": refusal }))
    }
}

impl From<NewWorkflowError> for Error {
    fn from(error: NewWorkflowError) -> Self {
        let text = match &error {
            NewWorkflowError::NameInvalid(name) => {
                Error::new(Exit::Usage, "workflow-name-invalid", &error)
                    .details(json!({ "name": name }))
            }
            NewWorkflowError::NameShipped(name) => {
                Error::new(Exit::Refused, "workflow-name-shipped", &error)
                    .details(json!({ "name": name }))
            }
            NewWorkflowError::Exists { name, path } => {
                Error::new(Exit::Refused, "workflow-exists", &error)
                    .details(json!({ "name": name, "path": path.to_string_lossy() }))
            }
            NewWorkflowError::NotWritten { path, reason } => {
                Error::new(Exit::Refused, "workflow-not-written", &error)
                    .details(json!({ "path": path.to_string_lossy(), "reason": reason }))
            }
        };
        text.hints(error.hints())
    }
}

impl From<io::Error> for Error {
    /// The answer could not be printed. A reader that closed the pipe is not a failure.
    fn from(error: io::Error) -> Self {
        let exit = match error.kind() {
            io::ErrorKind::BrokenPipe => Exit::Ok,
            _ => Exit::Unexpected,
        };
        let message = format!("cannot print the answer: {}", reason(&error));
        Error {
            exit,
            ..Error::new(Exit::Unexpected, "answer-not-printed", message)
        }
    }
}

impl From<serde_json::Error> for Error {
    fn from(error: serde_json::Error) -> Self {
        let message = format!("cannot encode the answer as JSON: {error}");
        Error::new(Exit::Unexpected, "answer-not-printed", message)
    }
}

/// Adds an error as text: what failed, then what to do next.
pub fn push_error(
    text: &mut Text,
    message: &str,
    hints: &[String],
    width: Option<usize>,
    margin: usize,
) {
    let message = with_local_times(message);
    let error = Paragraph {
        lead: &[(Style::Bad, "error:")],
        body: &message,
        margin,
        indent: margin + "error: ".len(),
    };
    text.push_paragraph(&error, width);
    for (number, hint) in hints.iter().enumerate() {
        if number == 0 {
            text.end_line();
        }
        let hint = with_local_times(hint);
        text.push_paragraph(&hint_paragraph(&hint, margin), width);
    }
}

/// Prints on stderr what to do next.
pub fn narrate_hint(hint: &str, output: &mut Output) {
    let mut text = Text::new();
    text.push_paragraph(&hint_paragraph(hint, 0), output.narration_width());
    output.narrate(&text);
}

/// Prints on stderr what to do next, with an empty line between the answer and the hint.
pub fn narrate_hint_apart(hint: &str, output: &mut Output) {
    let mut text = Text::new();
    text.end_line();
    text.push_paragraph(&hint_paragraph(hint, 0), output.narration_width());
    output.narrate(&text);
}

/// A hint, laid out for the terminal.
pub fn hint_paragraph(hint: &str, margin: usize) -> Paragraph<'_> {
    Paragraph {
        lead: &[(Style::Hint, "hint:")],
        body: hint,
        margin,
        indent: margin + "hint: ".len(),
    }
}

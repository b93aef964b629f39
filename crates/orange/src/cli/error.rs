//! Everything a command can fail with, worded once.

use std::io;

use orange_config::{
    CatalogError, Finding, HomeError, NewWorkflowError, ReadError, ScriptError, reason,
};
use orange_driver::DriverError;
use orange_driver::supervisor::SupervisorError;
use orange_engine::Refusal;
use orange_engine::names::TaskId;
use serde_json::json;

use super::answer::counted::counted;
use super::answer::json::{Answer, ErrorBody};
use super::answer::schemas::Shape;
use super::demo::Stuck;
use super::exit::Exit;
use super::request::interrupted::Interrupted;
use super::request::{driver_error, driver_hints};
use super::workflow::{Missing, ProblemBody};
use crate::output::{Output, Paragraph, Style, Text};

/// The shape of its answer.
pub const SHAPE: Shape = Shape::of::<ErrorBody>("orange.error/1");

/// Why a command did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The command line makes no sense.
    #[error("{message}")]
    Usage {
        /// What is wrong with it.
        message: String,
        /// How it is used.
        hints: Vec<String>,
    },
    /// There is no home.
    #[error(transparent)]
    Home(#[from] HomeError),
    /// The home is there and cannot be read.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// What was named does not exist.
    #[error(transparent)]
    WorkflowNotFound(#[from] Missing),
    /// What was named has no text.
    #[error("cannot show `{name}`: {reason}")]
    WorkflowUnreadable {
        /// What was named.
        name: String,
        /// What stood in the way.
        reason: ReadError,
    },
    /// What was named has a text that is no workflow.
    #[error("cannot {verb} `{name}`: it has {}", counted(.findings.len(), "problem"))]
    WorkflowInvalid {
        /// What was attempted.
        verb: &'static str,
        /// What was named.
        name: String,
        /// Everything that is wrong.
        findings: Vec<Finding>,
    },
    /// A script has no text.
    #[error("cannot follow the script `{name}`: {reason}")]
    ScriptUnreadable {
        /// What was named.
        name: String,
        /// What stood in the way.
        reason: ScriptError,
    },
    /// A line of a script means nothing.
    #[error("cannot follow line {line} of the script `{script}`, `{text}`: {reason}")]
    ScriptLine {
        /// The script.
        script: String,
        /// The line, counted from one.
        line: usize,
        /// What it says.
        text: String,
        /// Why it means nothing.
        reason: String,
        /// Lines that would mean something there.
        nearest: Vec<String>,
    },
    /// What a task should know has no text.
    #[error("cannot create a task with the context `{name}`: {reason}")]
    ContextUnreadable {
        /// What was named.
        name: String,
        /// What stood in the way.
        reason: ScriptError,
    },
    /// No answer has such a shape.
    #[error("cannot show the schema `{name}`: no answer has it")]
    SchemaNotFound {
        /// What was named.
        name: String,
    },
    /// The workflow says no.
    #[error(transparent)]
    Refused(Box<Refusal>),
    /// The merge was decided and did not come about.
    #[error("{reason}")]
    MergeFailed {
        /// The task.
        task: TaskId,
        /// What was attempted, and what stood in the way.
        reason: String,
        /// What to do about it.
        hint: Option<String>,
    },
    /// Nobody said yes.
    #[error("cannot {verb} task `{task}`: {}", if *is_denied {
        "the answer was no"
    } else {
        "nobody has confirmed it"
    })]
    NotConfirmed {
        /// The task.
        task: TaskId,
        /// What was to be done with it.
        verb: &'static str,
        /// Whether somebody was asked.
        is_denied: bool,
    },
    /// Somebody ended the waiting.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    /// The step could not be taken.
    #[error(transparent)]
    Driver(#[from] DriverError),
    /// A new workflow was not written.
    #[error(transparent)]
    WorkflowNotNew(#[from] NewWorkflowError),
    /// The program that this process should start or become.
    #[error("{0}")]
    NotStarted(String),
    /// The dashboard ended by itself.
    #[error("{0}")]
    Dashboard(String),
    /// The demo does not go on.
    #[error(transparent)]
    Demo(#[from] Stuck),
    /// The answer could not be printed.
    #[error("cannot print the answer: {}", reason(.0))]
    Print(#[from] io::Error),
    /// The answer could not be put into JSON.
    #[error("cannot put the answer into JSON: {0}")]
    Json(#[from] serde_json::Error),
}

impl From<SupervisorError> for Error {
    fn from(error: SupervisorError) -> Self {
        match error {
            SupervisorError::Driver(error) => Error::Driver(error),
            other => Error::NotStarted(other.to_string()),
        }
    }
}

impl Error {
    /// The stable name of its kind; scripts may match on it.
    pub fn code(&self) -> &'static str {
        match self {
            Error::Usage { .. } => "usage",
            Error::Home(HomeError::Unknown) => "home-unknown",
            Error::Home(HomeError::Relative(_)) => "home-not-absolute",
            Error::Catalog(_) => "home-unreadable",
            Error::WorkflowNotFound(_) => "workflow-not-found",
            Error::WorkflowUnreadable { .. } | Error::WorkflowInvalid { .. } => "workflow-invalid",
            Error::ScriptUnreadable { .. } => "script-unreadable",
            Error::ScriptLine { .. } => "script-line-unknown",
            Error::WorkflowNotNew(error) => match error {
                NewWorkflowError::NameInvalid(_) => "workflow-name-invalid",
                NewWorkflowError::NameShipped(_) => "workflow-name-shipped",
                NewWorkflowError::Exists { .. } => "workflow-exists",
                NewWorkflowError::NotWritten { .. } => "workflow-not-written",
            },
            Error::ContextUnreadable { .. } => "context-unreadable",
            Error::SchemaNotFound { .. } => "schema-not-found",
            Error::Refused(_) => "refused",
            Error::MergeFailed { .. } => "merge-failed",
            Error::NotConfirmed { .. } => "not-confirmed",
            Error::Interrupted(_) => "interrupted",
            Error::Driver(error) => driver_error::code(error),
            Error::NotStarted(_) => "program-not-started",
            Error::Dashboard(_) | Error::Demo(_) => "system-failed",
            Error::Print(_) | Error::Json(_) => "answer-not-printed",
        }
    }

    /// How the command ends.
    pub fn exit(&self) -> Exit {
        match self {
            Error::Usage { .. }
            | Error::Home(_)
            | Error::ScriptUnreadable { .. }
            | Error::ContextUnreadable { .. }
            | Error::ScriptLine { .. }
            | Error::WorkflowNotNew(NewWorkflowError::NameInvalid(_)) => Exit::Usage,
            Error::Interrupted(interrupted) => interrupted.signal.into(),
            Error::Driver(error) => driver_error::exit(error),
            Error::Catalog(_)
            | Error::Refused(_)
            | Error::MergeFailed { .. }
            | Error::NotConfirmed { .. }
            | Error::WorkflowUnreadable { .. }
            | Error::WorkflowInvalid { .. }
            | Error::WorkflowNotNew(_) => Exit::Refused,
            Error::WorkflowNotFound(_) | Error::SchemaNotFound { .. } => Exit::NotFound,
            Error::NotStarted(_) => Exit::OutsideFailed,
            Error::Print(error) if error.kind() == io::ErrorKind::BrokenPipe => Exit::Ok,
            Error::Dashboard(_) | Error::Demo(_) | Error::Print(_) | Error::Json(_) => {
                Exit::Unexpected
            }
        }
    }

    /// What to do about it; each stands alone.
    pub fn hints(&self) -> Vec<String> {
        match self {
            Error::Usage { hints, .. } => hints.clone(),
            Error::Home(_) => {
                let example = "export ORANGE_HOME=\"$PWD/orange\"";
                vec![format!("name it by an absolute path, such as `{example}`")]
            }
            Error::Catalog(CatalogError { path, .. }) => {
                let look = format!("ls -ld {}", path.display());
                vec![format!("run `{look}`: it must be a directory you may read")]
            }
            Error::WorkflowNotFound(missing) => missing.hints(),
            Error::SchemaNotFound { .. } => {
                vec!["run `orange schema` to see every name".to_owned()]
            }
            Error::WorkflowUnreadable { .. } => {
                vec!["run `orange workflow list` to see what can be shown".to_owned()]
            }
            Error::WorkflowInvalid { name, .. } => {
                vec![format!("run `orange workflow check {name}` to see them")]
            }
            Error::ScriptUnreadable { .. } => {
                let script = "orange workflow simulate --script FILE";
                vec![format!(
                    "name a text file: `{script}`, or `-` for the standard input"
                )]
            }
            Error::ScriptLine { nearest, .. } => {
                let mut hints: Vec<_> = nearest
                    .iter()
                    .map(|line| format!("possible there: {line}"))
                    .collect();
                hints.push(
                    "`orange workflow simulate --help` explains scripts, and \
                     `orange workflow simulate` shows what can happen"
                        .to_owned(),
                );
                hints
            }
            Error::WorkflowNotNew(error) => error.hints(),
            Error::Refused(refusal) => refusal.hints.clone(),
            Error::MergeFailed { hint, .. } => hint.iter().cloned().collect(),
            Error::NotConfirmed { is_denied, .. } if *is_denied => Vec::new(),
            Error::NotConfirmed { task, .. } => vec![format!(
                "run `orange task delete {task} --yes`; its directory is moved to the trash, and \
                 its branch, kept work and history stay"
            )],
            Error::Interrupted(interrupted) => vec![interrupted.hint()],
            Error::Driver(error) => driver_hints::hints(error),
            Error::ContextUnreadable { .. } => {
                vec!["name a text file: `orange task create --context @FILE`".to_owned()]
            }
            Error::Dashboard(_) => {
                vec!["run `orange task list`: every step can be asked for in words too".to_owned()]
            }
            Error::Demo(_) => vec![Stuck::hint()],
            Error::NotStarted(_) | Error::Print(_) | Error::Json(_) => Vec::new(),
        }
    }

    /// The data behind the message.
    pub fn details(&self) -> serde_json::Value {
        match self {
            Error::Home(HomeError::Relative(path)) => json!({ "path": path.to_string_lossy() }),
            Error::Catalog(CatalogError { path, reason }) => {
                json!({ "path": path.to_string_lossy(), "reason": reason })
            }
            Error::WorkflowNotFound(missing) => missing.details(),
            Error::WorkflowUnreadable { name, reason } => {
                json!({ "name": name, "reason": reason.to_string() })
            }
            Error::WorkflowInvalid { name, findings, .. } => {
                let problems: Vec<_> = findings.iter().map(ProblemBody::from).collect();
                json!({ "name": name, "problems": problems })
            }
            Error::ScriptUnreadable { name, reason }
            | Error::ContextUnreadable { name, reason } => {
                json!({ "name": name, "reason": reason.to_string() })
            }
            Error::Refused(refusal) => json!({ "refusal": refusal }),
            Error::SchemaNotFound { name } => json!({ "name": name }),
            Error::MergeFailed { task, .. } | Error::NotConfirmed { task, .. } => {
                json!({ "task": task })
            }
            Error::Interrupted(interrupted) => interrupted.details(),
            Error::Driver(error) => driver_error::details(error),
            Error::ScriptLine {
                script,
                line,
                text,
                reason,
                nearest,
            } => json!({
                "script": script,
                "line": line,
                "text": text,
                "reason": reason,
                "nearest": nearest,
            }),
            Error::WorkflowNotNew(error) => match error {
                NewWorkflowError::NameInvalid(name) | NewWorkflowError::NameShipped(name) => {
                    json!({ "name": name })
                }
                NewWorkflowError::Exists { name, path } => {
                    json!({ "name": name, "path": path.to_string_lossy() })
                }
                NewWorkflowError::NotWritten { path, reason } => {
                    json!({ "path": path.to_string_lossy(), "reason": reason })
                }
            },
            Error::Usage { .. }
            | Error::Home(HomeError::Unknown)
            | Error::NotStarted(_)
            | Error::Dashboard(_)
            | Error::Demo(_)
            | Error::Print(_)
            | Error::Json(_) => json!({}),
        }
    }

    /// Tells whoever asked: a program by the answer, a person by the narration.
    pub fn report(&self, is_json: bool, output: &mut Output) -> Exit {
        let exit = self.exit();
        if exit == Exit::Ok {
            return exit;
        }
        let answer = Answer {
            schema: SHAPE.name,
            body: ErrorBody::from(self),
        };
        match answer.to_text() {
            // Who does not hear the answer still sees the exit code.
            Ok(text) if is_json && output.answer_exactly(text.as_bytes()).is_ok() => {}
            _ => output.complain(&self.to_text(output.narration_width())),
        }
        exit
    }

    fn to_text(&self, width: Option<usize>) -> Text {
        let mut text = Text::new();
        push_error(&mut text, &self.to_string(), &self.hints(), width, 0);
        text
    }
}

/// Adds an error as a person reads it: what stood in the way, then what to do next.
pub fn push_error(
    text: &mut Text,
    message: &str,
    hints: &[String],
    width: Option<usize>,
    margin: usize,
) {
    let error = Paragraph {
        lead: &[(Style::Bad, "error:")],
        body: message,
        margin,
        indent: margin + "error: ".len(),
    };
    text.push_paragraph(&error, width);
    for (number, hint) in hints.iter().enumerate() {
        if number == 0 {
            text.end_line();
        }
        text.push_paragraph(&hint_paragraph(hint, margin), width);
    }
}

/// What to do next, as a person reads it.
pub fn hint_paragraph(hint: &str, margin: usize) -> Paragraph<'_> {
    Paragraph {
        lead: &[(Style::Hint, "hint:")],
        body: hint,
        margin,
        indent: margin + "hint: ".len(),
    }
}

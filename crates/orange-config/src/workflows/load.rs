//! Applies the load rules to a workflow's text.

use std::str::Utf8Error;

use orange_engine::Workflow;
use orange_engine::language::{Position, Problem, load};

use super::catalog::has_yml_extension;
use crate::{Origin, ReadError, Source};

/// The result of reading a workflow.
#[derive(Clone, Debug)]
pub struct LoadedWorkflow {
    /// The workflow, if nothing is wrong with it.
    pub workflow: Option<Workflow>,
    /// Everything that is wrong.
    pub findings: Vec<Finding>,
    /// The text, as far as it could be read.
    pub text: String,
}

/// One thing that is wrong with a workflow or with its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// A problem that the engine found.
    Problem(Problem),
    /// The text could not be read.
    Unreadable(ReadError),
    /// The text is not UTF-8.
    NotUtf8 {
        /// The position of the first invalid byte.
        at: Position,
        byte: u8,
    },
    /// The name in the file differs from the file's own name in the home.
    NameDiffers {
        /// The file's name without its extension.
        file: String,
        name: String,
    },
    /// A file in the home has the extension `.yaml`.
    WrongExtension {
        /// The file's name without its extension.
        file: String,
    },
}

impl Finding {
    /// The stable name of its kind; scripts may match on it.
    pub fn code(&self) -> &'static str {
        match self {
            Finding::Problem(problem) => problem.code.as_str(),
            Finding::Unreadable(ReadError::TooLarge) => "too-large",
            Finding::Unreadable(_) => "unreadable",
            Finding::NotUtf8 { .. } => "not-utf8",
            Finding::NameDiffers { .. } => "name-differs",
            Finding::WrongExtension { .. } => "wrong-extension",
        }
    }

    /// Its position, unless it concerns the whole file.
    pub fn at(&self) -> Option<Position> {
        match self {
            Finding::Problem(problem) => Some(problem.at),
            Finding::NotUtf8 { at, .. } => Some(*at),
            _ => None,
        }
    }

    pub fn message(&self) -> String {
        match self {
            Finding::Problem(problem) => problem.message.clone(),
            Finding::Unreadable(error) => format!("cannot be read: {error}"),
            Finding::NotUtf8 { byte, .. } => format!("the byte `0x{byte:02x}` is not UTF-8"),
            Finding::NameDiffers { file, name } => {
                format!("the file is `{file}.yml`, but its `name` is `{name}`")
            }
            Finding::WrongExtension { file } => {
                format!(
                    "the file is `{file}.yaml`, but a workflow in orange's home directory ends in `.yml`"
                )
            }
        }
    }

    /// How to fix it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Finding::Problem(problem) => problem.hint.clone(),
            Finding::Unreadable(_) => None,
            Finding::NotUtf8 { .. } => Some("save the file as UTF-8".to_owned()),
            Finding::NameDiffers { file, name } => Some(format!(
                "write `name: {file}`, or rename the file to `{name}.yml`"
            )),
            Finding::WrongExtension { file } => Some(format!("rename the file to `{file}.yml`")),
        }
    }
}

/// Reads a workflow and collects everything that is wrong with it.
pub fn load_workflow(source: &Source) -> LoadedWorkflow {
    let bytes = match source.read() {
        Err(error) => return unreadable(Finding::Unreadable(error)),
        Ok(bytes) => bytes,
    };
    let text = match String::from_utf8(bytes.into_owned()) {
        Err(error) => return unreadable(not_utf8(error.as_bytes(), &error.utf8_error())),
        Ok(text) => text,
    };
    let loaded = load(&text);
    let problems = loaded.problems.into_iter().map(Finding::Problem);
    let mut findings: Vec<Finding> = problems.collect();
    findings.extend(file_name_finding(source, loaded.workflow.as_ref()));
    LoadedWorkflow {
        workflow: loaded.workflow.filter(|_| findings.is_empty()),
        findings,
        text,
    }
}

fn unreadable(finding: Finding) -> LoadedWorkflow {
    LoadedWorkflow {
        workflow: None,
        findings: vec![finding],
        text: String::new(),
    }
}

/// What is wrong with the file's name, which matters only in the home and in a repository.
fn file_name_finding(source: &Source, workflow: Option<&Workflow>) -> Option<Finding> {
    let file = source.name.clone();
    match &source.origin {
        Origin::Home { path, .. } if !has_yml_extension(path) => {
            return Some(Finding::WrongExtension { file });
        }
        Origin::Home { .. } | Origin::Policy { .. } => {}
        Origin::Shipped(_) | Origin::File(_) | Origin::Stdin => return None,
    }
    let name = workflow?.name.to_string();
    (name != file).then_some(Finding::NameDiffers { file, name })
}

fn not_utf8(bytes: &[u8], error: &Utf8Error) -> Finding {
    let (valid, rest) = bytes
        .split_at_checked(error.valid_up_to())
        .unwrap_or_default();
    let valid = String::from_utf8_lossy(valid);
    let before = valid.rsplit('\n').next().unwrap_or_default();
    Finding::NotUtf8 {
        at: Position {
            line: valid.matches('\n').count() + 1,
            column: before.chars().count() + 1,
        },
        byte: rest.first().copied().unwrap_or_default(),
    }
}

//! The mode, which decides what keys do.

use orange_driver::WorkspaceInfo;
use orange_engine::names::TaskId;

use super::command::Action;
use super::field::Field;
use super::form::Form;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    #[default]
    Browse,
    Search(Field),
    /// Reading the help about keys.
    Help(usize),
    Confirm(Question),
    Write(MessageDraft),
    Create(Box<Form>),
    Palette(Field, usize),
    /// Choosing a status to move a task to.
    Moves(usize),
    Filter(usize),
    Workspaces(Option<Vec<WorkspaceInfo>>, usize),
    Alert(Alert),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    pub text: String,
    pub consequences: Vec<String>,
    /// The ways to say yes, the best first.
    pub choices: Vec<Choice>,
}

/// A key of a dialog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    pub key: char,
    pub label: &'static str,
    pub action: Action,
}

impl Choice {
    pub fn yes(action: Action) -> Choice {
        Choice {
            key: 'y',
            label: "yes",
            action,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageDraft {
    pub title: String,
    pub task: TaskId,
    pub action: Action,
    pub is_optional: bool,
    pub text: Field,
}

/// A dialog that reports what failed, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alert {
    pub title: String,
    pub lines: Vec<String>,
    pub hints: Vec<String>,
    /// What could be done about it.
    pub offer: Option<Choice>,
}

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
    pub action: Action,
    /// Other ways to say yes: the key, what it means, and the action.
    pub alternatives: Vec<(&'static str, &'static str, Action)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageDraft {
    pub title: String,
    pub task: TaskId,
    pub action: Action,
    pub is_optional: bool,
    pub text: Field,
}

/// An answer in full.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alert {
    pub title: String,
    pub lines: Vec<String>,
    pub hints: Vec<String>,
}

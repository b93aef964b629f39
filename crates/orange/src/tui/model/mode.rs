//! The mode, which decides what keys do.

use orange_driver::WorkspaceInfo;
use orange_engine::names::TaskId;
use orange_engine::permission::PermissionRequest;

use super::command::Action;
use super::field::Field;
use super::form::Form;
use super::review::CommentPlace;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    #[default]
    Browse,
    Search(Field),
    /// Reading the help about keys, scrolled by this many lines.
    Help(usize),
    Confirm(Question),
    Permission(PermissionBox),
    Write(MessageDraft),
    /// Writing a comment on lines of a diff.
    Comment(CommentDraft),
    Create(Box<Form>),
    /// Choosing a command: the typed text and the selected line.
    Palette(Field, usize),
    /// Choosing a status to move a task to: the selected line.
    Moves(usize),
    /// Choosing a filter: the selected line.
    Filter(usize),
    /// Reading the list of workspaces, once it is loaded, with the selected line.
    Workspaces(Option<Vec<WorkspaceInfo>>, usize),
    Alert(Alert),
    /// Reading that the demo is over.
    DemoOver,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    pub text: String,
    pub consequences: Vec<String>,
    /// The ways to say yes, the best first.
    pub choices: Vec<Choice>,
}

/// A box with a request for permission, in full.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PermissionBox {
    pub task: TaskId,
    /// The request as it was when the box was opened: an answer is for what is shown.
    pub request: PermissionRequest,
    /// How many lines are scrolled away.
    pub scroll: usize,
    /// Whether the last line has been on the screen.
    pub is_read: bool,
    /// Whether the agent no longer waits for an answer.
    pub is_over: bool,
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
    /// If the text is sent to several tasks: which tasks these are.
    pub explanation: Vec<String>,
    pub action: Action,
    pub is_optional: bool,
    pub text: Field,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommentDraft {
    pub task: TaskId,
    pub place: CommentPlace,
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

//! What keys mean now.

use orange_driver::Pooled;
use orange_engine::names::TaskId;

use super::command::Action;
use super::field::Field;
use super::form::Form;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    #[default]
    Browse,
    Search(Field),
    /// Reading which keys there are.
    Help(usize),
    Confirm(Question),
    Write(Letter),
    Create(Box<Form>),
    Palette(Field, usize),
    /// Choosing where a task goes.
    Moves(usize),
    /// Choosing what is shown.
    Filter(usize),
    Workspaces(Option<Vec<Pooled>>, usize),
    Told(Told),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    pub asked: String,
    pub consequences: Vec<String>,
    pub then: Action,
    /// Other ways to say yes: the key, what it means, and what follows.
    pub others: Vec<(&'static str, &'static str, Action)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Letter {
    pub title: String,
    pub task: TaskId,
    pub action: Action,
    pub is_optional: bool,
    pub text: Field,
}

/// What was answered, in full.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    pub title: String,
    pub lines: Vec<String>,
    pub hints: Vec<String>,
}

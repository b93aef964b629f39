//! What keys mean now.

use orange_driver::Pooled;
use orange_engine::names::TaskId;

use super::command::Action;
use super::field::Field;
use super::form::Form;

/// What keys mean now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Looking around.
    #[default]
    Browse,
    /// Typing what is searched for.
    Search(Field),
    /// Reading which keys there are.
    Help(usize),
    /// Being asked.
    Confirm(Question),
    /// Writing to somebody.
    Write(Letter),
    /// Describing a new task.
    Create(Box<Form>),
    /// Choosing a command by its name.
    Palette(Field, usize),
    /// Choosing where a task goes.
    Moves(usize),
    /// Choosing what is shown.
    Filter(usize),
    /// Looking at the workspaces.
    Workspaces(Option<Vec<Pooled>>, usize),
    /// Reading what was answered.
    Told(Told),
}

/// A question, and what follows from yes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// What is asked.
    pub asked: String,
    /// What will happen, and what is kept.
    pub consequences: Vec<String>,
    /// What follows from yes.
    pub then: Action,
    /// Other ways to say yes: the key, what it means, and what follows.
    pub others: Vec<(&'static str, &'static str, Action)>,
}

/// Something that is written to somebody.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Letter {
    /// What it is for.
    pub title: String,
    /// The task.
    pub task: TaskId,
    /// What is asked for with it.
    pub action: Action,
    /// Whether it may be empty.
    pub is_optional: bool,
    /// What is written.
    pub text: Field,
}

/// What was answered, in full.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// What it is about.
    pub title: String,
    /// What was said.
    pub lines: Vec<String>,
    /// What to do next.
    pub hints: Vec<String>,
}

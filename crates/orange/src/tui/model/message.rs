//! Messages: what happens to the dashboard.

use std::collections::BTreeMap;

use orange_driver::{AgentState, Extent, Glance, ListChange, Pooled, Showing};
use orange_engine::activity::Doing;
use orange_engine::names::TaskId;
use orange_engine::time::Timestamp;
use ratatui::crossterm::event::{KeyEvent, MouseEvent};

use super::command::Action;
use super::detail::{Content, Tab};
use super::mode::Told;
use super::{Choices, Supervision};

#[derive(Clone, Debug)]
pub enum Message {
    Key(KeyEvent),
    Mouse(MouseEvent),
    Paste(String),
    /// The terminal was resized: columns and lines.
    Resized(u16, u16),
    Tick(Timestamp),
    Changed(ListChange),
    /// Why the list cannot be read; `None` when it can again.
    Trouble(Option<String>),
    /// The observed state of the agents that are believed alive.
    Agents(BTreeMap<TaskId, AgentState>),
    /// What the agents that are believed alive report that they are doing.
    Doing(BTreeMap<TaskId, Doing>),
    Glanced(TaskId, Box<Glance>),
    /// How much a task has changed.
    Measured(TaskId, Extent),
    /// The content of a view of a task.
    Loaded(TaskId, Tab, Content),
    Supervised(Supervision),
    /// The options for a new task.
    Choices(Choices),
    Workspaces(Result<Vec<Pooled>, String>),
    /// The action waits until another process releases the database.
    HeldUp(u64),
    Answered(u64, Came),
    /// The text from the user's editor, or why there is none.
    Edited(Result<String, String>),
    /// How to show an agent of a task, or why that is not possible.
    Found(TaskId, Result<Box<Showing>, Told>),
    /// The dashboard has the terminal again; or why it could not hand it over.
    Returned(Result<(), Told>),
    /// A signal asks the program to suspend.
    Suspend,
    Continued,
    End,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Came {
    Done {
        task: Option<TaskId>,
        told: String,
    },
    Asked {
        question: String,
        then: Action,
    },
    /// All or part of it failed.
    Failed(Told),
}

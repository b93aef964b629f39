//! What happens to the dashboard.

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
    /// The terminal has another size: columns and lines.
    Resized(u16, u16),
    Tick(Timestamp),
    Changed(ListChange),
    /// The list cannot be read, or can again.
    Trouble(Option<String>),
    /// Somebody has looked at the agents that are believed alive.
    Agents(BTreeMap<TaskId, AgentState>),
    /// What agents that are believed alive say that they are doing.
    Doing(BTreeMap<TaskId, Doing>),
    Glanced(TaskId, Box<Glance>),
    /// Somebody has measured what a task has changed.
    Measured(TaskId, Extent),
    /// Somebody has gathered what a view of a task shows.
    Loaded(TaskId, Tab, Content),
    Supervised(Supervision),
    /// What a new task can be made with.
    Choices(Choices),
    Workspaces(Result<Vec<Pooled>, String>),
    /// What was asked for waits until another process lets go of the database.
    HeldUp(u64),
    /// The driver has answered.
    Answered(u64, Came),
    /// A text comes back from the person's editor, or why it does not.
    Edited(Result<String, String>),
    /// The way to an agent of a task was found, or why there is none.
    Found(TaskId, Result<Box<Showing>, Told>),
    /// The terminal is this program's again; or why it was not given away.
    Returned(Result<(), Told>),
    /// The program is asked to leave the terminal for a while.
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
    /// It did not happen, or not all of it.
    Failed(Told),
}

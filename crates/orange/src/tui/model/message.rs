//! Messages: what happens to the dashboard.

use std::collections::BTreeMap;

use orange_driver::{
    AgentState, AgentTerminal, DiffSize, ListChange, MergeForecast, TaskSummary, WorkspaceInfo,
};
use orange_engine::activity::ActivityState;
use orange_engine::names::TaskId;
use orange_engine::permission::PermissionRequest;
use orange_engine::time::Timestamp;
use orange_engine::usage::Usage;
use ratatui::crossterm::event::{KeyEvent, MouseEvent};

use super::command::Action;
use super::detail::{Content, Tab};
use super::drafts::SavedDrafts;
use super::mode::Alert;
use super::pull_requests::PullRequests;
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
    ListError(Option<String>),
    /// The observed state of the agents that are believed alive.
    Agents(BTreeMap<TaskId, AgentState>),
    /// What the agents that are believed alive report that they are doing.
    Activity(BTreeMap<TaskId, ActivityState>),
    /// The requests for permission that wait for an answer.
    Requests(BTreeMap<TaskId, Vec<PermissionRequest>>),
    /// The possible next steps of a task, and more.
    Glance(TaskId, Box<TaskSummary>),
    /// How much a task has changed.
    Extent(TaskId, DiffSize),
    /// What the agents of tasks used.
    Usage(BTreeMap<TaskId, Usage>),
    PullRequests(PullRequests),
    /// The content of a view of a task.
    Loaded(TaskId, Tab, Content),
    Supervision(Supervision),
    /// The options for a new task.
    Choices(Choices),
    Workspaces(Result<Vec<WorkspaceInfo>, String>),
    /// What a merge of a task would do, or why that is unknown.
    MergeForecast(TaskId, Result<Box<MergeForecast>, String>),
    /// The action with this number waits until another process releases the database.
    Blocked(u64),
    /// The result of the action with this number.
    Answered(u64, ActionResult),
    /// The text from the user's editor, if there is one, and how the editor failed, if it did.
    Edited(Option<String>, Option<String>),
    /// The drafts in the file, after another dashboard has changed it.
    Drafts(Box<SavedDrafts>),
    /// Why the drafts could not be read or saved.
    DraftsProblem(String),
    /// How to show an agent of a task, or why that is not possible.
    AgentFound(TaskId, Result<Box<AgentTerminal>, Alert>),
    /// The dashboard has the terminal again; or why the other program failed.
    TerminalReturned(Result<(), Alert>),
    /// A signal asks the program to suspend.
    Suspend,
    /// The terminal must be taken back: the process was continued after a suspension, or another
    /// process has reset the terminal.
    Continued,
    End,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ActionResult {
    Done {
        task: Option<TaskId>,
        text: String,
    },
    /// The task was created, and its repository was registered for it.
    Registered {
        task: TaskId,
        text: String,
        notice: Alert,
    },
    NeedsConfirmation {
        question: String,
        then: Action,
    },
    Refused(Alert),
    /// All or part of it failed.
    Failed(Alert),
    /// What became of each of several actions.
    Several(Vec<(Action, ActionResult)>),
}

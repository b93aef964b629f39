//! Everything a frame is drawn from.

pub mod command;
pub mod demo;
pub mod detail;
pub mod diff;
pub mod drafts;
pub mod entry;
pub mod field;
pub mod form;
pub mod list;
pub mod message;
pub mod mode;
pub mod needs;
pub mod pull_requests;
pub mod review;

use std::collections::BTreeMap;

use orange_engine::names::TaskId;
use orange_engine::time::Timestamp;

use self::command::{Action, Viewport};
use self::demo::Demo;
use self::detail::Detail;
use self::drafts::{Drafts, SavedDrafts};
use self::list::List;
use self::mode::Mode;
use crate::tui::theme::{Theme, Tone};

/// Everything a frame is drawn from. Only `update` changes it.
#[derive(Clone, Debug)]
pub struct Model {
    pub width: u16,
    pub height: u16,
    /// The time, as of the last tick.
    pub now: Timestamp,
    pub theme: Theme,
    pub list: List,
    pub detail: Detail,
    pub mode: Mode,
    pub notice: Option<Notice>,
    pub pending: Vec<PendingAction>,
    /// The task whose agent is being looked up, to be shown.
    pub attach_target: Option<TaskId>,
    /// The number of the next action.
    pub next_number: u64,
    pub supervision: Supervision,
    /// Why the list may be outdated.
    pub list_error: Option<String>,
    /// Tasks that were deleted in this dashboard; undo restores the last one first.
    pub deleted: Vec<TaskId>,
    /// The options for a new task.
    pub choices: Choices,
    /// What the user has typed and not sent.
    pub drafts: Drafts,
    /// Drafts of another dashboard, kept here until the user has finished typing.
    pub other_drafts: Option<SavedDrafts>,
    /// The demo, if this is one.
    pub demo: Option<Demo>,
    /// The viewport that was last sent to the gatherers, so that it is not sent twice.
    pub viewport: Viewport,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    pub tone: Tone,
    pub text: String,
    pub at: Timestamp,
}

/// An action that has not been answered yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingAction {
    pub number: u64,
    pub action: Action,
    /// Whether it waits until another process releases the database.
    pub is_blocked: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Supervision {
    Here,
    Elsewhere,
    Absent,
}

/// The options for a new task.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choices {
    pub projects: Vec<String>,
    pub harnesses: Vec<String>,
    pub workflows: Vec<String>,
    /// The project of the current directory.
    pub here: Option<String>,
    /// What a new task gets if nothing else is chosen, by project.
    pub defaults: BTreeMap<String, TaskDefaults>,
}

/// What a new task of a project gets if nothing else is chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskDefaults {
    /// Absent if no agent is installed.
    pub harness: Option<String>,
    pub workflow: String,
}

impl Model {
    pub fn new(theme: Theme, list: List, now: Timestamp) -> Model {
        Model {
            width: 80,
            height: 24,
            now,
            theme,
            list,
            detail: Detail::default(),
            mode: Mode::Browse,
            notice: None,
            pending: Vec::new(),
            attach_target: None,
            next_number: 1,
            supervision: Supervision::Absent,
            list_error: None,
            deleted: Vec::new(),
            choices: Choices::default(),
            drafts: Drafts::default(),
            other_drafts: None,
            demo: None,
            viewport: Viewport::default(),
        }
    }

    pub fn set_notice(&mut self, tone: Tone, text: impl Into<String>) {
        self.notice = Some(Notice {
            tone,
            text: text.into(),
            at: self.now,
        });
    }
}

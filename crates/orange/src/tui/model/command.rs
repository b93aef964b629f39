//! Commands: what `update` wants done.

use orange_driver::Showing;
use orange_engine::input::Ask;
use orange_engine::names::{CommitId, TaskId};

use super::detail::Tab;
use super::form::Draft;

/// Something to do outside of the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    Quit,
    /// Leave the terminal to the shell for a while.
    Suspend,
    Redraw,
    Aim(Aim),
    Again(Vec<TaskId>),
    Refresh,
    /// Make a request to the driver.
    Act(u64, Action),
    Attach(TaskId),
    Show(Box<Showing>),
    /// Open this text in the user's editor.
    EditText(String),
    /// Open the TASK.md of a task in the user's editor.
    EditTask(TaskId),
    /// Copy a text to the clipboard.
    Copy(String),
    /// Load the options for a new task.
    LoadChoices,
    LoadWorkspaces,
}

/// What is visible, and so has to be gathered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Aim {
    /// The visible tasks, in order.
    pub visible: Vec<TaskId>,
    /// The selected task, and which view of it.
    pub detail: Option<(TaskId, Tab)>,
    pub width: u16,
    /// How many lines of an agent's earlier output are wanted.
    pub before: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    Ask {
        task: TaskId,
        ask: Ask,
        message: Option<String>,
        /// Whether the user has confirmed the question of the edge.
        confirmed: bool,
        head: Option<CommitId>,
    },
    Create(Box<Draft>),
    Delete(TaskId),
    Undelete(TaskId),
}

impl Action {
    pub fn ask(task: &TaskId, ask: Ask) -> Action {
        Action::Ask {
            task: task.clone(),
            ask,
            message: None,
            confirmed: false,
            head: None,
        }
    }

    #[must_use]
    pub fn confirmed(mut self) -> Action {
        if let Action::Ask { confirmed, .. } = &mut self {
            *confirmed = true;
        }
        self
    }

    /// The same action, for the commit that was shown.
    #[must_use]
    pub fn about(mut self, commit: Option<&CommitId>) -> Action {
        if let Action::Ask { head, .. } = &mut self {
            *head = commit.cloned();
        }
        self
    }

    #[must_use]
    pub fn saying(mut self, text: &str) -> Action {
        if let Action::Ask { message, .. } = &mut self {
            let text = text.trim();
            *message = (!text.is_empty()).then(|| text.to_owned());
        }
        self
    }

    /// What is being done, in a few words.
    pub fn told(&self) -> String {
        match self {
            Action::Ask { task, ask, .. } => match ask {
                Ask::Move { to } => format!("moving {task} to {to}"),
                Ask::Verb(verb) => format!("{verb} {task}"),
                Ask::Merge { .. } => format!("merging {task}"),
                Ask::Tell { .. } => format!("telling the agent of {task}"),
                Ask::Respawn { .. } => format!("bringing the agent of {task} back"),
                _ => format!("asking for {task}"),
            },
            Action::Create(_) => String::from("creating a task"),
            Action::Delete(task) => format!("deleting {task}"),
            Action::Undelete(task) => format!("bringing {task} back"),
        }
    }
}

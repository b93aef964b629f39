//! Commands: what `update` wants done.

use orange_driver::{AgentTerminal, Tool};
use orange_engine::input::RequestKind;
use orange_engine::language::verbs::Verb;
use orange_engine::names::{CommitId, RequestId, TaskId};

use super::detail::Tab;
use super::drafts::Drafts;
use super::form::TaskDraft;
use super::review::Comment;

/// Something to do outside of the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    Quit,
    /// Leave the terminal to the shell for a while.
    Suspend,
    Redraw,
    Watch(Viewport),
    Reload(Vec<TaskId>),
    Refresh,
    /// Make a request to the driver.
    Act(u64, Action),
    Attach(TaskId),
    Show(Box<AgentTerminal>),
    /// Open this text in the user's editor.
    EditText(String),
    /// Open the TASK.md of a task in the user's editor.
    EditTask(TaskId),
    /// Open the worktree of a task in a program.
    Open(TaskId, Tool),
    /// Copy a text to the clipboard.
    Copy(String),
    /// Load the options for a new task.
    LoadChoices,
    LoadWorkspaces,
    /// Save what the user has typed.
    SaveDrafts(Drafts),
    /// Find out what a merge of a task would do.
    ForecastMerge(TaskId),
}

/// What is visible, and so has to be gathered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Viewport {
    /// The visible tasks, in order.
    pub visible: Vec<TaskId>,
    /// The selected task, and which view of it.
    pub detail: Option<(TaskId, Tab)>,
    pub width: u16,
    /// How many lines of an agent's earlier output are wanted.
    pub scrollback: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    Ask {
        task: TaskId,
        ask: RequestKind,
        message: Option<String>,
        /// Comments on the diff that are sent with the message.
        comments: Vec<Comment>,
        /// Whether the user has confirmed the question of the edge.
        confirmed: bool,
        head: Option<CommitId>,
    },
    Create(Box<TaskDraft>),
    /// Send what prevents a merge to the task's agent.
    SendMergeFailure(TaskId),
    Delete(TaskId),
    Undelete(TaskId),
    /// Answer a request for permission.
    Permit {
        task: TaskId,
        request: RequestId,
        is_allowed: bool,
    },
}

impl Action {
    pub fn ask(task: &TaskId, ask: RequestKind) -> Action {
        Action::Ask {
            task: task.clone(),
            ask,
            message: None,
            comments: Vec::new(),
            confirmed: false,
            head: None,
        }
    }

    #[must_use]
    pub fn with_confirmation(mut self) -> Action {
        if let Action::Ask { confirmed, .. } = &mut self {
            *confirmed = true;
        }
        self
    }

    /// The same action, for the commit that was shown.
    #[must_use]
    pub fn for_commit(mut self, commit: Option<&CommitId>) -> Action {
        if let Action::Ask { head, .. } = &mut self {
            *head = commit.cloned();
        }
        self
    }

    #[must_use]
    pub fn with_message(mut self, text: &str) -> Action {
        if let Action::Ask { message, .. } = &mut self {
            let text = text.trim();
            *message = (!text.is_empty()).then(|| text.to_owned());
        }
        self
    }

    /// Whether it sends the comments on the diff.
    pub fn sends_comments(&self) -> bool {
        let ask = RequestKind::Verb(Verb::RequestChanges);
        matches!(self, Action::Ask { ask: it, .. } if *it == ask)
    }

    /// Whether it sends something that the user has typed.
    pub fn has_text(&self) -> bool {
        matches!(self, Action::Ask { message, comments, .. } if message.is_some() || !comments.is_empty())
    }

    #[must_use]
    pub fn with_comments(mut self, all: &[Comment]) -> Action {
        if let Action::Ask { comments, .. } = &mut self {
            *comments = all.to_vec();
        }
        self
    }

    /// What is being done, in a few words.
    pub fn description(&self) -> String {
        match self {
            Action::Ask { task, ask, .. } => match ask {
                RequestKind::Move { to } => format!("moving {task} to {to}"),
                RequestKind::Verb(verb) => format!("{verb} {task}"),
                RequestKind::Merge { .. } => format!("merging {task}"),
                RequestKind::Tell { .. } => format!("sending a message to {task}"),
                RequestKind::Respawn { .. } => format!("respawning the agent of {task}"),
                _ => format!("updating {task}"),
            },
            Action::Create(_) => String::from("creating a task"),
            Action::SendMergeFailure(task) => format!("sending {task} back to its agent"),
            Action::Delete(task) => format!("deleting {task}"),
            Action::Undelete(task) => format!("restoring {task}"),
            Action::Permit { task, .. } => format!("answering the agent of {task}"),
        }
    }

    /// The title of the dialog that reports its failure.
    pub fn failure_title(&self) -> String {
        match self {
            Action::Ask { task, ask, .. } => match ask {
                RequestKind::Move { to } => format!("Move to {to} failed: {task}"),
                RequestKind::Verb(verb) => format!("Failed: {verb} {task}"),
                RequestKind::Merge { .. } => format!("Merge failed: {task}"),
                RequestKind::Tell { .. } => format!("Message not delivered: {task}"),
                RequestKind::Respawn { .. } => format!("Respawn failed: {task}"),
                _ => format!("Update failed: {task}"),
            },
            Action::Create(_) => String::from("Task not created"),
            Action::SendMergeFailure(task) => format!("Not sent back: {task}"),
            Action::Delete(task) => format!("Delete failed: {task}"),
            Action::Undelete(task) => format!("Restore failed: {task}"),
            Action::Permit { task, .. } => format!("Not answered: {task}"),
        }
    }
}

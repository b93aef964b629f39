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
    /// Take the terminal back and draw everything again.
    Redraw,
    /// Gather what this viewport shows.
    Watch(Viewport),
    /// Gather the data of these tasks again.
    Reload(Vec<TaskId>),
    /// Gather everything again.
    Refresh,
    /// Make a request to the driver; its answer will have the same number.
    Act(u64, Action),
    /// Look up the terminal of a task's agent; `Show` shows it.
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
    SaveDrafts(Box<Drafts>),
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
        /// Whether the user has confirmed the question that the workflow asks.
        confirmed: bool,
        head: Option<CommitId>,
    },
    Create(Box<TaskDraft>),
    /// Send what prevents a merge to the task's agent.
    SendMergeFailure(TaskId),
    /// Show a page of the forge in the user's browser.
    Browse {
        task: TaskId,
        url: String,
    },
    Delete(TaskId),
    Undelete(TaskId),
    /// Answer a request for permission.
    Permit {
        task: TaskId,
        request: RequestId,
        is_allowed: bool,
    },
    /// The same action for several tasks, in this order.
    Several(Vec<Action>),
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

    /// The same action, but only for this commit.
    #[must_use]
    pub fn for_commit(mut self, commit: Option<&CommitId>) -> Action {
        if let Action::Ask { head, .. } = &mut self {
            *head = commit.cloned();
        }
        self
    }

    #[must_use]
    pub fn with_message(mut self, text: &str) -> Action {
        match &mut self {
            Action::Ask { message, .. } => {
                let text = text.trim();
                *message = (!text.is_empty()).then(|| text.to_owned());
            }
            Action::Several(all) => {
                let all = std::mem::take(all).into_iter();
                return Action::Several(all.map(|it| it.with_message(text)).collect());
            }
            _ => {}
        }
        self
    }

    /// The same action; a request for changes also sends the comments on the diff of its task.
    #[must_use]
    pub fn with_review(self, drafts: &Drafts) -> Action {
        match self {
            Action::Ask {
                ref task,
                ask: RequestKind::Verb(Verb::RequestChanges),
                ..
            } => {
                let review = drafts.review(task);
                self.with_comments(&review.comments)
            }
            Action::Several(all) => {
                let all = all.into_iter().map(|it| it.with_review(drafts));
                Action::Several(all.collect())
            }
            other => other,
        }
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
        self.describe(&self.subject())
    }

    /// The name under which the text of this action is kept as a draft. Texts for several tasks
    /// share one name: after a refusal, the user may try again with fewer tasks.
    pub fn draft_name(&self) -> String {
        match self {
            Action::Several(_) => self.describe("several tasks"),
            action => action.description(),
        }
    }

    /// The task, or how many there are.
    pub fn subject(&self) -> String {
        match self {
            Action::Ask { task, .. }
            | Action::SendMergeFailure(task)
            | Action::Browse { task, .. }
            | Action::Delete(task)
            | Action::Undelete(task)
            | Action::Permit { task, .. } => task.to_string(),
            Action::Several(all) if all.len() == 1 => String::from("1 task"),
            Action::Several(all) => format!("{} tasks", all.len()),
            Action::Create(_) => String::from("a task"),
        }
    }

    fn describe(&self, subject: &str) -> String {
        match self {
            Action::Ask { ask, .. } => match ask {
                RequestKind::Move { to } => format!("moving {subject} to {to}"),
                RequestKind::Verb(verb) => format!("{verb} {subject}"),
                RequestKind::Merge { .. } => format!("merging {subject}"),
                RequestKind::Tell { .. } => format!("sending a message to {subject}"),
                RequestKind::Respawn { .. } => format!("respawning the agent of {subject}"),
                RequestKind::Stop { .. } => format!("stopping the agent of {subject}"),
                RequestKind::Restart { .. } => format!("restarting the agent of {subject}"),
                RequestKind::Reopen => format!("reopening {subject}"),
                RequestKind::OpenPullRequest { .. } => {
                    format!("opening the pull request of {subject}")
                }
                _ => format!("updating {subject}"),
            },
            Action::Create(_) => format!("creating {subject}"),
            Action::SendMergeFailure(_) => format!("sending {subject} back to its agent"),
            Action::Browse { .. } => format!("showing the pull request of {subject}"),
            Action::Delete(_) => format!("deleting {subject}"),
            Action::Undelete(_) => format!("restoring {subject}"),
            Action::Permit { .. } => format!("answering the agent of {subject}"),
            Action::Several(all) => match all.first() {
                Some(first) => first.describe(subject),
                None => String::new(),
            },
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
                RequestKind::Stop { .. } => format!("Stop failed: {task}"),
                RequestKind::Restart { .. } => format!("Restart failed: {task}"),
                RequestKind::Reopen => format!("Reopen failed: {task}"),
                RequestKind::OpenPullRequest { .. } => format!("No pull request: {task}"),
                _ => format!("Update failed: {task}"),
            },
            Action::Create(_) => String::from("Task not created"),
            Action::SendMergeFailure(task) => format!("Not sent back: {task}"),
            Action::Browse { task, .. } => format!("No browser: {task}"),
            Action::Delete(task) => format!("Delete failed: {task}"),
            Action::Undelete(task) => format!("Restore failed: {task}"),
            Action::Permit { task, .. } => format!("Not answered: {task}"),
            Action::Several(_) => format!("Failed: {}", self.description()),
        }
    }
}

//! What the user has typed and not sent.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::command::Action;
use super::form::TaskDraft;
use super::mode::Mode;

/// Texts that survive a refusal, `Esc` and the end of the dashboard.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Drafts {
    /// The task that was being described.
    pub task: Option<TaskDraft>,
    /// Tasks that were sent before another one was begun, and may still be refused.
    pub sent_tasks: Vec<TaskDraft>,
    /// Messages, by the description of the action that sends them.
    pub messages: BTreeMap<String, String>,
}

impl Drafts {
    /// Copies what is being typed in this mode.
    pub fn note(&mut self, mode: &Mode) {
        match mode {
            Mode::Create(form) => {
                let draft = form.draft();
                self.task = draft.has_text().then_some(draft);
            }
            Mode::Write(message) => {
                let text = message.text.text();
                let key = message.action.description();
                if text.trim().is_empty() {
                    self.messages.remove(&key);
                } else {
                    self.messages.insert(key, text.to_owned());
                }
            }
            _ => {}
        }
    }

    /// The task to continue with: not one that was sent and is not answered yet.
    pub fn take_task(&mut self, pending: &[&TaskDraft]) -> Option<TaskDraft> {
        if let Some(sent) = self.task.take_if(|it| pending.contains(&&*it)) {
            self.sent_tasks.push(sent);
        }
        let refused = self.sent_tasks.iter().position(|it| !pending.contains(&it));
        let refused = refused.filter(|_| self.task.is_none());
        self.task = self
            .task
            .take()
            .or_else(|| refused.map(|at| self.sent_tasks.remove(at)));
        self.task.clone()
    }

    /// The text that was typed for an action.
    pub fn message_for(&self, action: &Action) -> &str {
        let text = self.messages.get(&action.description());
        text.map(String::as_str).unwrap_or_default()
    }

    /// Forgets what has been sent.
    pub fn forget(&mut self, sent: &Action) {
        match sent {
            Action::Create(draft) => {
                self.task.take_if(|it| *it == **draft);
                self.sent_tasks.retain(|it| *it != **draft);
            }
            Action::Ask {
                message: Some(message),
                ..
            } => {
                let key = sent.description();
                if self.messages.get(&key).map(|it| it.trim()) == Some(message) {
                    self.messages.remove(&key);
                }
            }
            _ => {}
        }
    }
}

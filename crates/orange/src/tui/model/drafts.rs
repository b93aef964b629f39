//! What the user has typed or marked, and not sent.

use std::borrow::Cow;
use std::collections::BTreeMap;

use orange_engine::names::TaskId;
use serde::{Deserialize, Serialize};

use super::command::Action;
use super::form::TaskDraft;
use super::mode::Mode;
use super::review::{Comment, Review};

/// Texts that survive a refusal, `Esc` and the end of the dashboard.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Drafts {
    /// The task that was being described.
    pub task: Option<TaskDraft>,
    /// The task that was described in this dashboard; `task` may be that of another dashboard.
    #[serde(skip)]
    own_task: Option<TaskDraft>,
    /// Other drafts of tasks: those that were sent and may still be refused, and those of another
    /// dashboard.
    #[serde(rename = "sent_tasks")]
    pub other_tasks: Vec<TaskDraft>,
    /// Messages, by the description of the action that sends them.
    pub messages: BTreeMap<String, String>,
    /// The messages that were typed in this dashboard; `messages` may have those of another one.
    #[serde(skip)]
    own_messages: BTreeMap<String, String>,
    /// Marks and comments in diffs, by task.
    pub reviews: BTreeMap<String, Review>,
}

/// The drafts in the file, and what this dashboard had when it saved last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedDrafts {
    pub saved: Drafts,
    pub before: Drafts,
}

impl Drafts {
    /// Copies what is being typed in this mode.
    pub fn note(&mut self, mode: &Mode) {
        match mode {
            Mode::Create(form) => {
                let draft = form.draft();
                self.task = draft.has_text().then_some(draft);
                self.own_task.clone_from(&self.task);
            }
            Mode::Write(message) => {
                let text = message.text.text();
                let key = message.action.draft_name();
                if text.trim().is_empty() {
                    self.discard_message(&key);
                } else {
                    self.messages.insert(key.clone(), text.to_owned());
                    self.own_messages.insert(key, text.to_owned());
                }
            }
            Mode::Comment(draft) => {
                let text = draft.text.text();
                self.change_review(&draft.task, |it| it.set_comment(&draft.place, text));
            }
            _ => {}
        }
    }

    /// The draft to continue with. A draft that was sent and waits for an answer is skipped.
    pub fn take_task(&mut self, pending: &[&TaskDraft]) -> Option<TaskDraft> {
        // Prefer the draft of this dashboard: another one may have replaced `task` since.
        let own = self.own_task.as_ref().filter(|it| !pending.contains(it));
        let own = own.and_then(|own| self.other_tasks.iter().position(|it| it == own));
        if let Some(at) = own {
            let own = self.other_tasks.remove(at);
            self.other_tasks.extend(self.task.replace(own));
        }
        if let Some(sent) = self.task.take_if(|it| pending.contains(&&*it)) {
            self.other_tasks.push(sent);
        }
        let refused = self
            .other_tasks
            .iter()
            .position(|it| !pending.contains(&it));
        let refused = refused.filter(|_| self.task.is_none());
        self.task = self
            .task
            .take()
            .or_else(|| refused.map(|at| self.other_tasks.remove(at)));
        self.task.clone()
    }

    /// Forgets the task that is being described.
    pub fn discard_task(&mut self) {
        (self.task, self.own_task) = (None, None);
    }

    /// The marks and comments in the diff of a task.
    pub fn review(&self, task: &TaskId) -> Cow<'_, Review> {
        let review = self.reviews.get(task.as_str());
        review.map_or_else(Cow::default, Cow::Borrowed)
    }

    pub fn change_review(&mut self, task: &TaskId, change: impl FnOnce(&mut Review)) {
        let review = self.reviews.entry(task.to_string()).or_default();
        change(review);
        if review.is_empty() {
            self.reviews.remove(task.as_str());
        }
    }

    pub fn discard_message(&mut self, name: &str) {
        self.messages.remove(name);
        self.own_messages.remove(name);
    }

    /// The text that was typed for an action, preferably in this dashboard.
    pub fn message_for(&self, action: &Action) -> &str {
        let name = action.draft_name();
        let own = self.own_messages.get(&name);
        let text = own.or_else(|| self.messages.get(&name));
        text.map(String::as_str).unwrap_or_default()
    }

    /// The saved drafts, with what has changed in this dashboard since `before`. Another dashboard
    /// may have saved other drafts meanwhile.
    #[must_use]
    pub fn merge_into(&self, saved: Drafts, before: &Drafts) -> Drafts {
        let is_changed = self.task != before.task;
        let theirs = saved.task.clone().filter(|_| is_changed);
        let theirs = theirs.filter(|it| Some(it) != before.task.as_ref());
        let theirs = theirs.filter(|it| Some(it) != self.task.as_ref());
        let mut other_tasks = newer(&self.other_tasks, saved.other_tasks, &before.other_tasks);
        // Remove the draft that this dashboard has continued.
        other_tasks.retain(|it| !is_changed || Some(it) != before.task.as_ref());
        other_tasks.extend(theirs);
        let messages = newer_entries(&self.messages, saved.messages, &before.messages);
        // A message that another dashboard has sent is removed here too.
        let mut own_messages = self.own_messages.clone();
        own_messages.retain(|name, _| messages.contains_key(name));
        let task = newer(&self.task, saved.task, &before.task);
        let own_task = self.own_task.clone();
        let own_task = own_task.filter(|it| task.as_ref() == Some(it) || other_tasks.contains(it));
        Drafts {
            task,
            own_task,
            other_tasks,
            messages,
            own_messages,
            reviews: self.merge_reviews(saved.reviews, before),
        }
    }

    /// Two dashboards may comment on the same diff, so each comment is merged on its own.
    fn merge_reviews(
        &self,
        mut saved: BTreeMap<String, Review>,
        before: &Drafts,
    ) -> BTreeMap<String, Review> {
        let none = Review::default();
        for task in self.reviews.keys().chain(before.reviews.keys()) {
            let ours = self.reviews.get(task).unwrap_or(&none);
            let before = before.reviews.get(task).unwrap_or(&none);
            let theirs = saved.remove(task).unwrap_or_default();
            let is_wanted =
                |it: &Comment| ours.comments.contains(it) || !before.comments.contains(it);
            let mut comments = theirs.comments;
            comments.retain(is_wanted);
            let is_new = |it: &&Comment| !before.comments.contains(it);
            for comment in ours.comments.iter().filter(is_new) {
                if !comments.contains(comment) {
                    comments.push(comment.clone());
                }
            }
            let viewed = newer_entries(&ours.viewed, theirs.viewed, &before.viewed);
            let review = Review { viewed, comments };
            if !review.is_empty() {
                saved.insert(task.clone(), review);
            }
        }
        saved
    }

    /// Forgets what has been sent.
    pub fn forget(&mut self, sent: &Action) {
        match sent {
            Action::Create(draft) => {
                self.task.take_if(|it| *it == **draft);
                self.own_task.take_if(|it| *it == **draft);
                self.other_tasks.retain(|it| *it != **draft);
            }
            Action::Ask {
                task,
                message,
                comments,
                ..
            } => {
                self.forget_message(&sent.draft_name(), message.as_deref());
                if !comments.is_empty() {
                    let is_kept = |it: &Comment| !comments.contains(it);
                    self.change_review(task, |review| review.comments.retain(is_kept));
                }
            }
            Action::Several(all) => {
                if let Some(Action::Ask { message, .. }) = all.first() {
                    self.forget_message(&sent.draft_name(), message.as_deref());
                }
            }
            _ => {}
        }
    }

    fn forget_message(&mut self, name: &str, sent: Option<&str>) {
        for messages in [&mut self.messages, &mut self.own_messages] {
            let typed = messages.get(name).map(|it| it.trim());
            if typed.is_some() && typed == sent {
                messages.remove(name);
            }
        }
    }
}

/// Ours if it has changed, else the saved value.
fn newer<T: Clone + PartialEq>(ours: &T, saved: T, before: &T) -> T {
    if ours == before { saved } else { ours.clone() }
}

fn newer_entries<T: Clone + PartialEq>(
    ours: &BTreeMap<String, T>,
    mut saved: BTreeMap<String, T>,
    before: &BTreeMap<String, T>,
) -> BTreeMap<String, T> {
    for key in ours.keys().chain(before.keys()) {
        match newer(&ours.get(key), saved.get(key), &before.get(key)).cloned() {
            Some(value) => saved.insert(key.clone(), value),
            None => saved.remove(key),
        };
    }
    saved
}

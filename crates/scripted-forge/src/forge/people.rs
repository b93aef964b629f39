//! What other people do on the forge.

use super::Forge;
use crate::stop::stop;
use crate::world::issue::{Event, Issue, event};
use crate::world::review::ReviewState;

impl Forge {
    /// Opens an issue and returns its number.
    pub fn issue(&self, name: &str, author: &str, title: &str, body: &str) -> u64 {
        let id = self.id(name);
        self.change(|world| world.add_issue(id, author, title, body, None))
    }

    /// Opens an issue through an issue form, which sets labels whatever the author's permission is.
    pub fn issue_by_form(&self, name: &str, author: &str, title: &str, labels: &[&str]) -> u64 {
        let number = self.issue(name, author, title, "### What happened?");
        for label in labels {
            self.label(name, number, author, label);
        }
        number
    }

    /// Puts a label on an issue or pull request.
    pub fn label(&self, name: &str, number: u64, by: &str, label: &str) {
        let id = self.id(name);
        self.change(|world| world.add_label(id, label, "ededed", None));
        self.edit(name, number, |issue, at, event| {
            issue.add_label(by, label, at, event);
        });
    }

    pub fn unlabel(&self, name: &str, number: u64, by: &str, label: &str) {
        self.edit(name, number, |issue, at, event| {
            issue.remove_label(by, label, at, event);
        });
    }

    /// Changes title and body.
    pub fn rewrite(&self, name: &str, number: u64, by: &str, title: &str, body: &str) {
        self.edit(name, number, |issue, at, event| {
            issue.edit(by, Some(title), Some(body), at, event);
        });
    }

    /// Adds a comment and returns its id.
    pub fn comment(&self, name: &str, number: u64, by: &str, body: &str) -> u64 {
        let id = self.id(name);
        self.change(|world| world.add_comment(id, number, by, body))
    }

    /// Changes the text of a comment.
    pub fn rewrite_comment(&self, name: &str, number: u64, by: &str, id: u64, body: &str) {
        self.edit(name, number, |issue, at, _| {
            issue.updated_at = at;
            if let Some(comment) = issue.comments.iter_mut().find(|it| it.id == id) {
                body.clone_into(&mut comment.body);
                comment.updated_at = at;
                comment.editor = Some(by.to_owned());
            }
        });
    }

    pub fn close(&self, name: &str, number: u64, by: &str) {
        self.edit(name, number, |issue, at, event| {
            let reason = issue.pull.is_none().then_some("completed");
            issue.close(by, reason, at, event);
        });
    }

    pub fn reopen(&self, name: &str, number: u64, by: &str) {
        self.edit(name, number, |issue, at, event| issue.reopen(by, at, event));
    }

    /// Allows comments only by accounts with write permission.
    pub fn lock(&self, name: &str, number: u64) {
        self.edit(name, number, |issue, _, _| issue.locked = true);
    }

    /// Deletes an issue, as an owner can.
    pub fn delete_issue(&self, name: &str, number: u64) {
        self.configure(name, |it| it.issues.retain(|it| it.number != number));
    }

    pub fn set_draft(&self, name: &str, number: u64, by: &str, draft: bool) {
        let id = self.id(name);
        self.change(|world| world.set_draft(id, number, draft, by));
    }

    /// Moves an issue to another repository and returns its number there; the old one redirects.
    pub fn transfer(&self, name: &str, number: u64, by: &str, to: &str) -> u64 {
        let (from, to) = (self.id(name), self.id(to));
        self.change(|world| {
            let (event_id, now) = (world.new_id(), world.now());
            let source = world.repository_mut(from)?;
            let place = source.issues.iter().position(|it| it.number == number)?;
            let mut issue = source.issues.remove(place);
            let target = world.repository_mut(to)?;
            target.last_number += 1;
            issue.number = target.last_number;
            issue.record(Event {
                ..event(event_id, "transferred", by, now)
            });
            target.issues.push(issue);
            let new = target.last_number;
            world
                .repository_mut(from)?
                .transferred
                .insert(number, (to, new));
            Some(new)
        })
        .unwrap_or_else(|| stop(&format!("`{name}` has no issue {number}")))
    }

    /// Reviews the present head and returns the review's id.
    pub fn review(&self, name: &str, number: u64, by: &str, state: ReviewState, body: &str) -> u64 {
        let id = self.id(name);
        self.change(|world| world.add_review(id, number, by, state, body))
    }

    /// Starts a thread at a line, with a review of its own, and returns the thread's id.
    pub fn thread(&self, name: &str, number: u64, by: &str, place: (&str, u64), body: &str) -> u64 {
        let review = self.review(name, number, by, ReviewState::Commented, "");
        let id = self.id(name);
        self.change(|world| world.add_thread(id, number, review, place, body))
    }

    pub fn resolve_thread(&self, name: &str, number: u64, by: &str, thread: u64) {
        self.edit(name, number, |issue, at, _| {
            issue.updated_at = at;
            let threads = issue.pull.iter_mut().flat_map(|it| &mut it.threads);
            for found in threads.filter(|it| it.id == thread) {
                found.resolved_by = Some(by.to_owned());
            }
        });
    }

    /// Presses "Update branch": merges the base into the head.
    pub fn update_branch(&self, name: &str, number: u64) {
        let id = self.id(name);
        if !self.change(|world| world.update_branch(id, number)) {
            stop(&format!("#{number} conflicts with its base"));
        }
    }

    /// Merges the first pull request in the merge queue of a branch, or removes it as failed unless
    /// `passes`; returns its number.
    pub fn advance_queue(&self, name: &str, base: &str, passes: bool) -> Option<u64> {
        let id = self.id(name);
        self.change(|world| world.advance_queue(id, base, passes))
    }

    /// The issue or pull request as it is now.
    #[track_caller]
    pub fn get(&self, name: &str, number: u64) -> Issue {
        let found = self.with(name, |it| it.issue(number).cloned());
        found.unwrap_or_else(|| stop(&format!("`{name}` has no number {number}")))
    }

    fn edit(&self, name: &str, number: u64, change: impl FnOnce(&mut Issue, i64, u64)) {
        let id = self.id(name);
        if !self.change(|world| world.change_issue(id, number, change)) {
            stop(&format!("`{name}` has no number {number}"));
        }
    }
}

//! Issues with their revisions, events and comments; pull requests are issues.

use super::World;
use super::pull::Pull;

/// The title and body from a point in time on, until the next revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revision {
    pub at: i64,
    pub by: String,
    pub title: String,
    pub body: String,
}

#[derive(Clone, Debug)]
pub struct Event {
    pub id: u64,
    /// GitHub's name of the event: `labeled`, `closed`, `renamed` and so on.
    pub name: &'static str,
    pub actor: String,
    pub at: i64,
    pub label: Option<String>,
    /// The old and the new title.
    pub rename: Option<(String, String)>,
}

#[derive(Clone, Debug)]
pub struct Comment {
    pub id: u64,
    pub author: String,
    pub body: String,
    pub created_at: i64,
    pub updated_at: i64,
    pub editor: Option<String>,
}

#[derive(Clone, Debug)]
pub struct Issue {
    pub id: u64,
    pub number: u64,
    pub author: String,
    pub revisions: Vec<Revision>,
    pub is_open: bool,
    /// Whether only accounts with write permission can comment.
    pub locked: bool,
    pub state_reason: Option<String>,
    pub closed_at: Option<i64>,
    pub closed_by: Option<String>,
    pub created_at: i64,
    pub updated_at: i64,
    pub labels: Vec<String>,
    pub events: Vec<Event>,
    pub comments: Vec<Comment>,
    /// The ids and names of the branches that were created for the issue.
    pub linked_branches: Vec<(u64, String)>,
    pub pull: Option<Pull>,
}

impl Issue {
    pub fn title(&self) -> &str {
        self.revisions.last().map_or("", |it| &it.title)
    }

    pub fn body(&self) -> &str {
        self.revisions.last().map_or("", |it| &it.body)
    }

    /// The last edit, if there was one after the creation.
    pub fn last_edit(&self) -> Option<&Revision> {
        self.revisions.get(1..).and_then(<[Revision]>::last)
    }

    /// Changes the title or body; adds no revision if both are unchanged.
    pub fn edit(&mut self, by: &str, title: Option<&str>, body: Option<&str>, at: i64, id: u64) {
        let title = title.unwrap_or(self.title()).to_owned();
        let body = body.unwrap_or(self.body()).to_owned();
        if title == self.title() && body == self.body() {
            return;
        }
        if title != self.title() {
            let rename = Some((self.title().to_owned(), title.clone()));
            self.record(Event {
                rename,
                ..event(id, "renamed", by, at)
            });
        }
        let by = by.to_owned();
        self.revisions.push(Revision {
            at,
            by,
            title,
            body,
        });
        self.updated_at = at;
    }

    pub fn close(&mut self, by: &str, reason: Option<&str>, at: i64, id: u64) {
        if self.is_open {
            self.is_open = false;
            self.state_reason = reason.map(str::to_owned);
            self.closed_at = Some(at);
            self.closed_by = Some(by.to_owned());
            self.record(event(id, "closed", by, at));
        }
    }

    pub fn reopen(&mut self, by: &str, at: i64, id: u64) {
        if !self.is_open {
            self.is_open = true;
            self.state_reason = self.pull.is_none().then(|| "reopened".to_owned());
            self.closed_at = None;
            self.closed_by = None;
            self.record(event(id, "reopened", by, at));
        }
    }

    pub fn add_label(&mut self, by: &str, label: &str, at: i64, id: u64) {
        if !self.labels.iter().any(|it| it == label) {
            self.labels.push(label.to_owned());
            let label = Some(label.to_owned());
            self.record(Event {
                label,
                ..event(id, "labeled", by, at)
            });
        }
    }

    /// Removes a label; returns whether it was there.
    pub fn remove_label(&mut self, by: &str, label: &str, at: i64, id: u64) -> bool {
        let before = self.labels.len();
        self.labels.retain(|it| !it.eq_ignore_ascii_case(label));
        if self.labels.len() == before {
            return false;
        }
        let label = Some(label.to_owned());
        self.record(Event {
            label,
            ..event(id, "unlabeled", by, at)
        });
        true
    }

    pub fn record(&mut self, event: Event) {
        self.updated_at = event.at;
        self.events.push(event);
    }
}

/// An event without details.
pub fn event(id: u64, name: &'static str, actor: &str, at: i64) -> Event {
    let actor = actor.to_owned();
    Event {
        id,
        name,
        actor,
        at,
        label: None,
        rename: None,
    }
}

impl World {
    /// Opens an issue, or with `pull` a pull request, and returns its number.
    pub fn add_issue(
        &mut self,
        repository: u64,
        author: &str,
        title: &str,
        body: &str,
        pull: Option<Pull>,
    ) -> u64 {
        let (id, now) = (self.new_id(), self.now());
        let Some(repository) = self.repository_mut(repository) else {
            return 0;
        };
        repository.last_number += 1;
        let number = repository.last_number;
        repository.issues.push(Issue {
            id,
            number,
            author: author.to_owned(),
            revisions: vec![Revision {
                at: now,
                by: author.to_owned(),
                title: title.to_owned(),
                body: body.to_owned(),
            }],
            is_open: true,
            locked: false,
            state_reason: None,
            closed_at: None,
            closed_by: None,
            created_at: now,
            updated_at: now,
            labels: Vec::new(),
            events: Vec::new(),
            comments: Vec::new(),
            linked_branches: Vec::new(),
            pull,
        });
        number
    }

    /// Adds a comment and returns its id.
    pub fn add_comment(&mut self, repository: u64, number: u64, by: &str, body: &str) -> u64 {
        let (id, now) = (self.new_id(), self.now());
        let issue = self
            .repository_mut(repository)
            .and_then(|it| it.issue_mut(number));
        if let Some(issue) = issue {
            issue.updated_at = now;
            issue.comments.push(Comment {
                id,
                author: by.to_owned(),
                body: body.to_owned(),
                created_at: now,
                updated_at: now,
                editor: None,
            });
        }
        id
    }

    /// Calls `change` with an issue, the time and a new id for its event; `false` if there is no
    /// such issue.
    pub fn change_issue(
        &mut self,
        repository: u64,
        number: u64,
        change: impl FnOnce(&mut Issue, i64, u64),
    ) -> bool {
        let (id, now) = (self.new_id(), self.now());
        let issue = self
            .repository_mut(repository)
            .and_then(|it| it.issue_mut(number));
        issue.map(|issue| change(issue, now, id)).is_some()
    }
}

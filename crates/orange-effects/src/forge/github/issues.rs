//! Issues and what happened to them.

use orange_engine::forge::issue::{Issue, IssueEvent, IssueEventKind};
use orange_engine::forge::knowledge::Knowledge;
use orange_engine::time::Timestamp;
use serde::{Deserialize, Serialize};
use ureq::http::Method;

use super::wire::{RestAccount, list, nullable, or_default, rest_account, whole};
use super::{List, MAX_PAGES, PER_PAGE, Repository};
use crate::forge::client::{Client, Conditional, encode};
use crate::forge::error::{ForgeError, Trouble};

/// Why an issue is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CloseReason {
    Completed,
    NotPlanned,
}

#[derive(Serialize)]
struct CloseBody {
    state: &'static str,
    state_reason: CloseReason,
}

#[derive(Deserialize)]
pub(super) struct IssueAnswer {
    node_id: String,
    number: u64,
    title: String,
    #[serde(default, deserialize_with = "or_default")]
    body: String,
    #[serde(default)]
    user: Option<RestAccount>,
    state: String,
    #[serde(default)]
    pull_request: Option<serde::de::IgnoredAny>,
    #[serde(default, deserialize_with = "or_default")]
    labels: Vec<LabelAnswer>,
    updated_at: Timestamp,
}

/// A label is an object or, in old answers, its name.
#[derive(Deserialize)]
#[serde(untagged)]
enum LabelAnswer {
    Name(String),
    Label {
        #[serde(default)]
        name: Option<String>,
    },
}

#[derive(Deserialize)]
pub(super) struct EventAnswer {
    event: String,
    #[serde(default)]
    actor: Option<RestAccount>,
    created_at: Timestamp,
    #[serde(default)]
    label: Option<LabelAnswer>,
}

impl LabelAnswer {
    fn name(self) -> Option<String> {
        match self {
            LabelAnswer::Name(name) => Some(name),
            LabelAnswer::Label { name } => name,
        }
    }
}

impl IssueAnswer {
    pub(super) fn into_facts(self) -> Issue {
        Issue {
            id: self.node_id,
            number: self.number,
            title: self.title,
            body: self.body,
            author: rest_account(self.user),
            is_open: self.state == "open",
            is_pull_request: self.pull_request.is_some(),
            labels: self
                .labels
                .into_iter()
                .filter_map(LabelAnswer::name)
                .collect(),
            updated: self.updated_at,
        }
    }
}

impl EventAnswer {
    pub(super) fn into_facts(self) -> IssueEvent {
        let label = self.label.and_then(LabelAnswer::name).unwrap_or_default();
        IssueEvent {
            kind: match self.event.as_str() {
                "labeled" => IssueEventKind::Labeled(label),
                "unlabeled" => IssueEventKind::Unlabeled(label),
                "renamed" => IssueEventKind::Renamed,
                "transferred" => IssueEventKind::Transferred,
                "closed" => IssueEventKind::Closed,
                "reopened" => IssueEventKind::Reopened,
                _ => IssueEventKind::Other,
            },
            actor: rest_account(self.actor),
            at: self.created_at,
        }
    }
}

impl Repository<'_> {
    /// The issues that changed since an instant, oldest change first; reads at most `pages` pages.
    /// The forge lists pull requests among them.
    ///
    /// The next read begins at the last change that was read. Ask for one page at a time: an issue
    /// that changes between two reads moves to the end of the list, so that another one moves to
    /// the page that was already read, and is missed.
    pub fn fetch_issues(
        &mut self,
        since: Option<Timestamp>,
        etag: Option<&str>,
        pages: usize,
    ) -> Result<Conditional<List<Issue>>, ForgeError> {
        let mut query = format!("state=all&sort=updated&direction=asc&per_page={PER_PAGE}");
        if let Some(since) = since {
            query = format!("{query}&since={}", encode(&whole_seconds(since)));
        }
        let path = self.path(&format!("/issues?{query}"));
        let pages = self.client.fetch_pages(&path, etag, pages)?;
        let entries = |page: Vec<IssueAnswer>| page;
        Ok(list(pages, entries, IssueAnswer::into_facts))
    }

    pub fn fetch_issue(&mut self, number: u64) -> Result<Issue, ForgeError> {
        let path = self.path(&format!("/issues/{number}"));
        Ok(self.client.fetch::<IssueAnswer>(&path)?.value.into_facts())
    }

    /// What happened to an issue, in order.
    pub fn fetch_issue_events(&mut self, number: u64) -> Result<List<IssueEvent>, ForgeError> {
        let path = self.path(&format!("/issues/{number}/events?per_page={PER_PAGE}"));
        let pages = self.client.fetch_pages(&path, None, MAX_PAGES)?;
        let entries = |page: Vec<EventAnswer>| page;
        Ok(whole(list(pages, entries, EventAnswer::into_facts)))
    }

    pub fn close_issue(&mut self, number: u64, reason: CloseReason) -> Result<Issue, ForgeError> {
        let path = self.path(&format!("/issues/{number}"));
        let body = CloseBody {
            state: "closed",
            state_reason: reason,
        };
        let answer: IssueAnswer = self.client.write(Method::PATCH, &path, &body)?;
        Ok(answer.into_facts())
    }
}

const EDIT_QUERY: &str = "query($id:ID!){node(id:$id){...on Issue{lastEditedAt}}}";

#[derive(Serialize)]
struct EditVariables<'a> {
    id: &'a str,
}

#[derive(Deserialize)]
struct EditData {
    // No default: the answer must have this key, even if its value is `null`.
    node: Option<EditNode>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct EditNode {
    #[serde(default, deserialize_with = "nullable")]
    last_edited_at: Knowledge<Timestamp>,
}

/// When the body of an issue was last edited; `None` if it never was.
pub fn fetch_last_edit(client: &mut Client, id: &str) -> Result<Knowledge<Timestamp>, ForgeError> {
    let answer = client.query::<EditData>(EDIT_QUERY, EditVariables { id })?;
    let Some(node) = answer.data.node else {
        let trouble = Trouble::AbsentOrNotAllowed {
            message: id.to_owned(),
        };
        let request = String::from("POST /graphql");
        return Err(ForgeError { request, trouble });
    };
    Ok(node.last_edited_at)
}

/// An instant without a fraction of a second, as GitHub documents it.
pub(super) fn whole_seconds(at: Timestamp) -> String {
    let text = at.to_string();
    match text.split_once('.') {
        Some((seconds, _)) => format!("{seconds}Z"),
        None => text,
    }
}

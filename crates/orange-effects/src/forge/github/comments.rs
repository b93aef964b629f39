//! Comments on issues and pull requests.

use orange_engine::chat::comment::IssueComment;
use orange_engine::forge::feedback::Comment;
use orange_engine::time::Timestamp;
use serde::{Deserialize, Serialize};
use ureq::http::Method;

use super::issues::whole_seconds;
use super::wire::{RestAccount, list, or_default, rest_account, whole};
use super::{List, MAX_PAGES, PER_PAGE, Repository};
use crate::forge::client::{Conditional, encode};
use crate::forge::error::ForgeError;
use crate::forge::redact::Outbound;

#[derive(Serialize)]
struct CommentBody<'a> {
    body: &'a Outbound,
}

#[derive(Deserialize)]
pub(super) struct CommentAnswer {
    id: u64,
    node_id: String,
    #[serde(default)]
    user: Option<RestAccount>,
    #[serde(default, deserialize_with = "or_default")]
    body: String,
    created_at: Timestamp,
}

impl CommentAnswer {
    pub(super) fn into_facts(self) -> Comment {
        Comment {
            id: self.node_id,
            reply_id: Some(self.id),
            author: rest_account(self.user),
            body: self.body,
            at: self.created_at,
        }
    }
}

/// A comment in the list of all comments of a repository.
#[derive(Deserialize)]
pub(super) struct ListedAnswer {
    id: u64,
    issue_url: String,
    #[serde(default)]
    user: Option<RestAccount>,
    #[serde(default, deserialize_with = "or_default")]
    body: String,
    created_at: Timestamp,
    updated_at: Timestamp,
    #[serde(default)]
    performed_via_github_app: Option<serde::de::IgnoredAny>,
}

impl ListedAnswer {
    pub(super) fn into_facts(self) -> IssueComment {
        let number = self.issue_url.rsplit('/').next();
        IssueComment {
            id: self.id,
            // No issue has the number 0, so a comment without a number is one of no task.
            number: number.and_then(|it| it.parse().ok()).unwrap_or_default(),
            author: rest_account(self.user),
            body: self.body,
            created: self.created_at,
            updated: self.updated_at,
            is_by_app: self.performed_via_github_app.is_some(),
        }
    }
}

impl Repository<'_> {
    /// The comments on all issues and pull requests that changed since an instant, oldest change
    /// first; reads at most `pages` pages. The next read begins at the last change that was read.
    pub fn fetch_changed_comments(
        &mut self,
        since: Timestamp,
        etag: Option<&str>,
        pages: usize,
    ) -> Result<Conditional<List<IssueComment>>, ForgeError> {
        let since = encode(&whole_seconds(since));
        let query = format!("sort=updated&direction=asc&per_page={PER_PAGE}&since={since}");
        let path = self.path(&format!("/issues/comments?{query}"));
        let pages = self.client.fetch_pages(&path, etag, pages)?;
        let entries = |page: Vec<ListedAnswer>| page;
        Ok(list(pages, entries, ListedAnswer::into_facts))
    }

    /// The comments on an issue or pull request, in order.
    pub fn fetch_comments(&mut self, number: u64) -> Result<List<Comment>, ForgeError> {
        let path = self.path(&format!("/issues/{number}/comments?per_page={PER_PAGE}"));
        let pages = self.client.fetch_pages(&path, None, MAX_PAGES)?;
        let entries = |page: Vec<CommentAnswer>| page;
        Ok(whole(list(pages, entries, CommentAnswer::into_facts)))
    }

    /// Writes a comment, once. If it fails, look for its marker before writing it again.
    pub fn create_comment(&mut self, number: u64, body: &Outbound) -> Result<Comment, ForgeError> {
        let path = self.path(&format!("/issues/{number}/comments"));
        let body = CommentBody { body };
        let answer: CommentAnswer = self.client.write(Method::POST, &path, &body)?;
        Ok(answer.into_facts())
    }

    pub fn edit_comment(&mut self, id: u64, body: &Outbound) -> Result<Comment, ForgeError> {
        let path = self.path(&format!("/issues/comments/{id}"));
        let body = CommentBody { body };
        let answer: CommentAnswer = self.client.write(Method::PATCH, &path, &body)?;
        Ok(answer.into_facts())
    }

    pub fn delete_comment(&mut self, id: u64) -> Result<(), ForgeError> {
        let path = self.path(&format!("/issues/comments/{id}"));
        self.client.write_silent(Method::DELETE, &path, None::<&()>)
    }
}

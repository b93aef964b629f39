//! Comments on issues and pull requests.

use orange_engine::forge::feedback::Comment;
use orange_engine::time::Timestamp;
use serde::{Deserialize, Serialize};
use ureq::http::Method;

use super::wire::{RestAccount, list, or_default, rest_account, whole};
use super::{List, MAX_PAGES, PER_PAGE, Repository};
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

impl Repository<'_> {
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

//! The one status comment of a task: edited, found again, or created.

use orange_config::clock;
use orange_effects::forge::error::Trouble;
use orange_effects::forge::redact::{Outbound, Redactor};
use orange_engine::forge::feedback::Comment;
use orange_engine::forge::status_comment::is_status_comment;
use orange_store::PostRecord;
use orange_store::steps::reach;

use super::due::Post;
use super::{PostFailure, Round, unseen_until};
use crate::forge::ForgeFailure;

impl Round<'_, '_> {
    /// Makes the status comment show the current status; returns what was changed.
    pub(super) fn comment(&mut self, redactor: &Redactor) -> Result<Option<String>, PostFailure> {
        let text = redactor.body(&self.posting.status.comment);
        let record = self.record(Post::Comment)?;
        if let Some(id) = record.forge_id.filter(|_| record.sent_at.is_none()) {
            match self.repository().edit_comment(id, &text) {
                Ok(_) => {
                    self.save_comment(Some(id), false)?;
                    return Ok(Some(String::from("status comment updated")));
                }
                Err(error) => match error.trouble {
                    // It was deleted, so it is written again.
                    Trouble::AbsentOrNotAllowed { .. } | Trouble::Gone { .. } => {}
                    _ => return Err(error.into()),
                },
            }
        }
        let found = self.own_comments()?;
        match found.split_first() {
            Some((first, extras)) => self.keep_one(first, extras, &text),
            None => self.create(&record, &text),
        }
    }

    fn create(
        &mut self,
        record: &PostRecord,
        text: &Outbound,
    ) -> Result<Option<String>, PostFailure> {
        if let Some(until) = unseen_until(record) {
            return Err(PostFailure::Unseen { until });
        }
        self.save_sending(Post::Comment, record)?;
        reach("before a post");
        let number = self.posting.issue.number;
        let created = self.repository().create_comment(number, text);
        reach("after a post");
        match created {
            Ok(comment) => {
                // An earlier attempt may still turn up as a second comment; the next change looks
                // for it.
                self.save_comment(comment.reply_id, record.sent_at.is_some())?;
                Ok(Some(String::from("status comment written")))
            }
            Err(error) => {
                if !error.may_have_taken_effect() {
                    self.save_unsent(Post::Comment)?;
                }
                Err(error.into())
            }
        }
    }

    /// Edits the oldest of the comments and deletes the others.
    fn keep_one(
        &mut self,
        first: &Comment,
        extras: &[Comment],
        text: &Outbound,
    ) -> Result<Option<String>, PostFailure> {
        let mut change = None;
        if let Some(id) = first.reply_id.filter(|_| first.body != text.as_str()) {
            self.repository().edit_comment(id, text)?;
            change = Some(String::from("status comment updated"));
        }
        for id in extras.iter().filter_map(|it| it.reply_id) {
            match self.repository().delete_comment(id) {
                Ok(()) => change = Some(String::from("second status comment deleted")),
                Err(error) => match error.trouble {
                    Trouble::AbsentOrNotAllowed { .. } | Trouble::Gone { .. } => {}
                    _ => return Err(error.into()),
                },
            }
        }
        self.save_comment(first.reply_id, false)?;
        Ok(change)
    }

    /// The status comments of the task by the account of the token, oldest first.
    fn own_comments(&mut self) -> Result<Vec<Comment>, PostFailure> {
        let own = self.session.own_account()?;
        let number = self.posting.issue.number;
        let comments = self.repository().fetch_comments(number)?;
        if !comments.is_complete {
            return Err(ForgeFailure::Unclear(String::from(
                "there are too many comments to find the one of orange among them",
            ))
            .into());
        }
        let mut found = comments.items;
        let task = self.posting.task;
        found.retain(|it| is_status_comment(&it.body, it.author.as_ref(), &own, task));
        found.sort_by_key(|it| (it.at, it.reply_id));
        Ok(found)
    }

    fn save_comment(
        &mut self,
        forge_id: Option<u64>,
        is_in_doubt: bool,
    ) -> Result<(), ForgeFailure> {
        let record = PostRecord {
            forge_id,
            digest: Some(self.posting.status.comment_digest()),
            version: Some(self.posting.version),
            sent_at: is_in_doubt.then(clock::now),
            ..PostRecord::default()
        };
        self.save(Post::Comment, &record)
    }
}

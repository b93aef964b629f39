//! Closes the issue of a task whose work is merged, once.

use orange_effects::forge::github::issues::CloseReason;
use orange_engine::forge::issue::IssueEventKind;
use orange_store::PostRecord;
use orange_store::steps::reach;

use super::due::{CLOSED, Post};
use super::{PostFailure, Round, unseen_until};
use crate::forge::ForgeFailure;

impl Round<'_, '_> {
    /// Closes the issue, unless it is closed already or was reopened after the task was created.
    /// The forge closes an issue itself when it merges a pull request that names it, so only a
    /// person reopens it.
    pub(super) fn close(&mut self) -> Result<Option<String>, PostFailure> {
        if !self.issue.is_open {
            self.save_closed()?;
            return Ok(None);
        }
        let record = self.record(Post::Close)?;
        if let Some(until) = unseen_until(&record) {
            return Err(PostFailure::Unseen { until });
        }
        let number = self.posting.issue.number;
        let events = self.repository().fetch_issue_events(number)?;
        if !events.is_complete {
            return Err(ForgeFailure::Unclear(String::from(
                "too much has happened to it to find out whether it was reopened",
            ))
            .into());
        }
        let created = self.posting.created;
        let is_reopened = events
            .items
            .iter()
            .any(|it| it.kind == IssueEventKind::Reopened && it.at >= created);
        if is_reopened {
            self.save_closed()?;
            return Ok(None);
        }
        self.save_sending(Post::Close, &record)?;
        reach("before a post");
        let closed = self
            .repository()
            .close_issue(number, CloseReason::Completed);
        reach("after a post");
        if let Err(error) = closed {
            if !error.may_have_taken_effect() {
                self.save_unsent(Post::Close)?;
            }
            return Err(error.into());
        }
        self.save_closed()?;
        Ok(Some(String::from("issue closed")))
    }

    fn save_closed(&mut self) -> Result<(), ForgeFailure> {
        let record = PostRecord {
            digest: Some(String::from(CLOSED)),
            ..PostRecord::default()
        };
        self.save(Post::Close, &record)
    }
}

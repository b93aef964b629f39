//! Sets labels on an issue, and removes those that orange set.

use orange_effects::forge::error::Trouble;
use orange_effects::forge::redact::Redactor;
use orange_engine::forge::status_comment::StatusLabel;
use orange_store::PostRecord;
use orange_store::steps::reach;

use super::due::{FOREIGN, Post, SET};
use super::{PostFailure, Round, unseen_until};
use crate::forge::open::LABEL_COLOR;

impl Round<'_, '_> {
    /// Sets a label. One that is already there was not set by orange, so orange leaves it alone.
    pub(super) fn set_label(
        &mut self,
        label: StatusLabel,
        redactor: &Redactor,
    ) -> Result<Option<String>, PostFailure> {
        let post = Post::SetLabel(label);
        let record = self.record(post)?;
        if self.issue.has_label(label.as_str()) {
            let origin = match record.sent_at {
                Some(_) => SET,
                None => FOREIGN,
            };
            self.save_label(post, origin)?;
            return Ok(None);
        }
        if let Some(until) = unseen_until(&record) {
            return Err(PostFailure::Unseen { until });
        }
        let name = redactor.title(label.as_str());
        let about = redactor.title(label.description());
        let number = self.posting.issue.number;
        let made = self.repository().ensure_label(&name, LABEL_COLOR, &about);
        if let Err(error) = made {
            match error.trouble {
                // A token that may set labels need not be allowed to create them; the label may
                // exist already.
                Trouble::Forbidden { .. } | Trouble::AbsentOrNotAllowed { .. } => {}
                _ => return Err(error.into()),
            }
        }
        self.save_sending(post, &record)?;
        reach("before a post");
        let added = self.repository().add_labels(number, &[name]);
        reach("after a post");
        if let Err(error) = added {
            if !error.may_have_taken_effect() {
                self.save_unsent(post)?;
            }
            return Err(error.into());
        }
        self.save_label(post, SET)?;
        Ok(Some(format!("label `{label}` set")))
    }

    /// Removes a label that orange set; for any other label, only clears the record.
    pub(super) fn remove_label(
        &mut self,
        label: StatusLabel,
    ) -> Result<Option<String>, PostFailure> {
        let post = Post::RemoveLabel(label);
        let record = self.record(post)?;
        if record.digest.as_deref() == Some(FOREIGN) {
            self.save(post, &PostRecord::default())?;
            return Ok(None);
        }
        let number = self.posting.issue.number;
        reach("before a post");
        let removed = self.repository().remove_label(number, label.as_str());
        reach("after a post");
        let is_there = self.issue.has_label(label.as_str());
        match removed {
            Ok(()) => {}
            Err(error) => match error.trouble {
                Trouble::AbsentOrNotAllowed { .. } if !is_there => {}
                _ => return Err(error.into()),
            },
        }
        self.save(post, &PostRecord::default())?;
        Ok(is_there.then(|| format!("label `{label}` removed")))
    }

    fn save_label(&mut self, post: Post, origin: &str) -> Result<(), PostFailure> {
        let record = PostRecord {
            digest: Some(origin.to_owned()),
            ..PostRecord::default()
        };
        Ok(self.save(post, &record)?)
    }
}

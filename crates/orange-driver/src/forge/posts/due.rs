//! Which posts are due, judged by what was recorded; asks no forge.

use std::collections::BTreeMap;
use std::fmt;

use orange_config::clock;
use orange_engine::forge::status_comment::StatusLabel;
use orange_store::PostRecord;

use super::Posting;

/// The keys of the records.
pub(crate) const COMMENT: &str = "comment";
const BLOCKED: &str = "label/blocked";
const NEEDS_REVIEW: &str = "label/needs-review";
const CLOSE: &str = "close";

/// What the record of a label contains: orange set the label, or it was there before.
pub(super) const SET: &str = "set";
pub(super) const FOREIGN: &str = "foreign";

/// What the record of an issue contains once orange need not close the issue any more.
pub(super) const CLOSED: &str = "closed";

/// A change that orange makes to an issue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Post {
    Comment,
    SetLabel(StatusLabel),
    RemoveLabel(StatusLabel),
    Close,
}

impl Post {
    /// The key of its record.
    pub(super) fn key(self) -> &'static str {
        match self {
            Post::Comment => COMMENT,
            Post::SetLabel(label) | Post::RemoveLabel(label) => label_key(label),
            Post::Close => CLOSE,
        }
    }

    /// Identifies the state that the post should reach. The record of a refused post contains it.
    pub(super) fn wanted(self, posting: &Posting<'_>) -> String {
        match self {
            Post::Comment => posting.status.comment_digest(),
            Post::SetLabel(_) => String::from(SET),
            Post::RemoveLabel(_) => String::from("unset"),
            Post::Close => String::from(CLOSED),
        }
    }
}

impl fmt::Display for Post {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Post::Comment => formatter.write_str("the status comment"),
            Post::SetLabel(label) => write!(formatter, "setting the label `{label}`"),
            Post::RemoveLabel(label) => write!(formatter, "removing the label `{label}`"),
            Post::Close => formatter.write_str("closing"),
        }
    }
}

fn label_key(label: StatusLabel) -> &'static str {
    match label {
        StatusLabel::Blocked => BLOCKED,
        StatusLabel::NeedsReview => NEEDS_REVIEW,
    }
}

/// The name of the post that has this key, for people.
pub(crate) fn name_of_post(key: &str) -> &'static str {
    match key {
        COMMENT => "the status comment",
        BLOCKED => "the label `blocked`",
        NEEDS_REVIEW => "the label `needs-review`",
        _ => "closing it",
    }
}

/// The posts that are due now.
pub(super) fn due_posts(
    posting: &Posting<'_>,
    records: &BTreeMap<String, PostRecord>,
) -> Vec<Post> {
    let posts = wanted_posts(posting, records).into_iter();
    posts
        .filter(|post| {
            let record = records.get(post.key());
            record.is_none_or(|record| is_due(posting, *post, record))
        })
        .collect()
}

/// The posts that would change something, as far as is recorded.
fn wanted_posts(posting: &Posting<'_>, records: &BTreeMap<String, PostRecord>) -> Vec<Post> {
    let digest = |key: &str| records.get(key).and_then(|it| it.digest.as_deref());
    let mut posts = Vec::new();
    if posting.shows_status() {
        for label in StatusLabel::ALL {
            let key = label_key(label);
            let is_known = digest(key).is_some();
            if posting.status.labels.contains(&label) {
                posts.extend((!is_known).then_some(Post::SetLabel(label)));
            } else if records.get(key).is_some_and(may_be_set) {
                posts.push(Post::RemoveLabel(label));
            }
        }
    }
    let closes = posting.settings.close && posting.status.is_closed;
    if closes && digest(Post::Close.key()).is_none() {
        posts.push(Post::Close);
    }
    // The comment comes last: once its record names a version, every other post has a record too.
    let comment = digest(Post::Comment.key());
    if posting.shows_status() && comment != Some(posting.status.comment_digest().as_str()) {
        posts.push(Post::Comment);
    }
    posts
}

/// Whether there is something to undo: a label that orange may have set, or the record of a label
/// that was there before.
fn may_be_set(record: &PostRecord) -> bool {
    record.digest.is_some() || record.sent_at.is_some()
}

fn is_due(posting: &Posting<'_>, post: Post, record: &PostRecord) -> bool {
    if posting.is_urgent {
        return true;
    }
    let is_refused = record.refused.as_deref() == Some(post.wanted(posting).as_str());
    let is_time = record.next_attempt_at.is_none_or(|at| at <= clock::now());
    !is_refused && is_time
}

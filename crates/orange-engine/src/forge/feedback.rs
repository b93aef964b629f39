//! Turns reviews, threads and comments into points for an agent.
//!
//! Only texts of accounts with enough permission count. Each text counts once; an edited text
//! counts again. A thread that a push made outdated still counts, because its point may still be
//! open.

use std::collections::BTreeSet;

use super::account::{Account, Permission, Permissions, may};
use super::issue::digest;
use super::knowledge::Knowledge;
use super::marker::is_ours;
use crate::names::CommitId;
use crate::time::Timestamp;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comment {
    pub id: String,
    /// The id that a reply has to name, where it differs from `id`.
    pub reply_id: Option<u64>,
    /// Absent when the account was deleted.
    pub author: Option<Account>,
    pub body: String,
    pub at: Timestamp,
}

/// A conversation about a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thread {
    pub id: String,
    pub is_resolved: bool,
    pub is_outdated: bool,
    pub path: String,
    /// Absent when the line is gone.
    pub line: Option<u64>,
    /// In order.
    pub comments: Vec<Comment>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Review {
    pub id: String,
    pub author: Option<Account>,
    pub verdict: ReviewVerdict,
    pub body: String,
    /// The commit that was reviewed.
    pub commit: Option<CommitId>,
    pub at: Timestamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReviewVerdict {
    Approved,
    ChangesRequested,
    Commented,
    Dismissed,
    /// Not submitted yet.
    Draft,
}

/// Everything people wrote on a pull request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Discussion {
    pub threads: Vec<Thread>,
    pub reviews: Vec<Review>,
    pub comments: Vec<Comment>,
    /// Whether every page was read.
    pub is_complete: bool,
}

/// A point that a trusted account made and that has no answer yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeedbackItem {
    pub kind: FeedbackKind,
    /// The id of the comment or review.
    pub id: String,
    pub author: Account,
    pub body: String,
    pub at: Timestamp,
    /// Identifies the text, so that it is handled once.
    pub digest: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FeedbackKind {
    Line {
        thread: String,
        path: String,
        line: Option<u64>,
        is_outdated: bool,
    },
    Review {
        requests_changes: bool,
    },
    Comment,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Feedback {
    /// In order of time.
    pub items: Vec<FeedbackItem>,
    /// Accounts whose texts were left out because they may not direct an agent.
    pub ignored: BTreeSet<Account>,
}

/// Which accounts' texts count, and which texts have been handled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Audience<'a> {
    /// The account that orange writes with, which may be the user's.
    pub own: &'a Account,
    pub permissions: &'a Permissions,
    pub needed: Permission,
    /// Digests of the items that were handled.
    pub handled: &'a BTreeSet<String>,
}

impl Discussion {
    /// The authors whose permission has to be known before the feedback can be judged.
    pub fn authors(&self) -> BTreeSet<&Account> {
        let threads = self.threads.iter().flat_map(|it| &it.comments);
        let comments = threads.chain(&self.comments).map(|it| &it.author);
        let reviews = self.reviews.iter().map(|it| &it.author);
        comments.chain(reviews).flatten().collect()
    }

    /// How many threads are open; outdated ones count.
    pub fn open_threads(&self) -> Knowledge<usize> {
        if !self.is_complete {
            return Knowledge::Unknown;
        }
        let open = self.threads.iter().filter(|it| !it.is_resolved).count();
        match open {
            0 => Knowledge::None,
            count => Knowledge::Known(count),
        }
    }

    /// What an agent should deal with; unknown until everything was read and every author's
    /// permission is known.
    pub fn feedback(&self, audience: &Audience<'_>) -> Knowledge<Feedback> {
        if !self.is_complete {
            return Knowledge::Unknown;
        }
        let mut feedback = Feedback::default();
        for item in self.candidates(audience.own) {
            match may(audience.permissions, Some(&item.author), audience.needed) {
                Knowledge::Unknown => return Knowledge::Unknown,
                Knowledge::Known(true) => {
                    if !audience.handled.contains(&item.digest) {
                        feedback.items.push(item);
                    }
                }
                Knowledge::Known(false) | Knowledge::None => {
                    feedback.ignored.insert(item.author);
                }
            }
        }
        feedback.items.sort_by_key(|it| it.at);
        if feedback.items.is_empty() && feedback.ignored.is_empty() {
            return Knowledge::None;
        }
        Knowledge::Known(feedback)
    }

    /// Every text that could be a point; texts of deleted accounts are left out.
    fn candidates(&self, own: &Account) -> Vec<FeedbackItem> {
        let mut candidates = Vec::new();
        for thread in self.threads.iter().filter(|it| !it.is_resolved) {
            let ours = |it: &Comment| is_ours(&it.body, it.author.as_ref(), own);
            let answered = thread.comments.iter().rposition(ours);
            let open = thread.comments.iter().skip(answered.map_or(0, |at| at + 1));
            let kind = FeedbackKind::Line {
                thread: thread.id.clone(),
                path: thread.path.clone(),
                line: thread.line,
                is_outdated: thread.is_outdated,
            };
            candidates.extend(open.filter_map(|it| item(it, own, kind.clone())));
        }
        // An approval asks for nothing, and a dismissed or unsubmitted review was withdrawn.
        let reviews = self.reviews.iter().filter(|it| {
            matches!(
                it.verdict,
                ReviewVerdict::ChangesRequested | ReviewVerdict::Commented
            )
        });
        for review in reviews {
            let kind = FeedbackKind::Review {
                requests_changes: review.verdict == ReviewVerdict::ChangesRequested,
            };
            let comment = Comment {
                id: review.id.clone(),
                reply_id: None,
                author: review.author.clone(),
                body: review.body.clone(),
                at: review.at,
            };
            candidates.extend(item(&comment, own, kind));
        }
        let comments = self.comments.iter();
        candidates.extend(comments.filter_map(|it| item(it, own, FeedbackKind::Comment)));
        candidates
    }
}

fn item(comment: &Comment, own: &Account, kind: FeedbackKind) -> Option<FeedbackItem> {
    let author = comment.author.clone()?;
    if comment.body.trim().is_empty() || is_ours(&comment.body, Some(&author), own) {
        return None;
    }
    Some(FeedbackItem {
        kind,
        id: comment.id.clone(),
        author,
        body: comment.body.clone(),
        at: comment.at,
        digest: digest([comment.id.as_str(), comment.body.as_str()]),
    })
}

//! Reviews, review threads and the decision that follows from them.

use super::World;
use super::pull::Pull;
use super::repository::{Permission, Repository};

/// What a review says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReviewState {
    Approved,
    ChangesRequested,
    Commented,
    Dismissed,
}

impl ReviewState {
    /// The state as GraphQL names it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Approved => "APPROVED",
            Self::ChangesRequested => "CHANGES_REQUESTED",
            Self::Commented => "COMMENTED",
            Self::Dismissed => "DISMISSED",
        }
    }
}

#[derive(Clone, Debug)]
pub struct Review {
    pub id: u64,
    pub author: String,
    pub state: ReviewState,
    pub body: String,
    /// The head at the time of the review; it does not change when the head moves.
    pub commit: String,
    pub at: i64,
}

#[derive(Clone, Debug)]
pub struct ReviewComment {
    pub id: u64,
    pub author: String,
    pub body: String,
    pub at: i64,
    pub review: Option<u64>,
    pub reply_to: Option<u64>,
}

#[derive(Clone, Debug)]
pub struct Thread {
    pub id: u64,
    pub path: String,
    pub line: u64,
    pub commit: String,
    pub resolved_by: Option<String>,
    /// Whether a push changed the file, so that the thread has no line any more.
    pub outdated: bool,
    pub comments: Vec<ReviewComment>,
}

impl World {
    /// Adds a review of the present head and returns its id.
    pub fn add_review(
        &mut self,
        repository: u64,
        number: u64,
        by: &str,
        state: ReviewState,
        body: &str,
    ) -> u64 {
        let review = self.new_id();
        self.change_issue(repository, number, |issue, at, _| {
            issue.updated_at = at;
            let Some(pull) = issue.pull.as_mut() else {
                return;
            };
            pull.reviews.push(Review {
                id: review,
                author: by.to_owned(),
                state,
                body: body.to_owned(),
                commit: pull.head_sha.clone(),
                at,
            });
        });
        review
    }

    /// Starts a thread below a review and returns the thread's id.
    pub fn add_thread(
        &mut self,
        repository: u64,
        number: u64,
        review: u64,
        place: (&str, u64),
        body: &str,
    ) -> u64 {
        let (thread, comment) = (self.new_id(), self.new_id());
        self.change_issue(repository, number, |issue, at, _| {
            issue.updated_at = at;
            let Some(pull) = issue.pull.as_mut() else {
                return;
            };
            let author = pull.reviews.iter().find(|it| it.id == review);
            let author = author.map(|it| it.author.clone()).unwrap_or_default();
            pull.threads.push(Thread {
                id: thread,
                path: place.0.to_owned(),
                line: place.1,
                commit: pull.head_sha.clone(),
                resolved_by: None,
                outdated: false,
                comments: vec![ReviewComment {
                    id: comment,
                    author,
                    body: body.to_owned(),
                    at,
                    review: Some(review),
                    reply_to: None,
                }],
            });
        });
        thread
    }

    /// Answers in the thread that contains the comment; `None` when there is none.
    pub fn reply(
        &mut self,
        repository: u64,
        number: u64,
        comment: u64,
        by: &str,
        body: &str,
    ) -> Option<u64> {
        let (id, now) = (self.new_id(), self.now());
        let issue = self.repository_mut(repository)?.issue_mut(number)?;
        let threads = &mut issue.pull.as_mut()?.threads;
        let thread = threads
            .iter_mut()
            .find(|it| it.comments.iter().any(|it| it.id == comment))?;
        thread.comments.push(ReviewComment {
            id,
            author: by.to_owned(),
            body: body.to_owned(),
            at: now,
            review: None,
            reply_to: Some(comment),
        });
        issue.updated_at = now;
        Some(id)
    }

    /// The last review of each author.
    pub fn latest_reviews<'a>(&self, pull: &'a Pull) -> Vec<&'a Review> {
        let mut latest: Vec<&Review> = Vec::new();
        for review in &pull.reviews {
            let had_opinion = latest
                .iter()
                .any(|it| it.author == review.author && it.state != ReviewState::Commented);
            // A mere comment does not replace an earlier approval or request for changes.
            if review.state == ReviewState::Commented && had_opinion {
                continue;
            }
            latest.retain(|it| it.author != review.author);
            latest.push(review);
        }
        latest
    }

    /// GraphQL's decision; `None` where no review is required.
    pub fn review_decision(&self, repository: &Repository, pull: &Pull) -> Option<&'static str> {
        let required = repository.protection(&pull.base_ref).required_approvals;
        if required == 0 {
            return None;
        }
        let latest = self.latest_reviews(pull);
        let may_decide =
            |it: &&&Review| self.permission(repository, &it.author) >= Permission::Write;
        let counts = |state| {
            latest
                .iter()
                .filter(may_decide)
                .filter(|it| it.state == state)
                .count()
        };
        if counts(ReviewState::ChangesRequested) > 0 {
            return Some("CHANGES_REQUESTED");
        }
        let approved = counts(ReviewState::Approved) >= required;
        Some(if approved {
            "APPROVED"
        } else {
            "REVIEW_REQUIRED"
        })
    }
}

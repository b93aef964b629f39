//! Posts a task's status to its issue; without a change, sends nothing.
//!
//! Every kind of post has a key and a record. The record is written before and after sending. If a
//! process dies in between, the record says that the post may have been sent, and the next process
//! looks at the forge first. If one post fails, the others are still tried.

mod close;
mod comment;
mod due;
mod labels;

use std::collections::BTreeMap;
use std::time::Duration;

use orange_config::{IssueComment, IssueSettings, clock};
use orange_effects::forge::error::{ForgeError, Trouble};
use orange_effects::forge::github::Repository;
use orange_effects::forge::host::RepositoryAddress;
use orange_engine::forge::issue::{Issue, IssueLink};
use orange_engine::forge::status_comment::IssueStatus;
use orange_engine::names::TaskId;
use orange_engine::time::Timestamp;
use orange_store::{PostRecord, Store};
use serde::Serialize;

use crate::DriverError;
use crate::forge::sessions::Session;
use crate::forge::{Forge, ForgeFailure};
pub(crate) use due::{COMMENT, name_of_post};
use due::{Post, due_posts};

/// How long a sent post may be invisible before it counts as lost.
const SETTLE: Duration = Duration::from_secs(20);

/// The pauses after failures: the first, and the longest.
const FIRST_PAUSE: Duration = Duration::from_secs(30);
const LONGEST_PAUSE: Duration = Duration::from_hours(1);

/// An issue, and what it should show.
#[derive(Clone, Debug)]
pub(crate) struct Posting<'a> {
    pub(crate) task: &'a TaskId,
    pub(crate) address: RepositoryAddress,
    pub(crate) issue: &'a IssueLink,
    pub(crate) status: &'a IssueStatus,
    pub(crate) settings: IssueSettings,
    /// When the task was created.
    pub(crate) created: Timestamp,
    /// The version of the task.
    pub(crate) version: u64,
    /// Whether to retry failed posts now.
    pub(crate) is_urgent: bool,
}

impl Posting<'_> {
    fn shows_status(&self) -> bool {
        self.settings.comment == IssueComment::Status
    }
}

/// What came of posting about a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct PostReport {
    /// The task.
    pub task: TaskId,
    /// The number of its issue.
    pub issue: u64,
    /// What was changed there, in words.
    pub changes: Vec<String>,
    /// What could not be changed, and why.
    pub problems: Vec<String>,
    /// When something is tried again.
    #[serde(skip)]
    pub(crate) retry_at: Option<Timestamp>,
}

/// Why a post was not made.
enum PostFailure {
    Forge(ForgeFailure),
    /// Something was sent that cannot be seen yet.
    Unseen {
        until: Timestamp,
    },
}

impl From<ForgeFailure> for PostFailure {
    fn from(failure: ForgeFailure) -> PostFailure {
        PostFailure::Forge(failure)
    }
}

impl From<ForgeError> for PostFailure {
    fn from(error: ForgeError) -> PostFailure {
        PostFailure::Forge(error.into())
    }
}

/// One round of posting about one task.
struct Round<'a, 'session> {
    store: &'a mut Store,
    session: &'session mut Session,
    posting: &'a Posting<'a>,
    issue: Issue,
}

impl Forge {
    /// Makes the issue of a task show the task's status. Sends no request if nothing is due.
    /// Returns `None` if the task has changed meanwhile.
    pub(crate) fn post(
        &self,
        store: &mut Store,
        posting: &Posting<'_>,
    ) -> Result<Option<PostReport>, DriverError> {
        let mut report = PostReport {
            task: posting.task.clone(),
            issue: posting.issue.number,
            changes: Vec::new(),
            problems: Vec::new(),
            retry_at: None,
        };
        if !due_posts(posting, &store.posts(posting.task)?).is_empty() {
            let _lock = self.context.lock_posting()?;
            // Another process may have posted while this one waited, perhaps for a newer version of
            // the task.
            if store.require(posting.task)?.task.version != posting.version {
                return Ok(None);
            }
            let posts = due_posts(posting, &store.posts(posting.task)?);
            if !posts.is_empty() {
                self.post_due(store, posting, &posts, &mut report)?;
            }
        }
        let records = store.posts(posting.task)?;
        let waiting = records.values().filter(|it| it.refused.is_none());
        report.retry_at = waiting.filter_map(|it| it.next_attempt_at).min();
        Ok(Some(report))
    }

    fn post_due(
        &self,
        store: &mut Store,
        posting: &Posting<'_>,
        posts: &[Post],
        report: &mut PostReport,
    ) -> Result<(), DriverError> {
        let asked = self.with_session(&posting.address.host, |session| {
            let redactor = self.redactor(session)?;
            let issue = require_issue(session, posting)?;
            let mut round = Round {
                store,
                session,
                posting,
                issue,
            };
            for (done, post) in posts.iter().enumerate() {
                let made = match post {
                    Post::Comment => round.comment(&redactor),
                    Post::SetLabel(label) => round.set_label(*label, &redactor),
                    Post::RemoveLabel(label) => round.remove_label(*label),
                    Post::Close => round.close(),
                };
                match made {
                    Ok(change) => report.changes.extend(change),
                    Err(PostFailure::Forge(failure)) if is_over(&failure) => {
                        // The remaining posts would fail in the same way.
                        for post in &posts[done..] {
                            note_failure(round.store, posting, *post, &failure)?;
                        }
                        report.problems.push(failure.to_string());
                        break;
                    }
                    Err(PostFailure::Forge(failure)) => {
                        note_failure(round.store, posting, *post, &failure)?;
                        report.problems.push(format!("{post}: {failure}"));
                    }
                    Err(PostFailure::Unseen { until }) => {
                        round.put_off(*post, until)?;
                        let problem = "was sent, but cannot be seen yet";
                        report.problems.push(format!("{post} {problem}"));
                    }
                }
            }
            Ok(())
        });
        match asked {
            Ok(()) => Ok(()),
            Err(ForgeFailure::Driver(error)) => Err(error),
            Err(failure) => {
                for post in posts {
                    note_failure(store, posting, *post, &failure)?;
                }
                report.problems.push(failure.to_string());
                Ok(())
            }
        }
    }
}

impl Round<'_, '_> {
    fn repository(&mut self) -> Repository<'_> {
        self.session.repository(&self.posting.address)
    }

    fn record(&self, post: Post) -> Result<PostRecord, ForgeFailure> {
        let records = self.store.posts(self.posting.task);
        let mut records = records.map_err(DriverError::from)?;
        Ok(records.remove(post.key()).unwrap_or_default())
    }

    fn save(&mut self, post: Post, record: &PostRecord) -> Result<(), ForgeFailure> {
        let saved = self
            .store
            .record_post(self.posting.task, post.key(), record);
        Ok(saved.map_err(DriverError::from)?)
    }

    /// Records, before sending, that a post is about to be sent.
    fn save_sending(&mut self, post: Post, record: &PostRecord) -> Result<(), ForgeFailure> {
        let sending = PostRecord {
            sent_at: Some(clock::now()),
            ..record.clone()
        };
        self.save(post, &sending)
    }

    /// Records that a post failed without taking effect, so that there is nothing to look for.
    fn save_unsent(&mut self, post: Post) -> Result<(), ForgeFailure> {
        let record = PostRecord {
            sent_at: None,
            ..self.record(post)?
        };
        self.save(post, &record)
    }

    fn put_off(&mut self, post: Post, until: Timestamp) -> Result<(), ForgeFailure> {
        let record = PostRecord {
            next_attempt_at: Some(until),
            ..self.record(post)?
        };
        self.save(post, &record)
    }
}

/// Until when a sent post may be invisible; `None` if nothing was sent or that time has passed.
fn unseen_until(record: &PostRecord) -> Option<Timestamp> {
    let settled = later(record.sent_at?, SETTLE);
    (clock::now() < settled).then_some(settled)
}

fn later(at: Timestamp, pause: Duration) -> Timestamp {
    let millis = i64::try_from(pause.as_millis()).unwrap_or(i64::MAX);
    Timestamp::from_millis(at.millis().saturating_add(millis))
}

/// Fetches the issue that the task was created for. Fails if another issue has its number now.
fn require_issue(session: &mut Session, posting: &Posting<'_>) -> Result<Issue, ForgeFailure> {
    let (link, address) = (posting.issue, &posting.address);
    let issue = session.repository(address).fetch_issue(link.number)?;
    if issue.id == link.id && issue.number == link.number {
        return Ok(issue);
    }
    Err(ForgeFailure::Unclear(format!(
        "{link} of {address} is not the one that the task was created for, which was at {}",
        link.url
    )))
}

/// Whether every other request would fail in the same way.
fn is_over(failure: &ForgeFailure) -> bool {
    match failure {
        ForgeFailure::Request(error) => matches!(
            error.trouble,
            Trouble::QuotaUsedUp { .. } | Trouble::Unauthorised { .. } | Trouble::NoToken(_)
        ),
        ForgeFailure::Agent | ForgeFailure::Token(_) | ForgeFailure::Address(_) => true,
        _ => false,
    }
}

/// Whether the forge refused the post, so that sending the same again later makes no sense.
fn is_refusal(failure: &ForgeFailure) -> bool {
    match failure {
        ForgeFailure::Request(error) => matches!(
            error.trouble,
            Trouble::Forbidden { .. }
                | Trouble::AbsentOrNotAllowed { .. }
                | Trouble::Gone { .. }
                | Trouble::Moved { .. }
                | Trouble::Conflict { .. }
                | Trouble::Unprocessable { .. }
                | Trouble::NotMergeable { .. }
        ),
        ForgeFailure::Unclear(_) => true,
        _ => false,
    }
}

/// Records that a post failed, and when it is tried again.
fn note_failure(
    store: &mut Store,
    posting: &Posting<'_>,
    post: Post,
    failure: &ForgeFailure,
) -> Result<(), DriverError> {
    let mut records: BTreeMap<String, PostRecord> = store.posts(posting.task)?;
    let mut record = records.remove(post.key()).unwrap_or_default();
    record.attempts = record.attempts.saturating_add(1);
    // Leave out the request, so that the same reason for several requests has the same text.
    record.problem = Some(match failure {
        ForgeFailure::Request(error) => error.trouble.to_string(),
        other => other.to_string(),
    });
    record.next_attempt_at = None;
    if is_refusal(failure) {
        record.refused = Some(post.wanted(posting));
    } else {
        let factor = 1_u32.checked_shl(record.attempts - 1).unwrap_or(u32::MAX);
        let pause = FIRST_PAUSE.saturating_mul(factor).min(LONGEST_PAUSE);
        let until = match failure {
            ForgeFailure::Request(error) => match &error.trouble {
                Trouble::QuotaUsedUp { until, .. } => Some(*until),
                _ => None,
            },
            _ => None,
        };
        record.next_attempt_at = Some(until.unwrap_or_else(|| clock::after(pause)));
    }
    store.record_post(posting.task, post.key(), &record)?;
    Ok(())
}

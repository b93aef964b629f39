//! Polls the forge on a thread of its own.

use orange_config::clock;

use super::background_thread::BackgroundThread;
use super::comments::CommentSync;
use super::issues::IssueSync;
use super::poller::ForgePoller;
use super::posts::Poster;
use super::scheduling::FailureLog;
use crate::Driver;

/// Starts the thread. On request, it polls pull requests, reads issues and comments, and posts
/// statuses, as far as they are due.
pub(super) fn start_polling(driver: Driver) -> Result<BackgroundThread, String> {
    let mut failures = FailureLog::new(driver.clone(), "forge.failed");
    let mut issues = IssueSync::new(driver.clone());
    let mut comments = CommentSync::new(driver.clone());
    let mut post_failures = FailureLog::new(driver.clone(), "post.failed");
    let mut poster = Poster::new(driver.clone());
    let mut poller = ForgePoller::new(driver);
    BackgroundThread::new("forge", move || {
        let now = clock::now();
        if poller.is_due(now) {
            failures.note(poller.round(now));
        }
        issues.sync_due();
        comments.sync_due();
        post_failures.note(poster.round());
    })
}

//! Points about a pull request, by people with enough permission.

use std::collections::BTreeSet;

use orange_effects::forge::host::RepositoryAddress;
use orange_engine::chat::message::is_command;
use orange_engine::forge::account::Permission;
use orange_engine::forge::feedback::{Audience, Discussion, Feedback, FeedbackItem, FeedbackKind};
use orange_engine::forge::knowledge::Knowledge;

use crate::forge::ForgeFailure;
use crate::forge::sessions::Session;

/// The feedback that an agent should handle; unknown until every author's permission is known. A
/// command for orange is not feedback.
pub(crate) fn judge(
    session: &mut Session,
    address: &RepositoryAddress,
    discussion: &Discussion,
    handled: &BTreeSet<String>,
) -> Result<Knowledge<Feedback>, ForgeFailure> {
    let own = session.own_account()?;
    let mut discussion = discussion.clone();
    discussion.comments.retain(|it| !is_command(&it.body));
    let permissions = session.permissions(address, discussion.authors())?;
    Ok(discussion.feedback(&Audience {
        own: &own,
        permissions: &permissions,
        needed: Permission::Write,
        handled,
    }))
}

/// A short title of a point: its author and place, but none of the author's text.
pub(crate) fn title(item: &FeedbackItem) -> String {
    let author = plain(&item.author.to_string());
    match &item.kind {
        FeedbackKind::Line {
            path,
            line,
            is_outdated,
            ..
        } => {
            let line = line.map_or(String::new(), |line| format!(":{line}"));
            let outdated = if *is_outdated { " (outdated)" } else { "" };
            format!("{author} at {}{line}{outdated}", plain(path))
        }
        FeedbackKind::Review {
            requests_changes: true,
        } => format!("{author} requests changes"),
        FeedbackKind::Review { .. } => format!("a review by {author}"),
        FeedbackKind::Comment => format!("a comment by {author}"),
    }
}

/// A name that other people chose, on one line and without control characters.
fn plain(name: &str) -> String {
    let is_plain = |c: char| !c.is_control() && c != '`';
    let plain: String = name.chars().filter(|c| is_plain(*c)).take(100).collect();
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

//! Finds out whether another installation of orange works on an issue.
//!
//! Each installation leaves a status comment with a marker at the issue that it works on. A marker
//! alone proves nothing, since anyone can copy one, so only markers of accounts with enough
//! permission count.

use std::collections::BTreeSet;

use super::account::{Account, Permission, Permissions, may};
use super::feedback::Comment;
use super::knowledge::Knowledge;
use super::marker::{ANSWER, keys};
use crate::names::TaskId;

/// The accounts that wrote a marker, whose permission has to be known.
pub fn claimants(comments: &[Comment]) -> BTreeSet<&Account> {
    let marked = comments.iter().filter(|it| keys(&it.body).next().is_some());
    marked.filter_map(|it| it.author.as_ref()).collect()
}

/// The account whose installation has a task for the issue; `own` are the tasks of this
/// installation.
pub fn claim(
    comments: &[Comment],
    is_complete: bool,
    own: &BTreeSet<TaskId>,
    permissions: &Permissions,
    needed: Permission,
) -> Knowledge<Account> {
    if !is_complete {
        return Knowledge::Unknown;
    }
    let mut found = Knowledge::None;
    for comment in comments {
        let is_own = |key: &str| own.iter().any(|task| is_about(key, task));
        let Some(author) = &comment.author else {
            continue;
        };
        // An answer to a command says nothing about who works on the issue.
        let mut claims = keys(&comment.body).filter(|key| !key.starts_with(ANSWER));
        if claims.all(is_own) {
            continue;
        }
        match may(permissions, Some(author), needed) {
            Knowledge::Known(true) => return Knowledge::Known(author.clone()),
            Knowledge::Known(false) | Knowledge::None => {}
            Knowledge::Unknown => found = Knowledge::Unknown,
        }
    }
    found
}

/// Whether one of a key's parts names this task.
fn is_about(key: &str, task: &TaskId) -> bool {
    key.split(['/', ':']).any(|part| part == task.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forge::marker::marker;
    use crate::time::Timestamp;

    fn comment(author: &str, body: &str) -> Comment {
        Comment {
            id: String::from("C_1"),
            reply_id: None,
            author: Some(Account::new(author, false)),
            body: body.to_owned(),
            at: Timestamp::default(),
        }
    }

    #[test]
    fn lesson_88_a_marker_of_an_account_that_may_write_is_a_claim() {
        let (ada, eve) = (Account::new("ada", false), Account::new("eve", false));
        let known = Permissions::from([
            (ada.clone(), Permission::Write),
            (eve.clone(), Permission::Read),
        ]);
        let own = BTreeSet::from([TaskId::new("k3f9")]);
        let judge = |comments: &[Comment]| claim(comments, true, &own, &known, Permission::Write);
        let foreign = format!("Working on it\n\n{}", marker("zzzz/status"));
        assert_eq!(judge(&[comment("ada", &foreign)]), Knowledge::Known(ada));
        assert_eq!(judge(&[comment("eve", &foreign)]), Knowledge::None);
        assert_eq!(judge(&[comment("bob", &foreign)]), Knowledge::Unknown);
        assert_eq!(judge(&[comment("ada", "hello")]), Knowledge::None);
        let ours = marker("k3f9/status");
        assert_eq!(judge(&[comment("ada", &ours)]), Knowledge::None);
        let answer = marker("answer/github.com/5");
        assert_eq!(judge(&[comment("ada", &answer)]), Knowledge::None);
        let partly = claim(&[], false, &own, &known, Permission::Write);
        assert_eq!(partly, Knowledge::Unknown);
        assert_eq!(
            claimants(&[comment("eve", &foreign), comment("bob", "x")]),
            BTreeSet::from([&eve])
        );
    }
}

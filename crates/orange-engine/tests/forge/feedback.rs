//! Which texts of a discussion reach an agent.

use std::collections::BTreeSet;

use orange_engine::forge::account::{Account, Permission, Permissions};
use orange_engine::forge::feedback::{
    Audience, Comment, Discussion, Feedback, FeedbackKind, Review, ReviewVerdict, Thread,
};
use orange_engine::forge::knowledge::Knowledge;
use orange_engine::forge::marker::marker;

use crate::fixtures::{at, person};

fn comment(id: &str, author: Option<Account>, body: &str) -> Comment {
    Comment {
        id: id.to_owned(),
        reply_id: None,
        author,
        body: body.to_owned(),
        at: at(0),
    }
}

fn review(id: &str, author: &str, verdict: ReviewVerdict, body: &str) -> Review {
    Review {
        id: id.to_owned(),
        author: Some(person(author)),
        verdict,
        body: body.to_owned(),
        commit: None,
        at: at(0),
    }
}

fn thread(id: &str, comments: Vec<Comment>) -> Thread {
    Thread {
        id: id.to_owned(),
        is_resolved: false,
        is_outdated: false,
        path: String::from("src/lib.rs"),
        line: Some(1),
        comments,
    }
}

/// Ada may write, Bob may read, Eve was not asked about; orange uses Ada's account.
fn heard(discussion: &Discussion, handled: &BTreeSet<String>) -> Knowledge<Feedback> {
    let permissions = Permissions::from([
        (person("ada"), Permission::Write),
        (person("bob"), Permission::Read),
        (Account::new("bot", true), Permission::Write),
        (Account::new("app", true), Permission::Read),
    ]);
    discussion.feedback(&Audience {
        own: &person("ada"),
        permissions: &permissions,
        needed: Permission::Write,
        handled,
    })
}

fn ids(discussion: &Discussion) -> Vec<String> {
    match heard(discussion, &BTreeSet::new()) {
        Knowledge::Known(feedback) => feedback.items.into_iter().map(|it| it.id).collect(),
        Knowledge::None => Vec::new(),
        Knowledge::Unknown => panic!("unknown"),
    }
}

#[test]
fn lesson_80_threads_review_texts_and_comments_are_heard_also_outdated_ones() {
    let mut outdated = thread("t1", vec![comment("c1", Some(person("ada")), "old")]);
    outdated.is_outdated = true;
    outdated.line = None;
    let mut resolved = thread("t2", vec![comment("c2", Some(person("ada")), "solved")]);
    resolved.is_resolved = true;
    let discussion = Discussion {
        threads: vec![outdated, resolved],
        reviews: vec![
            review("r1", "ada", ReviewVerdict::Commented, "a remark"),
            review("r2", "ada", ReviewVerdict::ChangesRequested, "fix it"),
            review("r3", "ada", ReviewVerdict::Approved, "LGTM"),
            review("r4", "ada", ReviewVerdict::Dismissed, "old"),
            review("r5", "ada", ReviewVerdict::Commented, " "),
        ],
        comments: vec![comment("c3", Some(person("ada")), "also this")],
        is_complete: true,
    };
    assert_eq!(ids(&discussion), ["c1", "r1", "r2", "c3"]);
    assert_eq!(discussion.open_threads(), Knowledge::Known(1));
}

#[test]
fn lesson_96_only_accounts_with_permission_are_heard_bot_or_not() {
    let discussion = Discussion {
        comments: vec![
            comment("c1", Some(person("bob")), "do this"),
            comment("c2", Some(Account::new("app[bot]", true)), "do this"),
            comment("c3", Some(Account::new("bot", true)), "do this"),
            comment("c4", None, "from a deleted account"),
        ],
        is_complete: true,
        ..Discussion::default()
    };
    assert_eq!(ids(&discussion), ["c3"]);
    let Knowledge::Known(feedback) = heard(&discussion, &BTreeSet::new()) else {
        panic!("it is known");
    };
    assert_eq!(feedback.ignored.len(), 2);
}

#[test]
fn an_author_whose_permission_is_unknown_makes_all_of_it_unknown() {
    let mut discussion = Discussion {
        comments: vec![comment("c1", Some(person("eve")), "do this")],
        is_complete: true,
        ..Discussion::default()
    };
    assert_eq!(heard(&discussion, &BTreeSet::new()), Knowledge::Unknown);
    assert_eq!(
        discussion.authors().into_iter().next(),
        Some(&person("eve"))
    );
    discussion.comments.clear();
    assert_eq!(heard(&discussion, &BTreeSet::new()), Knowledge::None);
    discussion.is_complete = false;
    assert_eq!(heard(&discussion, &BTreeSet::new()), Knowledge::Unknown);
    assert_eq!(discussion.open_threads(), Knowledge::Unknown);
}

#[test]
fn what_orange_wrote_is_no_feedback_and_answers_a_thread() {
    let ours = format!("fixed\n{}", marker("t1/reply"));
    let discussion = Discussion {
        threads: vec![
            thread(
                "t1",
                vec![
                    comment("c1", Some(person("ada")), "why?"),
                    comment("c2", Some(person("ada")), &ours),
                ],
            ),
            thread(
                "t2",
                vec![
                    comment("c3", Some(person("ada")), "why?"),
                    comment("c4", Some(person("ada")), &ours),
                    comment("c5", Some(person("ada")), "not yet"),
                ],
            ),
        ],
        // The marker of orange under another name is not orange's.
        comments: vec![comment("c6", Some(Account::new("bot", true)), &ours)],
        is_complete: true,
        ..Discussion::default()
    };
    assert_eq!(ids(&discussion), ["c5", "c6"]);
}

#[test]
fn each_text_is_heard_once_and_again_when_it_was_edited() {
    let of = |body| Discussion {
        comments: vec![comment("c1", Some(person("ada")), body)],
        is_complete: true,
        ..Discussion::default()
    };
    let Knowledge::Known(first) = heard(&of("a"), &BTreeSet::new()) else {
        panic!("it is heard");
    };
    assert_eq!(first.items[0].kind, FeedbackKind::Comment);
    let handled = BTreeSet::from([first.items[0].digest.clone()]);
    assert_eq!(heard(&of("a"), &handled), Knowledge::None);
    assert!(matches!(heard(&of("b"), &handled), Knowledge::Known(_)));
}

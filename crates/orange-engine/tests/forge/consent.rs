//! Which issues may become tasks.

use std::collections::BTreeSet;

use orange_engine::forge::account::{Account, Permission, Permissions};
use orange_engine::forge::consent::{
    Consent, ConsentRule, IssueReading, IssueRecord, RefusalReason, UnknownReason,
};
use orange_engine::forge::issue::{Issue, IssueEvent, IssueEventKind};
use orange_engine::forge::knowledge::Knowledge;
use orange_engine::time::Timestamp;

use crate::fixtures::{at, person};

fn rule() -> ConsentRule {
    ConsentRule {
        label: String::from("orange"),
        permission: Permission::Write,
    }
}

/// An issue that got its label at 100.
fn issue() -> Issue {
    Issue {
        id: String::from("I_1"),
        number: 1,
        title: String::from("Fix it"),
        body: String::from("Please"),
        author: Some(person("eve")),
        is_open: true,
        is_pull_request: false,
        labels: vec![String::from("Orange")],
        updated: at(100),
    }
}

fn event(kind: IssueEventKind, actor: Option<Account>, seconds: i64) -> IssueEvent {
    IssueEvent {
        kind,
        actor,
        at: at(seconds),
    }
}

fn labeled(actor: &str, seconds: i64) -> IssueEvent {
    let kind = IssueEventKind::Labeled(String::from("orange"));
    event(kind, Some(person(actor)), seconds)
}

fn judge_at(
    issue: &Issue,
    events: &[IssueEvent],
    edited: Knowledge<Timestamp>,
    record: &IssueRecord,
) -> Consent {
    let permissions = Permissions::from([
        (person("ada"), Permission::Write),
        (person("eve"), Permission::Read),
        (Account::new("form", true), Permission::None),
    ]);
    let reading = IssueReading {
        issue,
        events,
        is_complete: true,
        edited,
        permissions: &permissions,
    };
    rule().judge(&reading, record)
}

fn judge(issue: &Issue, events: &[IssueEvent]) -> Consent {
    judge_at(issue, events, Knowledge::Unknown, &IssueRecord::default())
}

fn refused(consent: &Consent) -> &RefusalReason {
    match consent {
        Consent::Refused(reason) => reason,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_label_by_an_account_with_permission_is_consent() {
    let given = judge(&issue(), &[labeled("ada", 100)]);
    let revision = issue().revision();
    let by = Some(person("ada"));
    assert_eq!(given, Consent::Given { revision, by });
}

#[test]
fn lesson_95_a_label_set_by_its_author_a_form_or_a_reader_is_no_consent() {
    let form = IssueEventKind::Labeled(String::from("orange"));
    for actor in [Some(person("eve")), Some(Account::new("form", true)), None] {
        let found = judge(&issue(), &[event(form.clone(), actor.clone(), 100)]);
        assert_eq!(refused(&found), &RefusalReason::NotAllowed { actor });
    }
    let unknown = judge(&issue(), &[labeled("stranger", 100)]);
    let actor = person("stranger");
    let reason = UnknownReason::PermissionUnknown { actor };
    assert_eq!(unknown, Consent::Unknown(reason));
}

#[test]
fn lesson_93_an_edit_after_the_label_withdraws_consent() {
    let events = [labeled("ada", 100)];
    let mut edited = issue();
    edited.body = String::from("Do evil");
    edited.updated = at(105);
    assert_eq!(refused(&judge(&edited, &events)), &RefusalReason::Edited);
    // What the forge says about edits decides, where it says something.
    let with = |known| judge_at(&edited, &events, known, &IssueRecord::default());
    assert!(matches!(with(Knowledge::None), Consent::Given { .. }));
    assert!(matches!(
        with(Knowledge::Known(at(99))),
        Consent::Given { .. }
    ));
    // The forge counts whole seconds: an edit in the same second may have come later.
    for seconds in [100, 101] {
        let after = with(Knowledge::Known(at(seconds)));
        assert_eq!(refused(&after), &RefusalReason::Edited);
    }
    // A new title is an event.
    let renamed = [
        labeled("ada", 100),
        event(IssueEventKind::Renamed, Some(person("eve")), 101),
    ];
    let renamed = judge_at(&edited, &renamed, Knowledge::None, &IssueRecord::default());
    assert_eq!(refused(&renamed), &RefusalReason::Edited);
}

#[test]
fn lesson_93_recorded_consent_is_for_one_revision() {
    let record = IssueRecord {
        approved: Some(issue().revision()),
        ..IssueRecord::default()
    };
    let mut later = issue();
    later.updated = at(500);
    let given = judge_at(&later, &[], Knowledge::Unknown, &record);
    assert!(matches!(given, Consent::Given { by: None, .. }));
    later.body.push('!');
    let found = judge_at(&later, &[labeled("ada", 100)], Knowledge::Unknown, &record);
    assert_eq!(refused(&found), &RefusalReason::Edited);
    // Title and body are told apart.
    let mut shifted = issue();
    shifted.title = String::from("Fix itP");
    shifted.body = String::from("lease");
    assert_ne!(shifted.revision(), issue().revision());
}

#[test]
fn lesson_92_a_revision_starts_one_task() {
    let record = IssueRecord {
        approved: Some(issue().revision()),
        started: BTreeSet::from([issue().revision()]),
        ..IssueRecord::default()
    };
    let found = judge_at(&issue(), &[labeled("ada", 100)], Knowledge::None, &record);
    assert_eq!(refused(&found), &RefusalReason::AlreadyStarted);
}

#[test]
fn a_revision_that_the_user_ignores_is_no_consent() {
    let record = IssueRecord {
        approved: Some(issue().revision()),
        ignored: Some(issue().revision()),
        ..IssueRecord::default()
    };
    let events = [labeled("ada", 100)];
    let found = judge_at(&issue(), &events, Knowledge::None, &record);
    assert_eq!(refused(&found), &RefusalReason::Ignored);
    let mut later = issue();
    later.body.push('!');
    let found = judge_at(&later, &events, Knowledge::None, &record);
    assert!(matches!(found, Consent::Given { .. }));
}

#[test]
fn a_label_from_before_a_transfer_or_a_reopening_is_no_consent() {
    for kind in [IssueEventKind::Transferred, IssueEventKind::Reopened] {
        let events = [
            labeled("ada", 100),
            event(kind.clone(), Some(person("ada")), 100),
        ];
        let found = judge_at(&issue(), &events, Knowledge::None, &IssueRecord::default());
        assert_eq!(refused(&found), &RefusalReason::LabelIsOld, "{kind:?}");
        let before = [event(kind, Some(person("eve")), 50), labeled("ada", 100)];
        let found = judge_at(&issue(), &before, Knowledge::None, &IssueRecord::default());
        assert!(matches!(found, Consent::Given { .. }));
    }
}

#[test]
fn the_last_one_to_set_the_label_counts() {
    let off = IssueEventKind::Unlabeled(String::from("ORANGE"));
    let events = [
        labeled("ada", 10),
        event(off, Some(person("ada")), 20),
        labeled("eve", 100),
    ];
    let actor = Some(person("eve"));
    let found = judge(&issue(), &events);
    assert_eq!(refused(&found), &RefusalReason::NotAllowed { actor });
}

#[test]
fn what_was_not_read_whole_is_unknown() {
    let none = Permissions::new();
    let issue = issue();
    let reading = IssueReading {
        issue: &issue,
        events: &[],
        is_complete: false,
        edited: Knowledge::None,
        permissions: &none,
    };
    let found = rule().judge(&reading, &IssueRecord::default());
    assert_eq!(found, Consent::Unknown(UnknownReason::EventsIncomplete));
    let found = judge(&issue, &[]);
    assert_eq!(found, Consent::Unknown(UnknownReason::NoLabelEvent));
}

#[test]
fn closed_issues_pull_requests_and_issues_without_the_label_are_left_alone() {
    let events = [labeled("ada", 100)];
    let mut closed = issue();
    closed.is_open = false;
    assert_eq!(refused(&judge(&closed, &events)), &RefusalReason::Closed);
    let mut pull_request = issue();
    pull_request.is_pull_request = true;
    let found = judge(&pull_request, &events);
    assert_eq!(refused(&found), &RefusalReason::PullRequest);
    let mut plain = issue();
    plain.labels.clear();
    assert_eq!(refused(&judge(&plain, &events)), &RefusalReason::NoLabel);
}

//! What is recorded about issues, and one task for each.

use std::thread;

use orange_engine::event::{Event, Fact};
use orange_engine::forge::account::Account;
use orange_engine::forge::issue::{Issue, IssueLink, Revision};
use orange_engine::names::{BranchName, ProjectName, Status, TaskId};
use orange_engine::role::Role;
use orange_store::{Creation, IssueCursor, IssueDecision, Store, StoreError, rebuild};

use crate::fixtures::World;
use crate::sandbox::{Sandbox, instant, minimal, source};

fn project() -> ProjectName {
    ProjectName::new("coffee")
}

fn issue(number: u64, body: &str) -> Issue {
    Issue {
        id: format!("I_{number}"),
        number,
        title: String::from("Fix it"),
        body: body.to_owned(),
        author: Some(Account::new("eve", false)),
        is_open: true,
        is_pull_request: false,
        labels: vec![String::from("agent")],
        updated: instant(10),
    }
}

fn cursor(since: i64) -> IssueCursor {
    IssueCursor {
        repository: String::from("github.com/ada/app"),
        since: Some(instant(since)),
        etag: Some(String::from("\"e1\"")),
    }
}

/// The events of a new task for issue 7.
fn creation_of(id: &str, by: &Role, revision: &str, status: Option<&str>) -> Vec<Event> {
    let workflow = minimal();
    let mut events = World::begin(&workflow).events;
    if let Fact::TaskCreated(created) = &mut events[0].fact {
        created.id = TaskId::new(id);
        created.by = by.clone();
        created.branch = BranchName::new(format!("b-{id}"));
        created.issue = Some(IssueLink {
            number: 7,
            id: String::from("I_7"),
            url: String::from("https://github.com/ada/app/issues/7"),
            revision: Revision::from_text(revision),
        });
        if let Some(status) = status {
            created.status = Status::new(status);
        }
    }
    events.truncate(1);
    events
}

fn create(
    store: &mut Store,
    id: &str,
    by: &Role,
    revision: &str,
    status: Option<&str>,
) -> Result<(), StoreError> {
    let created = store.create(&Creation {
        events: &creation_of(id, by, revision, status),
        workflow_text: source(&minimal()),
        document: None,
        issue_text: Some("the text"),
    });
    created.map(|_| ())
}

#[test]
fn only_what_is_new_is_written() {
    let sandbox = Sandbox::new();
    let mut store = sandbox.store();
    let issues = [issue(7, "a"), issue(8, "b")];
    assert!(
        store
            .record_issues(&project(), &issues, &cursor(10))
            .unwrap()
    );
    assert!(store.record_verdict(&project(), &issues[0], "{}").unwrap());
    let before = store.sequence().unwrap();
    for _ in 0..50 {
        assert!(
            !store
                .record_issues(&project(), &issues, &cursor(10))
                .unwrap()
        );
        assert!(!store.record_verdict(&project(), &issues[0], "{}").unwrap());
    }
    assert_eq!(store.sequence().unwrap(), before, "nothing was written");
    assert_eq!(store.issue_cursor(&project()).unwrap(), Some(cursor(10)));
    store
        .decide_issue(&project(), &issues[0], IssueDecision::Approved)
        .unwrap();
    store.record_verdict(&project(), &issues[0], "{}").unwrap();
    // A changed issue has to be judged again; what was decided about a text stays.
    let edited = issue(7, "c");
    assert!(
        store
            .record_issues(&project(), &[edited], &cursor(11))
            .unwrap()
    );
    let found = store.issue(&project(), 7).unwrap().unwrap();
    assert_eq!(found.verdict, None);
    assert_eq!(found.approved, Some(issues[0].revision()));
    assert_ne!(found.revision, issues[0].revision());
    // Another repository has other issues.
    let elsewhere = IssueCursor {
        repository: String::from("github.com/ada/other"),
        ..cursor(12)
    };
    store
        .record_issues(&project(), &[issue(8, "b")], &elsewhere)
        .unwrap();
    let numbers = store.issues(&project()).unwrap();
    let numbers: Vec<u64> = numbers.iter().map(|it| it.number).collect();
    assert_eq!(numbers, [8]);
}

#[test]
fn one_decision_replaces_the_other() {
    let sandbox = Sandbox::new();
    let mut store = sandbox.store();
    let seven = issue(7, "a");
    for (decision, approved, ignored) in [
        (IssueDecision::Ignored, None, Some(seven.revision())),
        (IssueDecision::Approved, Some(seven.revision()), None),
    ] {
        store.decide_issue(&project(), &seven, decision).unwrap();
        let found = store.issue(&project(), 7).unwrap().unwrap();
        assert_eq!((found.approved, found.ignored), (approved, ignored));
    }
}

#[test]
fn lesson_92_a_text_that_was_started_is_not_started_again() {
    let sandbox = Sandbox::new();
    let mut store = sandbox.store();
    create(&mut store, "one", &Role::Engine, "r1", Some("done")).unwrap();
    let again = create(&mut store, "two", &Role::Engine, "r1", None);
    assert!(matches!(again, Err(StoreError::IssueTaken { .. })));
    // Another text is another start, and the user may ask again.
    create(&mut store, "three", &Role::Engine, "r2", Some("done")).unwrap();
    create(&mut store, "four", &Role::Human, "r1", None).unwrap();
    // While a task is unfinished, no other one is created.
    for by in [Role::Human, Role::Engine] {
        let refused = create(&mut store, "five", &by, "r3", None);
        let Err(StoreError::IssueTaken { number: 7, task }) = refused else {
            panic!("{refused:?}");
        };
        assert_eq!(task, TaskId::new("four"));
    }
}

#[test]
fn a_text_that_the_user_ignores_is_not_started() {
    let sandbox = Sandbox::new();
    let mut store = sandbox.store();
    let seven = issue(7, "a");
    store
        .decide_issue(&project(), &seven, IssueDecision::Ignored)
        .unwrap();
    let revision = seven.revision();
    let refused = create(&mut store, "one", &Role::Engine, revision.as_str(), None);
    assert!(matches!(
        refused,
        Err(StoreError::IssueIgnored { number: 7 })
    ));
    create(&mut store, "one", &Role::Human, revision.as_str(), None).unwrap();
}

#[test]
fn one_task_is_created_however_many_try() {
    let sandbox = Sandbox::new();
    drop(sandbox.store());
    let created: usize = thread::scope(|scope| {
        let attempts: Vec<_> = (0..20)
            .map(|at| {
                let home = sandbox.home.clone();
                scope.spawn(move || {
                    let mut store = Store::open(&home).unwrap();
                    let by = if at % 2 == 0 {
                        Role::Engine
                    } else {
                        Role::Human
                    };
                    create(&mut store, &format!("t{at}"), &by, "r1", None).is_ok()
                })
            })
            .collect();
        let done = attempts.into_iter().map(|it| it.join().unwrap());
        done.filter(|it| *it).count()
    });
    assert_eq!(created, 1);
    let tasks = sandbox.store().tasks_of_issue(&project(), "I_7").unwrap();
    assert_eq!(tasks.len(), 1);
}

#[test]
fn a_rebuild_knows_which_texts_were_started_and_keeps_the_file() {
    let sandbox = Sandbox::new();
    let mut store = sandbox.store();
    create(&mut store, "k3f9", &Role::Engine, "r1", Some("done")).unwrap();
    orange_store::project(&mut store, &TaskId::new("k3f9"), instant(1)).unwrap();
    let file = sandbox.task_directory().join("issue.md");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "the text");
    drop(store);
    rebuild(&sandbox.home).unwrap();
    let mut store = sandbox.store();
    let again = create(&mut store, "two", &Role::Engine, "r1", None);
    assert!(matches!(again, Err(StoreError::IssueTaken { .. })));
    orange_store::project(&mut store, &TaskId::new("k3f9"), instant(2)).unwrap();
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "the text");
}

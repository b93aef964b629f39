//! What is too large or not valid reaches no row.

use orange_fleet::chain::{Commit, Head, Sha};
use orange_fleet::ids::ProjectId;
use orange_fleet::message::{Append, AppendResult, RegisterAnswer, TaskAppend, Text};
use orange_server::database::limits::{TASK_BYTES, TASK_EVENTS};
use orange_server::database::{DatabaseError, ErrorKind};
use postgres_fixture::Fsync;

use crate::fixture::{
    self, commit, creation, org, registration, request_for_work, runner, summary, task,
};

fn append(claim: &orange_fleet::message::Claim, text: &str) -> TaskAppend {
    TaskAppend {
        task: claim.task.clone(),
        epoch: claim.epoch,
        base: claim.head.version,
        commits: vec![commit(claim.head, text, None)],
        texts: Vec::new(),
        summary: summary("open"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_log_is_refused_and_other_tasks_go_on() {
    let fixture = fixture::start(Fsync::Off).await;
    let database = &fixture.database;
    for name in ["bytes", "events", "room"] {
        database.create(&org("o"), &creation(name)).await.unwrap();
    }
    database
        .register(&org("o"), &runner("r"), &registration("r"))
        .await
        .unwrap();
    let work = database
        .work(&org("o"), &runner("r"), &request_for_work(3))
        .await
        .unwrap();
    let bytes = i64::try_from(TASK_BYTES).unwrap() - 5;
    let sql = "update orange.task set bytes = $1 where id = 'bytes'";
    fixture.client.execute(sql, &[&bytes]).await.unwrap();
    let events = u64::try_from(TASK_EVENTS).unwrap();
    let sql = "update orange.task set version = $1 where id = 'events'";
    fixture
        .client
        .execute(sql, &[&i64::try_from(events).unwrap()])
        .await
        .unwrap();

    let (full, rest): (Vec<_>, Vec<_>) = work.claims.iter().partition(|it| it.task != task("room"));
    for claim in full {
        let mut call = append(claim, "more");
        if claim.task == task("events") {
            let head = Head {
                version: orange_fleet::ids::Version(events),
                ..claim.head
            };
            call.commits = vec![commit(head, "more", None)];
            call.base = head.version;
        }
        let tasks = vec![call, append(rest[0], "more")];
        let refused = database
            .append(&org("o"), &runner("r"), &Append { tasks })
            .await;
        let error = refused.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TooLarge, "{error}");
    }
    let heads = fixture
        .client
        .query("select id, version from orange.task", &[])
        .await
        .unwrap();
    let versions = heads
        .iter()
        .map(|it| (it.get::<_, String>(0), it.get::<_, i64>(1)));
    let mut versions: Vec<_> = versions.collect();
    versions.sort();
    let events = ("events".to_owned(), i64::try_from(TASK_EVENTS).unwrap());
    assert_eq!(
        versions,
        [("bytes".to_owned(), 1), events, ("room".to_owned(), 2)]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_calls_reach_no_row() {
    let fixture = fixture::start(Fsync::Off).await;
    let database = &fixture.database;
    let long = "x".repeat(300);
    for name in ["", "a\0b", long.as_str()] {
        let created = database.create(&org("o"), &creation(name)).await;
        assert_ne!(created.unwrap_err().kind(), ErrorKind::Operator, "{name:?}");
        let mut call = creation("t");
        call.needs.project = ProjectId::new(name);
        assert!(database.create(&org("o"), &call).await.is_err(), "{name:?}");
        assert!(
            database.create(&org(name), &creation("t")).await.is_err(),
            "{name:?}"
        );
        assert!(
            database.view(&org(name), &task("t")).await.is_err(),
            "{name:?}"
        );
    }
    let foreign = database
        .register(&org("o"), &runner("other"), &registration("r"))
        .await;
    assert_eq!(foreign.unwrap_err().kind(), ErrorKind::Caller);

    let mut call = creation("t");
    let events = call.commits[0].events.clone();
    let named = Sha::of(b"right");
    call.commits = vec![Commit::new(Head::default(), events, vec![named], None).unwrap()];
    call.texts = vec![Text {
        sha: named,
        content: "wrong".to_owned(),
    }];
    let wrong = database.create(&org("o"), &call).await.unwrap_err();
    assert!(matches!(wrong, DatabaseError::WrongText { .. }), "{wrong}");
    let count = "select (select count(*) from orange.task) + (select count(*) from orange.body)
                 + (select count(*) from orange.runner)";
    let rows: i64 = fixture.client.query_one(count, &[]).await.unwrap().get(0);
    assert_eq!(rows, 0);

    // A text that no commit names is not stored, whoever sends it.
    call.texts = vec![
        Text {
            sha: named,
            content: "right".to_owned(),
        },
        Text {
            sha: Sha::of(b"more"),
            content: "more".to_owned(),
        },
    ];
    database.create(&org("o"), &call).await.unwrap();
    let stored = database.text(&org("o"), None, &named).await.unwrap();
    assert_eq!(stored.as_deref(), Some("right"));
    assert_eq!(
        database
            .text(&org("o"), None, &Sha::of(b"more"))
            .await
            .unwrap(),
        None
    );
    let far = database
        .changes(&org("o"), None, u64::MAX, 5)
        .await
        .unwrap();
    assert_eq!((far.rows.len(), far.next), (0, u64::MAX));
    database
        .register(&org("o"), &runner("r"), &registration("r"))
        .await
        .unwrap();
    let work = database
        .work(&org("o"), &runner("r"), &request_for_work(u32::MAX))
        .await
        .unwrap();
    let mut huge = append(&work.claims[0], "huge");
    huge.base = orange_fleet::ids::Version(u64::MAX);
    huge.commits[0].first = orange_fleet::ids::Version(u64::MAX);
    huge.commits[0].last = orange_fleet::ids::Version(u64::MAX);
    let mut far = huge.clone();
    far.epoch = orange_fleet::ids::Epoch(u64::MAX);
    let call = Append {
        tasks: vec![huge, far],
    };
    let answer = database.append(&org("o"), &runner("r"), &call).await;
    let results = answer.unwrap().tasks.into_iter().map(|it| it.result);
    let head = work.claims[0].head;
    let expected = [AppendResult::Behind { head }, AppendResult::Fenced];
    assert!(results.eq(expected));
    let mut register = registration("r");
    register.seen = orange_fleet::ids::Incarnation(u64::MAX);
    register.lost_after = orange_fleet::time::Period(u64::MAX);
    let registered = database.register(&org("o"), &runner("r"), &register).await;
    assert!(matches!(registered.unwrap(), RegisterAnswer::Taken { .. }));
}

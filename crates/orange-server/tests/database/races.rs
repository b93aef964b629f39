//! Many callers at once.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use orange_fleet::chain::Head;
use orange_fleet::ids::{Epoch, HomeId, Incarnation, PersonId, RequestKey, RunnerId, TaskId};
use orange_fleet::json::Json;
use orange_fleet::message::{
    Append, AppendResult, Claim, CreateAnswer, GiveBack, MailAnswer, MailResult, PostRequest,
    RegisterAnswer, RequestStatus, Rest, TaskAppend, TaskState,
};
use orange_server::database::Database;
use postgres_fixture::Fsync;
use tokio::sync::Barrier;

use crate::fixture::{
    self, commit, creation, org, registration, request_for_work, runner, summary, task,
};

const CALLERS: usize = 8;
const PATIENCE: Duration = Duration::from_secs(100);

/// Runs a call for each number at the same time.
async fn at_once<T, F>(count: usize, call: impl Fn(usize) -> F) -> Vec<T>
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let barrier = Arc::new(Barrier::new(count));
    let calls = (0..count).map(|number| {
        let (barrier, call) = (barrier.clone(), call(number));
        tokio::spawn(async move {
            barrier.wait().await;
            call.await
        })
    });
    let calls: Vec<_> = calls.collect();
    let mut answers = Vec::new();
    for call in calls {
        answers.push(call.await.unwrap());
    }
    answers
}

async fn joined(database: &Database, name: &str) -> RunnerId {
    let answer = database
        .register(&org("o"), &runner(name), &registration(name))
        .await;
    assert!(matches!(answer.unwrap(), RegisterAnswer::Registered { .. }));
    runner(name)
}

async fn claimed(database: &Database, name: &RunnerId) -> Claim {
    let answer = database.work(&org("o"), name, &request_for_work(1)).await;
    answer.unwrap().claims.remove(0)
}

fn one(claim: &Claim, text: &str, status: &str) -> Append {
    let commit = commit(claim.head, text, None);
    let append = TaskAppend {
        task: claim.task.clone(),
        epoch: claim.epoch,
        base: claim.head.version,
        commits: vec![commit],
        texts: Vec::new(),
        summary: summary(status),
    };
    Append {
        tasks: vec![append],
    }
}

fn is_ok(result: AppendResult) -> bool {
    matches!(result, AppendResult::Ok { .. })
}

async fn appended(database: &Database, name: &RunnerId, call: &Append) -> AppendResult {
    let answer = database.append(&org("o"), name, call).await;
    answer.unwrap().tasks[0].result
}

#[tokio::test(flavor = "multi_thread")]
async fn no_task_is_claimed_twice() {
    const TASKS: usize = 160;
    let fixture = fixture::start(Fsync::Off).await;
    let database = &fixture.database;
    for number in 0..TASKS {
        let mut call = creation(&format!("t{number}"));
        call.priority = i64::try_from(number % 5).unwrap();
        assert_eq!(
            database.create(&org("o"), &call).await.unwrap(),
            CreateAnswer::Ok
        );
    }
    for number in 0..CALLERS {
        joined(database, &format!("r{number}")).await;
    }
    let left = Arc::new(std::sync::atomic::AtomicUsize::new(TASKS));
    let claims = at_once(CALLERS, |number| {
        let (database, left) = (database.clone(), left.clone());
        let name = runner(&format!("r{number}"));
        let deadline = Instant::now() + PATIENCE;
        async move {
            let mut claims = Vec::new();
            // Tasks that another runner looks at are skipped for this moment.
            while left.load(std::sync::atomic::Ordering::SeqCst) > 0 && Instant::now() < deadline {
                let free = u32::try_from(number % 3 + 1).unwrap();
                let answer = database
                    .work(&org("o"), &name, &request_for_work(free))
                    .await;
                let new = answer.unwrap().claims;
                left.fetch_sub(new.len(), std::sync::atomic::Ordering::SeqCst);
                claims.extend(new.into_iter().map(|it| it.task));
            }
            claims
        }
    });
    let claims: Vec<TaskId> = claims.await.into_iter().flatten().collect();
    let distinct: BTreeSet<_> = claims.iter().collect();
    assert_eq!((claims.len(), distinct.len()), (TASKS, TASKS));
    let sql = "select count(*) from orange.task where incarnation = 1";
    let held: i64 = fixture.client.query_one(sql, &[]).await.unwrap().get(0);
    assert_eq!(usize::try_from(held).unwrap(), TASKS);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_call_is_done_once() {
    let fixture = fixture::start(Fsync::Off).await;
    let database = &fixture.database;
    let created = at_once(CALLERS, |_| {
        let database = database.clone();
        async move { database.create(&org("o"), &creation("t")).await.unwrap() }
    });
    assert_eq!(created.await, [CreateAnswer::Ok; CALLERS]);

    let registered = at_once(CALLERS, |number| {
        let database = database.clone();
        let mut call = registration("r");
        call.home = HomeId::new(format!("h{number}"));
        async move {
            database
                .register(&org("o"), &runner("r"), &call)
                .await
                .unwrap()
        }
    });
    let registered = registered.await;
    let first = registered
        .iter()
        .filter(|it| matches!(it, RegisterAnswer::Registered { .. }));
    assert_eq!(first.count(), 1, "{registered:?}");

    let claim = claimed(database, &runner("r")).await;
    let results = at_once(CALLERS, |_| {
        let (database, call) = (database.clone(), one(&claim, "once", "open"));
        async move { appended(&database, &runner("r"), &call).await }
    });
    assert!(results.await.into_iter().all(is_ok));
    let rows: i64 = {
        let sql = "select count(*) from orange.log where first > 1";
        fixture.client.query_one(sql, &[]).await.unwrap().get(0)
    };
    assert_eq!(rows, 1);

    let results = at_once(CALLERS, |number| {
        let later = Claim {
            head: commit(claim.head, "once", None).head(),
            ..claim.clone()
        };
        let (database, call) = (database.clone(), one(&later, &format!("{number}"), "open"));
        async move { appended(&database, &runner("r"), &call).await }
    });
    let results = results.await;
    let won = results.iter().filter(|it| is_ok(**it)).count();
    let conflicts = results
        .iter()
        .filter(|it| **it == AppendResult::Conflict)
        .count();
    assert_eq!(
        (won, conflicts),
        (1, CALLERS - 1),
        "of different commits one wins"
    );

    let posted = at_once(CALLERS, |_| {
        let database = database.clone();
        async move {
            let call = PostRequest {
                key: RequestKey::new("k"),
                ask: Json::null(),
            };
            let ann = PersonId::new("ann");
            database
                .post(&org("o"), &ann, &task("t"), &call)
                .await
                .unwrap()
                .unwrap()
                .id
        }
    });
    let ids: BTreeSet<_> = posted.await.into_iter().collect();
    assert_eq!(ids.len(), 1);

    let mail = ids.into_iter().next().unwrap();
    let answers = at_once(CALLERS, |number| {
        let (database, mail) = (database.clone(), mail.clone());
        let answer = MailAnswer {
            task: task("t"),
            epoch: claim.epoch,
            answer: Json::new(number.to_string()).unwrap(),
        };
        async move {
            database
                .answer_mail(&org("o"), &runner("r"), &mail, &answer)
                .await
                .unwrap()
        }
    });
    let answers = answers.await;
    let decided = answers.iter().filter(|it| **it == MailResult::Ok).count();
    assert_eq!(decided, 1, "{answers:?}");
    let state = database
        .request(&org("o"), &mail)
        .await
        .unwrap()
        .unwrap()
        .state;
    assert_eq!(state.status, RequestStatus::Answered);
}

/// A task that is created while the one it waits for ends, or is created itself.
#[tokio::test(flavor = "multi_thread")]
async fn no_task_waits_for_an_ended_one() {
    let fixture = fixture::start(Fsync::Off).await;
    let database = &fixture.database;
    let name = joined(database, "r").await;
    for round in 0..25 {
        let first = format!("a{round}");
        database.create(&org("o"), &creation(&first)).await.unwrap();
        let claim = claimed(database, &name).await;
        assert_eq!(claim.task, task(&first));
        let waiting = format!("b{round}");
        let mut call = creation(&waiting);
        call.after = [task(&first), task(&format!("c{round}"))].into();
        let mut other = creation(&format!("c{round}"));
        other.after = [task(&waiting)].into();
        let calls = at_once(3, |number| {
            let (database, call, other) = (database.clone(), call.clone(), other.clone());
            let (name, end) = (name.clone(), one(&claim, "end", "over"));
            async move {
                match number {
                    0 => drop(database.create(&org("o"), &call).await.unwrap()),
                    1 => drop(database.create(&org("o"), &other).await.unwrap()),
                    _ => assert!(is_ok(appended(&database, &name, &end).await)),
                }
            }
        });
        calls.await;
        for (id, before) in [
            (waiting.clone(), other.task),
            (format!("c{round}"), call.task),
        ] {
            let state = database
                .view(&org("o"), &task(&id))
                .await
                .unwrap()
                .unwrap()
                .state;
            let after = [before].into();
            assert_eq!(state, TaskState::Blocked { after }, "{id}");
            let sql = "select blocked from orange.task where id = $1";
            let blocked: i64 = fixture.client.query_one(sql, &[&id]).await.unwrap().get(0);
            assert_eq!(blocked, 1, "{id}");
        }
    }
}

/// Each ends while the other one tells it of its own end.
#[tokio::test(flavor = "multi_thread")]
async fn tasks_that_are_parents_of_each_other_end() {
    let fixture = fixture::start(Fsync::Off).await;
    let database = &fixture.database;
    let name = joined(database, "r").await;
    let other = joined(database, "s").await;
    for round in 0..10 {
        let names = [format!("a{round}"), format!("b{round}")];
        for (at, id) in names.iter().enumerate() {
            let mut call = creation(id);
            call.parent = Some(task(&names[1 - at]));
            database.create(&org("o"), &call).await.unwrap();
        }
        let mut held = Vec::new();
        for runner in [&name, &other] {
            held.push((runner.clone(), claimed(database, runner).await));
        }
        let ends = at_once(2, |at| {
            let database = database.clone();
            let (name, claim) = held[at].clone();
            let end = one(&claim, "end", "over");
            async move { appended(&database, &name, &end).await }
        });
        assert!(ends.await.into_iter().all(is_ok));
        // The ends are mail, so that each is claimed to decide it.
        for (name, _) in &held {
            let claim = claimed(database, name).await;
            let call = GiveBack {
                task: claim.task.clone(),
                epoch: claim.epoch,
                rest: Rest::Idle,
            };
            let work = database
                .work(&org("o"), name, &request_for_work(0))
                .await
                .unwrap();
            let mail = work
                .mail
                .into_iter()
                .find(|it| it.task == claim.task)
                .unwrap();
            let answer = MailAnswer {
                task: claim.task.clone(),
                epoch: claim.epoch,
                answer: Json::null(),
            };
            let answered = database
                .answer_mail(&org("o"), name, &mail.id, &answer)
                .await;
            assert_eq!(answered.unwrap(), MailResult::Ok);
            database.give_back(&org("o"), name, &call).await.unwrap();
            for extra in work.claims {
                let call = GiveBack {
                    task: extra.task,
                    epoch: extra.epoch,
                    rest: Rest::Offered,
                };
                database.give_back(&org("o"), name, &call).await.unwrap();
            }
        }
    }
}

/// A reader never passes a commit that is still being written.
#[tokio::test(flavor = "multi_thread")]
async fn the_feed_waits_for_an_open_transaction() {
    let fixture = fixture::start(Fsync::Off).await;
    let database = &fixture.database;
    database.create(&org("o"), &creation("a")).await.unwrap();
    let start = database.changes(&org("o"), None, 0, 10).await.unwrap();
    assert_eq!(start.rows.len(), 1);

    let mut slow = fixture::client(&fixture.cluster).await;
    let open = slow.transaction().await.unwrap();
    let insert = "insert into orange.log
                  select org, 'slow', first, last, epoch, sha, events, texts, request,
                      orange.first_place(), at
                  from orange.log where task = 'a'";
    open.execute(insert, &[]).await.unwrap();
    database.create(&org("o"), &creation("b")).await.unwrap();
    let waiting = database
        .changes(&org("o"), None, start.next, 10)
        .await
        .unwrap();
    assert_eq!((waiting.rows.len(), waiting.next), (0, start.next));
    open.commit().await.unwrap();
    let rest = database
        .changes(&org("o"), None, start.next, 10)
        .await
        .unwrap();
    let tasks: Vec<_> = rest.rows.iter().map(|it| it.task.as_str()).collect();
    assert_eq!(tasks, ["slow", "b"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn readers_of_the_feed_miss_nothing() {
    const COMMITS: u64 = 40;
    let fixture = fixture::start(Fsync::Off).await;
    let database = &fixture.database;
    let total = usize::try_from(COMMITS).unwrap() * CALLERS;
    let results = at_once(CALLERS + 3, |number| {
        let database = database.clone();
        let deadline = Instant::now() + PATIENCE;
        async move {
            if number < CALLERS {
                write(&database, number, COMMITS).await;
                return Vec::new();
            }
            let (mut seen, mut since) = (Vec::new(), 0);
            while seen.len() < total && Instant::now() < deadline {
                let most = u32::try_from(number).unwrap();
                let changes = database
                    .changes(&org("o"), None, since, most)
                    .await
                    .unwrap();
                since = changes.next;
                let rows = changes.rows.into_iter();
                seen.extend(rows.map(|it| (it.task, it.commit.first)));
            }
            seen
        }
    });
    for seen in results.await.into_iter().skip(CALLERS) {
        let distinct: BTreeSet<_> = seen.iter().cloned().collect();
        assert_eq!((seen.len(), distinct.len()), (total, total));
        let mut heads = BTreeMap::new();
        for (task, first) in seen {
            let head = heads.insert(task, first.0).unwrap_or(0);
            assert_eq!(first.0, head + 1, "commits of a task come in their order");
        }
    }
}

/// Creates a task and appends to it until its log has so many commits.
async fn write(database: &Database, number: usize, commits: u64) {
    let name = joined(database, &format!("r{number}")).await;
    let mut call = creation(&format!("t{number}"));
    // Only this runner can claim it.
    call.needs.project = orange_fleet::ids::ProjectId::new(format!("p{number}"));
    database.create(&org("o"), &call).await.unwrap();
    let mut register = registration(name.as_str());
    register.seen = Incarnation(1);
    register.capabilities.projects = [call.needs.project].into();
    database
        .register(&org("o"), &name, &register)
        .await
        .unwrap();
    let mut work = request_for_work(1);
    work.incarnation = Incarnation(2);
    let mut claim = database
        .work(&org("o"), &name, &work)
        .await
        .unwrap()
        .claims
        .remove(0);
    while claim.head.version.0 < commits {
        let call = one(&claim, &claim.head.version.to_string(), "open");
        assert!(is_ok(appended(database, &name, &call).await));
        claim.head = call.tasks[0].commits[0].head();
    }
}

/// A runner that beats is not reaped, whatever else happens at that moment.
#[tokio::test(flavor = "multi_thread")]
async fn beats_win_over_reaping() {
    let fixture = fixture::start(Fsync::Off).await;
    let database = &fixture.database;
    database.create(&org("o"), &creation("t")).await.unwrap();
    let name = joined(database, "r").await;
    let claim = claimed(database, &name).await;
    assert!(claim.epoch > Epoch(0) && claim.head != Head::default());
    let beat = orange_fleet::message::Beat {
        home: registration("r").home,
        incarnation: Incarnation(1),
        held: Vec::new(),
        free: 0,
        parked: [].into(),
        activity: Json::null(),
    };
    let answers = at_once(CALLERS, |number| {
        let (database, beat, name) = (database.clone(), beat.clone(), name.clone());
        async move {
            for _ in 0..20 {
                if number % 2 == 0 {
                    database.reap().await.unwrap();
                } else {
                    let answer = database.beat(&org("o"), &name, &beat).await.unwrap();
                    let is_alive =
                        matches!(answer, orange_fleet::message::BeatAnswer::Alive { .. });
                    assert!(is_alive, "{answer:?}");
                }
            }
        }
    });
    answers.await;
    let state = database
        .view(&org("o"), &task("t"))
        .await
        .unwrap()
        .unwrap()
        .state;
    assert!(matches!(state, TaskState::Held { .. }));
}

//! PostgreSQL killed in the middle of appends.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use orange_fleet::chain::{Commit, Head};
use orange_fleet::ids::{Epoch, TaskId};
use orange_fleet::message::{Append, AppendResult, TaskAppend};
use orange_server::database::Database;
use postgres_fixture::Fsync;

use crate::fixture::{
    self, commit, creation, org, registration, request_for_work, runner, summary,
};

const WRITERS: usize = 8;
const ROUNDS: usize = 3;
const PATIENCE: Duration = Duration::from_secs(110);

/// A runner's side of one task: every commit that was acknowledged.
struct Writer {
    task: TaskId,
    epoch: Epoch,
    acknowledged: Vec<Commit>,
}

/// Appends until it is stopped, and repeats calls without an answer.
async fn write(database: &Database, writer: &mut Writer, stop: &AtomicUsize, count: &AtomicUsize) {
    let deadline = Instant::now() + PATIENCE;
    while stop.load(Ordering::SeqCst) == 0 {
        assert!(Instant::now() < deadline, "the writer was not told to stop");
        let head = writer.acknowledged.last().map(Commit::head).unwrap();
        let next = commit(head, &head.version.to_string(), None);
        let call = Append {
            tasks: vec![TaskAppend {
                task: writer.task.clone(),
                epoch: writer.epoch,
                base: head.version,
                commits: vec![next.clone()],
                texts: Vec::new(),
                summary: summary("open"),
            }],
        };
        match database.append(&org("o"), &runner("r"), &call).await {
            Ok(answer) => {
                let version = next.last;
                assert_eq!(answer.tasks[0].result, AppendResult::Ok { version });
                writer.acknowledged.push(next);
                count.fetch_add(1, Ordering::SeqCst);
            }
            Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_acknowledged_outlives_the_server() {
    let mut fixture = fixture::start(Fsync::On).await;
    let database = fixture.database.clone();
    database
        .register(&org("o"), &runner("r"), &registration("r"))
        .await
        .unwrap();
    for number in 0..WRITERS {
        database
            .create(&org("o"), &creation(&format!("t{number}")))
            .await
            .unwrap();
    }
    let free = u32::try_from(WRITERS).unwrap();
    let work = database
        .work(&org("o"), &runner("r"), &request_for_work(free))
        .await
        .unwrap();
    let writers = work.claims.into_iter().map(|it| Writer {
        task: it.task,
        epoch: it.epoch,
        acknowledged: it.commits,
    });
    let mut writers: Vec<_> = writers.collect();
    assert_eq!(writers.len(), WRITERS);
    for round in 1..=ROUNDS {
        let (stop, count) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let running = writers.into_iter().map(|mut writer| {
            let (database, stop, count) = (database.clone(), stop.clone(), count.clone());
            tokio::spawn(async move {
                write(&database, &mut writer, &stop, &count).await;
                writer
            })
        });
        let running: Vec<_> = running.collect();
        let wait_for = |most: usize| {
            let count = count.clone();
            async move {
                let deadline = Instant::now() + PATIENCE;
                while count.load(Ordering::SeqCst) < most {
                    assert!(Instant::now() < deadline, "only {count:?} appends");
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            }
        };
        wait_for(60).await;
        fixture.cluster.kill().unwrap();
        let at_kill = count.load(Ordering::SeqCst);
        fixture.cluster.begin().unwrap();
        // The connections are made anew, and what was not answered is recognised.
        wait_for(at_kill + 40).await;
        stop.store(1, Ordering::SeqCst);
        writers = Vec::new();
        for writer in running {
            writers.push(writer.await.unwrap());
        }
        let client = fixture::client(&fixture.cluster).await;
        for writer in &writers {
            let sql = "select first, sha from orange.log where task = $1 order by first";
            let rows = client.query(sql, &[&writer.task.as_str()]).await.unwrap();
            let rows = rows
                .iter()
                .map(|it| (it.get::<_, i64>(0), it.get::<_, Vec<u8>>(1)));
            let known = writer.acknowledged.iter();
            let known = known.map(|it| {
                (
                    i64::try_from(it.first.0).unwrap(),
                    it.sha.as_bytes().to_vec(),
                )
            });
            assert!(rows.eq(known), "round {round}: {}", writer.task);
            let mut head = Head::default();
            for commit in &writer.acknowledged {
                assert!(commit.follows(head));
                head = commit.head();
            }
        }
    }
    let changes = database
        .changes(&org("o"), None, 0, u32::MAX)
        .await
        .unwrap();
    let total: usize = writers.iter().map(|it| it.acknowledged.len()).sum();
    assert_eq!(changes.rows.len(), total);
}

//! What is recorded about pull requests; an unchanged look writes nothing.

use orange_engine::names::{CommitId, TaskId};
use orange_store::{PullRequestRecord, Store, rebuild};

use crate::sandbox::{RecordedTask, Sandbox, instant, minimal};

fn record(facts: &str, seconds: i64) -> PullRequestRecord {
    PullRequestRecord {
        id: String::from("PR_1"),
        number: 7,
        head: CommitId::new("a".repeat(40)),
        facts: facts.to_owned(),
        as_of: instant(seconds),
    }
}

fn task(store: &mut Store) -> TaskId {
    RecordedTask::begin(store, &minimal()).world.task.id.clone()
}

#[test]
fn only_what_is_new_is_written() {
    let sandbox = Sandbox::new();
    let mut store = sandbox.store();
    let id = task(&mut store);
    assert_eq!(store.pull_request(&id).unwrap(), None);
    let first = record("{}", 1);
    assert!(store.record_pull_request(&id, &first).unwrap());
    let before = store.sequence().unwrap();
    for seconds in 2..100 {
        let again = store.record_pull_request(&id, &record("{}", seconds));
        assert!(!again.unwrap());
    }
    assert_eq!(store.sequence().unwrap(), before, "nothing was written");
    assert_eq!(store.pull_request(&id).unwrap(), Some(first));
    let news = record("{\"checks\":\"failing\"}", 100);
    assert!(store.record_pull_request(&id, &news).unwrap());
    assert_eq!(store.sequence().unwrap(), before + 1);
    assert_eq!(store.pull_requests().unwrap(), [(id.clone(), news)]);
    let moved = PullRequestRecord {
        head: CommitId::new("b".repeat(40)),
        ..record("{\"checks\":\"failing\"}", 101)
    };
    assert!(store.record_pull_request(&id, &moved).unwrap());
}

#[test]
fn a_rebuild_forgets_the_outside_world() {
    let sandbox = Sandbox::new();
    let mut store = sandbox.store();
    let id = task(&mut store);
    store.record_pull_request(&id, &record("{}", 1)).unwrap();
    orange_store::project(&mut store, &id, instant(1)).unwrap();
    drop(store);
    let report = rebuild(&sandbox.home).unwrap();
    assert_eq!(report.tasks.len(), 1);
    assert_eq!(sandbox.store().pull_request(&id).unwrap(), None);
}

//! Records of posts change no task, and a rebuild drops them.

use orange_engine::names::TaskId;
use orange_store::{PostRecord, Store, rebuild};

use crate::sandbox::{RecordedTask, Sandbox, instant, minimal};

fn task(store: &mut Store) -> TaskId {
    RecordedTask::begin(store, &minimal()).world.task.id.clone()
}

fn record() -> PostRecord {
    PostRecord {
        forge_id: Some(u64::from(u32::MAX) + 1),
        digest: Some(String::from("abc")),
        version: Some(7),
        sent_at: Some(instant(1)),
        attempts: 2,
        next_attempt_at: Some(instant(2)),
        refused: Some(String::from("def")),
        problem: Some(String::from("403")),
        is_reported: true,
    }
}

#[test]
fn a_post_is_read_as_it_was_recorded_and_changes_no_task() {
    let sandbox = Sandbox::new();
    let mut store = sandbox.store();
    let id = task(&mut store);
    assert!(store.posts(&id).unwrap().is_empty());
    let sequence = store.sequence().unwrap();
    store.record_post(&id, "comment", &record()).unwrap();
    let other = PostRecord {
        digest: Some(String::from("set")),
        ..PostRecord::default()
    };
    store.record_post(&id, "label/blocked", &other).unwrap();
    let posts = store.posts(&id).unwrap();
    assert_eq!(posts.len(), 2);
    assert_eq!(posts["comment"], record());
    assert_eq!(posts["label/blocked"], other);
    let (_, changed) = store.changed_since(sequence).unwrap();
    assert_eq!(changed, Vec::<TaskId>::new());
    let none = PostRecord::default();
    store.record_post(&id, "label/blocked", &none).unwrap();
    assert_eq!(store.posts(&id).unwrap().len(), 1);
    let stranger = TaskId::new("none");
    assert!(store.record_post(&stranger, "comment", &other).is_err());
}

#[test]
fn a_rebuild_forgets_what_was_posted() {
    let sandbox = Sandbox::new();
    let mut store = sandbox.store();
    let id = task(&mut store);
    store.record_post(&id, "comment", &record()).unwrap();
    orange_store::project(&mut store, &id, instant(1)).unwrap();
    drop(store);
    rebuild(&sandbox.home).unwrap();
    assert!(sandbox.store().posts(&id).unwrap().is_empty());
}

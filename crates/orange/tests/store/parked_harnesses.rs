//! A death parks its harness, and a start checks before it begins.

use orange_engine::evidence::Evidence;
use orange_engine::parking::Reason;
use orange_engine::role::Role;
use orange_engine::time::Timestamp;
use orange_store::{PendingProgress, StartAnswer};

use crate::sandbox::{RecordedTask, Sandbox, minimal};

fn later(at: Timestamp, seconds: i64) -> Timestamp {
    Timestamp::from_millis(at.millis() + seconds * 1000)
}

#[test]
fn a_start_is_before_the_death_or_waits() {
    let sandbox = Sandbox::new();
    let mut store = sandbox.store();
    let workflow = minimal();
    let mut recorded_task = RecordedTask::begin(&mut store, &workflow);
    recorded_task.world.move_to(Role::Human, "working");
    recorded_task.world.settle();
    recorded_task.catch_up(&mut store).unwrap();
    let id = recorded_task.world.task.id.clone();
    let now = store.events(&id, 0).unwrap().last().unwrap().event.at;
    let until = later(now, 3600);
    let quota = Evidence::Quota { until: Some(until) };
    recorded_task.world.ends(&Role::Worker, quota);
    let recorded = recorded_task.catch_up(&mut store).unwrap();
    let parking = recorded.parked.unwrap();
    assert_eq!(
        (parking.reason, parking.until),
        (Reason::Quota, Some(until))
    );
    assert_eq!(store.parkings(now).unwrap(), std::slice::from_ref(&parking));
    assert_eq!(store.parkings(until).unwrap(), [], "it ends automatically");
    // The same plan respawns the agent: the kill is performed, the start waits.
    let pending = store.pending(&id).unwrap();
    let [kill, spawn] = [pending[0].planned.id, pending[1].planned.id];
    assert_eq!(
        store.start_effect(&id, kill, "a", now).unwrap(),
        StartAnswer::Go
    );
    let start = store.start_effect(&id, spawn, "a", now).unwrap();
    assert_eq!(start, StartAnswer::Parked(parking.clone()));
    let mark = &store.pending(&id).unwrap()[1].mark;
    assert_eq!(*mark, PendingProgress::Waiting, "it has not begun");
    assert_eq!(
        store.start_effect(&id, spawn, "a", until).unwrap(),
        StartAnswer::Go
    );
    // The process that began it may have died after it happened; continuing finds that out.
    assert_eq!(
        store.start_effect(&id, spawn, "b", now).unwrap(),
        StartAnswer::Go
    );
    let unparked = store.unpark(&parking.harness, now).unwrap();
    assert_eq!(unparked, Some(parking.clone()));
    assert_eq!(
        store.start_effect(&id, spawn, "a", now).unwrap(),
        StartAnswer::Go
    );
    assert_eq!(store.unpark(&parking.harness, now).unwrap(), None);
}

#[test]
fn unparking_counts_as_a_change() {
    let sandbox = Sandbox::new();
    let mut store = sandbox.store();
    let workflow = minimal();
    let mut recorded_task = RecordedTask::begin(&mut store, &workflow);
    recorded_task.world.move_to(Role::Human, "working");
    recorded_task.world.settle();
    recorded_task.world.ends(&Role::Worker, Evidence::Login);
    let recorded = recorded_task.catch_up(&mut store).unwrap();
    let parking = recorded.parked.unwrap();
    let id = recorded_task.world.task.id.clone();
    let (sequence, _) = store.changed_since(0).unwrap();
    assert!(store.changed_since(sequence).unwrap().1.is_empty());
    store
        .unpark(&parking.harness, parking.since)
        .unwrap()
        .unwrap();
    assert_eq!(store.changed_since(sequence).unwrap().1, [id]);
}

//! What a task among many queued ones waits for.

use orange_engine::names::TaskId;
use orange_engine::schedule::{Limits, ScheduledTask, Wait, schedule};
use orange_engine::time::Timestamp;

use crate::library::{create, work};
use crate::support::Stage;

/// More tasks than are read at first.
const TASKS: usize = 50;

/// How many of them have room.
const ROOM: u32 = 34;

/// Creates tasks in the order of `0..TASKS`, none of which has been started. Every fifth waits for
/// the one before it, so that it takes no room.
fn fill(stage: &Stage) -> Vec<TaskId> {
    let driver = stage.driver();
    let mut tasks: Vec<TaskId> = Vec::new();
    for number in 0..TASKS {
        let mut new = work(&format!("Task number {number}"));
        new.queueing.starts_automatically = true;
        new.queueing.priority = i64::try_from(number * 7 % 5).unwrap();
        if number % 5 == 4 {
            new.queueing.after = [tasks[number - 1].clone()].into();
        }
        tasks.push(create(&driver, &new));
    }
    tasks
}

#[test]
fn the_first_tasks_of_a_long_queue_decide_as_all_of_them_would() {
    let stage = Stage::new("minimal");
    stage.configure("pool_size", &ROOM.into());
    let tasks = fill(&stage);
    let all: Vec<ScheduledTask> = stage.store().standings().unwrap();
    let mut limits = Limits::default();
    let project = all[0].project.clone();
    limits.pools.insert(project, ROOM);
    let expected = schedule(&all, &limits, Timestamp::from_millis(i64::MAX));
    assert!(
        expected.starts.len() > 32,
        "the first look is not enough for all"
    );
    let views = stage.driver().views;
    for task in &tasks {
        let waits = views.show(task).unwrap().waits;
        let expected = expected.waits.get(task).cloned().unwrap_or_default();
        let kinds = |waits: &[Wait]| waits.iter().map(std::mem::discriminant).collect::<Vec<_>>();
        assert_eq!(
            kinds(&waits),
            kinds(&expected),
            "{task}: {waits:?}, not {expected:?}"
        );
    }
}

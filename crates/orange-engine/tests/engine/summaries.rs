//! The summary of a task says what its events say.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use orange_engine::input::{Cause, Observation, RequestKind};
use orange_engine::language::verbs::Verb;
use orange_engine::names::{HarnessName, TaskId};
use orange_engine::role::Role;
use orange_engine::schedule::{Limits, ScheduledTask, schedule};
use orange_engine::summary::{Place, Summary};
use orange_engine::task::Workspace;
use orange_engine::time::Timestamp;
use orange_engine::{FORMAT, replay};
use proptest::prelude::*;

use crate::fixtures::{World, load_clean, plan_of, shipped_workflow};
use crate::laws::WORKFLOWS;
use crate::random_histories::{any_step, cause, config};

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_summary_follows_from_the_events(
        which in 0..WORKFLOWS.len(),
        history in proptest::collection::vec(any_step(), 0..60),
    ) {
        let workflow = &WORKFLOWS[which];
        let mut world = World::begin(workflow);
        world.task.queueing.starts_automatically = true;
        if let orange_engine::event::Fact::TaskCreated(created) = &mut world.events[0].fact {
            created.queueing.starts_automatically = true;
        }
        for happening in &history {
            if let Some(cause) = cause(&mut world, happening) {
                world.step(cause);
            }
            let task = &world.task;
            let summary = Summary::of(workflow, task);
            let replayed = replay(&world.events).unwrap();
            prop_assert_eq!(&Summary::of(workflow, &replayed), &summary);
            let json = serde_json::to_string(&summary).unwrap();
            prop_assert_eq!(&serde_json::from_str::<Summary>(&json).unwrap(), &summary);
            // The format is the newest that an event of the history needs.
            let formats = world.events.iter().map(|event| event.fact.format());
            prop_assert_eq!(Some(summary.format), formats.max());
            prop_assert_eq!(summary.ended, workflow.is_terminal(&task.status));
            prop_assert_eq!(summary.cancelled, workflow.is_cancelled(&task.status));
            // A task that holds nothing is given back, and only such a task.
            let live = task.runs.values().any(|run| !run.state.has_ended());
            let holds = live || task.workspace != Workspace::None || !task.pending.is_empty();
            prop_assert_eq!(summary.place == Place::Held, holds);
            // What a server offers is what the scheduler would start, and when.
            let scheduled = [ScheduledTask::of(workflow, task)];
            let starts = |now| !schedule(&scheduled, &Limits::default(), now).starts.is_empty();
            let end_of_time = Timestamp::from_millis(i64::MAX);
            if !holds {
                prop_assert_eq!(summary.place == Place::Queued, starts(end_of_time));
            }
            if let (Place::Queued, Some(wake_at)) = (summary.place, summary.wake_at) {
                let just_before = Timestamp::from_millis(wake_at.millis() - 1);
                let has_timeout = workflow.state(&task.status).unwrap().timeout.is_some();
                prop_assert!(has_timeout || starts(wake_at) && !starts(just_before));
            }
        }
    }

    #[test]
    fn summaries_sort_like_the_queue(
        tasks in proptest::collection::vec((0..3i64, 0..3i64, any::<bool>()), 1..8),
    ) {
        let workflow = shipped_workflow("autopilot");
        let worlds = tasks.iter().enumerate().map(|(number, (priority, since, returned))| {
            let mut world = World::begin(&workflow);
            world.task.id = TaskId::new(format!("t{number}"));
            world.task.queueing.starts_automatically = true;
            world.task.queueing.priority = *priority;
            world.task.entered.at = Timestamp::from_millis(*since);
            if *returned {
                let mut queues = workflow.states.iter().filter(|state| {
                    let is_queue = state.kind == orange_engine::language::workflow::Kind::Queued;
                    is_queue && workflow.entries.iter().all(|it| it.status != state.name)
                });
                if let Some(queue) = queues.next_back() {
                    world.task.entered.from = Some(world.task.status.clone());
                    world.task.status = queue.name.clone();
                }
            }
            world.task
        });
        let tasks: Vec<_> = worlds.collect();
        let summaries = tasks.iter().map(|task| (task.id.clone(), Summary::of(&workflow, task)));
        let mut summaries: BTreeMap<TaskId, Summary> = summaries.collect();
        let scheduled: Vec<_> = tasks.iter().map(|it| ScheduledTask::of(&workflow, it)).collect();
        let now = Timestamp::from_millis(i64::MAX);
        let starts = schedule(&scheduled, &Limits::default(), now).starts;
        summaries.retain(|_, it| it.place == Place::Queued);
        let mut sorted: Vec<_> = summaries.into_iter().collect();
        sorted.sort_by_key(|(id, it)| (Reverse((it.returns, it.priority)), it.since, id.clone()));
        let sorted: Vec<TaskId> = sorted.into_iter().map(|(id, _)| id).collect();
        prop_assert_eq!(sorted, starts);
    }
}

#[test]
fn a_task_is_held_from_its_start_until_nothing_of_it_is_left() {
    let workflow = shipped_workflow("default");
    let mut world = World::begin(&workflow);
    let place = |world: &World<'_>| Summary::of(&workflow, &world.task).place;
    // Its start has not been requested.
    assert_eq!(place(&world), Place::Idle);
    plan_of(world.verb(Role::Human, Verb::Spawn));
    assert_eq!(place(&world), Place::Held);
    world.settle();
    let summary = Summary::of(&workflow, &world.task);
    assert_eq!(summary.place, Place::Held);
    assert_eq!(
        summary.agents,
        BTreeMap::from([(HarnessName::new("claude"), 1)])
    );
    plan_of(world.verb(Role::Human, Verb::Cancel));
    let summary = Summary::of(&workflow, &world.task);
    assert_eq!((summary.place, summary.ended), (Place::Held, true));
    world.settle();
    let summary = Summary::of(&workflow, &world.task);
    assert_eq!((summary.place, summary.cancelled), (Place::Ended, true));
    assert_eq!(summary.format, 1);
    world.step(Cause::Observation(Observation::Moved));
    assert_eq!(Summary::of(&workflow, &world.task).format, FORMAT);
}

#[test]
fn a_task_wakes_when_its_status_times_out() {
    let source = include_str!("everything.yml");
    let workflow = load_clean(source);
    let with_timeout = workflow.states.iter().find(|it| it.timeout.is_some());
    let state = with_timeout.unwrap();
    let world = World::placed(&workflow, state.name.as_str());
    let after = i64::try_from(state.timeout.as_ref().unwrap().after).unwrap();
    let wake_at = Summary::of(&workflow, &world.task).wake_at.unwrap();
    assert_eq!(
        wake_at.millis() - world.task.entered.at.millis(),
        after * 1000
    );
}

#[test]
fn a_stopped_agent_does_not_hold_its_task() {
    let workflow = shipped_workflow("default");
    let mut world = World::placed(&workflow, "working");
    world.task.workspace = Workspace::None;
    world.ask(Role::Human, RequestKind::Stop { role: None });
    world.settle();
    assert_eq!(Summary::of(&workflow, &world.task).place, Place::Idle);
}

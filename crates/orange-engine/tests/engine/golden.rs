//! Histories that engines of each event format wrote still replay the same.
//!
//! A file has the events of some histories, and after each the task that its engine made of them.
//! When `FORMAT` is raised, `print_a_history` makes the next file; no file is ever changed.

use orange_engine::event::Event;
use orange_engine::{FORMAT, Task, replay};
use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::TestRunner;

use crate::fixtures::World;
use crate::laws::WORKFLOWS;
use crate::random_histories::{Happening, any_step, cause};

const FILES: [&str; FORMAT as usize] = [
    include_str!("golden/format_1.jsonl"),
    include_str!("golden/format_2.jsonl"),
];

#[test]
fn histories_of_every_format_replay_to_the_same_tasks() {
    for (format, text) in (1..).zip(FILES) {
        let mut events: Vec<Event> = Vec::new();
        let mut newest = None;
        let mut tasks = 0;
        for line in text.lines() {
            if line.starts_with("{\"version\"") {
                let event: Event = serde_json::from_str(line).unwrap();
                // Nothing of it was ignored.
                assert_eq!(serde_json::to_string(&event).unwrap(), line);
                newest = newest.max(Some(event.fact.format()));
                events.push(event);
                continue;
            }
            let expected: Task = serde_json::from_str(line).unwrap();
            assert_eq!(replay(&events).unwrap(), expected, "format {format}");
            events.clear();
            tasks += 1;
        }
        assert_eq!((newest, tasks, events.len()), (Some(format), 3, 0));
    }
}

#[test]
#[ignore = "prints histories for the files of a new format"]
fn print_a_history() {
    for format in 1..=FORMAT {
        println!("==== format {format}");
        let mut runner = TestRunner::deterministic();
        for which in [0, 5, 9] {
            let mut world = World::begin(&WORKFLOWS[which]);
            let steps = proptest::collection::vec(any_step(), 300);
            for happening in &steps.new_tree(&mut runner).unwrap().current() {
                let is_known = format >= 2 || !matches!(happening, Happening::Moved);
                if let Some(cause) = cause(&mut world, happening).filter(|_| is_known) {
                    world.step(cause);
                }
            }
            for event in &world.events {
                println!("{}", serde_json::to_string(event).unwrap());
            }
            println!("{}", serde_json::to_string(&world.task).unwrap());
        }
    }
}

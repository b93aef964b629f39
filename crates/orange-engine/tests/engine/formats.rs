//! A change of what events may contain needs a new format.

use orange_engine::event::{Event, Fact};
use orange_engine::format::{EventHeader, FORMAT, NewerFormat, require_readable};
use orange_engine::input::{Cause, Observation};
use orange_engine::task::Task;
use serde_json::Value;

use crate::fixtures::{World, shipped_workflow};

/// Removes what a reader may ignore, so that only the shape is left.
fn without_prose(value: &mut Value) {
    match value {
        Value::Object(entries) => {
            entries.retain(|key, value| key != "description" || !value.is_string());
            entries.values_mut().for_each(without_prose);
        }
        Value::Array(values) => values.iter_mut().for_each(without_prose),
        _ => {}
    }
}

/// What events may contain. If this differs, an older engine cannot read all that this one writes:
/// raise `FORMAT`, and let `Fact::format` return it for exactly the facts that need it.
#[test]
fn what_events_contain_belongs_to_a_format() {
    let mut shape = schemars::schema_for!(Event).to_value();
    without_prose(&mut shape);
    let text = format!(
        "format {FORMAT}\n{}",
        serde_json::to_string_pretty(&shape).unwrap()
    );
    insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!("event_format", text);
    });
}

fn moved() -> Event {
    let workflow = shipped_workflow("default");
    let mut world = World::begin(&workflow);
    world.step(Cause::Observation(Observation::Moved));
    world.events.pop().unwrap()
}

#[test]
fn an_event_says_which_format_it_needs() {
    let moved = moved();
    assert_eq!(moved.fact, Fact::TaskMoved);
    let json = serde_json::to_value(&moved).unwrap();
    assert_eq!(json["format"], 2);
    assert_eq!(json["type"], "task.moved");
    let first = Event {
        fact: Fact::HooksFinished,
        ..moved
    };
    let json = serde_json::to_string(&first).unwrap();
    assert!(!json.contains("format"), "{json}");
    assert_eq!(serde_json::from_str::<Event>(&json).unwrap(), first);
}

#[test]
fn an_event_of_a_newer_format_is_refused_whatever_its_type() {
    let newer = FORMAT + 1;
    assert_eq!(require_readable(newer), Err(NewerFormat { found: newer }));
    for kind in ["hooks.finished", "task.teleported"] {
        let json = format!(
            r#"{{"version":2,"at":"2026-01-01T00:00:00.000Z","format":{newer},"type":"{kind}","unknown":1}}"#
        );
        assert!(serde_json::from_str::<Event>(&json).is_err(), "{kind}");
        let header: EventHeader = serde_json::from_str(&json).unwrap();
        let error = require_readable(header.format).unwrap_err();
        assert_eq!(
            error.to_string(),
            "it needs event format 3, but this version of orange reads formats up to 2"
        );
    }
    // The field is known in this format, so an unknown one beside it is not noticed.
    let known = r#"{"version":2,"at":"2026-01-01T00:00:00.000Z","type":"hooks.finished"}"#;
    assert_eq!(
        serde_json::from_str::<EventHeader>(known).unwrap().format,
        1
    );
}

#[test]
fn a_snapshot_from_before_formats_has_the_first_one() {
    let workflow = shipped_workflow("default");
    let world = World::begin(&workflow);
    let json = serde_json::to_string(&world.task).unwrap();
    assert!(!json.contains("\"format\""));
    let task: Task = serde_json::from_str(&json).unwrap();
    assert_eq!(task.format, 1);
}

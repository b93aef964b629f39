//! A home of the version before schema 10 opens with nothing lost.

use std::collections::BTreeMap;
use std::fs;

use orange_config::{Background, Environment, Settings};
use orange_engine::Task;
use orange_engine::event::Fact;
use orange_engine::names::TaskId;
use orange_store::{Store, TaskFilter, rebuild};
use rusqlite::Connection;
use serde_json::Value;

use crate::sandbox::Sandbox;

/// Every file of that home, and its database as SQL: `==== PATH` before each.
const HOME: &str = include_str!("home_of_schema_9.txt");

/// Values that have another name now; every other value must be found again.
const RENAMED: [(&str, &str); 4] = [
    ("effect.given_up", "effect.failed"),
    ("error.noted", "error.recorded"),
    ("leaving", "releasing"),
    ("task.brought_back", "task.restored"),
];

/// Puts that home into a sandbox; the JSON of its database, by table and key, comes with it.
fn unpack(sandbox: &Sandbox) -> BTreeMap<String, Value> {
    let root = sandbox.home.path().parent().unwrap().display().to_string();
    for part in HOME.split("==== ").skip(1) {
        let (path, text) = part.split_once('\n').unwrap();
        let path = sandbox.home.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text.replace("@ROOT@", &root)).unwrap();
    }
    let database = Connection::open(sandbox.home.database()).unwrap();
    let sql = fs::read_to_string(sandbox.home.path().join("orange.sql")).unwrap();
    database.execute_batch(&sql).unwrap();
    json_of(&database)
}

fn json_of(database: &Connection) -> BTreeMap<String, Value> {
    let sql = "SELECT 'event ' || task || ' ' || version, event FROM events
               UNION ALL SELECT 'task ' || id, snapshot FROM tasks";
    let mut statement = database.prepare(sql).unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get::<_, String>(1)?)));
    let rows = rows.unwrap().map(Result::unwrap);
    rows.map(|(key, json)| (key, serde_json::from_str(&json).unwrap()))
        .collect()
}

/// Every number, text and flag in it, whatever its key is called.
fn leaves(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(entries) => entries.values().for_each(|it| leaves(it, found)),
        Value::Array(values) => values.iter().for_each(|it| leaves(it, found)),
        Value::String(text) => {
            let renamed = RENAMED.iter().find(|(old, _)| old == text);
            found.push(renamed.map_or(text.clone(), |(_, new)| (*new).to_owned()));
        }
        other => found.push(other.to_string()),
    }
}

fn sorted_leaves(value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    leaves(value, &mut found);
    found.sort();
    found
}

fn tasks(store: &Store) -> BTreeMap<TaskId, Task> {
    let listed = store.list(&TaskFilter::default()).unwrap().tasks;
    let ids = listed.into_iter().map(|it| it.task.id);
    ids.map(|id| (id.clone(), store.require(&id).unwrap().task))
        .collect()
}

#[test]
fn a_home_of_the_previous_version_opens_without_loss() {
    let sandbox = Sandbox::new();
    let before = unpack(&sandbox);
    assert!(before.len() > 100, "{}", before.len());
    let store = sandbox.store();
    let ids = before.keys().filter_map(|key| key.strip_prefix("task "));
    let tasks: BTreeMap<TaskId, Task> = ids
        .map(|id| {
            (
                TaskId::new(id),
                store.require(&TaskId::new(id)).unwrap().task,
            )
        })
        .collect();
    let mut seen = 0;
    for (id, task) in &tasks {
        let key = format!("task {id}");
        let now = serde_json::to_value(task).unwrap();
        assert_eq!(sorted_leaves(&now), sorted_leaves(&before[&key]), "{key}");
        for recorded in store.events(id, 0).unwrap() {
            let key = format!("event {id} {}", recorded.event.version);
            let now = serde_json::to_value(&recorded.event).unwrap();
            assert_eq!(sorted_leaves(&now), sorted_leaves(&before[&key]), "{key}");
            seen += 1;
        }
        seen += 1;
    }
    assert_eq!(seen, before.len());
    let facts = tasks.keys().flat_map(|id| store.events(id, 0).unwrap());
    let facts: Vec<Fact> = facts.map(|it| it.event.fact).collect();
    let has = |is: fn(&Fact) -> bool| facts.iter().any(is);
    assert!(has(|it| matches!(it, Fact::TaskRestored { .. })));
    assert!(has(|it| matches!(it, Fact::EffectFailed { .. })));
    assert!(has(|it| matches!(it, Fact::ErrorRecorded { .. })));
    assert!(tasks.values().any(|it| it.queueing.starts_automatically));
    let sent = tasks.keys().flat_map(|id| store.inbox(id).unwrap());
    assert!(sent.into_iter().any(|it| it.delivery.sent_at.is_some()));
    let settings = Settings::load(&sandbox.home, &Environment::default(), None).unwrap();
    assert_eq!(settings.background, Some(Background::Dark));
}

#[test]
fn reading_it_migrates_it_too() {
    let sandbox = Sandbox::new();
    unpack(&sandbox);
    let store = Store::open_read_only(&sandbox.home).unwrap();
    assert!(tasks(&store).len() > 3);
}

#[test]
fn its_files_are_enough_for_a_rebuild() {
    let sandbox = Sandbox::new();
    unpack(&sandbox);
    let migrated = tasks(&sandbox.store());
    for suffix in ["", "-wal", "-shm"] {
        let _ = fs::remove_file(format!("{}{suffix}", sandbox.home.database().display()));
    }
    let report = rebuild(&sandbox.home).unwrap();
    assert_eq!(report.skipped.len(), 0);
    let rebuilt = tasks(&sandbox.store());
    for (id, task) in &migrated {
        assert_eq!(rebuilt.get(id), Some(task), "{id}");
    }
}

/// Workflows could plan writes to an issue before status posts took their place.
#[test]
fn its_planned_writes_to_an_issue_load() {
    for effect in [
        r#"{"do":"comment_issue","message":"Done in attempt 1."}"#,
        r#"{"do":"label_issue","label":"blocked"}"#,
        r#"{"do":"close_issue"}"#,
    ] {
        let sandbox = Sandbox::new();
        unpack(&sandbox);
        let database = Connection::open(sandbox.home.database()).unwrap();
        let planned = r#""effect":{"do":"acquire_workspace","restore":true}"#;
        let changed = database.execute(
            "UPDATE events SET event = replace(event, ?1, ?2)
             WHERE rowid = (SELECT rowid FROM events WHERE instr(event, ?1) LIMIT 1)",
            [planned, &format!(r#""effect":{effect}"#)],
        );
        assert_eq!(changed.unwrap(), 1);
        drop(database);
        let store = sandbox.store();
        let events = tasks(&store).into_keys();
        let events = events.flat_map(|id| store.events(&id, 0).unwrap());
        let writes = events.filter(|it| match &it.event.fact {
            Fact::EffectPlanned(planned) => planned.effect.label() == "write_issue",
            _ => false,
        });
        assert_eq!(writes.count(), 1, "{effect}");
    }
}

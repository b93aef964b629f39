//! What commands answer after kills, full disks and damaged databases.

use std::fs;
use std::os::unix::fs::FileExt as _;

use orange_driver::{TaskRequest, WaitPolicy};
use orange_engine::input::{Request, RequestKind};
use orange_engine::language::verbs::Verb;
use orange_engine::names::TaskId;
use orange_engine::role::Role;
use serde_json::{Value, json};

use crate::support::{Stage, wait_for};

/// A recorded start whose process was killed, along with everything it would have started.
fn start_and_kill(stage: &Stage, branch: &str) -> TaskId {
    let id = stage.create(&[branch, "Add a line"]);
    let request = TaskRequest {
        task: id.clone(),
        request: Request::new(Role::Human, RequestKind::Verb(Verb::Spawn)),
        waiting: WaitPolicy::Skip,
    };
    stage.driver().requests.ask(&request).unwrap();
    assert!(!stage.task(&id).pending.is_empty());
    id
}

fn wait_until_unperformed(stage: &Stage, id: &TaskId) {
    wait_for("the effects to count as left behind", || {
        let (_, shown) = stage.json(&["task", "show", id.as_str(), "--json"]);
        shown["unperformed"] == true
    });
}

#[test]
fn unperformed_effects_name_the_command_that_performs_them() {
    let stage = Stage::new("default");
    let id = start_and_kill(&stage, "feat");
    let retry = format!("orange task retry {id}");
    // The process that planned it could be about to start a performer.
    let (_, shown) = stage.json(&["task", "show", id.as_str(), "--json"]);
    assert_eq!(shown["unperformed"], false, "{shown}");
    wait_until_unperformed(&stage, &id);
    for command in ["show", "why"] {
        let output = stage.run_ok(&["task", command, id.as_str()]);
        assert!(output.contains("no process is performing this"), "{output}");
        assert!(output.contains(&format!("run: {retry}")), "{output}");
        assert!(!output.contains("in progress"), "{output}");
    }
    for command in [&["task", "list"][..], &["attention"]] {
        let output = stage.run_ok(command);
        assert!(
            output.contains(&format!(
                "no process is performing its effects; run `{retry}`"
            )),
            "{output}"
        );
    }
    // Reading has changed nothing.
    assert_eq!(stage.panes(), [] as [&str; 0]);
    stage.run_ok(&["task", "retry", id.as_str()]);
    stage.wait_until_idle(&id);
    assert_eq!(stage.panes(), ["worker:0"]);
    assert_eq!(stage.task(&id).status.as_str(), "planning");
    let (_, shown) = stage.json(&["task", "show", id.as_str(), "--json"]);
    assert_eq!(shown["unperformed"], false, "{shown}");
    let (_, attention) = stage.json(&["attention", "--json"]);
    assert_eq!(attention["items"], Value::Array(Vec::new()), "{attention}");
}

#[test]
fn creating_a_task_again_starts_the_performer_that_was_killed() {
    let stage = Stage::new("default");
    let id = start_and_kill(&stage, "feat");
    let (code, output) = stage.call(&["task", "create", "feat", "Add a line"]);
    assert_eq!(code, 3, "{output}");
    assert!(output.contains(id.as_str()), "{output}");
    stage.wait_until_idle(&id);
    assert_eq!(stage.panes(), ["worker:0"]);
}

#[test]
fn a_cancelled_task_with_an_interrupted_release_is_listed() {
    let stage = Stage::new("default");
    let id = stage.create(&["feat", "Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    stage.wait_for_turn("worker-1");
    let request = TaskRequest {
        task: id.clone(),
        request: Request {
            by: Role::Human,
            kind: RequestKind::Verb(Verb::Cancel),
            is_confirmed: true,
            message: None,
            head: None,
            if_version: None,
        },
        waiting: WaitPolicy::Skip,
    };
    stage.driver().requests.ask(&request).unwrap();
    wait_until_unperformed(&stage, &id);
    for command in [&["task", "list"][..], &["attention"]] {
        let output = stage.run_ok(command);
        assert!(
            output.contains("no process is performing its effects"),
            "{output}"
        );
    }
    stage.run_ok(&["task", "retry", id.as_str()]);
    stage.wait_until_idle(&id);
    assert!(!stage.run_ok(&["task", "list"]).contains(id.as_str()));
}

#[test]
fn a_recorded_decision_is_answered_when_its_files_cannot_be_written() {
    let stage = Stage::new("minimal");
    let id = stage.create(&["feat", "Add a line"]);
    // No process can append to a directory, whatever its permissions.
    let history = stage.home().tasks().join(format!("app/{id}/history.jsonl"));
    let aside = history.with_extension("aside");
    fs::rename(&history, &aside).unwrap();
    fs::create_dir(&history).unwrap();

    let (code, answer) = stage.json(&["task", "cancel", id.as_str(), "--json"]);
    assert_eq!(code, 0, "{answer}");
    assert_eq!(answer["outcome"], "succeeded", "{answer}");
    assert_eq!(answer["task"]["id"], id.as_str());
    assert_eq!(answer["task"]["status"], "cancelled");
    let failed = answer["files_error"].as_str().unwrap();
    assert!(failed.contains("history.jsonl"), "{failed}");

    // The user sees it too, with what to do; once that is fixed, the files catch up.
    let other = stage.create(&["other", "Add a line"]);
    let path = stage
        .home()
        .tasks()
        .join(format!("app/{other}/history.jsonl"));
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    let output = stage.run_ok(&["task", "update", other.as_str(), "--summary", "Two"]);
    assert!(output.contains("warning: the files of task"), "{output}");
    assert!(output.contains("the change itself is recorded"), "{output}");
    fs::remove_dir(&path).unwrap();
    let output = stage.run_ok(&["task", "update", other.as_str(), "--summary", "Three"]);
    assert!(!output.contains("warning"), "{output}");
    let lines = fs::read_to_string(&path).unwrap().lines().count();
    assert_eq!(lines as u64, stage.task(&other).version);
}

#[test]
fn a_created_task_is_named_when_its_files_cannot_be_written() {
    let stage = Stage::new("minimal");
    stage.create(&["first", "Add a line"]);
    let tasks = stage.home().tasks();
    fs::rename(tasks.join("app"), stage.path("aside")).unwrap();
    fs::write(tasks.join("app"), "no directory").unwrap();
    let create = ["task", "create", "--no-spawn", "--json", "feat", "Add"];
    let (code, answer) = stage.json(&create);
    assert_eq!(code, 0, "{answer}");
    let id = TaskId::new(answer["task"]["id"].as_str().unwrap());
    assert!(answer["files_error"].is_string(), "{answer}");
    assert_eq!(stage.task(&id).branch.as_str(), "feat");

    fs::remove_file(tasks.join("app")).unwrap();
    fs::rename(stage.path("aside"), tasks.join("app")).unwrap();
    stage.run_ok(&["task", "update", id.as_str(), "--summary", "Two"]);
    assert!(stage.task_text(&id).contains("summary: Two"));
}

#[test]
fn a_damaged_database_is_answered_with_the_command_that_restores_it() {
    let stage = Stage::new("minimal");
    let id = stage.create(&["feat", "Add a line"]);
    let before = stage.task(&id);
    let database = stage.home().database();
    // Merge the WAL into one file, so that it does not hide the damage.
    let connection = rusqlite::Connection::open(&database).unwrap();
    connection
        .execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")
        .unwrap();
    drop(connection);
    let file = fs::OpenOptions::new().write(true).open(&database).unwrap();
    let length = file.metadata().unwrap().len();
    let garbage = vec![0xAA; usize::try_from(length - 4096).unwrap()];
    file.write_all_at(&garbage, 4096).unwrap();
    drop(file);

    let (code, output) = stage.call(&["task", "show", id.as_str()]);
    assert_eq!(code, 3, "{output}");
    assert!(output.contains("orange rebuild --move-aside"), "{output}");
    stage.run_ok(&["rebuild", "--move-aside"]);
    assert_eq!(stage.task(&id), before);

    // A file that is not a database at all any more.
    fs::write(&database, vec![0xAA; 32 * 1024]).unwrap();
    let (code, output) = stage.call(&["task", "list"]);
    assert_eq!(code, 3, "{output}");
    assert!(output.contains("orange rebuild --move-aside"), "{output}");
    stage.run_ok(&["rebuild", "--move-aside"]);
    assert_eq!(stage.task(&id), before);
}

#[test]
fn a_database_that_lost_its_last_commit_refuses_new_ones() {
    let stage = Stage::new("minimal");
    let id = stage.create(&["feat", "Add a line"]);
    let database = stage.home().database();
    let connection = rusqlite::Connection::open(&database).unwrap();
    connection
        .execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")
        .unwrap();
    drop(connection);
    let copy = fs::read(&database).unwrap();
    stage.run_ok(&["task", "update", id.as_str(), "--summary", "new1"]);
    let after = stage.task(&id);
    stage.lose_database();
    fs::write(&database, copy).unwrap();

    let update = ["task", "update", id.as_str(), "--summary", "new2"];
    let (code, output) = stage.call(&update);
    assert_eq!(code, 3, "{output}");
    assert!(output.contains("has lost its last records"), "{output}");
    assert!(output.contains("orange rebuild --move-aside"), "{output}");
    // An older orange may have recorded another event already.
    let store = stage.store();
    assert!(store.require(&id).unwrap().task.version < after.version);
    drop(store);
    let (code, _) = stage.call(&["task", "cancel", id.as_str()]);
    assert_eq!(code, 3);
    stage.run_ok(&["rebuild", "--move-aside"]);
    assert_eq!(stage.task(&id), after);
    stage.run_ok(&update);
}

#[test]
fn a_retry_of_a_cancelled_task_waits_for_what_is_still_being_done() {
    let stage = Stage::new("minimal");
    let go = stage.path("go");
    let script = format!("until [ -e {} ]; do sleep 0.1; done", go.display());
    stage.configure("teardown", &json!(["sh", "-c", script]));
    stage.script("worker-1", "hang");
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    let cancel = ["task", "cancel", id.as_str(), "--yes", "--wait", "0"];
    let (code, output) = stage.call(&cancel);
    assert_eq!(code, 5, "{output}");
    let (code, output) = stage.call(&["task", "retry", id.as_str(), "--wait", "0"]);
    assert_eq!(code, 5, "{output}");
    fs::write(&go, "").unwrap();
    stage.wait_until_idle(&id);
    assert_eq!(stage.task(&id).status.as_str(), "cancelled");
}

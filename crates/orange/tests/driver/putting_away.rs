//! Deleting, bringing back, trying again, other workflows.

use std::fs;

use crate::stage::{Stage, wait_for};
use serde_json::json;

#[test]
fn only_what_has_ended_is_deleted_and_all_of_it_is_kept() {
    let stage = Stage::new("default");
    stage.script("worker-1", "echo mine > unsaved.txt; ask task show");
    let id = stage.create(&["fix", "Mend it"]);
    let delete = ["task", "delete", "fix", "--yes"];
    let mut said = stage.transcript(&delete);
    stage.must(&["task", "spawn", "fix", "--wait", "60"]);
    stage.wait_for_turn("worker-1");
    said.push_str(&stage.transcript(&delete));
    let (_, cancelled) = stage.call(&["task", "cancel", "fix", "--wait", "60"]);
    let cancelled = cancelled.replace("\n      ", " ");
    assert!(
        cancelled.contains(&format!(
            "kept as rescue 1, 1 file; `orange task restore {id} 1 --branch NAME` brings it back"
        )),
        "{cancelled}"
    );
    stage.wait_for_rest(&id);
    // Nobody is there to be asked.
    said.push_str(&stage.transcript(&["task", "delete", "fix"]));
    let directory = stage.home().tasks().join("app").join(id.as_str());
    assert!(directory.exists());
    let before = fs::read(directory.join("TASK.md")).unwrap();
    let name = id.to_string();
    let deleted = stage.transcript(&delete).replace(&name, "[first]");
    said.push_str(&deleted);
    assert!(!directory.exists());
    let trash = stage.home().path().join("trash/app").join(&name);
    assert!(trash.join("history.jsonl").exists());

    let (_, listed) = stage.json(&["task", "list", "--json"]);
    assert_eq!(listed["tasks"].as_array().unwrap().len(), 0);
    let (code, _) = stage.call(&["task", "show", "fix"]);
    assert_eq!(code, 4, "a name finds only what is listed");
    stage.must(&["task", "show", &name]);
    said.push_str(
        &stage
            .transcript(&["task", "delete", &name, "--yes"])
            .replace(&name, "[first]"),
    );
    let change = ["task", "update", &name, "--summary", "x"];
    said.push_str(&stage.transcript(&change).replace(&name, "[first]"));
    let (code, answer) = stage.json(&[&change[..], &["--json"]].concat());
    assert_eq!(
        (code, &answer["error"]["code"]),
        (3, &"task-deleted".into())
    );
    assert!(!directory.exists(), "nothing is made anew");
    let rescues = stage.must(&["task", "restore", &name]);
    assert!(rescues.contains("1 file"), "{rescues}");

    said.push_str(&stage.transcript(&["task", "delete", &name, "--undo"]));
    said.push_str(&stage.transcript(&["task", "delete", &name, "--undo"]));
    insta::assert_snapshot!(said);
    let after = String::from_utf8(fs::read(directory.join("TASK.md")).unwrap()).unwrap();
    let body = |text: &str| text.rsplit_once("---\n").map(|(_, body)| body.to_owned());
    assert_eq!(body(&after), body(&String::from_utf8(before).unwrap()));
    assert!(!trash.exists());
    stage.rebuild(&id);
    // Deleted again and rebuilt, it stays out of sight and on the disk.
    stage.must(&["task", "delete", &name, "--yes"]);
    assert!(trash.exists());
    let (code, answer) = stage.json(&["rebuild", "--move-aside", "--json"]);
    assert_eq!(
        (code, answer["tasks"].as_array().unwrap().len()),
        (0, 0),
        "{answer}"
    );
    assert!(trash.join("TASK.md").exists());
}

#[test]
fn a_deletion_that_was_killed_half_way_is_finished_by_the_next() {
    let stage = Stage::new("default");
    let id = stage.create(&["fix", "Mend it"]);
    stage.must(&["task", "cancel", "fix", "--wait", "60"]);
    stage.must(&["task", "delete", "fix", "--yes"]);
    let directory = stage.home().tasks().join("app").join(id.as_str());
    let trash = stage.home().path().join("trash/app").join(id.as_str());
    // As if it had died between recording and moving.
    fs::rename(&trash, &directory).unwrap();
    stage.must(&["task", "delete", id.as_str(), "--yes"]);
    assert!(trash.exists() && !directory.exists());
    // As if bringing it back had died between moving and recording.
    fs::rename(&trash, &directory).unwrap();
    stage.must(&["task", "delete", id.as_str(), "--undo"]);
    assert!(directory.exists());
    // Something else of that name in the trash is not overwritten.
    fs::create_dir_all(&trash).unwrap();
    fs::write(trash.join("mine"), "mine").unwrap();
    stage.must(&["task", "delete", "fix", "--yes"]);
    assert!(trash.join("mine").exists());
    assert!(
        trash
            .with_file_name(format!("{id}-2"))
            .join("history.jsonl")
            .exists()
    );
}

#[test]
fn retry_takes_the_verb_where_nothing_failed() {
    let stage = Stage::new("default");
    stage.script(
        "worker-1",
        "printf 'APPROACH: a\\n' | section Plan
ask task update --status working
ask task stuck -m help",
    );
    let id = stage.create(&["fix", "Mend it"]);
    insta::assert_snapshot!(stage.transcript(&["task", "retry", "fix"]));
    stage.must(&["task", "spawn", "fix", "--wait", "60"]);
    stage.wait_for_status(&id, "stuck");
    stage.wait_for_rest(&id);
    stage.must(&[
        "task",
        "retry",
        "fix",
        "-m",
        "Use the other key",
        "--wait",
        "60",
    ]);
    assert_eq!(stage.task(&id).status.as_str(), "working");
    let history = stage.must(&["task", "history", "fix"]);
    assert!(history.contains("saying: Use the other key"), "{history}");
}

#[test]
fn retry_repeats_what_failed_and_leaves_the_status_alone() {
    let stage = Stage::new("default");
    // Beginning in review needs a workspace at once, and nothing brings it back into a queue.
    stage.configure("setup", &json!(["sh", "-c", "exit 7"]));
    let begin = [
        "task",
        "create",
        "fix",
        "Look at it",
        "--status",
        "reviewing",
        "--wait",
        "60",
    ];
    let (code, said) = stage.call(&begin);
    assert_eq!(code, 6, "{said}");
    let id = stage.driver().callers.meant(Some("fix")).unwrap();
    stage.configure("setup", &json!([]));
    assert!(
        stage
            .store()
            .workspace_of(&id)
            .unwrap()
            .is_none_or(|it| { !matches!(it.state, orange_store::WorkspaceState::Bound(_)) })
    );
    stage.must(&["task", "retry", "fix", "--wait", "60"]);
    wait_for("the workspace", || {
        stage.store().workspace_of(&id).unwrap().is_some()
    });
    assert_eq!(stage.task(&id).status.as_str(), "reviewing");
    let (code, said) = stage.call(&["task", "retry", "fix"]);
    assert_eq!(code, 3, "{said}");
    assert!(said.contains("leads nowhere"), "{said}");
}

#[test]
fn unblock_lets_one_or_all_go_on() {
    let stage = Stage::new("default");
    let blocking = "\
name: blocking
version: 1
states:
  blocked: { kind: human }
  open: { kind: queued }
  shut: { kind: terminal }
entry:
  blocked: {}
transitions:
  - { from: blocked, to: open, by: human }
  - { from: open, to: shut, by: human }
verbs:
  unblock: open
  cancel: shut
";
    fs::create_dir_all(stage.home().workflows()).unwrap();
    fs::write(stage.home().workflows().join("blocking.yml"), blocking).unwrap();
    let none = stage.transcript(&["task", "unblock", "--all"]);
    assert!(none.contains("[exit 4]"), "{none}");
    let other = stage.create(&["other", "Not blocked"]);
    let mut said = stage.transcript(&["task", "unblock", "--all"]);
    for branch in ["one", "two", "three"] {
        stage.create(&[branch, "Blocked", "--workflow", "blocking"]);
    }
    said.push_str(&stage.transcript(&["task", "unblock", "one"]));
    said.push_str(&stage.transcript(&["task", "unblock", "other"]));
    insta::assert_snapshot!(said);
    let (code, answer) = stage.json(&["task", "unblock", "--all", "--json"]);
    assert_eq!(code, 0, "{answer}");
    let tasks = answer["tasks"].as_array().unwrap();
    assert_eq!(tasks.len(), 2, "{answer}");
    assert!(tasks.iter().all(|it| it["status"] == "open"), "{answer}");
    assert_eq!(stage.task(&other).status.as_str(), "pending");
}

#[test]
fn another_workflow_is_taken_only_where_the_status_means_the_same() {
    let stage = Stage::new("default");
    let id = stage.create(&["fix", "Mend it"]);
    let folder = stage.home().workflows();
    fs::create_dir_all(&folder).unwrap();
    let default = fs::read_to_string("../../workflows/default.yml").unwrap();
    let own = |name: &str, text: &str| {
        let text = text.replace("name: default", &format!("name: {name}"));
        fs::write(folder.join(format!("{name}.yml")), text).unwrap();
    };
    own(
        "mine",
        &default.replace("max_review_rounds: 2 ", "max_review_rounds: 1 "),
    );
    let odd = "name: odd\nversion: 1\nstates:\n  pending: { kind: human }\n  shut: { kind: terminal }\n\
               transitions:\n  - { from: pending, to: shut, by: human }\n";
    own("odd", odd);
    // A loop that never ends is found by the check.
    let unsafe_text = "name: unsafe\nversion: 1\nstates:\n  pending: { kind: queued }\n  \
                       shut: { kind: terminal }\n  lost: { kind: human }\ntransitions:\n  \
                       - { from: pending, to: shut, by: human }\n  - { from: pending, to: lost, by: human }\n";
    own("unsafe", unsafe_text);
    let update = |name: &str| stage.transcript(&["task", "update", "fix", "--workflow", name]);
    let mut said = update("nothing");
    said.push_str(&update("autopilot"));
    said.push_str(&update("odd"));
    said.push_str(&update("unsafe"));
    assert_eq!(stage.task(&id).workflow.as_str(), "default");
    said.push_str(&update("mine"));
    said.push_str(&update("mine"));
    insta::assert_snapshot!(said);
    let (code, answer) = stage.json(&["task", "update", "fix", "--workflow", "unsafe", "--json"]);
    assert_eq!(
        (code, &answer["error"]["code"]),
        (3, &"workflow-unsafe".into())
    );
    let stored = stage.store().require(&id).unwrap();
    assert_eq!(stored.task.workflow.as_str(), "mine");
    assert!(stored.workflow_text.contains("max_review_rounds: 1"));
    assert!(stage.task_text(&id).contains("workflow: mine"));
    stage.rebuild(&id);
    let stored = stage.store().require(&id).unwrap();
    assert!(
        stored.workflow_text.contains("max_review_rounds: 1"),
        "also after a rebuild"
    );
    // It goes on by it.
    stage.must(&["task", "spawn", "fix", "--wait", "60"]);
    assert_eq!(stage.task(&id).status.as_str(), "planning");
    let said = stage.must(&["task", "update", "fix", "--branch", "other"]);
    assert!(said.contains("on branch `other`"), "{said}");
}

#[test]
fn who_performs_for_a_deleted_task_makes_no_directory() {
    let stage = Stage::new("default");
    let id = stage.create(&["Add a line"]);
    stage.must(&["task", "cancel", id.as_str(), "--wait", "60"]);
    stage.wait_for_rest(&id);
    let directory = stage.home().tasks().join("app").join(id.as_str());
    assert!(directory.exists());
    stage.must(&["task", "delete", id.as_str(), "--yes"]);
    assert!(!directory.exists());
    stage.must(&["perform", id.as_str()]);
    assert!(!directory.exists(), "a performer has made it anew");
}

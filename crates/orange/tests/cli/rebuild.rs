//! `orange rebuild`: what it restores and keeps, how tasks continue.

use std::fs;

use crate::support::{FIX, PASS, PLAN_AND_WORK, Stage, log, wait_for};

#[test]
fn an_existing_database_blocks_a_rebuild_and_is_kept_by_force() {
    let stage = Stage::new("default");
    let id = stage.create(&["Add a line"]);
    let before = stage.task(&id);
    let (code, answer) = stage.json(&["rebuild", "--json"]);
    assert_eq!(
        (code, &answer["error"]["code"]),
        (3, &"database-exists".into())
    );
    assert!(
        answer["error"]["hints"][0]
            .as_str()
            .unwrap()
            .contains("--move-aside")
    );
    for number in 1..=2 {
        let (code, answer) = stage.json(&["rebuild", "--move-aside", "--json"]);
        assert_eq!(code, 0, "{answer}");
        let old = answer["old_database"].as_str().unwrap();
        assert!(
            old.ends_with(&format!("orange.db.before-rebuild-{number}")),
            "{old}"
        );
        let kept = rusqlite::Connection::open(old).unwrap();
        let kept: String = kept
            .query_row("SELECT id FROM tasks", [], |row| row.get(0))
            .unwrap();
        assert_eq!(kept, id.as_str());
        assert_eq!(stage.task(&id), before);
    }
    // A file that is not a database is kept as well.
    stage.lose_database();
    fs::write(stage.home().database(), "not a database").unwrap();
    let (code, output) = stage.call(&["task", "list"]);
    assert_eq!(code, 3, "{output}");
    let output = stage.run_ok(&["rebuild", "--move-aside"]);
    assert!(output.contains("before-rebuild-3"), "{output}");
    assert!(output.contains("last written are lost"), "{output}");
    let kept = fs::read_to_string(stage.path("home/orange.db.before-rebuild-3")).unwrap();
    assert_eq!(kept, "not a database");
    assert_eq!(stage.task(&id), before);
}

#[test]
fn an_unreadable_directory_is_reported_and_left_alone() {
    let stage = Stage::new("default");
    let (one, two) = (stage.create(&["Task one"]), stage.create(&["Task two"]));
    let history = stage
        .path("home/tasks/app")
        .join(one.as_str())
        .join("history.jsonl");
    fs::write(&history, "{}\n").unwrap();
    stage.lose_database();
    let (code, answer) = stage.json(&["rebuild", "--json"]);
    assert_eq!(code, 3, "{answer}");
    assert_eq!(answer["tasks"][0]["task"], two.as_str());
    assert!(
        answer["skipped"][0]["path"]
            .as_str()
            .unwrap()
            .contains(one.as_str())
    );
    assert_eq!(fs::read_to_string(&history).unwrap(), "{}\n");
    stage.run_ok(&["task", "show", two.as_str()]);
    let (code, _) = stage.call(&["task", "show", one.as_str()]);
    assert_eq!(code, 4);
}

#[test]
fn a_deleted_task_can_be_restored_after_a_rebuild() {
    let stage = Stage::new("default");
    let (one, two) = (stage.create(&["Task one"]), stage.create(&["Task two"]));
    for id in [&one, &two] {
        stage.run_ok(&["task", "cancel", id.as_str(), "--wait", "60"]);
        stage.run_ok(&["task", "delete", id.as_str(), "--yes"]);
    }
    // A directory of the same name is in the way of the second deletion.
    stage.run_ok(&["task", "delete", one.as_str(), "--undo"]);
    let trash = stage.path("home/trash/app");
    fs::create_dir_all(trash.join(one.as_str())).unwrap();
    stage.run_ok(&["task", "delete", one.as_str(), "--yes"]);
    assert!(trash.join(format!("{one}-2")).is_dir());
    stage.lose_database();
    stage.run_ok(&["rebuild"]);
    let (_, deleted) = stage.json(&["ls", "--deleted", "--json"]);
    assert_eq!(deleted["tasks"].as_array().unwrap().len(), 2, "{deleted}");
    let (_, listed) = stage.json(&["ls", "--json"]);
    assert_eq!(listed["tasks"].as_array().unwrap().len(), 0, "{listed}");
    for id in [&one, &two] {
        stage.run_ok(&["task", "delete", id.as_str(), "--undo"]);
        stage.run_ok(&["task", "show", id.as_str()]);
        assert!(stage.path("home/tasks/app").join(id.as_str()).is_dir());
    }
}

#[test]
fn live_agents_continue_after_a_rebuild() {
    let stage = Stage::new("default");
    stage.script("worker-1", PLAN_AND_WORK);
    stage.script("worker-2", FIX);
    stage.script(
        "reviewer-1",
        &format!("touch $SCRIPTS/reviews\npause go\n{PASS}"),
    );
    stage.script("reviewer-2", PASS);
    let other = stage.create(&["Task another"]);
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    stage.wait_for_status(&id, "agent-review");
    stage.wait_until_idle(&id);
    wait_for("the reviewer", || stage.path("scripts/reviews").exists());
    stage.rebuild(&id);
    // The reviewer that was running is still the reviewer, with the same secret.
    stage.script("go", "");
    stage.wait_for_status(&id, "reviewing");
    stage.wait_until_idle(&id);
    assert_eq!(stage.panes(), ["worker:0"], "{}", stage.diagnostics(&id));
    stage.rebuild(&id);
    // The worker that was running gets the message.
    stage.run_ok(&["task", "request-changes", id.as_str(), "-m", "two lines"]);
    wait_for("the second commit", || log(&stage, &id) == ["one", "two"]);
    stage.wait_for_status(&id, "reviewing");
    stage.wait_until_idle(&id);
    assert!(stage.calls().contains("two lines"), "{}", stage.calls());
    stage.rebuild(&id);
    stage.run_ok(&["task", "cancel", id.as_str()]);
    stage.wait_until_idle(&id);
    assert_eq!(stage.panes(), [] as [&str; 0]);
    // The released worktree is not in the new database; another task still gets one.
    stage.rebuild(&id);
    stage.script("worker-3", "commit other");
    stage.run_ok(&["task", "spawn", other.as_str()]);
    stage.wait_for_turn("worker-3");
    assert_eq!(log(&stage, &other), ["other"]);
    assert_eq!(log(&stage, &id), ["one", "two"]);
}

#[test]
fn a_workspace_that_is_not_clean_does_not_return_to_the_pool() {
    let stage = Stage::new("default");
    stage.run_ok(&["workspace", "init", "2"]);
    let worktree = stage.home().workspaces().join("app--1");
    fs::write(worktree.join("mine"), "mine").unwrap();
    stage.lose_database();
    let (code, answer) = stage.json(&["rebuild", "--json"]);
    assert_eq!(code, 0, "{answer}");
    assert_eq!(answer["workspaces"], serde_json::json!(["app--2"]));
    let (_, listed) = stage.json(&["workspace", "list", "--json"]);
    let states = listed["workspaces"].as_array().unwrap().iter();
    let states: Vec<&str> = states.filter_map(|it| it["state"].as_str()).collect();
    assert_eq!(states, ["retired", "free"]);
    assert!(worktree.join("mine").exists());
    fs::remove_file(worktree.join("mine")).unwrap();
    let (_, answer) = stage.json(&["workspace", "gc", "--json"]);
    assert_eq!(answer["freed_workspaces"], serde_json::json!(["app--1"]));
}

//! `orange task compare`: several tasks for the same work.

use std::fs;

use serde_json::json;

use crate::support::{ReportingAgent, Stage};

#[test]
fn tasks_are_compared_side_by_side() {
    let stage = Stage::new("default");
    stage.declare_usage();
    let agent = ReportingAgent::with_stage(stage);
    let stage = &agent.stage;
    let line = r#"{"at":"NOW","in":1000,"cached":0,"out":200,"cost":0.25}"#;
    let path = agent.write_transcript("one.jsonl", &[line]);
    agent.tell(&["idle", "--transcript", &path]);
    let worktree = stage.worktree(&agent.id);
    fs::write(worktree.join("one.txt"), "one\ntwo\n").unwrap();
    fs::write(worktree.join("two.txt"), "one\n").unwrap();
    for call in [
        "add one.txt two.txt",
        "commit -qm two",
        "mv two.txt three.txt",
    ] {
        assert!(stage.git_in(&worktree, call).status.success(), "git {call}");
    }
    // New files count too, unless git ignores them.
    fs::write(worktree.join("new.txt"), "one\ntwo").unwrap();
    fs::write(worktree.join("new.bin"), b"\0\n\n").unwrap();
    std::os::unix::fs::symlink("new.txt", worktree.join("link")).unwrap();
    fs::write(stage.path("repo/.git/info/exclude"), "/TASK.md\n*.log\n").unwrap();
    fs::write(worktree.join("some.log"), "one\n").unwrap();
    let never = stage.create(&["never", "The same task"]);
    let compare = [
        "task",
        "compare",
        agent.id.as_str(),
        "never",
        never.as_str(),
        "--json",
    ];
    let (code, compared) = stage.json(&compare);
    assert_eq!(code, 0, "{compared}");
    let tasks = compared["tasks"].as_array().unwrap();
    assert_eq!(tasks.len(), 2, "a task named twice is compared once");
    let changes = json!({ "commits": 1, "files": 5, "added": 6, "removed": 0 });
    assert_eq!(tasks[0]["changes"], changes, "{compared}");
    assert_eq!(tasks[0]["usage"]["cost_usd"], "0.25");
    assert_eq!(tasks[0]["harness"], "script");
    assert!(
        tasks[1]["changes"].is_null(),
        "it has no branch yet: {compared}"
    );
    assert_eq!(tasks[1]["usage"]["runs"], 0);
    let text = stage.run_ok(&["task", "compare", agent.id.as_str(), "never"]);
    let row = text
        .lines()
        .find(|it| it.starts_with(agent.id.as_str()))
        .unwrap();
    assert!(row.contains("1.2k  $0.25"), "{text}");
}

#[test]
fn a_merged_task_keeps_its_size() {
    let stage = Stage::new("minimal");
    stage.script(
        "worker-1",
        "commit one; echo 'DONE: it' | section Handoff; ask task update --status reviewing",
    );
    let id = stage.create(&["fix", "Fix it"]);
    stage.run_ok(&["task", "spawn", "fix", "--wait", "60"]);
    stage.wait_for_status(&id, "reviewing");
    let changes = || {
        let (_, compared) = stage.json(&["task", "compare", id.as_str(), "--json"]);
        compared["tasks"][0]["changes"].clone()
    };
    let before = changes();
    assert_eq!(before["commits"], 1, "{before}");
    stage.run_ok(&["task", "merge", "fix", "--wait", "60"]);
    let after = changes();
    assert_eq!(after["files"], before["files"], "{after}");
    assert_eq!(after["added"], before["added"], "{after}");
}

#[test]
fn tests_are_compared_side_by_side() {
    let stage = Stage::new("minimal");
    let mut ids = Vec::new();
    for (name, file) in [("good", "ok.txt"), ("bad", "other.txt")] {
        let id = stage.create(&[name, "The same task"]);
        stage.run_ok(&["task", "spawn", id.as_str(), "--wait", "60"]);
        let worktree = stage.worktree(&id);
        fs::write(worktree.join(file), "work").unwrap();
        for call in [format!("add {file}"), String::from("commit -qm work")] {
            assert!(stage.git_in(&worktree, &call).status.success(), "{call}");
        }
        ids.push(id);
    }
    stage.create(&["never", "The same task"]);
    let compare = |more: &[&str]| {
        let words = ["task", "compare", "good", "bad", "never", "--json"];
        let (code, compared) = stage.json(&[&words, more].concat());
        assert_eq!(code, 0, "{compared}");
        let tasks = compared["tasks"].as_array().unwrap().iter();
        let results = tasks.map(|it| it["tests"]["result"].as_str().unwrap().to_owned());
        results.collect::<Vec<_>>()
    };
    assert_eq!(compare(&[]), ["not_run", "not_run", "not_run"]);
    // Uncommitted work is neither tested nor touched.
    let worktree = stage.worktree(&ids[1]);
    fs::write(worktree.join("ok.txt"), "uncommitted").unwrap();
    let test = ["--test", "test -e ok.txt && touch left-by-tests"];
    assert_eq!(compare(&test), ["passed", "failed", "not_run"]);
    let uncommitted = fs::read_to_string(worktree.join("ok.txt")).unwrap();
    assert_eq!(uncommitted, "uncommitted");
    assert!(!stage.worktree(&ids[0]).join("left-by-tests").exists());
    assert_eq!(
        compare(&["--test", "no-such-program-anywhere"]),
        ["unknown", "unknown", "not_run"]
    );
    let words = ["task", "compare", "good", "bad", "--test", "test -e ok.txt"];
    let text = stage.run_ok(&words);
    assert!(text.contains("tests failed: exited with"), "{text}");
}

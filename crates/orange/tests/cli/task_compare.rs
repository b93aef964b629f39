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
    let changes = json!({ "commits": 1, "files": 2, "added": 3, "removed": 0 });
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

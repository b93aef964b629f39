//! `orange task unblock`: one task or all of them.

use std::fs;

use crate::support::Stage;

#[test]
fn unblock_continues_one_or_all_agents() {
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
    let mut output = stage.transcript(&["task", "unblock", "--all"]);
    for branch in ["one", "two", "three"] {
        stage.create(&[branch, "Blocked", "--workflow", "blocking"]);
    }
    output.push_str(&stage.transcript(&["task", "unblock", "one"]));
    output.push_str(&stage.transcript(&["task", "unblock", "other"]));
    insta::assert_snapshot!(output);
    let (code, answer) = stage.json(&["task", "unblock", "--all", "--json"]);
    assert_eq!(code, 0, "{answer}");
    let tasks = answer["tasks"].as_array().unwrap();
    assert_eq!(tasks.len(), 2, "{answer}");
    assert!(tasks.iter().all(|it| it["status"] == "open"), "{answer}");
    assert_eq!(stage.task(&other).status.as_str(), "pending");
}

#[test]
fn a_running_agent_is_neither_unblocked_nor_retried() {
    let stage = Stage::new("autopilot");
    let path = stage.path("home/harnesses/script.toml");
    let text = fs::read_to_string(&path).unwrap();
    let headless = "[args.headless]\nfull = [\"--prompt-file\", \"{prompt_file}\"]\n";
    fs::write(&path, format!("{text}{headless}")).unwrap();
    stage.script("worker-1", "hang");
    let id = stage.create(&["fix", "Add a line"]);
    for _ in ["routed", "in_progress"] {
        stage.run_ok(&["task", "spawn", "fix", "--wait", "60"]);
    }
    assert_eq!(stage.task(&id).status.as_str(), "in_progress");
    stage.wait_until_idle(&id);
    let before = stage.task(&id).runs;
    let output = stage.run_ok(&["task", "unblock", "--all"]);
    assert!(output.contains("no task is blocked"), "{output}");
    let (code, output) = stage.call(&["task", "unblock", "fix"]);
    assert_eq!(code, 3, "{output}");
    let (code, output) = stage.call(&["task", "retry", "fix"]);
    assert_eq!(code, 3, "{output}");
    assert!(output.contains("the worker is still running"), "{output}");
    let task = stage.task(&id);
    assert_eq!(task.status.as_str(), "in_progress");
    assert_eq!(task.runs, before, "the same agent is at it");
}

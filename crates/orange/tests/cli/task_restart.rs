//! `orange task restart`.

use std::fs;

use orange_engine::names::TaskId;
use orange_engine::role::Role;
use orange_engine::task::RunState;

use orange_engine::Task;

use crate::support::{Stage, wait_for};

/// The conversation that each worker was given.
fn conversations(stage: &Stage, id: &TaskId) -> Vec<String> {
    let runs = stage.store().runs(id).unwrap().into_iter();
    let setups = runs.filter_map(|run| run.setup);
    setups.map(|setup| setup.argv[3].clone()).collect()
}

#[test]
fn an_agent_is_restarted_in_its_worktree_and_its_conversation() {
    let stage = Stage::new("minimal");
    let path = stage.path("home/harnesses/script.toml");
    let text = fs::read_to_string(&path).unwrap();
    let definition = text.replace(
        "\"{prompt_file}\"]",
        "\"{prompt_file}\", [\"new={session_id}\"], [\"old={resumed_id}\"]]",
    );
    fs::write(&path, definition).unwrap();
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str(), "--wait", "60"]);
    stage.wait_for_turn("worker-1");
    let worktree = stage.worktree(&id);
    fs::write(worktree.join("unsaved.txt"), "work").unwrap();
    // A running agent, as often as you like; then a stopped one.
    for turn in ["worker-2", "worker-3"] {
        let output = stage.run_ok(&["task", "restart", id.as_str(), "--wait", "60"]);
        assert!(
            output.contains(": restarted the worker, in `working`"),
            "{output}"
        );
        stage.wait_for_turn(turn);
        assert_eq!(stage.panes(), ["worker:0"]);
    }
    stage.run_ok(&["task", "stop", id.as_str(), "--wait", "60"]);
    assert!(stage.panes().is_empty());
    stage.run_ok(&["task", "restart", id.as_str(), "--wait", "60"]);
    stage.wait_for_turn("worker-4");
    assert_eq!(stage.worktree(&id), worktree);
    assert!(worktree.join("unsaved.txt").exists());
    let task = stage.task(&id);
    assert_eq!(task.runs[&Role::Worker].state, RunState::Alive);
    assert_eq!((task.crash_count, task.attention.len()), (0, 0));
    let all = conversations(&stage, &id);
    let (first, others) = all.split_first().unwrap();
    let first = first.strip_prefix("new=").unwrap();
    assert_eq!(others, vec![format!("old={first}"); 3]);
    stage.rebuild(&id);
}

#[test]
fn each_of_several_tasks_is_restarted_or_refused() {
    let stage = Stage::new("minimal");
    let queued = stage.create(&["queued", "Add a line"]);
    let busy = stage.create(&["busy", "Add a line"]);
    stage.run_ok(&["task", "spawn", busy.as_str(), "--wait", "60"]);
    stage.wait_for_turn("worker-1");
    let words = [
        "task", "restart", "queued", "busy", "--wait", "60", "--json",
    ];
    let (code, answer) = stage.json(&words);
    assert_eq!(code, 3, "{answer}");
    let refused = &answer["tasks"][0]["error"]["details"]["refusal"]["missing"][0];
    assert_eq!(refused["code"], "no-respawn", "{answer}");
    assert_eq!(answer["tasks"][1]["outcome"], "succeeded", "{answer}");
    stage.wait_for_turn("worker-2");
    assert!(stage.task(&queued).runs.is_empty());
    // An agent that died is started, as `respawn` does.
    stage.tmux(&["kill-server"]);
    stage.run_ok(&["task", "restart", "busy", "--wait", "60"]);
    stage.wait_for_turn("worker-3");
}

#[test]
fn a_running_agent_is_kept_if_its_harness_cannot_start_it_again() {
    let stage = Stage::new("minimal");
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str(), "--wait", "60"]);
    stage.wait_for_turn("worker-1");
    let run = stage.task(&id).runs[&Role::Worker].clone();
    let path = stage.path("home/harnesses/script.toml");
    let text = fs::read_to_string(&path).unwrap();
    let lines = text.lines().map(|line| {
        if line.starts_with("binary") {
            "binary = \"no-such-program\""
        } else {
            line
        }
    });
    let broken: Vec<&str> = lines.collect();
    let restart = ["task", "restart", id.as_str(), "--wait", "60"];
    for definition in [
        Some(broken.join("\n")),
        Some(String::from("binary =")),
        None,
    ] {
        match definition {
            Some(definition) => fs::write(&path, definition).unwrap(),
            None => fs::remove_file(&path).unwrap(),
        }
        let (code, output) = stage.call(&restart);
        assert_ne!(code, 0, "{output}");
        assert!(!output.contains("restarted"), "{output}");
        assert_eq!(stage.task(&id).runs[&Role::Worker], run);
        assert_eq!(stage.panes(), ["worker:0"]);
    }
    fs::write(&path, text).unwrap();
    stage.run_ok(&restart);
    stage.wait_for_turn("worker-2");
}

#[test]
fn a_restarted_agent_still_has_the_users_message() {
    let stage = Stage::new("minimal");
    stage.script("worker-1", "give first < \"$prompt_file\"; hang");
    stage.script("worker-2", "give second < \"$prompt_file\"; hang");
    let id = stage.create(&["Add a line", "--status", "reviewing"]);
    stage.wait_until_idle(&id);
    let ask = ["task", "request-changes", id.as_str(), "-m", "Rename it"];
    stage.run_ok(&ask);
    let prompt = |name: &str| {
        let path = stage.path(&format!("scripts/{name}"));
        wait_for("the prompt", || path.exists());
        fs::read_to_string(path).unwrap()
    };
    assert!(prompt("first").contains("Rename it"));
    stage.run_ok(&["task", "restart", id.as_str(), "--wait", "60"]);
    let second = prompt("second");
    assert_eq!(second.matches("Rename it").count(), 1, "{second}");
    // The message belongs to this round: once the status is left, it is done.
    let received = |task: &Task| task.messages.iter().any(|it| it.received_by.is_some());
    wait_for("the start", || received(&stage.task(&id)));
    stage.run_ok(&["task", "cancel", id.as_str(), "--yes", "--wait", "60"]);
    assert!(!received(&stage.task(&id)));
}

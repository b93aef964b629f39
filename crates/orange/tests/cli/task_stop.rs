//! `orange task stop`.

use std::fs;

use orange_config::clock::{Deadline, after, sleep_until};
use orange_engine::evidence::Evidence;
use orange_engine::names::TaskId;
use orange_engine::role::Role;

use crate::support::{RunningSupervisor, SOON, Stage, wait_for};

/// Whether a process is running.
fn runs(pid: &str) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

/// A task whose agent is in its first turn, and has left processes that ignore a polite end.
fn started(stage: &Stage) -> (TaskId, Vec<String>) {
    stage.script("worker-1", "children\nhang");
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str(), "--wait", "60"]);
    wait_for("the agent", || stage.path("scripts/hangs").exists());
    let children = fs::read_to_string(stage.path("scripts/children")).unwrap();
    let children: Vec<String> = children.lines().map(str::to_owned).collect();
    assert!(children.len() == 2 && children.iter().all(|pid| runs(pid)));
    (id, children)
}

#[test]
fn a_stopped_agent_is_gone_and_its_task_says_why() {
    // In this workflow an agent that exits leads to a review, and a dead one to a crash.
    let stage = Stage::new("session");
    let (id, children) = started(&stage);
    let worktree = stage.worktree(&id);
    fs::write(worktree.join("unsaved.txt"), "work").unwrap();
    let (code, output) = stage.call(&["task", "stop", id.as_str(), "--wait", "60"]);
    assert_eq!(code, 0, "{output}");
    assert!(
        output.contains(": stopped the worker, in `working`"),
        "{output}"
    );
    let restart = format!("orange task restart {id}");
    assert!(output.contains(&restart), "{output}");
    assert!(stage.panes().is_empty(), "{:?}", stage.panes());
    assert!(!children.iter().any(|pid| runs(pid)), "{children:?}");
    // The worktree is as it was.
    assert_eq!(stage.worktree(&id), worktree);
    let unsaved = fs::read_to_string(worktree.join("unsaved.txt")).unwrap();
    assert_eq!(unsaved, "work");
    let task = stage.task(&id);
    assert_eq!(task.status.as_str(), "working");
    assert_eq!(task.crash_count, 0);
    let runs = stage.store().runs(&id).unwrap();
    assert_eq!(runs[0].evidence, Some(Evidence::Stopped));
    for command in ["show", "why"] {
        let output = stage.run_ok(&["task", command, id.as_str()]);
        assert!(output.contains("was stopped by the user"), "{output}");
        assert!(output.contains(&restart), "{output}");
    }
    let list = stage.run_ok(&["ls"]);
    assert!(
        list.contains("the worker was stopped by the user"),
        "{list}"
    );
    let (_, attention) = stage.json(&["attention", "--json"]);
    let item = &attention["items"][0];
    assert_eq!(item["kind"], "stopped", "{attention}");
    assert_eq!(item["command"], restart.as_str(), "{attention}");
    assert_eq!(attention["items"].as_array().unwrap().len(), 1);
    let (code, output) = stage.call(&["task", "attach", id.as_str()]);
    assert_eq!(code, 4, "{output}");
    assert!(output.contains("was stopped by the user"), "{output}");
    // Stopping it twice changes nothing, and the events alone give the same task.
    let again = stage.run_ok(&["task", "stop", id.as_str()]);
    assert!(again.contains("its agent is already stopped"), "{again}");
    stage.rebuild(&id);
    assert_eq!(stage.task(&id), task);
}

#[test]
fn a_stopped_agent_stays_stopped_under_a_supervisor() {
    let stage = Stage::new("default");
    let _serving = RunningSupervisor::start(&stage);
    let (id, _) = started(&stage);
    stage.run_ok(&["task", "stop", id.as_str(), "--wait", "60"]);
    stage.wait_until_idle(&id);
    // Other work continues meanwhile, so the supervisor reacts to everything there is.
    let other = stage.create(&["other", "Something else"]);
    stage.run_ok(&["task", "spawn", other.as_str(), "--wait", "60"]);
    stage.wait_for_turn("worker-2");
    stage.run_ok(&["task", "respawn", "--lost", "--wait", "60"]);
    let runs = |id: &TaskId| stage.store().runs(id).unwrap().len();
    let deadline = Deadline::after(std::time::Duration::from_secs(3));
    while !deadline.has_passed() {
        let task = stage.task(&id);
        assert!(task.runs[&Role::Worker].state.is_stopped());
        assert_eq!(task.status.as_str(), "planning");
        assert_eq!(runs(&id), 1);
        sleep_until(after(SOON / 100), SOON / 100);
    }
    stage.run_ok(&["task", "restart", id.as_str(), "--wait", "60"]);
    stage.wait_for_turn("worker-3");
}

#[test]
fn a_task_without_an_agent_says_so_and_an_agent_may_not_stop_one() {
    let stage = Stage::new("minimal");
    stage.script(
        "worker-1",
        "ask task stop\nask task restart\nask task reopen",
    );
    let queued = stage.create(&["queued", "Add a line"]);
    let (code, output) = stage.call(&["task", "stop", queued.as_str()]);
    assert_eq!(code, 3, "{output}");
    assert!(
        output.contains("no agent is running for this task"),
        "{output}"
    );
    assert!(output.contains("hint: "), "{output}");
    let id = stage.create(&["busy", "Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str(), "--wait", "60"]);
    stage.wait_for_turn("worker-1");
    let calls = stage.calls();
    for command in ["stop", "restart", "reopen"] {
        assert!(
            calls.contains(&format!("orange task {command} -> 3")),
            "{calls}"
        );
        let asks = format!("ask the user to run `orange task {command} {id}`");
        assert!(calls.contains(&asks), "{calls}");
    }
    assert_eq!(stage.panes(), ["worker:0"]);
    let (code, answer) = stage.json(&["task", "stop", "queued", "busy", "--json"]);
    assert_eq!(code, 3, "{answer}");
    assert_eq!(answer["tasks"][0]["outcome"], "refused", "{answer}");
    assert_eq!(answer["tasks"][1]["outcome"], "succeeded", "{answer}");
}

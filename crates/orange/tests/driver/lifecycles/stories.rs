//! Whole task lifecycles, with agents that call `orange` themselves.

use orange_engine::event::Fact;
use orange_engine::task::RunState;

use crate::support::scripts::{FAIL, WORK};
use crate::support::{FIX, PASS, PLAN_AND_WORK, Stage, environment, log, wait_for, way};

#[test]
fn a_review_fails_is_fixed_and_passes_with_one_lasting_worker() {
    let stage = Stage::new("default");
    stage.script("worker-1", PLAN_AND_WORK);
    stage.script("worker-2", FIX);
    stage.script("reviewer-1", FAIL);
    stage.script("reviewer-2", PASS);
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    stage.wait_for_status(&id, "reviewing");
    stage.wait_until_idle(&id);
    assert_eq!(
        way(&stage, &id),
        [
            "planning",
            "working",
            "agent-review",
            "working",
            "agent-review",
            "reviewing"
        ]
    );
    assert_eq!(log(&stage, &id), ["one", "two"]);
    assert_eq!(stage.panes(), ["worker:0"], "{}", stage.diagnostics(&id));
    let calls = stage.calls();
    assert!(
        calls.contains("The review of round 1 did not pass"),
        "{calls}"
    );
    let inbox = stage.store().inbox(&id).unwrap();
    assert!(inbox.iter().all(|it| it.read_at.is_some()), "{inbox:?}");
    assert!(!calls.contains("-> 1\n"), "{calls}");

    // The user wants more; the same worker gets the message.
    stage.script("worker-3", &FIX.replace("two lines", "three lines"));
    stage.script("reviewer-3", PASS);
    stage.run_ok(&[
        "task",
        "request-changes",
        id.as_str(),
        "-m",
        "three lines, please",
    ]);
    stage.wait_for_turn("worker-3");
    stage.wait_for_status(&id, "reviewing");
    stage.wait_until_idle(&id);
    assert!(
        stage.calls().contains("three lines, please"),
        "{}",
        stage.calls()
    );
    assert_eq!(
        stage.store().runs(&id).unwrap().len(),
        4,
        "one worker, three reviewers"
    );

    stage.rebuild(&id);
    let (code, shown) = stage.json(&["task", "show", id.as_str(), "--json"]);
    assert_eq!((code, &shown["task"]["status"]), (0, &"reviewing".into()));

    stage.run_ok(&["task", "cancel", id.as_str()]);
    stage.wait_until_idle(&id);
    assert_eq!(stage.panes(), [] as [&str; 0]);
    assert_eq!(log(&stage, &id), ["one", "two", "two"]);
    assert!(stage.current_text(&id).contains("status: cancelled"));
}

#[test]
fn a_worker_killed_by_its_own_request_is_followed_by_a_reviewer() {
    let stage = Stage::new("respawn");
    stage.script("worker-1", WORK);
    stage.script("worker-2", FIX);
    stage.script("reviewer-1", FAIL);
    stage.script("reviewer-2", PASS);
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    stage.wait_for_status(&id, "reviewing");
    stage.wait_until_idle(&id);
    assert_eq!(
        way(&stage, &id),
        [
            "working",
            "agent-review",
            "working",
            "agent-review",
            "reviewing"
        ],
        "{}",
        stage.diagnostics(&id)
    );
    assert_eq!(log(&stage, &id), ["one", "two"]);
    assert_eq!(stage.panes(), [] as [&str; 0]);
    let runs = stage.store().runs(&id).unwrap();
    assert_eq!(runs.len(), 4);
    assert!(runs.iter().all(|run| run.ended_at.is_some()), "{runs:?}");
    stage.rebuild(&id);
    // The content of each pane is kept.
    let runs = stage
        .home()
        .tasks()
        .join("app")
        .join(id.as_str())
        .join("runs");
    for run in std::fs::read_dir(runs).unwrap() {
        let path = run.unwrap().path();
        assert!(path.join("output.txt").exists(), "{}", path.display());
    }
}

#[test]
fn the_smallest_workflow_ends_with_the_user() {
    let stage = Stage::new("minimal");
    stage.script(
        "worker-1",
        "ask task update --status reviewing\ncommit one\n\
         echo 'DONE: a line' | section Handoff\nask task complete",
    );
    stage.script(
        "worker-2",
        "commit two\necho 'DONE: two' | section Handoff\nask task complete",
    );
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    stage.wait_for_status(&id, "reviewing");
    stage.wait_until_idle(&id);
    assert!(
        stage.calls().contains("`## Handoff` is missing"),
        "{}",
        stage.calls()
    );
    assert_eq!(stage.panes(), [] as [&str; 0]);
    stage.run_ok(&["task", "request-changes", id.as_str(), "-m", "more"]);
    wait_for("the second commit", || log(&stage, &id) == ["one", "two"]);
    stage.wait_for_status(&id, "reviewing");
    stage.wait_until_idle(&id);
    assert_eq!(
        way(&stage, &id),
        ["working", "reviewing", "working", "reviewing"]
    );
    stage.rebuild(&id);
}

#[test]
fn the_next_command_applies_exit_rules_and_respawns_dead_agents() {
    let stage = Stage::new("default");
    stage.script("worker-1", "exit 7");
    stage.script("worker-2", PLAN_AND_WORK);
    stage.script("reviewer-1", "kill -9 $$");
    stage.script("reviewer-2", PASS);
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    wait_for("the worker's death", || stage.panes() == ["worker:1"]);
    // A read-only command changes nothing.
    stage.run_ok(&["task", "show", id.as_str()]);
    assert_eq!(stage.task(&id).crash_count, 0);
    let (code, output) = stage.call(&["task", "respawn", id.as_str()]);
    assert_eq!(code, 0, "{output}\n{}", stage.diagnostics(&id));
    // The new worker may have left that status already, so check the history.
    let events = stage.store().events(&id, 0).unwrap();
    let crashed = |fact: &Fact| matches!(fact, Fact::AgentCrashed { crash_count: 1, .. });
    assert!(events.iter().any(|recorded| crashed(&recorded.event.fact)));
    stage.wait_for_status(&id, "agent-review");
    stage.wait_until_idle(&id);
    wait_for("the reviewer's death", || {
        stage.panes().contains(&String::from("reviewer:1"))
    });
    // The workflow respawns a crashed reviewer after a pause, once a command checks the runs.
    let (code, _) = stage.call(&["task", "respawn", id.as_str()]);
    assert_eq!(
        code,
        0,
        "it is being brought back already: {}",
        stage.diagnostics(&id)
    );
    stage.wait_for_status(&id, "reviewing");
    stage.wait_until_idle(&id);
    let ends = stage.store().runs(&id).unwrap();
    let ends = ends.iter().filter_map(|run| run.evidence.as_ref());
    let ends: Vec<String> = ends.map(ToString::to_string).collect();
    assert_eq!(ends, ["exited with code 7", "was killed by signal 9"]);
    assert_eq!(stage.task(&id).runs.len(), 1);
    let workers = stage.task(&id).runs;
    assert!(workers.values().all(|run| run.state == RunState::Alive));
}

#[test]
fn a_hand_edited_status_is_a_request_of_the_worker() {
    let stage = Stage::new("default");
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    let file = stage.worktree(&id).join("TASK.md");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("status: planning", "status: reviewing")).unwrap();
    stage.run_ok(&["task", "update", id.as_str(), "--summary", "Add two lines"]);
    assert_eq!(stage.task(&id).status.as_str(), "planning");
    // A performer that is still writing its last copy may be the one that sees the edit.
    wait_for("the rejection", || {
        let events = stage.store().events(&id, 0).unwrap();
        let is_rejection = |fact: &Fact| matches!(fact, Fact::EditRejected { .. });
        events.iter().any(|it| is_rejection(&it.event.fact))
    });
    assert_eq!(stage.task(&id).status.as_str(), "planning");
    let mut text = String::new();
    wait_for("the copy", || {
        text = std::fs::read_to_string(&file).unwrap_or_default();
        text.contains(&format!("version: {}\n", stage.task(&id).version))
    });
    assert!(text.contains("status: planning"), "{text}");
    assert!(text.contains("summary: Add two lines"), "{text}");
}

#[test]
fn a_harness_may_name_a_program_on_the_path() {
    let mut stage = Stage::new("minimal");
    let path = stage.path("home/harnesses/script.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    let agent = stage.path("agent").display().to_string();
    assert!(text.contains(&agent), "{text}");
    std::fs::write(&path, text.replace(&agent, "agent")).unwrap();
    let folders = format!(
        "{}:{}",
        stage.path("").display(),
        std::env::var("PATH").unwrap()
    );
    stage.environment = environment(&stage.path(""), &[("PATH", &folders)]);
    stage.script(
        "worker-1",
        "commit one\necho 'DONE: it' | section Handoff\nask task complete",
    );
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    stage.wait_for_status(&id, "reviewing");
    stage.wait_until_idle(&id);
    assert_eq!(log(&stage, &id), ["one"]);
}

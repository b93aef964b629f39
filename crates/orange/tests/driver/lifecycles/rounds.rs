//! Longer lifecycles: two failed reviews, questions, deaths, a custom workflow.

use std::fs;

use orange_engine::event::Fact;
use orange_engine::names::TaskId;
use orange_engine::task::RunState;

use crate::support::scripts::{FAIL, WORK};
use crate::support::{FIX, PASS, PLAN_AND_WORK, Stage, log, wait_for, way};

fn failed_review_script(status: &str) -> String {
    FAIL.replace("--status working", &format!("--status {status}"))
}

/// The user cancels; the agents and the workspace are gone, and the commits are kept.
fn cancelled(stage: &Stage, id: &TaskId, commits: &[&str]) {
    stage.run_ok(&["task", "cancel", id.as_str()]);
    stage.wait_until_idle(id);
    assert_eq!(stage.panes(), [] as [&str; 0]);
    assert!(stage.store().workspace_of(id).unwrap().is_none());
    assert_eq!(log(stage, id), commits);
    assert!(stage.current_text(id).contains("status: cancelled"));
    stage.rebuild(id);
}

#[test]
fn the_first_seed_goes_from_the_queue_to_the_users_review() {
    let stage = Stage::new("default");
    stage.script("worker-1", PLAN_AND_WORK);
    stage.script("reviewer-1", &format!("pause go\n{PASS}"));
    let id = stage.create(&["Add a line"]);
    assert_eq!(stage.task(&id).status.as_str(), "pending");
    stage.run_ok(&["task", "spawn", id.as_str()]);
    stage.wait_for_status(&id, "agent-review");
    stage.wait_until_idle(&id);
    // One session per task, with a window for the worker and one for the round's reviewer.
    let shown = stage.tmux(&["list-panes", "-a", "-F", "#{session_name} #{window_name}"]);
    let session = format!("app/orange-tasks/{id}");
    let mut windows: Vec<&str> = shown.lines().collect();
    windows.sort_unstable();
    let expected = [format!("{session} review-1"), format!("{session} worker")];
    assert_eq!(windows, expected);
    let worker = stage.store().runs(&id).unwrap()[0].id.clone();
    stage.script("go", "");
    stage.wait_for_status(&id, "reviewing");
    stage.wait_until_idle(&id);
    assert_eq!(
        way(&stage, &id),
        ["planning", "working", "agent-review", "reviewing"]
    );
    // The worker was never killed, the reviewer is gone, and the round was counted.
    assert_eq!(stage.panes(), ["worker:0"], "{}", stage.diagnostics(&id));
    let task = stage.task(&id);
    assert!(
        task.runs
            .values()
            .any(|it| it.id == worker && it.state == RunState::Alive)
    );
    let text = stage.current_text(&id);
    assert!(text.contains("review_round: 1"), "{text}");
    assert!(text.contains("crash_count: 0"), "{text}");
    stage.rebuild(&id);
    assert!(
        stage.task(&id).runs.values().all(|it| it.id == worker),
        "who runs is still known"
    );
    cancelled(&stage, &id, &["one"]);
}

#[test]
fn two_failed_reviews_make_the_task_stuck_until_the_user_decides() {
    let stage = Stage::new("default");
    stage.script("worker-1", PLAN_AND_WORK);
    stage.script("worker-2", FIX);
    stage.script("worker-3", "ask inbox");
    stage.script("reviewer-1", FAIL);
    // In the last round no edge leads back to work, and the answer says so.
    stage.script(
        "reviewer-2",
        &format!("{FAIL}ask task update --status stuck\n"),
    );
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    stage.wait_for_status(&id, "stuck");
    stage.wait_until_idle(&id);
    stage.wait_for_turn("worker-3");
    let calls = stage.calls();
    assert!(
        calls.contains("reviewer 2: orange task update --status working -> 3"),
        "{calls}"
    );
    assert!(calls.contains("The task is stuck"), "{calls}");
    assert_eq!(stage.panes(), ["worker:0"]);
    stage.rebuild(&id);
    // The worker cannot move it on; the user can.
    let worktree = stage.worktree(&id);
    let mut output = stage.orange(&["task", "update", "--status", "reviewing"]);
    let output = output.current_dir(&worktree).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    stage.run_ok(&["task", "update", id.as_str(), "--status", "reviewing"]);
    assert_eq!(
        way(&stage, &id),
        [
            "planning",
            "working",
            "agent-review",
            "working",
            "agent-review",
            "stuck",
            "reviewing"
        ]
    );
    cancelled(&stage, &id, &["one", "two"]);
}

#[test]
fn two_failed_reviews_make_the_task_stuck_with_fresh_agents() {
    let stage = Stage::new("respawn");
    stage.script("worker-1", WORK);
    stage.script("worker-2", FIX);
    stage.script("reviewer-1", FAIL);
    stage.script("reviewer-2", &failed_review_script("stuck"));
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    stage.wait_for_status(&id, "stuck");
    stage.wait_until_idle(&id);
    assert_eq!(stage.panes(), [] as [&str; 0], "{}", stage.diagnostics(&id));
    stage.rebuild(&id);
    // The user sends it back; a new worker and a new reviewer do the rest.
    stage.script("worker-3", &FIX.replace("two lines", "three lines"));
    stage.script("reviewer-3", PASS);
    stage.run_ok(&["task", "update", id.as_str(), "--status", "working"]);
    stage.wait_for_status(&id, "reviewing");
    stage.wait_until_idle(&id);
    assert_eq!(
        way(&stage, &id),
        [
            "working",
            "agent-review",
            "working",
            "agent-review",
            "stuck",
            "working",
            "agent-review",
            "reviewing"
        ]
    );
    stage.rebuild(&id);
    stage.script("worker-4", &FIX.replace("two lines", "four lines"));
    stage.script("reviewer-4", PASS);
    stage.run_ok(&["task", "request-changes", id.as_str(), "-m", "once more"]);
    wait_for("the last commit", || log(&stage, &id).len() == 4);
    stage.wait_for_status(&id, "reviewing");
    stage.wait_until_idle(&id);
    stage.rebuild(&id);
    cancelled(&stage, &id, &["one", "two", "two", "two"]);
}

#[test]
fn a_session_needs_no_artifacts() {
    let stage = Stage::new("session");
    stage.script("worker-1", "commit one\nexit 0");
    stage.script("worker-2", "commit two\npause never");
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    // Leaving the agent ends the session; `orange attention` shows that it waits for you.
    wait_for("the end of the session", || {
        stage.run_ok(&["task", "list"]);
        let _refused = stage.call(&["task", "update", id.as_str(), "--priority", "1"]);
        stage.task(&id).status.as_str() == "reviewing"
    });
    stage.wait_until_idle(&id);
    stage.rebuild(&id);
    stage.run_ok(&["task", "request-changes", id.as_str(), "-m", "once more"]);
    wait_for("the second commit", || log(&stage, &id).len() == 2);
    assert_eq!(stage.task(&id).status.as_str(), "working");
    let merge = ["task", "merge", id.as_str(), "--wait", "60"];
    // The agent still runs, so the merge asks first.
    let (code, output) = stage.call(&merge);
    assert_ne!(code, 0, "{output}");
    assert!(output.contains("still running"), "{output}");
    assert_eq!(stage.task(&id).status.as_str(), "working");
    stage.run_ok(&[&merge[..], &["--yes"]].concat());
    stage.wait_until_idle(&id);
    assert_eq!(
        way(&stage, &id),
        ["working", "reviewing", "working", "done"]
    );
    assert_eq!(stage.panes(), [] as [&str; 0]);
    let subjects = stage.git("log -2 --format=%s main");
    assert_eq!(String::from_utf8_lossy(&subjects.stdout), "two\none\n");
    stage.rebuild(&id);
}

fn asks_first(workflow: &str, after: &str) {
    let stage = Stage::new(workflow);
    stage.script("worker-1", "echo 'Which line?' | section Questions");
    let answered = format!("ask task update --summary 'Add a line'\n{after}");
    stage.script("worker-2", &answered);
    stage.script("reviewer-1", PASS);
    let id = stage.create(&["--context", "A line is missing."]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    stage.wait_for_turn("worker-1");
    stage.wait_until_idle(&id);
    assert_eq!(stage.task(&id).status.as_str(), "clarification");
    stage.rebuild(&id);
    let (_, attention) = stage.json(&["attention", "--json"]);
    let item = &attention["items"][0];
    assert_eq!(item["kind"], "question", "{attention}");
    assert_eq!(item["question"], "Which line?", "{attention}");
    assert_eq!(item["text"], "an agent asks: Which line?", "{attention}");
    // The user types into the pane.
    let pane = stage.tmux(&["list-panes", "-a", "-F", "#{pane_id}"]);
    stage.tmux(&["send-keys", "-t", pane.trim(), "any line", "Enter"]);
    stage.wait_for_status(&id, "reviewing");
    stage.wait_until_idle(&id);
    assert_eq!(stage.task(&id).summary, "Add a line");
    let text = stage.current_text(&id);
    assert!(text.contains("Which line?"), "{text}");
    stage.rebuild(&id);
    cancelled(&stage, &id, &["one"]);
}

#[test]
fn an_empty_summary_is_clarified_first() {
    asks_first("default", PLAN_AND_WORK);
}

#[test]
fn an_empty_summary_is_clarified_first_with_fresh_agents() {
    let stay = format!("ask task update --status working\n{WORK}");
    asks_first("respawn", &stay);
}

/// The next command judges a death: after finished work the task advances, otherwise it counts as a
/// crash.
fn check_next_command(workflow: &str, next: &str) {
    let stage = Stage::new(workflow);
    stage.script("worker-1", "commit one\nkill -9 $$");
    stage.script("worker-2", "echo 'DONE: it' | section Handoff\nexit 0");
    stage.script("reviewer-1", "hang");
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    wait_for("the worker's death", || stage.panes() == ["worker:1"]);
    stage.run_ok(&["task", "respawn", id.as_str()]);
    let task = stage.task(&id);
    assert_eq!((task.status.as_str(), task.crash_count), ("working", 1));
    wait_for("the second worker's end", || stage.panes() == ["worker:1"]);
    // Any command will do; this one only changes the summary.
    stage.run_ok(&["task", "update", id.as_str(), "--summary", "Add two lines"]);
    stage.wait_until_idle(&id);
    assert_eq!(
        way(&stage, &id),
        ["working", next],
        "{}",
        stage.diagnostics(&id)
    );
    let events = stage.store().events(&id, 0).unwrap();
    let deaths = events
        .iter()
        .filter(|it| matches!(it.event.fact, Fact::RunEnded { .. }));
    assert_eq!(deaths.count(), 2, "each death is judged once");
    stage.rebuild(&id);
    cancelled(&stage, &id, &["one"]);
}

#[test]
fn exit_rules_hold_without_a_supervisor_with_fresh_agents() {
    check_next_command("respawn", "agent-review");
}

#[test]
fn exit_rules_hold_without_a_supervisor_in_the_smallest_workflow() {
    check_next_command("minimal", "reviewing");
}

/// A workflow a team might write: a tester role between the work and the user.
const TESTED: &str = include_str!("tested.yml");

const BUILD: &str = "\
commit one
echo 'DONE: it' | section Handoff
ask task update --status testing
";

const FIX_TESTS: &str = "\
ask inbox
commit two
echo 'DONE: mended' | section Handoff
ask task update --status testing
";

#[test]
fn a_custom_workflow_works_like_the_shipped_ones() {
    let stage = Stage::new("default");
    fs::create_dir_all(stage.path("home/workflows")).unwrap();
    fs::write(stage.path("home/workflows/tested.yml"), TESTED).unwrap();
    stage.run_ok(&["workflow", "check", "tested"]);
    stage.script("worker-1", BUILD);
    stage.script("worker-2", FIX_TESTS);
    // A worker cannot act as the tester.
    stage.script(
        "worker-3",
        "printf 'Verdict: PASS\\n' | section 'Test report'\nask task update --status accepting",
    );
    stage.script("qa-1", "exit 3");
    stage.script(
        "qa-2",
        "printf 'Verdict: FAIL\\nno\\n' | section 'Test report'\nask task update --status building",
    );
    stage.script(
        "qa-3",
        "printf 'Verdict: PASS\\n' | section 'Test report'\nask task update --status accepting",
    );
    let id = stage.create(&["Add a line", "--workflow", "tested"]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    stage.wait_for_status(&id, "testing");
    stage.wait_until_idle(&id);
    wait_for("the tester's death", || {
        stage.panes() == ["qa:1", "worker:0"]
    });
    stage.run_ok(&["task", "respawn", id.as_str(), "--role", "qa"]);
    stage.wait_for_status(&id, "accepting");
    stage.wait_until_idle(&id);
    assert_eq!(
        way(&stage, &id),
        ["building", "testing", "building", "testing", "accepting"],
        "{}",
        stage.diagnostics(&id)
    );
    assert_eq!(stage.panes(), [] as [&str; 0]);
    assert!(
        stage.calls().contains("It does not work"),
        "{}",
        stage.calls()
    );
    stage.rebuild(&id);
    stage.run_ok(&["task", "request-changes", id.as_str(), "-m", "smaller"]);
    stage.wait_for_turn("worker-3");
    let calls = stage.calls();
    assert!(calls.contains("--status accepting -> 3"), "{calls}");
    assert_eq!(stage.task(&id).status.as_str(), "building");
    stage.rebuild(&id);
    stage.run_ok(&["task", "cancel", id.as_str()]);
    stage.wait_until_idle(&id);
    assert_eq!(stage.panes(), [] as [&str; 0]);
    assert_eq!(log(&stage, &id), ["one", "two"]);
    stage.rebuild(&id);
}

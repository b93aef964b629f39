//! Marked tasks are handled together, after one dialog.

use std::fs;
use std::thread;

use orange_engine::names::TaskId;

use super::open;
use crate::support::{Stage, Terminal, wait_for};

/// A reviewed task whose branch adds this file.
fn create_reviewed(stage: &Stage, branch: &str, file: &str) -> TaskId {
    let summary = format!("Work on {branch}");
    let id = stage.create(&["--status", "reviewing", branch, &summary]);
    stage.wait_until_idle(&id);
    let worktree = stage.worktree(&id);
    fs::write(worktree.join(file), format!("{branch}\n")).unwrap();
    for call in [format!("add {file}"), String::from("commit -qm ") + branch] {
        let output = stage.git_in(&worktree, &call);
        assert!(output.status.success(), "git {call}: {output:?}");
    }
    id
}

/// Marks the first tasks of the list.
fn mark(terminal: &Terminal<'_>, count: usize) {
    terminal.press(&["g"]);
    for number in 1..=count {
        terminal.press(&["Space"]);
        terminal.wait_for(&format!("{number} marked"));
    }
}

#[test]
fn marked_tasks_are_merged_in_order_and_a_conflict_counts_as_failed() {
    let stage = Stage::new("default");
    let first = create_reviewed(&stage, "one", "one.txt");
    let second = create_reviewed(&stage, "two", "two.txt");
    let conflicting = create_reviewed(&stage, "three", "two.txt");
    let terminal = open(&stage);
    terminal.resize(80, 24);
    terminal.wait_for("NEEDS YOU 3");
    mark(&terminal, 3);
    // The frame with the count may still be on its way.
    wait_for("three marks", || {
        terminal.screen().matches("\n*").count() == 3
    });
    terminal.wait_for("m merge 3");
    terminal.press(&["m"]);
    terminal.wait_for("Merge 3 tasks?");
    terminal.wait_for(&format!("{conflicting} reviewing Work on three"));
    terminal.press(&["y"]);
    terminal.wait_for("merging 3 tasks: 2 done, 1 failed");
    terminal.wait_for(&format!("{conflicting}: failed: merge failed"));
    for id in [&first, &second] {
        assert_eq!(stage.task(id).status.as_str(), "done");
    }
    assert_eq!(stage.task(&conflicting).status.as_str(), "reviewing");
    let log = stage.git("log --first-parent --format=%s main");
    let log = String::from_utf8(log.stdout).unwrap();
    let at = |text: &str| log.lines().position(|line| line.contains(text));
    assert!(at("two") < at("one"), "the latest is first: {log}");
    terminal.press(&["Escape"]);
    wait_for("the end of the dialog", || {
        !terminal.screen().contains("2 done")
    });
    terminal.press(&["q"]);
    assert!(terminal.finish().contains("[exit 0]"));
}

#[test]
fn marked_tasks_are_cancelled_deleted_and_restored() {
    let stage = Stage::new("default");
    let ids = ["one", "two"].map(|branch| stage.create(&[branch, &format!("Work on {branch}")]));
    let terminal = open(&stage);
    terminal.wait_for("QUEUE AND DONE 2");
    mark(&terminal, 2);
    // One of them is not shown, and the dialog still names it.
    terminal.press(&["/"]);
    terminal.press(&["-l", "Work on one"]);
    terminal.press(&["Enter"]);
    terminal.wait_for("QUEUE AND DONE 1");
    terminal.wait_for("x cancel 2");
    terminal.press(&["x"]);
    terminal.wait_for("Cancel 2 tasks?");
    terminal.wait_for(&format!("Not in the list now: {}.", ids[1]));
    terminal.press(&["y"]);
    terminal.wait_for("cancel 2 tasks: 2 done");
    for id in &ids {
        stage.wait_for_status(id, "cancelled");
    }
    mark(&terminal, 1);
    terminal.press(&["Escape"]);
    terminal.wait_for("All tasks in `app` are finished.");
    terminal.wait_for("1 marked");
    terminal.press(&["d"]);
    terminal.wait_for("Delete 1 task?");
    terminal.press(&["y"]);
    terminal.wait_for("deleting 1 task: 1 done");
    terminal.wait_for("u undo delete");
    terminal.press(&["u"]);
    terminal.wait_for(": restored");
}

#[test]
fn merges_go_on_after_the_dashboard_is_closed() {
    let stage = Stage::new("default");
    let ids = ["one", "two"].map(|branch| create_reviewed(&stage, branch, branch));
    let started = stage.path("started");
    let verify = format!("touch {}; sleep 1", started.display());
    stage.run_ok(&["project", "update", "app", "--merge-verify", &verify]);
    let terminal = open(&stage);
    terminal.wait_for("supervising");
    mark(&terminal, 2);
    terminal.press(&["m"]);
    terminal.wait_for("Merge 2 tasks?");
    terminal.press(&["y"]);
    wait_for("the first merge and the request for the other", || {
        started.exists() && stage.task(&ids[1]).pending_merge().is_some()
    });
    terminal.press(&["q"]);
    wait_for("both merges", || {
        ids.iter()
            .all(|id| stage.task(id).status.as_str() == "done")
    });
}

#[test]
fn a_key_pressed_while_the_terminal_changes_its_size_does_not_wait_for_the_next_key() {
    let stage = Stage::new("default");
    stage.create(&["one", "Work on one"]);
    let terminal = open(&stage);
    terminal.wait_for("QUEUE AND DONE 1");
    for round in 0..40 {
        let is_marked = round % 2 == 0;
        thread::scope(|scope| {
            scope.spawn(|| terminal.resize(100, 20 + round % 10));
            terminal.press(&["Space"]);
        });
        wait_for("the key to act", || {
            terminal.screen().contains("1 marked") == is_marked
        });
    }
}

//! `orange workspace gc`.

use std::fs;

use crate::support::{Stage, Terminal};

#[test]
fn gc_asks_for_confirmation_before_moving_ignored_files() {
    let stage = Stage::new("default");
    stage.script("worker-1", "echo secret > .env; ask task show");
    fs::write(stage.path("repo/.gitignore"), ".env\n").unwrap();
    stage.git("add .gitignore");
    stage.git("commit -qm ignore");
    let id = stage.create(&["fix", "Fix it"]);
    stage.run_ok(&["task", "spawn", "fix", "--wait", "60"]);
    stage.wait_for_turn("worker-1");
    let kept = stage.worktree(&id).join(".env");
    stage.run_ok(&["task", "cancel", "fix", "--wait", "60"]);
    stage.wait_until_idle(&id);
    assert!(kept.exists());
    for (answer, stays) in [("n", true), ("y", false)] {
        let terminal = Terminal::start(&stage, answer, 200, "orange workspace gc");
        terminal.wait_for("Move 1 ignored path aside, where you can inspect them? [y/N]");
        assert!(kept.exists(), "before the answer");
        terminal.press(&[answer, "Enter"]);
        let screen = terminal.finish();
        assert!(screen.contains("[exit 0]"), "{screen}");
        assert_eq!(kept.exists(), stays, "{screen}");
        assert_eq!(screen.contains("moved to"), !stays, "{screen}");
    }
}

#[test]
fn gc_sets_the_worktree_of_a_finished_task_aside_when_its_repository_is_gone() {
    let stage = Stage::new("default");
    stage.script("worker-1", "echo mine > unsaved.txt");
    let id = stage.create(&["fix", "Fix it"]);
    stage.run_ok(&["task", "spawn", "fix", "--wait", "60"]);
    stage.wait_for_turn("worker-1");
    let worktree = stage.worktree(&id);
    fs::remove_dir_all(stage.path("repo")).unwrap();
    fs::create_dir(stage.path("repo")).unwrap();
    // The task is open, so its worktree stays where it is.
    let (code, answer) = stage.json(&["workspace", "gc", "--json"]);
    assert_eq!(code, 6, "{answer}");
    assert!(worktree.exists());
    let (code, output) = stage.call(&["task", "cancel", "fix", "--yes", "--wait", "60"]);
    assert_eq!(code, 6, "{output}");
    let (code, output) = stage.call(&["attention", "--clear", "fix"]);
    assert_eq!(code, 0, "{output}");
    assert!(output.contains("orange workspace gc"), "{output}");
    let (code, output) = stage.call(&["project", "remove", "app"]);
    assert_eq!(code, 3, "{output}");
    assert!(output.contains("orange workspace gc"), "{output}");
    // The repository may come back, so the worktree is moved only on request.
    let (code, output) = stage.call(&["workspace", "gc"]);
    assert_eq!(code, 6, "{output}");
    assert!(worktree.join("unsaved.txt").exists());
    assert!(output.contains("orange workspace gc --yes"), "{output}");
    let (code, answer) = stage.json(&["workspace", "gc", "--yes", "--json"]);
    assert_eq!(code, 0, "{answer}");
    let set_aside = &answer["set_aside_worktrees"][0];
    assert_eq!(set_aside["workspace"], "app--1");
    let moved_to = set_aside["moved_to"].as_str().unwrap();
    let unsaved = std::path::Path::new(moved_to).join("unsaved.txt");
    assert_eq!(fs::read_to_string(unsaved).unwrap(), "mine\n");
    assert!(!worktree.exists());
    stage.wait_until_idle(&id);
    let (_, attention) = stage.json(&["attention", "--all", "--json"]);
    assert_eq!(attention["items"], serde_json::json!([]), "{attention}");
    let task = stage.run_ok(&["task", "show", "fix"]);
    assert!(task.contains("cancelled"), "{task}");
    stage.run_ok(&["task", "delete", "fix", "--yes"]);
    stage.run_ok(&["project", "remove", "app"]);
    let (code, answer) = stage.json(&["doctor", "--json"]);
    assert_eq!(code, 0, "{answer}");
}

#[test]
fn gc_leaves_a_worktree_until_its_repository_is_back_and_then_saves_its_work() {
    let stage = Stage::new("default");
    stage.script("worker-1", "echo mine > unsaved.txt");
    let id = stage.create(&["fix", "Fix it"]);
    stage.run_ok(&["task", "spawn", "fix", "--wait", "60"]);
    stage.wait_for_turn("worker-1");
    let (repo, away) = (stage.path("repo"), stage.path("away"));
    fs::rename(&repo, &away).unwrap();
    fs::create_dir(&repo).unwrap();
    let (code, output) = stage.call(&["task", "cancel", "fix", "--yes", "--wait", "60"]);
    assert_eq!(code, 6, "{output}");
    let (code, output) = stage.call(&["workspace", "gc"]);
    assert_eq!(code, 6, "{output}");
    let output = output.replace("\n    ", " ");
    assert!(output.contains("its repository is missing"), "{output}");
    fs::remove_dir(&repo).unwrap();
    fs::rename(&away, &repo).unwrap();
    stage.run_ok(&["workspace", "gc"]);
    stage.wait_until_idle(&id);
    let listed = stage.run_ok(&["task", "restore", "fix"]);
    assert!(listed.starts_with("1  fix, 1 file, saved "), "{listed}");
    stage.run_ok(&["task", "reopen", "fix", "--wait", "60"]);
    let unsaved = stage.worktree(&id).join("unsaved.txt");
    assert_eq!(fs::read_to_string(unsaved).unwrap(), "mine\n");
}

#[test]
fn gc_forgets_a_workspace_whose_repository_and_worktree_are_gone() {
    let stage = Stage::new("default");
    let id = stage.create(&["fix", "Fix it"]);
    stage.run_ok(&["task", "spawn", "fix", "--wait", "60"]);
    let worktree = stage.worktree(&id);
    fs::remove_dir_all(stage.path("repo")).unwrap();
    fs::create_dir(stage.path("repo")).unwrap();
    let (code, output) = stage.call(&["task", "cancel", "fix", "--yes", "--wait", "60"]);
    assert_eq!(code, 6, "{output}");
    fs::remove_dir_all(worktree).unwrap();
    let output = stage.run_ok(&["workspace", "gc"]);
    assert!(
        output.contains("its repository and its worktree are gone"),
        "{output}"
    );
    stage.run_ok(&["project", "remove", "app"]);
}

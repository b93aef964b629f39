//! `orange workspace remove`.

use std::fs;

use crate::schema_check::judge;
use crate::support::Stage;

/// The paths of the worktrees that git lists.
fn listed(stage: &Stage) -> String {
    let output = stage.git("worktree list --porcelain");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn an_idle_workspace_is_removed_and_nothing_else() {
    let stage = Stage::new("default");
    fs::write(stage.path("repo/.gitignore"), ".env\n").unwrap();
    stage.git("add .gitignore");
    stage.git("commit -qm ignore");
    stage.script("worker-1", "commit one; echo secret > .env; echo x > new");
    let id = stage.create(&["fix", "Fix it"]);
    stage.run_ok(&["task", "spawn", "fix", "--wait", "60"]);
    stage.wait_for_turn("worker-1");
    let remove = ["workspace", "remove", "app--1", "--json"];
    let (code, answer) = stage.json(&remove);
    assert_eq!(code, 3, "{answer}");
    assert_eq!(answer["error"]["code"], "workspace-in-use");
    stage.run_ok(&["task", "cancel", "fix", "--wait", "60"]);
    stage.wait_until_idle(&id);
    let worktree = stage.home().workspaces().join("app--1");
    // What appears in an idle worktree belongs to no task and is saved nowhere.
    fs::write(worktree.join("mine"), "mine").unwrap();
    let (code, answer) = stage.json(&remove);
    assert_eq!(code, 3, "{answer}");
    assert_eq!(answer["error"]["code"], "workspace-not-removed");
    assert!(worktree.join(".env").exists() && worktree.join("mine").exists());
    fs::remove_file(worktree.join("mine")).unwrap();

    let (code, answer) = stage.json(&["workspace", "remove", "app--1", "tea--1", "--json"]);
    judge(&answer);
    assert_eq!(code, 3, "{answer}");
    let [removed, unknown] = answer["workspaces"].as_array().unwrap().as_slice() else {
        panic!("{answer}");
    };
    assert_eq!(unknown["error"]["code"], "workspace-not-found");
    let aside = removed["removed"]["moved_to"].as_str().unwrap();
    let kept = std::path::Path::new(aside).join(".env");
    assert_eq!(fs::read_to_string(kept).unwrap(), "secret\n");
    assert!(!worktree.exists());
    assert!(!listed(&stage).contains("app--1"), "{}", listed(&stage));
    assert!(!stage.home().removed().join("app--1").exists());
    let branches = stage.git("branch --list fix");
    assert!(!branches.stdout.is_empty(), "the branch stays");
    assert!(!stage.run_ok(&["workspace", "list"]).contains("app--1"));
    // The next task gets a new worktree with the same name.
    let next = stage.create(&["next", "Next"]);
    stage.run_ok(&["task", "spawn", "next", "--wait", "60"]);
    assert!(stage.worktree(&next).ends_with("app--1"));
}

#[test]
fn an_interrupted_removal_is_finished_by_the_next() {
    let stage = Stage::new("default");
    stage.run_ok(&["workspace", "init", "2"]);
    let home = stage.home();
    // Killed after the rename: git has a record without a directory.
    fs::create_dir_all(home.removed()).unwrap();
    let first = home.workspaces().join("app--1");
    fs::rename(&first, home.removed().join("app--1")).unwrap();
    // Killed before the directory in the trash was deleted.
    let left = home.removed().join("app--2");
    fs::create_dir_all(left.join("half")).unwrap();
    stage.run_ok(&["workspace", "remove", "app--1", "app--2"]);
    assert!(!first.exists() && !left.exists());
    assert!(!home.removed().join("app--1").exists());
    assert!(!listed(&stage).contains("app--"), "{}", listed(&stage));
}

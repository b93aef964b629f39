//! Workspaces that could not be released.

use std::fs;

use orange_engine::task::Workspace;

use crate::support::{RunningSupervisor, Stage, wait_for};

#[test]
fn a_failed_release_is_retried_when_a_supervisor_starts() {
    let stage = Stage::new("minimal");
    stage.script("worker-1", "echo precious > unsaved.txt");
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    stage.wait_for_turn("worker-1");
    // Nothing can be saved into a missing repository.
    let (git, gone) = (stage.path("repo/.git"), stage.path("repo/gone"));
    fs::rename(&git, &gone).unwrap();
    let (_, output) = stage.call(&["task", "cancel", id.as_str()]);
    let is_given_up = || !stage.task(&id).attention.is_empty();
    wait_for("the release to be given up", is_given_up);
    assert!(
        stage.store().workspace_of(&id).unwrap().is_some(),
        "{output}\n{}",
        stage.diagnostics(&id)
    );
    assert!(stage.worktree(&id).join("unsaved.txt").exists());

    fs::rename(&gone, &git).unwrap();
    let serving = RunningSupervisor::start(&stage);
    let is_released = || stage.task(&id).workspace == Workspace::None;
    wait_for("the release", is_released);
    drop(serving);
    assert!(stage.store().workspace_of(&id).unwrap().is_none());
    let kept = stage.git("for-each-ref --format=%(refname) refs/orange/rescue");
    let kept = String::from_utf8(kept.stdout).unwrap();
    let rescue = kept.lines().next().unwrap();
    let found = stage.git(&format!("grep -h precious {rescue}"));
    assert_eq!(String::from_utf8(found.stdout).unwrap(), "precious\n");
    assert!(
        stage.task(&id).attention.is_empty(),
        "{}",
        stage.diagnostics(&id)
    );
}

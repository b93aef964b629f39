//! A home moved behind a link, or restored from a backup.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use orange_effects::process::processes_of_run;

use crate::support::{Stage, log, wait_for};

#[test]
fn a_home_works_after_it_is_moved_behind_a_link() {
    let stage = Stage::new("session");
    stage.script("worker-1", "commit one\npause never");
    stage.script("worker-2", "pause never");
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    wait_for("the commit", || log(&stage, &id).len() == 1);
    stage.wait_until_idle(&id);
    fs::write(stage.worktree(&id).join("unsaved.txt"), "unsaved").unwrap();
    stage.tmux(&["kill-server"]);
    // The agent ends a moment after its server.
    let run = &stage.store().runs(&id).unwrap()[0].id;
    wait_for("the end of the agent", || {
        processes_of_run(run).unwrap().is_empty()
    });
    fs::rename(stage.path("home"), stage.path("elsewhere")).unwrap();
    symlink(stage.path("elsewhere"), stage.path("home")).unwrap();

    stage.run_ok(&["task", "respawn", id.as_str(), "--wait", "60"]);
    stage.wait_until_idle(&id);
    assert_eq!(stage.panes(), ["worker:0"], "{}", stage.diagnostics(&id));
    let unsaved = fs::read_to_string(stage.worktree(&id).join("unsaved.txt"));
    assert_eq!(unsaved.unwrap(), "unsaved");
    stage.run_ok(&["task", "cancel", id.as_str(), "--wait", "60"]);
    stage.wait_until_idle(&id);
    let saved = stage.run_ok(&["task", "restore", id.as_str()]);
    assert!(saved.contains("1 file"), "{saved}");
    assert_eq!(log(&stage, &id), ["one"]);
    stage.rebuild(&id);
}

#[test]
fn a_backup_taken_while_an_agent_runs_can_be_rebuilt() {
    let stage = Stage::new("session");
    stage.script("worker-1", "commit one\npause never");
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    wait_for("the commit", || log(&stage, &id).len() == 1);
    stage.wait_until_idle(&id);
    fs::write(stage.worktree(&id).join("unsaved.txt"), "unsaved").unwrap();
    let before = stage.task(&id);
    // As docs/recovering.md says: everything but the database and the socket, also if the home is a
    // link.
    let backup = stage.path("backup.tar");
    symlink(stage.path("home"), stage.path("link")).unwrap();
    let mut tar = Command::new("tar");
    tar.arg("-cf").arg(&backup);
    tar.args(["--exclude=./orange.db*", "--exclude=./tmux.sock", "-C"]);
    tar.arg(stage.path("link/")).arg(".");
    assert!(tar.status().unwrap().success());

    stage.tmux(&["kill-server"]);
    fs::rename(stage.path("home"), stage.path("lost")).unwrap();
    fs::create_dir(stage.path("home")).unwrap();
    let mut tar = Command::new("tar");
    tar.arg("-xf")
        .arg(&backup)
        .arg("-C")
        .arg(stage.path("home/"));
    assert!(tar.status().unwrap().success());
    let (code, output) = stage.call(&["task", "show", id.as_str()]);
    assert_eq!(code, 3, "a missing database is not an empty one: {output}");
    stage.run_ok(&["rebuild"]);
    assert_eq!(stage.task(&id), before);
    let unsaved = fs::read_to_string(stage.worktree(&id).join("unsaved.txt"));
    assert_eq!(unsaved.unwrap(), "unsaved");
    stage.run_ok(&["task", "cancel", id.as_str(), "--wait", "60"]);
    stage.wait_until_idle(&id);
    let saved = stage.run_ok(&["task", "restore", id.as_str()]);
    assert!(saved.contains("1 file"), "{saved}");
}

//! Agents that end with a TASK.md that cannot be read.

use std::fs;
use std::path::Path;
use std::slice;

use crate::support::{Stage, wait_for};

#[test]
fn an_agent_that_ends_with_an_unreadable_task_file_is_noticed_and_respawned() {
    type Spoil = fn(&Path);
    let ways: [(&str, Spoil); 4] = [
        ("it is empty", |worktree| {
            fs::write(worktree.join("TASK.md"), "").unwrap();
        }),
        ("UTF-8", |worktree| {
            fs::write(worktree.join("TASK.md"), [0xff, 0xfe, 0xfd]).unwrap();
        }),
        ("it is not a regular file", |worktree| {
            fs::remove_file(worktree.join("TASK.md")).unwrap();
            fs::create_dir(worktree.join("TASK.md")).unwrap();
        }),
        ("its worktree is gone", |worktree| {
            fs::remove_dir_all(worktree).unwrap();
        }),
    ];
    for (reason, spoil) in ways {
        let stage = Stage::new("minimal");
        stage.script("worker-1", "hang");
        stage.script("worker-2", "hang");
        let id = stage.create(&["Add a line"]);
        stage.run_ok(&["task", "spawn", id.as_str()]);
        let is_running = || stage.panes().contains(&String::from("worker:0"));
        wait_for("the agent", is_running);
        spoil(&stage.worktree(&id));
        let pid = stage.tmux(&["list-panes", "-a", "-F", "#{pane_pid}"]);
        let mut kill = std::process::Command::new("kill");
        assert!(kill.args(["-KILL", pid.trim()]).status().unwrap().success());
        wait_for("the death", || {
            stage.panes().contains(&String::from("worker:1"))
        });
        let driver = stage.driver();
        wait_for("the death to be judged", || {
            driver.agents.observe_each(slice::from_ref(&id)).unwrap();
            let task = stage.task(&id);
            task.runs.values().all(|run| !run.state.is_live())
        });
        let attention = stage.task(&id).attention;
        assert!(
            attention.iter().any(|it| it.contains(reason)),
            "{reason}: {attention:?}"
        );
        assert!(
            attention.iter().any(|it| it.contains("signal 9")),
            "{attention:?}"
        );
        if stage.worktree(&id).exists() {
            stage.run_ok(&["task", "respawn", id.as_str(), "--wait", "60"]);
            wait_for("the next agent", is_running);
        }
    }
}

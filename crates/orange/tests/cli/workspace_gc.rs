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

//! `orange task restore`.

use std::fs;

use crate::support::Stage;

#[test]
fn work_that_is_still_being_saved_is_not_called_missing() {
    let stage = Stage::new("default");
    // It is killed only after a grace period, so the release takes a while.
    stage.script("worker-1", "trap '' TERM HUP; hang");
    let id = stage.create(&["fix", "Add a line"]);
    stage.run_ok(&["task", "spawn", "fix", "--wait", "60"]);
    crate::support::wait_for("the agent", || stage.path("scripts/hangs").exists());
    fs::write(stage.worktree(&id).join("unsaved.txt"), "work").unwrap();
    let (code, answer) = stage.call(&["task", "cancel", "fix", "--wait", "0"]);
    assert_eq!(code, 5, "{answer}");
    // Whenever it is called, it says that it is too early, or what was saved.
    let mut early = 0;
    crate::support::wait_for("the saved work", || {
        let (code, said) = stage.call(&["task", "restore", "fix"]);
        if code == 0 {
            assert!(said.starts_with("1  fix, 1 file, saved "), "{said}");
            return true;
        }
        assert_eq!(code, 5, "{said}");
        assert!(said.contains("is still being released"), "{said}");
        early += 1;
        false
    });
    assert!(early > 0, "the release was over at once");
    stage.wait_until_idle(&id);
    let restored = stage.run_ok(&["task", "restore", "fix", "1", "--branch", "again"]);
    assert!(restored.contains("1 file, on branch `again`"), "{restored}");
}

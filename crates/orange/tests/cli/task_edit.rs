//! `orange task edit`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::support::Stage;

#[test]
fn the_editor_opens_the_worktree() {
    let stage = Stage::new("minimal");
    let id = stage.create(&["fix", "Fix it"]);
    stage.run_ok(&["task", "spawn", "fix"]);
    let (editor, seen) = (stage.path("editor"), stage.path("seen"));
    let text = format!("#!/bin/sh\necho \"$PWD $*\" >> {}\n", seen.display());
    fs::write(&editor, text).unwrap();
    fs::set_permissions(&editor, fs::Permissions::from_mode(0o700)).unwrap();
    let mut command = stage.orange(&["task", "edit", "fix"]);
    assert!(command.env("EDITOR", &editor).status().unwrap().success());
    let worktree = stage.worktree(&id).display().to_string();
    assert_eq!(
        fs::read_to_string(&seen).unwrap(),
        format!("{worktree} .\n")
    );
    // The setting comes first, with its own arguments.
    let settings = format!("[open]\neditor = \"{} --wait\"\n", editor.display());
    fs::write(stage.path("home/config.toml"), settings).unwrap();
    stage.run_ok(&["task", "edit", "fix"]);
    let last = fs::read_to_string(&seen).unwrap();
    assert!(last.ends_with(&format!("{worktree} --wait .\n")), "{last}");
}

//! `orange task shell`.

use std::fs;

use crate::support::Stage;

#[test]
fn a_shell_opens_in_the_worktree() {
    let stage = Stage::new("minimal");
    let id = stage.create(&["fix", "Fix it"]);
    stage.run_ok(&["task", "spawn", "fix"]);
    let seen = stage.path("seen");
    let script = stage.path("shell");
    let text = format!("pwd > {0}; orange task show >> {0}", seen.display());
    fs::write(&script, text).unwrap();
    let settings = format!("[open]\nshell = \"sh {}\"\n", script.display());
    fs::write(stage.path("home/config.toml"), settings).unwrap();
    let bin = std::path::Path::new(env!("CARGO_BIN_EXE_orange"))
        .parent()
        .unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let status = stage
        .orange(&["task", "shell", "fix"])
        .env("PATH", path)
        .status();
    assert!(status.unwrap().success());
    let seen = fs::read_to_string(&seen).unwrap();
    assert!(
        seen.starts_with(&stage.worktree(&id).display().to_string()),
        "{seen}"
    );
    assert!(
        seen.contains(id.as_str()),
        "commands there are about the task: {seen}"
    );
}

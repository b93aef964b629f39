//! What a missing capability leads to.

use std::os::unix::fs::symlink;
use std::process::Command;

use orange_config::Environment;
use orange_effects::sandbox::{Capabilities, Level};

use crate::commands::hooked;
use crate::fixture::Fixture;
use crate::support::{Stage, environment};

#[test]
fn a_path_without_bwrap_is_not_full() {
    let fixture = Fixture::new();
    let whole = Capabilities::find(&fixture.environment, &[]);
    assert_eq!(whole.level, Level::Full);
    assert!(whole.obstacle().is_none());
    let environment = Environment::of([("PATH", fixture.path("w").as_os_str())]);
    let found = Capabilities::find(&environment, &[]);
    assert!(found.level < Level::Full);
    let gap = found.obstacle().unwrap();
    assert_eq!(gap.reason, "bwrap is not installed");
    assert!(gap.fix.contains("apt install bubblewrap"), "{}", gap.fix);
    // One in a worktree is not trusted.
    symlink(whole.bwrap.unwrap(), fixture.path("w/bwrap")).unwrap();
    let worktree = fixture.path("w");
    let found = Capabilities::find(&environment, &[&worktree]);
    let gap = found.obstacle().unwrap();
    assert!(gap.reason.ends_with("is in a worktree"), "{}", gap.reason);
}

/// Calls `orange doctor` where no user namespace can be made.
fn doctor_without_namespaces(stage: &Stage) -> Option<String> {
    let mut limited = Command::new("bwrap");
    limited.args(["--bind", "/", "/", "--dev-bind", "/dev", "/dev"]);
    limited.args(["--unshare-user", "--disable-userns", "--"]);
    limited
        .arg(env!("CARGO_BIN_EXE_orange"))
        .args(["doctor", "--json"]);
    limited.current_dir(stage.path("repo"));
    limited.env_clear().envs(stage.environment.variables());
    let output = limited.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let answer: serde_json::Value = serde_json::from_str(&text).ok()?;
    let rows = answer["checkups"].as_array()?;
    let row = rows.iter().find(|row| row["subject"] == "sandbox")?;
    Some(row.to_string())
}

#[test]
fn refused_namespaces_are_explained() {
    let stage = Stage::new("minimal");
    let config = stage.home().settings();
    for (mode, health) in [("off", "ok"), ("auto", "warning"), ("required", "error")] {
        std::fs::write(&config, format!("[sandbox]\nmode = \"{mode}\"\n")).unwrap();
        let row = doctor_without_namespaces(&stage).unwrap();
        assert!(row.contains(&format!("\"health\":\"{health}\"")), "{row}");
        assert!(row.contains("user namespaces"), "{row}");
        if mode != "off" {
            assert!(row.contains("\"fix\":\""), "{row}");
        }
        let (_, answer) = stage.json(&["doctor", "--json"]);
        let rows = answer["checkups"].as_array().unwrap();
        let row = rows.iter().find(|row| row["subject"] == "sandbox").unwrap();
        assert_ne!(row["health"], "error", "{row}");
    }
}

/// A stage with everything on the PATH but bwrap.
fn without_bwrap(mut stage: Stage) -> Stage {
    let programs = stage.path("programs");
    std::fs::create_dir(&programs).unwrap();
    let path = std::env::var_os("PATH").unwrap();
    for folder in std::env::split_paths(&path) {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.file_name() != "bwrap" {
                let _twice = symlink(entry.path(), programs.join(entry.file_name()));
            }
        }
    }
    let root = stage.path("");
    let more = [("PATH", programs.to_str().unwrap())];
    stage.environment = environment(&root, &more);
    stage
}

#[test]
fn a_gate_says_that_its_sandbox_is_missing() {
    let stage = without_bwrap(Stage::new("default"));
    let id = hooked(&stage, ":", ":");
    stage.run_ok(&["task", "spawn", id.as_str()]);
    stage.wait_for_status(&id, "held");
    stage.wait_until_idle(&id);
    std::fs::write(stage.home().settings(), "[sandbox]\nmode = \"required\"\n").unwrap();
    let close = [
        "task",
        "update",
        id.as_str(),
        "--status",
        "closed",
        "--json",
    ];
    let (code, answer) = stage.json(&close);
    assert_eq!(code, 3, "{answer}");
    assert_eq!(answer["error"]["code"], "sandbox-missing", "{answer}");
    assert_eq!(stage.task(&id).status.as_str(), "held");
}

#[test]
fn a_required_sandbox_that_is_missing_stops_the_start() {
    let stage = without_bwrap(Stage::new("minimal"));
    let config = stage.home().settings();
    std::fs::write(&config, "[sandbox]\nmode = \"required\"\n").unwrap();
    stage.script("worker-1", "ask task show");
    let id = stage.create(&["Add a line"]);
    let (code, text) = stage.call(&["task", "spawn", id.as_str()]);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_ne!(code, 0, "{text}");
    let (_, shown) = stage.call(&["task", "show", id.as_str()]);
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    let both = format!("{text} {shown}");
    assert!(both.contains("bwrap is not installed"), "{both}");
    assert!(both.contains("sandbox.mode"), "{both}");
    assert_eq!(stage.panes(), [] as [&str; 0]);
    // `auto` starts it without one, and says so in the log.
    std::fs::write(&config, "[sandbox]\nmode = \"auto\"\n").unwrap();
    let id = stage.create(&["Add another line"]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    stage.wait_for_turn("worker-1");
    let log = std::fs::read_to_string(stage.home().log()).unwrap();
    assert!(log.contains("started without a sandbox"), "{log}");
}

//! Commands of projects and workflows in a sandbox.

use std::fs;

use orange_engine::names::TaskId;
use serde_json::json;

use crate::stories::{PROVE, stage};
use crate::support::gates::HOOKED;
use crate::support::{PLAN_AND_WORK, Stage, log, wait_for};

/// What a command can do: writes a line into the worktree for each.
const TRY: &str = "\
{ uname -n; cat SECRET 2>&1; ls HOME/home/orange.db 2>&1; git log --format=%s -1; git config remote.origin.url
env | grep -c '^ORANGE_HOME='; PROGRAM task list >/dev/null 2>&1; echo $?
touch HOME/repo/.git/hooks/planted HOME/repo/planted 2>/dev/null; echo $?; } > tried-NAME
";

fn attempt(stage: &Stage, name: &str) -> String {
    let secret = stage.path("secret").display().to_string();
    let home = stage.path("").display().to_string();
    let text = TRY.replace("PROGRAM", env!("CARGO_BIN_EXE_orange"));
    let text = text.replace("SECRET", &secret).replace("NAME", name);
    text.replace("HOME/", &format!("{}/", home.trim_end_matches('/')))
}

/// What a command wrote, if it was in a sandbox.
fn require_held(text: &str) {
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "orange", "{text}");
    assert!(!text.contains("canary"), "{text}");
    assert!(lines[2].contains("No such file"), "{text}");
    assert!(!text.contains("token"), "{text}");
    assert_eq!(&lines[lines.len() - 3..], ["0", "3", "1"], "{text}");
}

pub fn hooked(stage: &Stage, hook: &str, gate: &str) -> TaskId {
    let out = stage.path("scripts").display().to_string();
    fs::create_dir_all(stage.path("home/workflows")).unwrap();
    let text = HOOKED.replace("sh, \"OUT/gate.sh\"", "sh, \"-c\", \"GATE\"");
    let text = text.replace("sh, \"OUT/hook.sh\"", "sh, \"-c\", \"HOOK\"");
    let text = text
        .replace("GATE", gate)
        .replace("HOOK", hook)
        .replace("OUT", &out);
    fs::write(stage.path("home/workflows/hooked.yml"), text).unwrap();
    stage.create(&["Add a line", "--workflow", "hooked"])
}

#[test]
fn setup_hook_gate_teardown_and_verification_are_held() {
    let stage = stage("default");
    let added = stage.git("remote add origin https://ann:token@127.0.0.1/app.git");
    assert!(added.status.success());
    let keep = |name: &str| format!("{}cat tried-{name} > kept-{name}", attempt(&stage, name));
    stage.configure("setup", &json!(["sh", "-c", keep("setup")]));
    stage.configure("teardown", &json!(["sh", "-c", keep("teardown")]));
    // The worktree shows what was written, until it is released.
    let hook = "{ uname -n; ls ..; } > hook";
    let id = hooked(&stage, hook, "uname -n > gate; test -e kept-setup");
    stage.run_ok(&["task", "spawn", id.as_str()]);
    stage.wait_for_status(&id, "held");
    stage.wait_until_idle(&id);
    let worktree = stage.worktree(&id);
    let read = |name: &str| fs::read_to_string(worktree.join(name)).unwrap_or_default();
    require_held(&read("kept-setup"));
    assert!(read("hook").starts_with("orange\n"), "{}", read("hook"));
    stage.run_ok(&["task", "update", id.as_str(), "--status", "closed"]);
    stage.wait_until_idle(&id);
    let directory = stage.home().tasks().join("app").join(id.as_str());
    let log = fs::read_to_string(directory.join("teardown.log")).unwrap();
    assert!(log.starts_with("== "), "{log}");
    assert!(!stage.path("repo/planted").exists());
    assert!(!stage.path("repo/.git/hooks/planted").exists());
    // What it wrote was saved with the rest of the worktree.
    let saved = stage.git(&format!("show refs/orange/rescue/{id}/1:kept-teardown"));
    require_held(&String::from_utf8_lossy(&saved.stdout));
    let saved = stage.git(&format!("show refs/orange/rescue/{id}/1:gate"));
    assert_eq!(String::from_utf8_lossy(&saved.stdout), "orange\n");
}

#[test]
fn a_merge_is_verified_in_a_sandbox() {
    let stage = stage("default");
    let verify = format!(
        "{}git log --format=%s -1; git describe --always; cat tried-verify; ! grep canary tried-verify",
        attempt(&stage, "verify")
    );
    stage.configure("merge_verify", &json!(verify));
    stage.script("worker-1", &format!("{PROVE}{PLAN_AND_WORK}"));
    stage.script(
        "reviewer-1",
        "printf 'Verdict: PASS\\nfine\\n' | section Review\nask task update --status reviewing\n",
    );
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    stage.wait_for_status(&id, "reviewing");
    stage.wait_until_idle(&id);
    stage.run_ok(&["task", "merge", id.as_str()]);
    stage.wait_for_status(&id, "done");
    let directory = stage.home().tasks().join("app").join(id.as_str());
    let printed = fs::read_to_string(directory.join("verify.log")).unwrap();
    let tried = printed.split("\norange\n").nth(1).unwrap();
    require_held(&format!("orange\n{tried}"));
    assert!(printed.contains("\none\n"), "git works: {printed}");
    assert_eq!(log(&stage, &id), [] as [&str; 0], "merged");
}

#[test]
fn exit_codes_are_as_without_a_sandbox() {
    for (gate, answer) in [
        ("exit 7", "exited with code 7"),
        ("nowhere-to-be-found", "exited with code 127"),
        ("kill -9 $$", "exited with code 137"),
    ] {
        let stage = stage("default");
        let id = hooked(&stage, ":", gate);
        stage.run_ok(&["task", "spawn", id.as_str()]);
        stage.wait_for_status(&id, "held");
        stage.wait_until_idle(&id);
        let (code, said) = stage.call(&["task", "update", id.as_str(), "--status", "closed"]);
        assert_eq!(code, 3, "{said}");
        assert!(said.contains(answer), "{gate}: {said}");
    }
}

#[test]
fn what_a_command_leaves_running_ends_with_it() {
    let stage = stage("default");
    let id = hooked(
        &stage,
        "(setsid sleep 4242 &) ; sleep 4243 & :",
        "sleep 4244 & :",
    );
    stage.run_ok(&["task", "spawn", id.as_str()]);
    stage.wait_for_status(&id, "held");
    stage.wait_until_idle(&id);
    stage.run_ok(&["task", "update", id.as_str(), "--status", "closed"]);
    let left = || {
        ["sleep\u{0}4242", "sleep\u{0}4243", "sleep\u{0}4244"]
            .iter()
            .any(|it| !crate::fixture::processes_with(it).is_empty())
    };
    wait_for("the end of what was left", || !left());
}

#[test]
fn a_gate_commits_and_the_commit_arrives() {
    let stage = stage("default");
    let id = hooked(
        &stage,
        "git commit -q --allow-empty -m hooked",
        "git log -1 --format=%s | grep -q hooked",
    );
    stage.run_ok(&["task", "spawn", id.as_str()]);
    stage.wait_for_status(&id, "held");
    stage.wait_until_idle(&id);
    stage.run_ok(&["task", "update", id.as_str(), "--status", "closed"]);
    stage.wait_until_idle(&id);
    assert_eq!(log(&stage, &id), ["hooked"]);
}

//! An agent's own calls during everything done for its task.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::support::scripts::{FAIL, WORK};
use crate::support::{FIX, PASS, PLAN_AND_WORK, Stage, way};

/// A wrapper for a program on the `PATH`: the currently running agent calls orange first.
///
/// It makes one call at a time, so that the git and tmux calls of that call are not wrapped again.
/// A call that hangs is killed after a minute, which its exit code shows. Where the agent itself
/// called git it is certainly alive, so there it asks for a change.
const GIT_WRAPPER: &str = r#"#!/bin/sh
root=ROOT
if [ -f "$root/scripts/who" ] && mkdir "$root/midst" 2>/dev/null; then
    (
        own=${ORANGE_RUN_ID:+own}
        . "$root/scripts/who"
        export ORANGE_HOME ORANGE_RUN_ID ORANGE_RUN_PROOF ORANGE_TASK_ID ORANGE_ROLE
        unset ORANGE_EFFECT_ID
        number=$(($(cat "$root/number" 2>/dev/null || echo 0) + 1))
        echo $number > "$root/number"
        case ${own:-$((number % 4))} in
            0) set -- task show ;;
            1) set -- inbox ;;
            2|own) set -- task update --summary "Add $number lines" --wait 0 ;;
            3) set -- task update --status nowhere --wait 0 ;;
        esac
        timeout 60 "ORANGE" "$@" > "$root/said" 2>&1 < /dev/null
        code=$?
        echo "NAME $code $*" >> "$root/calls-in-midst"
        case $code in 0|3|4|5) ;; *) cat "$root/said" >> "$root/calls-in-midst" ;; esac
    ) > /dev/null 2>&1
    rmdir "$root/midst"
fi
exec "REAL" "$@"
"#;

/// Writes out the running agent's variables, atomically.
const TELL: &str = "\
env | grep '^ORANGE_' | sed \"s/=\\(.*\\)/='\\1'/\" > $SCRIPTS/who.new && mv $SCRIPTS/who.new $SCRIPTS/who
";

fn real_program(name: &str) -> String {
    let path = std::env::var_os("PATH").unwrap();
    let mut folders = std::env::split_paths(&path);
    let found = folders.find(|folder| folder.join(name).is_file());
    found.unwrap().join(name).display().to_string()
}

fn start_stage(workflow: &str) -> Stage {
    let mut stage = Stage::new(workflow);
    let folder = stage.path("between");
    fs::create_dir(&folder).unwrap();
    let root = stage.path("");
    let root = root.to_str().unwrap().trim_end_matches('/');
    for name in ["git", "tmux"] {
        let text = GIT_WRAPPER
            .replace("ROOT", root)
            .replace("ORANGE\"", &format!("{}\"", env!("CARGO_BIN_EXE_orange")))
            .replace("REAL", &real_program(name))
            .replace("NAME", name);
        let path = folder.join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
    }
    let path = std::env::var("PATH").unwrap();
    let path = format!("{}:{path}", folder.display());
    stage.environment =
        crate::support::stage::environment(&stage.path(""), &[("PATH", path.as_str())]);
    stage
}

/// Goes through two rounds of review; every nested call is answered, and some change the task.
fn run_two_rounds(workflow: &str, work: &str, expected: &[&str]) {
    let stage = start_stage(workflow);
    stage.script("worker-1", &format!("{TELL}{work}"));
    stage.script("worker-2", &format!("{TELL}{FIX}"));
    stage.script("reviewer-1", &format!("{TELL}{FAIL}"));
    stage.script("reviewer-2", &format!("{TELL}{PASS}"));
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str(), "--wait", "60"]);
    stage.wait_for_status(&id, "reviewing");
    stage.wait_until_idle(&id);
    assert_eq!(way(&stage, &id), expected, "{}", stage.diagnostics(&id));
    stage.run_ok(&["task", "cancel", id.as_str(), "--wait", "60"]);
    stage.wait_until_idle(&id);
    let calls = fs::read_to_string(stage.path("calls-in-midst")).unwrap();
    let mut kinds = BTreeSet::new();
    for line in calls.lines() {
        let mut words = line.split(' ');
        let (name, code) = (words.next().unwrap(), words.next().unwrap_or_default());
        // Done, refused, gone, or still in flight; never unexpected, never hanging.
        assert!(["0", "3", "4", "5"].contains(&code), "{calls}");
        kinds.insert((name.to_owned(), words.take(2).collect::<Vec<_>>().join(" ")));
    }
    assert!(calls.lines().count() > 20, "{calls}");
    assert!(
        kinds.len() >= 6,
        "git and tmux, each kind of call: {kinds:?}"
    );
    assert!(
        calls.lines().any(|line| line.contains(" 0 task update")),
        "none changed anything: {calls}"
    );
}

#[test]
fn agents_may_call_during_every_step_of_default() {
    let way = [
        "planning",
        "working",
        "agent-review",
        "working",
        "agent-review",
        "reviewing",
    ];
    run_two_rounds("default", PLAN_AND_WORK, &way);
}

#[test]
fn agents_may_call_during_every_step_of_respawn() {
    let way = [
        "working",
        "agent-review",
        "working",
        "agent-review",
        "reviewing",
    ];
    run_two_rounds("respawn", WORK, &way);
}

//! Merges whose process was killed: finished, undone or named.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::json;

use super::merging::{is_done, merge_count, reviewed_tasks};
use crate::failures::deaths::{callers, kill};
use crate::support::{Stage, wait_for};

/// Gives the project a bare remote at `origin.git`, which its merges are pushed to.
fn push_to_a_remote(stage: &Stage) {
    let remote = stage.path("origin.git");
    let remote = remote.display();
    for call in [
        format!("init -q --bare {remote}"),
        format!("remote add origin {remote}"),
        String::from("push -q origin main"),
    ] {
        stage.git_output("repo", &call);
    }
    let remote = remote.to_string();
    stage.run_ok(&["project", "update", "app", "--remote", &remote]);
    stage.configure("push", &json!(true));
}

/// Waits until every process of this home that performs has been killed.
fn kill_performers(stage: &Stage) {
    wait_for("the deaths", || {
        let callers = callers(stage);
        for pid in &callers {
            kill(*pid);
        }
        callers.is_empty()
    });
}

/// Kills the process that merges when the remote has the commit, and its answer is late.
fn die_after_push(stage: &Stage, id: &str) {
    let hook = stage.path("origin.git/hooks/post-receive");
    let received = stage.path("received");
    let text = format!("#!/bin/sh\ntouch {}\nsleep 30\n", received.display());
    write_hook(&hook, &text);
    stage.call(&["task", "merge", id, "--wait", "0"]);
    wait_for("the push", || received.exists());
    kill_performers(stage);
    fs::remove_file(&hook).unwrap();
}

fn write_hook(hook: &Path, text: &str) {
    fs::write(hook, text).unwrap();
    fs::set_permissions(hook, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Makes a merge that is at the remote, but not in the checkout, where a file is in its way.
fn merge_only_at_the_remote(stage: &Stage, id: &str) {
    push_to_a_remote(stage);
    let hook = stage.path("origin.git/hooks/post-receive");
    let file = stage.path("repo/items").join(id);
    let text = format!("#!/bin/sh\necho mine > {}\n", file.display());
    write_hook(&hook, &text);
    let (code, output) = stage.call(&["task", "merge", id]);
    assert_eq!(code, 3, "{output}");
    assert!(output.contains("already has"), "{output}");
    fs::remove_file(&hook).unwrap();
}

#[test]
fn a_merge_that_was_killed_after_its_push_is_finished_before_a_cancel() {
    let (stage, ids) = reviewed_tasks(1);
    let id = ids[0].as_str();
    stage.configure("merge_verify", &json!(""));
    push_to_a_remote(&stage);
    die_after_push(&stage, id);
    let (code, output) = stage.call(&["task", "cancel", id, "--yes"]);
    assert_eq!(code, 3, "{output}");
    assert!(output.contains("it is finished"), "{output}");
    assert!(is_done(&stage, &ids[0]), "{}", stage.diagnostics(&ids[0]));
    assert_eq!(merge_count(&stage, &ids[0]), 1);
    let head = |place: &str| stage.git_output(place, "rev-parse main");
    assert_eq!(head("repo"), head("origin.git"));
    stage.wait_until_idle(&ids[0]);
    assert_eq!(stage.git_output("repo", "status --porcelain"), "");
}

#[test]
fn a_merge_that_was_killed_before_it_changed_anything_is_dropped_by_a_cancel() {
    let (stage, ids) = reviewed_tasks(1);
    let id = ids[0].as_str();
    let begun = stage.path("begun");
    let command = format!(
        "echo $$ > {0}.new; mv {0}.new {0}; exec sleep 600",
        begun.display()
    );
    stage.configure("merge_verify", &json!(command));
    let main = stage.git_output("repo", "rev-parse main");
    stage.call(&["task", "merge", id, "--wait", "0"]);
    wait_for("the command", || begun.exists());
    let pid = fs::read_to_string(&begun).unwrap();
    let command_line = Path::new("/proc").join(pid.trim()).join("cmdline");
    // The command line of a process that has ended is empty, collected or not.
    let is_running = || fs::read(&command_line).is_ok_and(|it| !it.is_empty());
    kill_performers(&stage);
    assert!(is_running());
    stage.run_ok(&["task", "cancel", id, "--yes"]);
    stage.wait_for_status(&ids[0], "cancelled");
    stage.wait_until_idle(&ids[0]);
    assert_eq!(stage.git_output("repo", "rev-parse main"), main);
    assert_eq!(merge_count(&stage, &ids[0]), 0);
    let task = stage.task(&ids[0]);
    assert!(task.attention.is_empty(), "{:?}", task.attention);
    assert!(!is_running());
}

#[test]
fn a_merge_that_is_only_at_the_remote_is_named_after_a_cancel() {
    let (stage, ids) = reviewed_tasks(1);
    let id = ids[0].as_str();
    stage.configure("merge_verify", &json!(""));
    merge_only_at_the_remote(&stage, id);
    stage.run_ok(&["task", "cancel", id, "--yes"]);
    stage.wait_for_status(&ids[0], "cancelled");
    let attention = stage.task(&ids[0]).attention.join("; ");
    let named = "may be half done and cannot be finished";
    assert!(attention.contains(named), "{attention}");
    assert!(attention.contains("already has"), "{attention}");
    let file = stage.path("repo/items").join(id);
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine\n");
}

#[test]
fn an_uninstall_finishes_a_merge_that_was_killed() {
    let (stage, ids) = reviewed_tasks(1);
    let id = ids[0].as_str();
    stage.configure("merge_verify", &json!(""));
    push_to_a_remote(&stage);
    die_after_push(&stage, id);
    let shown = stage.run_ok(&["uninstall", "--yes"]);
    let line = format!("the unfinished merge of task {id}");
    assert!(shown.contains(&line), "{shown}");
    assert!(!stage.path("home").exists(), "{shown}");
    let head = |place: &str| stage.git_output(place, "rev-parse main");
    assert_eq!(head("repo"), head("origin.git"));
    let merged = stage.git_output("repo", "log --format=%s -1 main");
    assert_eq!(merged, format!("Add {id}"));
    assert_eq!(stage.git_output("repo", "status --porcelain"), "");
}

#[test]
fn an_uninstall_names_a_merge_that_it_cannot_finish() {
    let (stage, ids) = reviewed_tasks(1);
    let id = ids[0].as_str();
    stage.configure("merge_verify", &json!(""));
    merge_only_at_the_remote(&stage, id);
    let (code, shown) = stage.call(&["uninstall", "--yes"]);
    assert_eq!(code, 6, "{shown}");
    let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    let named = "may be half done and cannot be finished";
    assert!(words.contains(named), "{words}");
    let advice = format!("`orange task cancel {id}`");
    assert!(words.contains(&advice), "{words}");
    assert!(stage.path("home").exists(), "the home says what is open");
    let file = stage.path("repo/items").join(id);
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine\n");
    // Given up, it does not block any longer.
    stage.run_ok(&["task", "cancel", id, "--yes"]);
    stage.run_ok(&["uninstall", "--yes"]);
    assert!(!stage.path("home").exists());
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine\n");
}

//! `orange task why`.

use std::fs;

use orange_engine::names::TaskId;
use serde_json::json;

use crate::support::{Stage, wait_for};

impl Stage {
    /// Everything that reading could have changed: the task, and every file of its directory.
    fn snapshot(&self, id: &TaskId) -> (u64, Vec<(String, Vec<u8>)>) {
        let directory = self.home().tasks().join("app").join(id.as_str());
        let mut files: Vec<(String, Vec<u8>)> = fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.is_file())
            .map(|path| (path.display().to_string(), fs::read(path).unwrap()))
            .collect();
        files.sort();
        (self.task(id).version, files)
    }
}

#[test]
fn why_lists_what_every_step_needs_and_changes_nothing() {
    let stage = Stage::new("default");
    let waiting = stage.transcript(&["task", "create", "fix", "Fix it", "--no-spawn"]);
    assert!(waiting.contains("[exit 0]"), "{waiting}");
    let id = stage.driver().callers.resolve_task(Some("fix")).unwrap();
    insta::assert_snapshot!("why_in_a_queue", stage.transcript(&["task", "why", "fix"]));
    stage.script(
        "worker-1",
        "pause plan
printf 'APPROACH: a\\n' | section Plan
touch $SCRIPTS/planned",
    );
    stage.run_ok(&["task", "spawn", "fix", "--wait", "60"]);
    wait_for("the worker", || stage.panes() == ["worker:0"]);
    stage.wait_until_idle(&id);
    let before = stage.snapshot(&id);
    insta::assert_snapshot!("why_in_planning", stage.transcript(&["task", "why", "fix"]));
    assert_eq!(stage.snapshot(&id), before, "reads never write");
    stage.script("plan", "");
    wait_for("the plan", || stage.path("scripts/planned").exists());
    let output = stage.run_ok(&["task", "why", "fix"]);
    assert!(output.contains("ok: `## Plan` has APPROACH"), "{output}");
    assert!(!output.contains("`## Plan` is missing"), "{output}");
    let (code, answer) = stage.json(&["task", "why", "fix", "--json"]);
    assert_eq!((code, &answer["status"]), (0, &"planning".into()));
    let ways = answer["next_steps"].as_array().unwrap();
    let working = ways.iter().find(|it| it["to"] == "working").unwrap();
    assert_eq!(working["missing"].as_array().unwrap().len(), 0, "{working}");
    let command = format!("orange task update {id} --status working");
    assert_eq!(working["command"], command.as_str());
    // What a button needs to know: who may take it, by which verb, and whether a message arrives.
    let step = |to: &str, trigger: &str| {
        let mut found = ways.iter();
        let found = found.find(|it| it["to"] == to && it["trigger"] == trigger);
        let found = found.unwrap();
        let keys = ["is_open_to_user", "verbs", "accepts_message"];
        serde_json::Value::from(keys.map(|key| found[key].clone()).to_vec())
    };
    assert_eq!(step("working", "request"), json!([true, [], false]));
    assert_eq!(step("working", "exit"), json!([false, [], false]));
    assert_eq!(
        step("cancelled", "request"),
        json!([true, ["cancel"], false])
    );
    assert_eq!(step("done", "merged"), json!([true, ["merge"], false]));
    // The named command can be run as printed.
    let words: Vec<&str> = command.split(' ').skip(1).collect();
    stage.run_ok(&words);
    // No edge leads out of an end, and the merge asks about git.
    stage.run_ok(&["task", "cancel", "fix", "--wait", "60"]);
    insta::assert_snapshot!("why_at_an_end", stage.transcript(&["task", "why", "fix"]));
}

#[test]
fn why_gives_the_evidence_for_a_dead_agent() {
    let stage = Stage::new("default");
    stage.script("worker-1", "exit 3");
    let id = stage.create(&["fix", "Fix it"]);
    stage.run_ok(&["task", "spawn", "fix", "--wait", "60"]);
    let why = || stage.run_ok(&["task", "why", "fix"]);
    wait_for("the death", || {
        why().contains("exited with code 3; not handled yet")
    });
    stage.run_ok(&["task", "update", "fix", "--summary", "Fix all"]);
    let output = why();
    assert!(
        output.contains("exited with code 3; that was handled"),
        "{output}"
    );
    assert!(output.contains("crash 1 of the worker"), "{output}");
    assert_eq!(stage.task(&id).status.as_str(), "planning");
}

#[test]
fn why_names_the_merge_that_is_not_refused_because_of_later_commits() {
    let stage = Stage::new("default");
    let id = stage.create_reviewed_task();
    let worktree = stage.worktree(&id);
    fs::write(worktree.join("later.txt"), "later\n").unwrap();
    for arguments in ["add later.txt", "commit -qm later"] {
        assert!(stage.git_in(&worktree, arguments).status.success());
    }
    let head = stage.git_output("repo", &format!("rev-parse orange-tasks/{id}"));
    let why = stage.run_ok(&["task", "why", id.as_str()]);
    let command = format!("orange task merge {id} --head {}", &head[..12]);
    assert!(why.contains("has 1 commit after"), "{why}");
    assert!(why.contains("not yet: "), "{why}");
    assert!(why.contains(&format!("\n    run: {command}\n")), "{why}");
    // It is not silently left out of `--all`.
    let (code, output) = stage.call(&["merge", "--all"]);
    assert_eq!(code, 3, "{output}");
    assert!(output.contains("has 1 commit after"), "{output}");
    assert!(output.contains("orange task request-changes"), "{output}");
    let words: Vec<&str> = command.split(' ').skip(1).collect();
    stage.run_ok(&[&words[..], &["--wait", "60"]].concat());
    assert_eq!(stage.git_output("repo", "rev-parse main"), head);
}

#[test]
fn why_lists_no_pull_request_where_there_is_no_forge() {
    let stage = Stage::new("default");
    for workflow in ["default", "github"] {
        let status = ["--workflow", workflow, "--status", "reviewing"];
        let id = stage.create(&[&[workflow, "Fix it"], &status[..]].concat());
        stage.wait_until_idle(&id);
        let why = stage.transcript(&["task", "why", workflow]);
        insta::assert_snapshot!(format!("why_without_a_forge_{workflow}"), why);
    }
}

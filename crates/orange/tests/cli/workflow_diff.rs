//! `orange workflow diff`.

use insta::assert_snapshot;

use crate::sandbox::{BROKEN, SMALL, Sandbox, code, everything_below, keys, parse, utf8};

const MINIMAL: &str = include_str!("../../../../workflows/minimal.yml");

/// The shipped `minimal` after an evening of edits.
pub fn edited_workflow() -> String {
    let mut text = MINIMAL.to_owned();
    for (from, to) in [
        ("max_spawn_failures: 3", "max_failures: 5"),
        ("< max_spawn_failures", "< max_failures"),
        (
            "    required: true\n",
            "    fields: [DONE, \"L\\e[31mEFT\"]\n",
        ),
        (
            "    expects: [worker]\n",
            "    expects: [worker]\n    timeout: { after: 1d, then: reviewing }\n",
        ),
        (
            "  - from: working\n    to: reviewing\n",
            "  - { from: working, to: reviewing, trigger: timeout, hooks: [kill_session] }\n  - from: working\n    to: reviewing\n",
        ),
        ("    by: [worker, human, engine]", "    by: [worker, human]"),
        (
            "      - action: spawn_next",
            "      - { action: notify, message: \"{id} is done\", via: bell }",
        ),
        ("    hooks: &let_go\n", "    hooks: &let_go # Both.\n"),
        (
            "      on_crash: mark",
            "      on_crash: respawn\n      backoff: 30s",
        ),
        ("# Task: {summary}", "# The task: {summary}"),
    ] {
        assert!(text.contains(from), "{from}");
        text = text.replacen(from, to, 1);
    }
    text
}

/// The same behaviour, worded differently.
fn reworded_workflow() -> String {
    MINIMAL
        .replace("max_spawn_failures", "tries")
        .replace("spawn_failures < tries", "spawn_failures < 3")
        .replace("handoff", "report")
        .replace("# No agent review", "# Without an agent's review")
}

#[test]
fn differences_are_grouped_by_status() {
    let sandbox = Sandbox::new().with_file("edited.yml", edited_workflow());
    let transcript = sandbox.transcript("workflow diff minimal edited.yml");
    assert!(!transcript.contains('\x1b'), "{transcript}");
    assert_snapshot!(transcript);
}

#[test]
fn prompts_are_shown_on_request() {
    let sandbox = Sandbox::new().with_file("edited.yml", edited_workflow());
    assert_snapshot!(sandbox.transcript("workflow diff edited.yml minimal --prompts"));
}

#[test]
fn two_shipped_workflows() {
    assert_snapshot!(Sandbox::new().transcript("workflow diff respawn default"));
}

#[test]
fn equal_changes_of_several_statuses_are_listed_once() {
    let old = "name: x\nversion: 1\nstates: { a: {}, b: {}, c: {}, over: { terminal: true } }\ntransitions:\n  - { from: a, to: b }\n";
    let sandbox = Sandbox::new()
        .with_file("old.yml", old)
        .with_file(
            "all.yml",
            format!("{old}  - {{ from: \"*active\", to: over, by: human }}\n"),
        )
        .with_file(
            "two.yml",
            format!("{old}  - {{ from: [a, b], to: over, by: human }}\n"),
        );
    let lines = [
        "workflow diff old.yml all.yml",
        "workflow diff old.yml two.yml",
        "workflow diff all.yml two.yml",
    ];
    assert_snapshot!(lines.map(|line| sandbox.transcript(line)).join("\n"));
}

#[test]
fn every_pair_of_shipped_workflows_can_be_compared() {
    let sandbox = Sandbox::new();
    let names = ["default", "respawn", "minimal", "autopilot"];
    for old in names {
        for new in names {
            let output = sandbox.run(&format!("workflow diff {old} {new} --prompts"));
            assert_eq!(code(&output), 0, "{old} {new}");
            assert_eq!(utf8(&output.stderr), "", "{old} {new}");
            let is_same = utf8(&output.stdout) == "no change in behaviour\n";
            assert_eq!(is_same, old == new, "{old} {new}");
        }
    }
}

#[test]
fn rewording_is_not_a_difference() {
    let sandbox = Sandbox::new()
        .with_file("reworded.yml", reworded_workflow())
        .with_workflow(
            "mine.yml",
            reworded_workflow().replace("name: minimal", "name: mine"),
        );
    let lines = [
        "workflow diff minimal reworded.yml",
        "workflow diff reworded.yml mine",
        "workflow diff minimal minimal",
    ];
    assert_snapshot!(lines.map(|line| sandbox.transcript(line)).join("\n"));
}

#[test]
fn stdin_is_read_like_a_file() {
    let sandbox = Sandbox::new().with_file("small.yml", SMALL);
    let closed = SMALL.replace("    to: closed\n", "    to: closed\n    by: human\n");
    let output = sandbox.run_with_input("workflow diff small.yml -", closed.as_bytes());
    let expected = "open\n  ~ to `closed` by the human:\n      - no longer allows the engine\n      - no longer allows the worker\n      - no longer allows the reviewer\n\n3 changes in behaviour\n";
    assert_eq!(utf8(&output.stdout), expected);
    let output = sandbox.run_with_input("workflow diff - small.yml --json", closed.as_bytes());
    assert_eq!(parse(&output)["old"]["from"], "stdin");
    let output = sandbox.run_with_input("workflow diff - -", closed.as_bytes());
    assert_eq!(utf8(&output.stdout), "no change in behaviour\n");
    assert_eq!(code(&output), 0);
}

#[test]
fn a_program_reads_the_same_differences() {
    let sandbox = Sandbox::new().with_file("edited.yml", edited_workflow());
    let (answer, code) = sandbox.json("workflow diff minimal edited.yml --json");
    assert_eq!(code, 0);
    assert_eq!(keys(&answer), ["changes", "new", "old", "same", "schema"]);
    assert_eq!(answer["schema"], "orange.workflow.diff/1");
    assert_eq!(answer["same"], false);
    assert_eq!(keys(&answer["old"]), ["from", "name", "path"]);
    assert_eq!(answer["new"]["path"], "edited.yml");
    let differences = answer["changes"].as_array().unwrap();
    for difference in differences {
        for key in ["kind", "message", "new", "old", "sign", "status", "route"] {
            assert!(difference.get(key).is_some(), "{key}: {difference}");
        }
    }
    let find = |change: &str| differences.iter().find(|it| it["kind"] == change);
    let guard = find("guard").unwrap();
    assert_eq!(guard["status"], "pending");
    assert_eq!(guard["sign"], "changed");
    assert_eq!(guard["old"], "spawn_failures < 3");
    assert_eq!(guard["new"], "spawn_failures < 5");
    let way = &guard["route"];
    assert_eq!(keys(way), ["by", "kind", "to", "trigger", "when"]);
    assert_eq!(way["kind"], "transition");
    assert_eq!(way["by"][0], "engine");
    let prompt = find("prompt");
    let prompt = prompt.unwrap();
    assert!(prompt["status"].is_null() && prompt["route"].is_null());
    assert!(prompt["new"].as_str().unwrap().starts_with("# The task"));

    let (answer, code) = sandbox.json("workflow diff minimal minimal --json");
    assert_eq!(code, 0);
    assert_eq!(answer["same"], true);
    assert_eq!(answer["changes"].as_array().unwrap().len(), 0);
}

#[test]
fn incomparable_inputs_are_reported() {
    let sandbox = Sandbox::new().with_file("broken.yml", BROKEN);
    let lines = [
        "workflow diff broken.yml minimal",
        "workflow diff minimal broken.yml",
        "workflow diff minimal nothing",
        "workflow diff defalt minimal.yml",
        "workflow diff defalt nothing",
        "workflow diff minimal",
        "workflow diff",
    ];
    assert_snapshot!(lines.map(|line| sandbox.transcript(line)).join("\n"));
    let (answer, code) = sandbox.json("workflow diff minimal broken.yml --json");
    assert_eq!(code, 3);
    assert_eq!(answer["error"]["code"], "workflow-invalid");
    let problems = answer["error"]["details"]["problems"].as_array().unwrap();
    assert_eq!(problems.len(), 3);
    let (answer, code) = sandbox.json("workflow diff nothing minimal --json");
    assert_eq!(code, 4);
    assert_eq!(answer["error"]["details"]["missing"][0], "nothing");
}

#[test]
fn comparing_writes_nothing() {
    let sandbox = Sandbox::new();
    let before = everything_below(sandbox.root());
    assert_eq!(code(&sandbox.run("workflow diff default minimal")), 0);
    assert_eq!(everything_below(sandbox.root()), before);
}

//! `orange workflow check`.

use std::fs;

use insta::assert_snapshot;

use crate::sandbox::{BROKEN, SMALL, Sandbox, code, keys, utf8};

#[test]
fn every_shipped_workflow_is_clean() {
    assert_snapshot!(Sandbox::new().transcript("workflow check"));
}

#[test]
fn every_problem_is_reported_at_once() {
    let sandbox = Sandbox::new().with_file("broken.yml", BROKEN);
    assert_snapshot!(sandbox.transcript("workflow check broken.yml minimal"));
}

#[test]
fn every_listed_workflow_is_checked() {
    let sandbox = Sandbox::new()
        .with_workflow("broken.yml", BROKEN)
        .with_workflow("default.yml", SMALL.replace("small", "default"))
        .with_workflow("mine.yml", SMALL)
        .with_workflow("team.yaml", SMALL.replace("small", "team"))
        .with_workflow("latin.yml", b"name: latin\n# caf\xe9\n");
    let folder = sandbox.home().join("workflows");
    fs::create_dir(folder.join("folder.yml")).unwrap();
    std::os::unix::fs::symlink("loop.yml", folder.join("loop.yml")).unwrap();
    std::os::unix::net::UnixListener::bind(folder.join("socket.yml")).unwrap();
    assert_snapshot!(sandbox.transcript("workflow check"));
}

#[test]
fn a_program_reads_the_same_report() {
    let sandbox = Sandbox::new().with_file("broken.yml", BROKEN);
    let (answer, code) = sandbox.json("workflow check --json minimal broken.yml");
    assert_eq!(code, 3);
    assert_eq!(keys(&answer), ["ok", "schema", "workflows"]);
    assert_eq!(answer["schema"], "orange.workflow.check/1");
    assert_eq!(answer["ok"], false);
    let expected = [
        "coverage",
        "findings",
        "from",
        "name",
        "ok",
        "path",
        "problems",
        "states",
        "transitions",
    ];
    let workflows = answer["workflows"].as_array().unwrap();
    assert_eq!(keys(&workflows[0]), expected);
    assert_eq!(workflows[0]["ok"], true);
    assert_eq!(workflows[0]["states"], 5);
    let problems = workflows[1]["problems"].as_array().unwrap();
    assert_eq!(problems.len(), 3);
    let expected = ["at", "code", "excerpt", "hint", "message"];
    assert_eq!(keys(&problems[0]), expected);
    assert_eq!(problems[0]["code"], "transition-target-unknown");
    assert_eq!(problems[0]["at"]["line"], 8);
    assert_eq!(problems[0]["at"]["column"], 9);
    assert_eq!(problems[0]["excerpt"], "    to: shut");

    let (answer, code) = sandbox.json("workflow check --json");
    assert_eq!(code, 0);
    assert_eq!(answer["ok"], true);
}

#[test]
fn stdin_is_read_like_a_file() {
    let sandbox = Sandbox::new();
    let line = "workflow check - -";
    let output = sandbox.run_with_input(line, b"name: x\nversion: 2\n");
    assert_snapshot!(sandbox.transcript_of(line, &output));
    let output = sandbox.run_with_input("workflow check -", SMALL.as_bytes());
    assert_eq!(code(&output), 0);
    assert!(
        utf8(&output.stdout).starts_with("-: ok (2 states, 1 transition), 1 note; explored all")
    );
}

#[test]
fn a_missing_file_is_reported_before_anything_is_checked() {
    let sandbox = Sandbox::new().with_file("broken.yml", BROKEN);
    let line = "workflow check broken.yml nothing sub/minimal.yml";
    assert_snapshot!(sandbox.transcript(line));
    let (answer, code) = sandbox.json(&format!("{line} --json"));
    assert_eq!(code, 4);
    let missing = answer["error"]["details"]["missing"].as_array().unwrap();
    assert_eq!(missing, &["nothing", "sub/minimal.yml"]);
}

#[test]
fn a_path_through_a_file_is_not_found() {
    let sandbox = Sandbox::new().with_file("small.yml", SMALL);
    let output = sandbox.run("workflow check small.yml/other.yml");
    assert_eq!(code(&output), 4);
}

#[test]
fn a_file_that_cannot_be_a_workflow_is_a_problem_of_that_file() {
    let sandbox = Sandbox::new()
        .with_file("latin.yml", b"name: x\nx: caf\xe9\n")
        .with_file("large.yml", vec![b'#'; 1024 * 1024 + 1])
        .with_file("empty.yml", "")
        .with_file("escape.yml", "name: \x1b]0;owned\x07\n");
    let line = "workflow check latin.yml large.yml empty.yml escape.yml /dev/zero ./";
    let transcript = sandbox.transcript(line);
    assert!(!transcript.contains('\x1b'), "{transcript}");
    assert_snapshot!(transcript);
}

#[test]
fn a_file_that_may_not_be_read_is_a_problem_of_that_file() {
    use std::os::unix::fs::PermissionsExt as _;

    let sandbox = Sandbox::new().with_file("secret.yml", SMALL);
    let path = sandbox.work().join("secret.yml");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    let output = sandbox.run("workflow check secret.yml");
    if fs::read(&path).is_ok() {
        // Root can read everything.
        assert_eq!(code(&output), 0);
    } else {
        let text = utf8(&output.stdout);
        let expected = "secret.yml: error[unreadable]: cannot be read: permission denied\n";
        assert!(text.starts_with(expected), "{text}");
        assert_eq!(code(&output), 3);
    }
}

/// It loads but is not safe: nothing is released, and two agents can loop endlessly.
const UNSAFE: &str = r#"name: unsafe
version: 1
states:
  pending: { kind: queued }
  working: { expects: [worker], respawn_prompt: work }
  done: { kind: terminal }
transitions:
  - from: pending
    to: working
    hooks: [acquire_workspace, { action: spawn_agent, prompt: work }]
  - from: working
    to: pending
    by: worker
    hooks: [kill_session, release_workspace]
  - from: working
    to: done
    by: human
exit_monitoring:
  rules: [{ status: working, action: mark_dead }]
prompts:
  work: "Work, then: orange task update --status wroking"
"#;

#[test]
fn a_finding_is_shown_with_its_story() {
    let sandbox = Sandbox::new().with_file("unsafe.yml", UNSAFE);
    assert_snapshot!(sandbox.transcript("workflow check --notes unsafe.yml"));
}

#[test]
fn a_program_reads_the_same_story() {
    let sandbox = Sandbox::new().with_file("unsafe.yml", UNSAFE);
    let (answer, code) = sandbox.json("workflow check --json unsafe.yml");
    assert_eq!(code, 3);
    let workflow = &answer["workflows"][0];
    assert_eq!(workflow["ok"], false);
    assert_eq!(workflow["coverage"]["is_complete"], true);
    let findings = workflow["findings"].as_array().unwrap();
    let leak = findings
        .iter()
        .find(|finding| finding["code"] == "workspace-leaked")
        .unwrap();
    let expected = [
        "at", "code", "excerpt", "hint", "message", "severity", "story",
    ];
    assert_eq!(keys(leak), expected);
    assert_eq!(leak["severity"], "error");
    assert_eq!(leak["excerpt"], "  - from: working");
    let steps = leak["story"]["steps"].as_array().unwrap();
    assert_eq!(keys(&steps[0]), ["effects", "status", "what"]);
    assert_eq!(steps.last().unwrap()["status"], "done");
}

/// A warning does not refuse a workflow unless asked to.
#[test]
fn warnings_fail_only_on_request() {
    let unused = format!("{SMALL}limits: {{ max_unused: 3 }}\n");
    let sandbox = Sandbox::new().with_file("unused.yml", &unused);
    assert_eq!(code(&sandbox.run("workflow check unused.yml")), 0);
    assert_snapshot!(sandbox.transcript("workflow check --strict unused.yml"));
}

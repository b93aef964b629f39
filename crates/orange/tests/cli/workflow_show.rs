//! `orange workflow show`.

use std::fs;

use insta::assert_snapshot;

use crate::sandbox::{BROKEN, SMALL, Sandbox, code, keys, parse, utf8};

#[test]
fn a_shipped_workflow_is_shown_as_it_was_written() {
    let sandbox = Sandbox::new();
    for name in ["default", "respawn", "minimal", "autopilot"] {
        let file = format!("{}/../../workflows/{name}.yml", env!("CARGO_MANIFEST_DIR"));
        let output = sandbox.run(&format!("workflow show {name}"));
        assert_eq!(output.stdout, fs::read(file).unwrap(), "{name}");
        assert_eq!(utf8(&output.stderr), "", "{name}");
        assert_eq!(code(&output), 0, "{name}");
    }
}

#[test]
fn every_byte_of_a_file_arrives() {
    let bytes = b"\xef\xbb\xbf# \xff\xfe \x1b[31mred\x1b[0m\r\n\tno line end";
    let sandbox = Sandbox::new().with_file("odd.yml", bytes);
    let output = sandbox.run("workflow show odd.yml");
    assert_eq!(output.stdout, bytes);
    assert_eq!(code(&output), 0);
    let output = sandbox.run_with_input("workflow show -", bytes);
    assert_eq!(output.stdout, bytes);
    assert_eq!(code(&output), 0);
}

#[test]
fn a_custom_workflow_overrides_the_shipped_one() {
    let own = SMALL.replace("small", "default");
    let sandbox = Sandbox::new()
        .with_workflow("default.yml", &own)
        .with_file("default", BROKEN);
    assert_eq!(utf8(&sandbox.run("workflow show default").stdout), own);
    assert_eq!(utf8(&sandbox.run("workflow show ./default").stdout), BROKEN);
}

#[test]
fn a_program_reads_the_resolved_workflow() {
    let sandbox = Sandbox::new().with_file("small.yml", SMALL);
    let (answer, code) = sandbox.json("workflow show small.yml --json");
    assert_eq!(code, 0);
    assert_eq!(
        keys(&answer),
        ["from", "name", "path", "schema", "workflow"]
    );
    assert_eq!(answer["schema"], "orange.workflow.show/1");
    assert_eq!(answer["from"], "file");
    assert_eq!(answer["path"], "small.yml");
    let workflow = &answer["workflow"];
    assert_eq!(workflow["name"], "small");
    assert_eq!(workflow["entries"][0]["status"], "open");
    assert_eq!(workflow["edges"][0]["trigger"], "request");

    let output = sandbox.run_with_input("workflow show - --json", SMALL.as_bytes());
    let answer = parse(&output);
    assert_eq!(answer["from"], "stdin");
    assert!(answer["path"].is_null());
}

#[test]
fn every_shipped_workflow_can_be_resolved() {
    let sandbox = Sandbox::new();
    for name in ["default", "respawn", "minimal", "autopilot"] {
        let (answer, code) = sandbox.json(&format!("workflow show {name} --json"));
        assert_eq!(code, 0, "{name}");
        assert_eq!(answer["workflow"]["name"], name);
    }
}

#[test]
fn a_broken_workflow_can_be_shown_but_not_resolved() {
    let sandbox = Sandbox::new().with_file("broken.yml", BROKEN);
    let shown = sandbox.run("workflow show broken.yml");
    assert_eq!(utf8(&shown.stdout), BROKEN);
    let (answer, code) = sandbox.json("workflow show broken.yml --json");
    assert_eq!(code, 3);
    assert_eq!(keys(&answer), ["error", "schema"]);
    assert_eq!(answer["schema"], "orange.error/1");
    let error = &answer["error"];
    assert_eq!(keys(error), ["code", "details", "hints", "message"]);
    assert_eq!(error["code"], "workflow-invalid");
    assert_eq!(error["details"]["problems"].as_array().unwrap().len(), 3);
    let hint = "run `orange workflow check broken.yml` to see them";
    assert_eq!(error["hints"][0], hint);
}

#[test]
fn a_target_without_text_is_refused() {
    let sandbox = Sandbox::new();
    std::os::unix::fs::symlink("loop.yml", sandbox.work().join("loop.yml")).unwrap();
    let lines = [
        "workflow show .",
        "workflow show ./",
        "workflow show loop.yml",
    ];
    assert_snapshot!(lines.map(|line| sandbox.transcript(line)).join("\n"));
    let (answer, code) = sandbox.json("workflow show ./ --json");
    assert_eq!(code, 3);
    assert_eq!(answer["error"]["code"], "workflow-invalid");
}

#[test]
fn an_unknown_workflow_is_not_found() {
    let sandbox = Sandbox::new();
    let lines = ["workflow show nothing", "workflow show default.yml"];
    assert_snapshot!(lines.map(|line| sandbox.transcript(line)).join("\n"));
    let (answer, code) = sandbox.json("workflow show nothing --json");
    assert_eq!(code, 4);
    assert_eq!(answer["error"]["code"], "workflow-not-found");
    assert_eq!(answer["error"]["details"]["missing"][0], "nothing");
    assert_eq!(answer["error"]["details"]["names"][0], "default");
}

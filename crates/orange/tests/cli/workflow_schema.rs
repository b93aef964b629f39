//! `orange workflow schema`.

use crate::sandbox::{Sandbox, code, everything_below, keys, utf8};

const SCHEMA: &str = include_str!("../../../orange-engine/src/language/schema.json");

#[test]
fn the_schema_is_printed_bare_so_that_it_can_be_saved() {
    let sandbox = Sandbox::new();
    let output = sandbox.run("workflow schema");
    assert_eq!(code(&output), 0);
    assert_eq!(utf8(&output.stdout), SCHEMA);
    assert_eq!(utf8(&output.stderr), "");
    let draft = "https://json-schema.org/draft/2020-12/schema";
    let printed: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(printed["$schema"], draft);
}

#[test]
fn a_program_gets_an_answer_like_every_other() {
    let sandbox = Sandbox::new();
    let (answer, code) = sandbox.json("workflow schema --json");
    assert_eq!(code, 0);
    assert_eq!(keys(&answer), ["json_schema", "schema"]);
    assert_eq!(answer["schema"], "orange.workflow.schema/1");
    let bare: serde_json::Value = serde_json::from_str(SCHEMA).unwrap();
    assert_eq!(answer["json_schema"], bare);
}

#[test]
fn printing_the_schema_needs_no_home_and_writes_nothing() {
    let sandbox = Sandbox::new();
    let before = everything_below(sandbox.root());
    let mut command = sandbox.command("workflow schema");
    let output = command
        .env_remove("HOME")
        .env_remove("ORANGE_HOME")
        .output();
    assert_eq!(code(&output.unwrap()), 0);
    assert_eq!(everything_below(sandbox.root()), before);
}

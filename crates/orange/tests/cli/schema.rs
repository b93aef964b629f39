//! `orange schema`.

use serde_json::json;

use crate::sandbox::{Sandbox, code, utf8};

#[test]
fn an_unknown_schema_is_reported() {
    let output = Sandbox::new().run("schema orange.nothing/1");
    assert_eq!(code(&output), 4);
    assert!(utf8(&output.stderr).contains("run `orange schema`"));
    let (answer, code) = Sandbox::new().json("schema orange.nothing/1 --json");
    assert_eq!(
        (&answer["error"]["code"], code),
        (&"schema-not-found".into(), 4)
    );
}

#[test]
fn a_program_reads_the_names_and_a_schema() {
    let sandbox = Sandbox::new();
    let (answer, _) = sandbox.json("schema --json");
    let names = utf8(&sandbox.run("schema").stdout);
    let names: Vec<&str> = names.lines().collect();
    assert_eq!(answer["names"], json!(names));
    let (answer, _) = sandbox.json("schema orange.inbox/1 --json");
    assert_eq!(answer["names"], json!(["orange.inbox/1"]));
    assert_eq!(answer["json_schema"]["title"], "orange.inbox/1");
}

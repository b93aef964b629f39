//! The published schemas match the types, and every answer satisfies them.

use std::collections::BTreeSet;
use std::fs;

use serde_json::json;

use crate::sandbox::{Sandbox, utf8};
use crate::schema_check;

#[test]
fn the_published_schemas_are_what_the_program_answers_with() {
    let sandbox = Sandbox::new();
    let names = utf8(&sandbox.run("schema").stdout);
    let names: Vec<&str> = names.lines().collect();
    assert!(names.len() > 20, "{names:?}");
    let is_writing = std::env::var_os("ORANGE_WRITE_DOCS").is_some();
    for name in &names {
        let schema = utf8(&sandbox.run(&format!("schema {name}")).stdout);
        let file = schema_check::file(name);
        if is_writing {
            fs::create_dir_all(schema_check::folder()).unwrap();
            fs::write(&file, &schema).unwrap();
        }
        let published = fs::read_to_string(&file).unwrap_or_default();
        assert!(
            published == schema,
            "{} is not what `orange schema {name}` prints; run `just docs`",
            file.display()
        );
    }
    let files = fs::read_dir(schema_check::folder()).unwrap();
    let files: BTreeSet<_> = files.map(|file| file.unwrap().path()).collect();
    let expected: BTreeSet<_> = names.iter().map(|name| schema_check::file(name)).collect();
    assert_eq!(files, expected, "a schema that no command uses");
}

#[test]
#[should_panic(expected = "no published schema")]
fn an_answer_of_an_unknown_shape_is_noticed() {
    schema_check::judge(&json!({ "schema": "orange.nothing/1" }));
}

#[test]
#[should_panic(expected = "orange.inbox/1")]
fn an_answer_of_another_shape_is_noticed() {
    schema_check::judge(&json!({ "schema": "orange.inbox/1", "messages": "none" }));
}

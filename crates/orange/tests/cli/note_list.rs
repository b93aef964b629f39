//! `orange note list`.

use crate::support::Stage;

#[test]
fn notes_are_listed_by_project() {
    let stage = Stage::new("default");
    let none = stage.run_ok(&["note", "list"]);
    assert!(none.contains("no notes"), "{none}");
    stage.run_ok(&["note", "add", "Run make db first."]);
    for arguments in [&["note", "list"][..], &["note", "list", "--all"]] {
        let listed = stage.run_ok(arguments);
        assert_eq!(listed.trim(), "1 app: Run make db first.");
    }
    let (code, answer) = stage.json(&["note", "list", "--project", "no", "--json"]);
    assert_eq!(code, 4, "{answer}");
    let (_, answer) = stage.json(&["note", "list", "--json"]);
    assert_eq!(answer["waiting"], 0);
}

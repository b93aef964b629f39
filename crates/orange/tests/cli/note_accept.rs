//! `orange note accept`.

use std::fs;

use crate::support::Stage;

#[test]
fn a_waiting_note_is_accepted() {
    let stage = Stage::new("default");
    stage.run_ok(&["note", "add", "Run make db first."]);
    let path = stage.home().notes();
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("\"accepted\"", "\"waiting\"")).unwrap();
    let listed = stage.run_ok(&["note", "list"]);
    assert!(listed.contains("(waits)"), "{listed}");
    assert!(
        listed.contains("1 waiting: `orange note accept"),
        "{listed}"
    );
    let said = stage.run_ok(&["note", "accept", "1"]);
    assert_eq!(said.trim(), "note 1: accepted");
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
    let (code, answer) = stage.json(&["note", "accept", "9", "--json"]);
    assert_eq!(
        (code, &answer["error"]["code"]),
        (4, &"note-not-found".into())
    );
}

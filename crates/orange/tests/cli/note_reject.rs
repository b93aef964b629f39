//! `orange note reject`.

use crate::support::Stage;

#[test]
fn a_note_is_removed_and_its_number_is_not_used_again() {
    let stage = Stage::new("default");
    stage.run_ok(&["note", "add", "One."]);
    let said = stage.run_ok(&["note", "reject", "1"]);
    assert_eq!(said.trim(), "note 1: removed");
    let (code, _) = stage.call(&["note", "reject", "1"]);
    assert_eq!(code, 4);
    let said = stage.run_ok(&["note", "add", "Two."]);
    assert_eq!(said.trim(), "note 2: accepted");
}

//! `orange runner drain`.

use crate::support::Stage;

#[test]
fn draining_can_be_undone() {
    let stage = Stage::new("minimal");
    let (code, answer) = stage.json(&["runner", "drain", "--json"]);
    let error = &answer["error"];
    assert_eq!((code, &error["code"]), (3, &"home-not-joined".into()));
    stage.run_ok(&crate::runner_join::JOIN);
    let (_, answer) = stage.json(&["runner", "drain", "--json"]);
    assert_eq!(answer["runner"]["is_draining"], true, "{answer}");
    let (_, answer) = stage.json(&["runner", "drain", "--undo", "--json"]);
    assert_eq!(answer["runner"]["is_draining"], false, "{answer}");
}

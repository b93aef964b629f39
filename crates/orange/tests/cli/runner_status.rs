//! `orange runner status`.

use crate::support::Stage;

#[test]
fn a_runner_says_what_it_does() {
    let stage = Stage::new("minimal");
    let (code, answer) = stage.json(&["runner", "status", "--json"]);
    let error = &answer["error"];
    assert_eq!((code, &error["code"]), (3, &"home-not-joined".into()));
    stage.run_ok(&crate::runner_join::JOIN);
    let text = stage.run_ok(&["runner", "status"]);
    assert_eq!(
        text.trim(),
        "runner box of http://127.0.0.1:9: not running; start `orange runner run`, agents frozen"
    );
}

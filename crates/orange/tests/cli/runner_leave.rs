//! `orange runner leave`.

use crate::support::Stage;

#[test]
fn a_home_that_has_left_is_independent() {
    let stage = Stage::new("minimal");
    stage.run_ok(&crate::runner_join::JOIN);
    let (code, answer) = stage.json(&["runner", "leave", "--json"]);
    assert_eq!((code, &answer["is_joined"]), (0, &false.into()), "{answer}");
    assert!(!stage.path("home/runner/token").exists());
    let (code, answer) = stage.json(&["runner", "leave", "--json"]);
    let error = &answer["error"];
    assert_eq!((code, &error["code"]), (3, &"home-not-joined".into()));
    stage.create(&["mine"]);
}

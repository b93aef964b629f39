//! `orange runner run`.

use crate::support::Stage;

#[test]
fn a_home_that_has_not_joined_has_no_runner() {
    let stage = Stage::new("minimal");
    let (code, answer) = stage.json(&["runner", "run", "--json"]);
    let error = &answer["error"];
    assert_eq!((code, &error["code"]), (3, &"home-not-joined".into()));
}

#[test]
fn a_runner_needs_its_token() {
    let stage = Stage::new("minimal");
    stage.run_ok(&crate::runner_join::JOIN);
    std::fs::remove_file(stage.path("home/runner/token")).unwrap();
    let (code, answer) = stage.json(&["runner", "run", "--json"]);
    let error = &answer["error"];
    assert_eq!((code, &error["code"]), (3, &"runner-unusable".into()));
}

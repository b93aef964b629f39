//! `orange job remove`.

use std::fs;

use crate::support::Stage;

#[test]
fn only_the_named_job_is_removed() {
    let stage = Stage::new("default");
    stage.run_ok(&["job", "add", "@hourly", "Look", "--name", "one"]);
    let before = fs::read_to_string(stage.home().jobs()).unwrap();
    stage.run_ok(&["job", "add", "@daily", "Look", "--name", "two"]);
    let said = stage.run_ok(&["job", "remove", "two"]);
    assert_eq!(said.trim(), "two: removed; its tasks stay");
    assert_eq!(fs::read_to_string(stage.home().jobs()).unwrap(), before);
}

//! `orange job enable`.

use crate::support::Stage;

#[test]
fn a_disabled_job_is_enabled_again() {
    let stage = Stage::new("default");
    stage.run_ok(&["job", "add", "@hourly", "Look", "--name", "one"]);
    stage.run_ok(&["job", "disable", "one"]);
    let said = stage.run_ok(&["job", "enable", "one"]);
    assert!(said.starts_with("one: enabled; next at "), "{said}");
    let (_, answer) = stage.json(&["job", "enable", "two", "--json"]);
    assert_eq!(answer["error"]["code"], "job-not-found", "{answer}");
}

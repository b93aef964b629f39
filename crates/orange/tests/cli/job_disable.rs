//! `orange job disable`.

use crate::support::Stage;

#[test]
fn a_disabled_job_is_shown_as_such() {
    let stage = Stage::new("default");
    stage.run_ok(&["job", "add", "@hourly", "Look", "--name", "one"]);
    let said = stage.run_ok(&["job", "disable", "one"]);
    assert_eq!(said.trim(), "one: disabled");
    let (_, answer) = stage.json(&["job", "list", "--json"]);
    assert_eq!(answer["jobs"][0]["state"], "disabled");
    assert!(answer["jobs"][0]["next"].is_null(), "{answer}");
}

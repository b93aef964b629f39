//! `orange project list` and `orange project show`.

use crate::support::Stage;

#[test]
fn projects_are_listed_and_shown() {
    let stage = Stage::new("default");
    let mut output = stage.transcript(&["project", "list"]);
    output.push_str(&stage.transcript(&["project", "show"]));
    stage.create(&["fix", "Fix it"]);
    output.push_str(&stage.transcript(&["project", "show", "app"]));
    output.push_str(&stage.transcript(&["project", "show", "tea"]));
    insta::assert_snapshot!(output);
    let (code, listed) = stage.json(&["project", "list", "--json"]);
    assert_eq!((code, &listed["projects"][0]["name"]), (0, &"app".into()));
    let (_, shown) = stage.json(&["project", "show", "--json"]);
    assert_eq!(shown["open_tasks"].as_array().unwrap().len(), 1);
}

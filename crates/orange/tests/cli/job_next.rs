//! `orange job next`.

use crate::support::Stage;

#[test]
fn the_next_times_are_in_order() {
    let stage = Stage::new("default");
    stage.run_ok(&["job", "add", "*/5 * * * *", "Look", "--name", "one"]);
    let said = stage.run_ok(&["job", "next", "one", "--count", "3"]);
    assert_eq!(said.lines().count(), 3, "{said}");
    let (_, answer) = stage.json(&["job", "next", "one", "--json"]);
    let next = answer["next"].as_array().unwrap();
    let texts: Vec<&str> = next.iter().filter_map(|it| it.as_str()).collect();
    assert_eq!(texts.len(), 5);
    assert!(texts.is_sorted(), "{texts:?}");
}

//! `orange runner join`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::support::Stage;

pub const JOIN: [&str; 7] = [
    "runner",
    "join",
    "http://127.0.0.1:9",
    "secret",
    "--name",
    "box",
    "--json",
];

#[test]
fn a_home_joins_once_and_only_without_tasks_of_its_own() {
    let stage = Stage::new("minimal");
    let (code, answer) = stage.json(&JOIN);
    assert_eq!(code, 0, "{answer}");
    assert_eq!(answer["runner"]["runner"], "box");
    assert_eq!(answer["runner"]["lease"], "frozen");
    let token = stage.path("home/runner/token");
    assert_eq!(fs::read_to_string(&token).unwrap(), "secret");
    assert_eq!(
        fs::metadata(token).unwrap().permissions().mode() & 0o777,
        0o600
    );
    let (code, answer) = stage.json(&JOIN);
    assert_eq!((code, &answer["error"]["code"]), (3, &"home-joined".into()));
    let (code, answer) = stage.json(&["task", "create", "mine", "--json"]);
    assert_eq!((code, &answer["error"]["code"]), (3, &"home-joined".into()));

    // Without its database nothing says what it may do.
    fs::remove_file(stage.home().database()).unwrap();
    let (code, answer) = stage.json(&["rebuild", "--json"]);
    assert_eq!((code, &answer["error"]["code"]), (3, &"home-joined".into()));

    let other = Stage::new("minimal");
    let id = other.create(&["mine"]);
    let (code, answer) = other.json(&JOIN);
    assert_eq!((code, &answer["error"]["code"]), (3, &"home-joined".into()));
    assert!(!other.path("home/runner/token").exists());
    let (code, text) = other.call(&["runner", "join", "http://box:1", "secret", "--name", "box"]);
    assert_eq!(code, 3, "{text}");
    assert!(text.contains("could read the token"), "{text}");
    other.run_ok(&["task", "cancel", id.as_str(), "--yes"]);
    assert_eq!(other.json(&JOIN).0, 0);
    // Its former tasks are not those of the fleet.
    let (code, answer) = other.json(&["task", "reopen", id.as_str(), "--json"]);
    assert_eq!(
        (code, &answer["error"]["code"]),
        (3, &"task-not-held".into())
    );
}

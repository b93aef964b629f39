//! `orange note add`.

use std::fs;
use std::process::Stdio;

use crate::support::Stage;

#[test]
fn a_note_of_the_user_is_accepted_at_once_and_not_added_twice() {
    let stage = Stage::new("default");
    let said = stage.run_ok(&["note", "add", "  Run\nmake\u{200b} db first. "]);
    assert_eq!(said.trim(), "note 1: accepted");
    let again = stage.run_ok(&["note", "add", "Run make db first."]);
    assert_eq!(again, said);
    let (_, answer) = stage.json(&["note", "list", "--json"]);
    assert_eq!(answer["notes"].as_array().unwrap().len(), 1, "{answer}");
    assert_eq!(answer["notes"][0]["text"], "Run make db first.");
    assert_eq!(answer["notes"][0]["project"], "app");
}

#[test]
fn an_empty_or_long_note_is_refused() {
    let stage = Stage::new("default");
    for text in [" \n", &"x".repeat(501)] {
        let (code, answer) = stage.json(&["note", "add", text, "--json"]);
        assert_eq!(
            (code, &answer["error"]["code"]),
            (2, &"note-invalid".into())
        );
    }
    stage.run_ok(&["note", "add", &"ä".repeat(500)]);
    let (code, answer) = stage.json(&["note", "add", "x", "--project", "no", "--json"]);
    assert_eq!(code, 4, "{answer}");
}

#[test]
fn many_processes_lose_no_note() {
    let stage = Stage::new("default");
    let children: Vec<_> = (0..12)
        .map(|number| {
            let text = format!("Note {number}.");
            let mut orange = stage.orange(&["note", "add", &text]);
            orange.stdout(Stdio::null());
            orange.spawn().unwrap()
        })
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let (_, answer) = stage.json(&["note", "list", "--json"]);
    let mut numbers: Vec<u64> = answer["notes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["number"].as_u64().unwrap())
        .collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=12).collect::<Vec<u64>>());
}

#[test]
fn a_damaged_file_is_reported_and_not_replaced() {
    let stage = Stage::new("default");
    fs::write(stage.home().notes(), "not json").unwrap();
    let (code, told) = stage.call(&["note", "add", "One."]);
    assert_ne!(code, 0);
    assert!(told.contains("notes.json"), "{told}");
    assert_eq!(
        fs::read_to_string(stage.home().notes()).unwrap(),
        "not json"
    );
}

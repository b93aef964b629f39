//! `orange sandbox` and `orange doctor` without namespaces.

use std::fs;

use serde_json::Value;

use super::stories::{prove, stage, stage_with};
use crate::support::{Stage, wait_for};

/// What is possible at the partial level alone.
const LISTED: [&str; 1] = ["see-process"];

#[test]
fn exactly_the_listed_attempts_succeed() {
    for (network, expected) in [
        ("open", &["see-process", "connect-port"][..]),
        ("list", &LISTED),
    ] {
        let stage = stage_with(
            "minimal",
            &format!("mode = \"auto\"\nnetwork = \"{network}\"\n"),
        );
        let (code, answer) = stage.json(&["sandbox", "try", "--json"]);
        assert_eq!(code, 0, "{answer}");
        assert_eq!(answer["level"], "partial");
        let attempts = answer["attempts"].as_array().unwrap();
        let names = |key: &str| -> Vec<&str> {
            let made = attempts.iter().filter(|it| it[key] == true);
            made.map(|it| it["attempt"].as_str().unwrap()).collect()
        };
        let mut inside = names("succeeds_inside");
        inside.sort_unstable();
        let mut expected = expected.to_vec();
        expected.sort_unstable();
        assert_eq!(inside, expected, "{answer}");
        assert!(names("succeeds_without").len() >= 10, "{answer}");
        let left = fs::read_dir(stage.path("home")).unwrap().flatten();
        let mut left = left.map(|entry| entry.file_name().to_string_lossy().into_owned());
        assert!(!left.any(|name| name.starts_with("attempts")));
    }
}

fn explained(stage: &Stage, id: &str) -> (String, Value) {
    let (_, text) = stage.call(&["sandbox", "explain", id]);
    let (_, json) = stage.json(&["sandbox", "explain", id, "--json"]);
    (text, json)
}

#[test]
fn the_level_and_what_is_weaker_are_shown() {
    let stage = stage("minimal");
    let (_, doctor) = stage.call(&["doctor"]);
    assert!(doctor.contains("on, but partial"), "{doctor}");
    stage.script(
        "worker-1",
        &format!("{}give ready < /dev/null\n", prove(&stage)),
    );
    let id = stage.create(&["Add a line"]);
    let (_, before) = explained(&stage, id.as_str());
    assert_eq!(before["level"], "partial", "{before}");
    stage.run_ok(&["task", "spawn", id.as_str()]);
    wait_for("the agent", || stage.path("scripts/ready").exists());
    let (text, during) = explained(&stage, id.as_str());
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(during["level"], "partial");
    for words in [
        "level partial",
        "its refs and objects, not its configuration and hooks",
        "weaker git in its worktree outside may run",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert!(during["inside"]["bwrap"].as_array().unwrap().is_empty());
    let port = ["sandbox", "port", id.as_str(), "3456", "--json"];
    let (_, answer) = stage.json(&port);
    assert_eq!(answer["error"]["code"], "network-shared", "{answer}");
    // A shell is where the agent works.
    let secret = stage.path("secret").display().to_string();
    let script = format!("pwd; echo mine > ~/note; cat {secret} || echo hidden; orange inbox");
    let shell = ["sandbox", "shell", id.as_str(), "--", "sh", "-c", &script];
    let (_, said) = stage.call(&shell);
    let worktree = stage.worktree(&id).display().to_string();
    assert!(said.starts_with(&format!("{worktree}\n")), "{said}");
    assert!(
        said.contains("hidden") && !said.contains("canary"),
        "{said}"
    );
    assert!(said.contains("only an agent's own calls"), "{said}");
    let tasks = stage.home().tasks().join("app").join(id.as_str());
    let note = fs::read_to_string(tasks.join("home.script/note"));
    assert_eq!(note.unwrap(), "mine\n");
}

#[test]
fn a_limited_network_opens_no_ports() {
    let stage = stage_with("minimal", "mode = \"auto\"\nnetwork = \"none\"\n");
    stage.script("worker-1", "ask task show\ngive ready < /dev/null\n");
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    wait_for("the agent", || stage.path("scripts/ready").exists());
    assert!(stage.calls().contains("-> 0"), "{}", stage.calls());
    let (_, answer) = stage.json(&["sandbox", "port", id.as_str(), "3456", "--json"]);
    assert_eq!(answer["error"]["code"], "port-not-opened", "{answer}");
}

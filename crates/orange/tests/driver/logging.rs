//! `orange.log`: what it tells, and what it never does.

use std::fs;

use serde_json::Value;

use crate::stage::Stage;

impl Stage {
    fn log(&self, arguments: &[&str]) -> Vec<Value> {
        let log = [&["log", "--json"], arguments].concat();
        let said = self.must(&log);
        let lines = said.lines();
        lines
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }
}

#[test]
fn decisions_refusals_and_effects_are_told() {
    let stage = Stage::new("default");
    let id = stage.create(&["Add a line"]);
    stage.must(&["task", "spawn", id.as_str(), "--wait", "60"]);
    let (code, _) = stage.call(&["task", "update", id.as_str(), "--status", "nowhere"]);
    assert_eq!(code, 3);
    let lines = stage.log(&["--task", id.as_str()]);
    let find = |what: &str, key: &str, value: &str| {
        let is_it = |line: &&Value| line["what"] == what && line[key] == value;
        let found = lines.iter().find(is_it);
        found.unwrap_or_else(|| panic!("no {what} {key}={value} in {lines:#?}"))
    };
    let decided = find("decided", "cause", "verb");
    assert_eq!(decided["by"], "human");
    assert_eq!(decided["from"], "pending");
    assert!(decided["to"].is_string());
    assert_eq!(find("refused", "code", "unknown-status")["level"], "info");
    let done = find("performed", "effect", "spawn_agent");
    assert!(done["milliseconds"].is_number());
    assert!(lines.iter().all(|line| line["level"] != "debug"));
    let said = stage.must(&["log"]);
    assert!(said.contains("effect=spawn_agent"), "{said}");

    // No secret of a run is ever in it.
    let text = fs::read_to_string(stage.home().log()).unwrap();
    let pid = stage.tmux(&["list-panes", "-a", "-F", "#{pane_pid}"]);
    let environment = fs::read(format!("/proc/{}/environ", pid.trim())).unwrap();
    let environment = String::from_utf8(environment).unwrap();
    let mut variables = environment.split('\0');
    let proof = variables.find_map(|it| it.strip_prefix("ORANGE_RUN_PROOF="));
    assert!(!text.contains(proof.unwrap()), "{text}");
    assert!(stage.log(&["--since", "2099-01-01T00:00:00Z"]).is_empty());
    assert!(stage.log(&["--level", "error"]).is_empty());
}

#[test]
fn a_failed_effect_is_told_with_its_error() {
    let stage = Stage::new("default");
    stage.configure("setup", &serde_json::json!(["sh", "-c", "exit 7"]));
    let id = stage.create(&["Add a line"]);
    let (code, _) = stage.call(&["task", "spawn", id.as_str(), "--wait", "60"]);
    assert_eq!(code, 6);
    let failed = stage.log(&["--level", "error"]);
    assert_eq!(failed[0]["effect"], "acquire_workspace", "{failed:?}");
    assert!(failed[0]["error"].as_str().unwrap().contains("setup"));
}

#[test]
fn the_settings_say_how_much_is_told_and_kept() {
    let stage = Stage::new("default");
    let config = "[log]\nlevel = \"debug\"\nmax_size = \"1KB\"\nkeep = 2\n";
    fs::write(stage.path("home/config.toml"), config).unwrap();
    let id = stage.create(&["Add a line"]);
    for number in 0..30 {
        let summary = format!("Add {number}");
        stage.must(&["task", "update", id.as_str(), "--summary", &summary]);
    }
    let size = |name: &str| fs::metadata(stage.path("home").join(name)).map(|it| it.len());
    assert!(size("orange.log.1").unwrap() > 1000);
    assert!(size("orange.log.2").unwrap() > 1000);
    assert!(size("orange.log.3").is_err(), "only two are kept");
    let lines = stage.log(&[]);
    assert!(lines.len() > 6, "older ones are read too: {lines:?}");
    let at = |line: &Value| line["at"].as_str().unwrap().to_owned();
    assert!(lines.is_sorted_by_key(at), "in the order of time");
    let mut quiet = stage.orange(&["task", "update", id.as_str(), "--summary", "Last"]);
    assert!(quiet.env("ORANGE_LOG", "error").status().unwrap().success());
    assert_eq!(stage.log(&[]).len(), lines.len());
}

#[test]
fn a_log_that_cannot_be_written_fails_nothing() {
    let stage = Stage::new("default");
    fs::create_dir(stage.home().log()).unwrap();
    let id = stage.create(&["Add a line"]);
    stage.must(&["task", "spawn", id.as_str(), "--wait", "60"]);
}

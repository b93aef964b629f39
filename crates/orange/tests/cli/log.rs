//! `orange log`: what it prints, and what it never does.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;
use std::{fs, thread};

use serde_json::Value;

use crate::schema_check::judge;
use crate::support::Stage;

impl Stage {
    fn log(&self, arguments: &[&str]) -> Vec<Value> {
        let log = [&["log", "--json"], arguments].concat();
        let output = self.run_ok(&log);
        let lines = output.lines();
        lines.map(judged).collect()
    }
}

/// A line of the output, checked against the published schema.
fn judged(line: &str) -> Value {
    let line: Value = serde_json::from_str(line).unwrap();
    assert_eq!(line["schema"], "orange.log/1");
    judge(&line);
    line
}

#[test]
fn following_the_log_shows_every_writer() {
    const WRITES: usize = 8;
    let stage = Stage::new("default");
    fs::write(stage.path("home/config.toml"), "[log]\nlevel = \"debug\"\n").unwrap();
    let tasks = ["one", "two"].map(|branch| stage.create(&[branch, "Fix it"]));
    let mut follow = stage.orange(&["log", "--follow", "--json"]);
    let mut follow = follow.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(follow.stdout.take().unwrap()).lines();
    let is_amendment = |line: &Value| line["cause"] == "amend" && line["name"] == "decided";
    let heard = thread::scope(|scope| {
        for task in &tasks {
            let stage = &stage;
            scope.spawn(move || {
                for number in 0..WRITES {
                    let summary = format!("Fix {number}");
                    stage.run_ok(&["task", "update", task.as_str(), "--summary", &summary]);
                }
            });
        }
        let heard = lines.by_ref().map(|line| judged(&line.unwrap()));
        let heard = heard.filter(is_amendment);
        heard.take(2 * WRITES).collect::<Vec<Value>>()
    });
    for task in &tasks {
        let own = heard.iter().filter(|line| line["task"] == task.as_str());
        let versions: Vec<u64> = own.map(|it| it["version"].as_u64().unwrap()).collect();
        assert_eq!(versions.len(), WRITES);
        assert!(versions.is_sorted(), "each once, in order: {versions:?}");
        assert!(versions.windows(2).all(|it| it[0] != it[1]), "{versions:?}");
        // Tasks are named here the same way as everywhere else.
        let branch = stage.task(task).branch.to_string();
        let named = stage.log(&["--task", &branch]);
        assert!(named.iter().all(|line| line["task"] == task.as_str()));
        assert!(named.iter().filter(|line| is_amendment(line)).count() == WRITES);
    }
    let (code, _) = stage.call(&["log", "--task", "nowhere"]);
    assert_eq!(code, 4);
    follow.kill().unwrap();
    follow.wait().unwrap();
}

#[test]
fn decisions_refusals_and_effects_are_logged() {
    let stage = Stage::new("default");
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str(), "--wait", "60"]);
    let (code, _) = stage.call(&["task", "update", id.as_str(), "--status", "nowhere"]);
    assert_eq!(code, 4);
    let lines = stage.log(&["--task", id.as_str()]);
    let find = |what: &str, key: &str, value: &str| {
        let is_it = |line: &&Value| line["name"] == what && line[key] == value;
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
    let output = stage.run_ok(&["log"]);
    assert!(output.contains("effect=spawn_agent"), "{output}");

    // The log never contains a run's secret.
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
fn a_failed_effect_is_logged_with_its_error() {
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
fn the_settings_control_log_level_and_retention() {
    let stage = Stage::new("default");
    let config = "[log]\nlevel = \"debug\"\nmax_size = \"1KB\"\nkeep = 2\n";
    fs::write(stage.path("home/config.toml"), config).unwrap();
    let id = stage.create(&["Add a line"]);
    for number in 0..30 {
        let summary = format!("Add {number}");
        stage.run_ok(&["task", "update", id.as_str(), "--summary", &summary]);
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
fn an_unwritable_log_fails_no_command() {
    let stage = Stage::new("default");
    fs::create_dir(stage.home().log()).unwrap();
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str(), "--wait", "60"]);
}

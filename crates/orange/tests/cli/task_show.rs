//! `orange task show`: agents that are dead or not visible, and usage.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use serde_json::json;

use crate::support::{ReportingAgent, Stage, wait_for};

#[test]
fn an_unprocessed_death_is_shown_and_changes_nothing() {
    let stage = Stage::new("default");
    let id = stage.create(&["Add a line"]);
    stage.script("worker-1", "exit 3");
    stage.run_ok(&["task", "spawn", id.as_str(), "--wait", "60"]);
    let show = ["task", "show", id.as_str()];
    let show_json = ["task", "show", id.as_str(), "--json"];
    wait_for("the death to be seen", || {
        stage.json(&show_json).1["observations"][0]["state"] == "dead"
    });
    let (_, shown) = stage.json(&show_json);
    assert_eq!(
        shown["observations"][0]["evidence"],
        json!({ "cause": "exit", "code": 3 })
    );
    assert_eq!(shown["observations"][0]["role"], "worker");
    let version = stage.task(&id).version;
    let output = stage.run_ok(&show);
    assert!(
        output.contains(
            "worker exited with code 3; not handled yet: the next command that changes \
             the task handles it"
        ),
        "{output}"
    );
    let task = stage.task(&id);
    assert_eq!(task.version, version, "reads never write");
    assert!(task.runs.values().all(|run| run.state.is_live()));
    stage.run_ok(&["task", "update", id.as_str(), "--summary", "Add two"]);
    let output = stage.run_ok(&show);
    assert!(!output.contains("not handled yet"), "{output}");
}

#[test]
fn task_md_is_shown_on_request() {
    let stage = Stage::new("default");
    let id = stage.create(&["Add a line", "--context", "Below the first.\n\n## Plan"]);
    let show = |words: &[&str]| {
        let words: Vec<&str> = ["task", "show", id.as_str()]
            .iter()
            .chain(words)
            .copied()
            .collect();
        stage.run_ok(&words)
    };
    assert!(!show(&[]).contains("Below the first."));
    let shown = show(&["--document"]);
    assert!(shown.contains("Below the first."), "{shown}");
    assert!(shown.ends_with(&stage.current_text(&id)), "{shown}");
    let (_, answer) = stage.json(&["task", "show", id.as_str(), "--document", "--json"]);
    assert_eq!(answer["document"], stage.current_text(&id));
    let (_, answer) = stage.json(&["task", "show", id.as_str(), "--json"]);
    assert!(answer["document"].is_null());
}

#[test]
fn a_failed_check_is_shown_as_unknown() {
    let stage = Stage::new("default");
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str(), "--wait", "60"]);
    stage.wait_for_turn("worker-1");
    let show_json = ["task", "show", id.as_str(), "--json"];
    assert_eq!(
        stage.json(&show_json).1["observations"][0]["state"],
        "alive"
    );
    let socket = stage.home().tmux_socket();
    let aside = socket.with_extension("aside");
    fs::rename(&socket, &aside).unwrap();
    let (_, shown) = stage.json(&show_json);
    let output = stage.run_ok(&["task", "show", id.as_str()]);
    let (code, attached) = stage.call(&["task", "attach", id.as_str()]);
    fs::rename(&aside, &socket).unwrap();
    assert_eq!(shown["observations"][0]["state"], "unknown", "{shown}");
    let reason = shown["observations"][0]["reason"].as_str().unwrap();
    assert!(
        output.contains(&format!("worker unknown ({reason})")),
        "{output}"
    );
    assert_eq!(code, 4, "{attached}");
    assert!(!attached.contains("respawn"), "it may run: {attached}");
}

fn counting_agent() -> ReportingAgent {
    let stage = Stage::new("default");
    stage.declare_usage();
    ReportingAgent::with_stage(stage)
}

#[test]
fn what_an_agent_used_is_read_from_its_transcript() {
    let agent = counting_agent();
    let usage = agent.usage();
    assert_eq!(usage["runs"], 1);
    assert!(usage["input_tokens"].is_null(), "unknown is not zero");
    let show = ["task", "show", agent.id.as_str()];
    let shown = agent.stage.run_ok(&show);
    assert!(
        shown.contains("tokens and cost unknown; agents ran for"),
        "{shown}"
    );
    // The conversation was resumed: its first line is from an earlier run.
    let path = agent.write_transcript(
        "one.jsonl",
        &[
            r#"{"at":"2020-01-01T00:00:00Z","id":"a","in":5000,"out":5000,"cost":5}"#,
            r#"{"at":"NOW","id":"b","in":1000,"cached":400,"out":10,"cost":0.25}"#,
            r#"{"at":"NOW","id":"b","in":1000,"cached":400,"out":90,"cost":0.25}"#,
            r#"{"at":"NOW","id":"c","in":-7,"out":"x"}"#,
        ],
    );
    agent.tell(&["idle", "--transcript", &path]);
    let counted = agent.usage();
    assert_eq!(counted["input_tokens"], 1000, "{counted}");
    assert_eq!(counted["cached_tokens"], 400);
    assert_eq!(counted["output_tokens"], 90);
    assert_eq!(counted["cost_usd"], "0.25");
    assert_eq!(counted["minimums"], json!([]));
    // The next turn is counted while it runs, although its last line is incomplete.
    agent.write_transcript("one.jsonl", &[r#"{"at":"NOW","id":"d","in":500,"out":10}"#]);
    let mut torn = fs::read(&path).unwrap();
    torn.extend_from_slice(b"{\"at\":\"");
    fs::write(&path, torn).unwrap();
    assert_eq!(agent.usage()["input_tokens"], 1500);
    let shown = agent.stage.run_ok(&show);
    let words =
        "tokens read 1500 (from a cache 400), tokens written 100; cost 0.25 USD; agents ran";
    assert!(
        shown.replace("\n            ", " ").contains(words),
        "{shown}"
    );
    // A second conversation adds to the first, which its agent may delete.
    let other = agent.write_transcript("two.jsonl", &[r#"{"at":"NOW","in":1}"#]);
    agent.tell(&["idle", "--transcript", &path]);
    agent.tell(&["idle", "--transcript", &other]);
    fs::remove_file(&path).unwrap();
    fs::remove_file(&other).unwrap();
    assert_eq!(agent.usage()["input_tokens"], 1501);
}

#[test]
fn a_transcript_outside_of_the_agents_folder_is_not_read() {
    let agent = counting_agent();
    let line = r#"{"at":"NOW","in":9}"#;
    let inside = PathBuf::from(agent.write_transcript("inside.jsonl", &[line]));
    let outside = agent.stage.path("outside.jsonl");
    fs::rename(&inside, &outside).unwrap();
    symlink(&outside, &inside).unwrap();
    let folder = agent.stage.path("transcripts/folder");
    symlink(agent.stage.path("."), &folder).unwrap();
    let by_folder = folder.join("outside.jsonl");
    let climbing = agent.stage.path("transcripts/../outside.jsonl");
    for path in [&outside, &inside, &by_folder, &climbing] {
        agent.tell(&["idle", "--transcript", path.to_str().unwrap()]);
        assert!(
            agent.usage()["input_tokens"].is_null(),
            "{}",
            path.display()
        );
    }
    assert_eq!(agent.activity()["state"], "idle", "the event itself counts");
}

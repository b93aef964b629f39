//! `orange job run`.

use orange_engine::names::TaskId;

use crate::support::{Stage, wait_for};

#[test]
fn a_job_runs_now_and_the_run_is_listed() {
    let stage = Stage::new("default");
    stage.run_ok(&["job", "add", "@yearly", "Look at it", "--name", "task"]);
    stage.run_ok(&["job", "disable", "task"]);
    let (_, answer) = stage.json(&["job", "run", "task", "--json"]);
    let id = TaskId::new(answer["runs"][0]["task"].as_str().unwrap());
    let task = stage.task(&id);
    assert_eq!(task.summary, "Look at it");
    assert_eq!(task.job.unwrap().name.as_str(), "task");
    // Each run by hand is a run of its own.
    stage.run_ok(&["job", "run", "task"]);
    let (_, answer) = stage.json(&["job", "list", "--runs", "9", "--json"]);
    assert_eq!(answer["jobs"][0]["runs"].as_array().unwrap().len(), 2);
}

#[test]
fn a_command_runs_in_the_project_and_its_end_is_recorded() {
    let stage = Stage::new("default");
    let command = "pwd; echo no >&2; exit 3";
    stage.run_ok(&[
        "job",
        "add",
        "@yearly",
        "--command",
        command,
        "--name",
        "one",
    ]);
    stage.run_ok(&["job", "run", "one"]);
    let mut listed = String::new();
    wait_for("the end of the command", || {
        listed = stage.run_ok(&["job", "list"]);
        listed.contains("failed: exited with code 3")
    });
    let (_, answer) = stage.json(&["job", "list", "--json"]);
    let detail = answer["jobs"][0]["runs"][0]["detail"].as_str().unwrap();
    let repository = stage.path("repo").display().to_string();
    assert_eq!(detail, format!("exited with code 3\n{repository}\nno"));
    // What only the user may do is refused to it.
    let inside = format!("{} job add @daily x", env!("CARGO_BIN_EXE_orange"));
    stage.run_ok(&[
        "job",
        "add",
        "@yearly",
        "--command",
        &inside,
        "--name",
        "two",
    ]);
    stage.run_ok(&["job", "run", "two"]);
    wait_for("the refusal", || {
        let (_, answer) = stage.json(&["job", "list", "--json"]);
        let detail = answer["jobs"][1]["runs"][0]["detail"].as_str();
        detail.is_some_and(|it| it.contains("cannot identify the caller"))
    });
}

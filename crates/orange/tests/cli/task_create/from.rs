//! `orange new --from`: one task for each item of a file.

use std::fs;
use std::io::Write as _;
use std::process::Stdio;

use orange_engine::names::TaskId;
use serde_json::{Value, json};

use crate::support::Stage;

const LIST: &str = "\
# Next week

- Fix the login
  - on old phones
- [x] Remove the banner
- [ ] Fix the login!
1. Translate the menu
";

impl Stage {
    fn write_items(&self, text: &str) -> String {
        let path = self.path("list.md");
        fs::write(&path, text).unwrap();
        path.display().to_string()
    }

    /// Creates tasks from a file without starting them.
    fn create_from(&self, text: &str, more: &[&str]) -> (i32, Value) {
        let path = self.write_items(text);
        let words = ["new", "--from", &path, "--no-spawn", "--json"];
        self.json(&[&words[..], more].concat())
    }
}

/// One key of every line of the answer.
fn column<'a>(answer: &'a Value, key: &str) -> Vec<&'a str> {
    let lines = answer["tasks"].as_array().unwrap().iter();
    lines.map(|it| it[key].as_str().unwrap_or("")).collect()
}

fn error_code(answer: &Value) -> &str {
    answer["error"]["code"].as_str().unwrap_or_default()
}

#[test]
fn each_item_becomes_a_task_once() {
    let stage = Stage::new("default");
    let path = stage.write_items(LIST);
    let create = ["new", "--from", &path, "--no-spawn", "--priority", "3"];
    let mut text = stage.transcript(&create);
    // A second run creates only what is new.
    stage.write_items(&format!("{LIST}2. Add a test\n"));
    text.push_str(&stage.transcript(&create));
    insta::assert_snapshot!(text);
    let (_, listed) = stage.json(&["task", "list", "--json"]);
    let tasks = listed["tasks"].as_array().unwrap();
    assert_eq!(tasks.len(), 4, "{listed}");
    for task in tasks {
        let id = TaskId::new(task["id"].as_str().unwrap());
        assert_eq!(stage.task(&id).queueing.priority, 3);
        let has_context = stage.task_text(&id).contains("- on old phones");
        assert_eq!(has_context, task["summary"] == "Fix the login", "{task}");
    }
}

#[test]
fn the_branches_are_named_after_the_summaries_and_distinct() {
    let stage = Stage::new("minimal");
    assert!(stage.git("branch translate-the-menu").status.success());
    let path = stage.write_items(LIST);
    let mut orange = stage.orange(&["new", "--from", &path, "--no-spawn", "--json"]);
    let output = orange.env_remove("ORANGE_BRANCH").output().unwrap();
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    let (tasks, branches) = (column(&answer, "task"), column(&answer, "branch"));
    let expected = [
        String::from("fix-the-login"),
        format!("fix-the-login-{}", tasks[1]),
        format!("translate-the-menu-{}", tasks[2]),
    ];
    assert_eq!(branches, expected);
    let checked = json!([{ "line": 5, "summary": "Remove the banner" }]);
    assert_eq!(answer["checked"], checked);
}

#[test]
fn each_section_becomes_a_task_and_stdin_can_be_the_file() {
    let stage = Stage::new("default");
    let words = ["new", "--from", "-", "--no-spawn", "--json", "--context"];
    let mut orange = stage.orange(&[&words[..], &["Read the manual."]].concat());
    orange.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = orange.spawn().unwrap();
    let text = b"# Plan\n\n- no item\n\n## Fix the login\n\nIt fails.\n\n## Add a test\n";
    child.stdin.take().unwrap().write_all(text).unwrap();
    let output = child.wait_with_output().unwrap();
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    let summaries = ["Fix the login", "Add a test"];
    assert_eq!(column(&answer, "summary"), summaries, "{answer}");
    let contexts = ["Read the manual.\n\nIt fails.\n", "Read the manual.\n"];
    for (id, context) in column(&answer, "task").into_iter().zip(contexts) {
        let text = stage.task_text(&TaskId::new(id));
        assert!(text.contains(context), "{text}");
    }
    let (code, output) = stage.call(&["new", "--from", "-", "--context", "-"]);
    assert_eq!(code, 2, "{output}");
}

#[test]
fn nothing_is_created_if_one_item_cannot_be() {
    let stage = Stage::new("default");
    let wrong = "- Fix it\n- \n- a\u{1b}[2J\n- Fix it\n- Add\nFix that\n";
    let path = stage.write_items(wrong);
    let text = stage.transcript(&["new", "--from", &path]);
    insta::assert_snapshot!(text);
    let (code, answer) = stage.create_from(wrong, &[]);
    assert_eq!((code, error_code(&answer)), (2, "items-invalid"));
    let problems = answer["error"]["details"]["problems"].as_array().unwrap();
    let lines: Vec<_> = problems.iter().map(|it| it["line"].as_u64()).collect();
    assert_eq!(lines, [Some(2), Some(3), Some(4), Some(6)], "{answer}");
    // What is wrong with all of them is one error.
    let table: [(&str, &[&str], i32, &str); 6] = [
        ("no list\n", &[], 2, "items-invalid"),
        (
            "- Fix it\n",
            &["--harness", "nobody"],
            4,
            "harness-not-found",
        ),
        (
            "- Fix it\n",
            &["--workflow", "nothing"],
            4,
            "workflow-not-found",
        ),
        (
            "- Fix it\n",
            &["--status", "nowhere"],
            4,
            "status-not-found",
        ),
        (
            "- Fix it\n",
            &["--project", "nowhere"],
            4,
            "project-not-found",
        ),
        ("- Fix it\n", &["--branch", "one"], 2, "usage"),
    ];
    for (text, more, exit, error) in table {
        let (code, answer) = stage.create_from(text, more);
        assert_eq!((code, error_code(&answer)), (exit, error), "{answer}");
    }
    for more in [&["--each", "script,other"] as &[&str], &["A summary"]] {
        assert_eq!(stage.create_from("- Fix it\n", more).0, 2, "{more:?}");
    }
    let (code, answer) = stage.json(&["new", "--from", "nowhere.md", "--json"]);
    assert_eq!((code, error_code(&answer)), (2, "items-unreadable"));
    assert_eq!(stage.tasks(), 0);
}

#[test]
fn a_template_without_a_branch_is_a_problem_of_every_item() {
    let stage = Stage::new("default");
    let path = stage.write_items("- Fix it\n- Fix that\n");
    let mut orange = stage.orange(&["new", "--from", &path, "--json"]);
    let output = orange.env("ORANGE_BRANCH", "a..b/{summary}").output();
    let answer: Value = serde_json::from_slice(&output.unwrap().stdout).unwrap();
    assert_eq!(error_code(&answer), "items-invalid", "{answer}");
    let problems = &answer["error"]["details"]["problems"];
    assert_eq!(problems.as_array().unwrap().len(), 2, "{answer}");
    assert_eq!(stage.tasks(), 0);
}

#[test]
fn a_finished_task_counts_and_a_cancelled_one_does_not() {
    let stage = Stage::new("default");
    let (_, first) = stage.create_from("- Fix it\n- Fix that\n", &[]);
    stage.run_ok(&["task", "cancel", column(&first, "task")[0], "--wait", "60"]);
    let (code, second) = stage.create_from("- Fix it\n- Fix that\n- [X] Done\n", &[]);
    assert_eq!(code, 0, "{second}");
    assert_eq!(column(&second, "outcome"), ["succeeded", "already"]);
    assert_eq!(column(&second, "status"), ["", "pending"]);
    assert_eq!(column(&first, "task")[1], column(&second, "task")[1]);
    // A list without open entries is no mistake.
    let (code, third) = stage.create_from("- [X] Done\n", &[]);
    assert_eq!((code, column(&third, "task").len()), (0, 0), "{third}");
    assert_eq!(stage.tasks(), 2);
}

#[test]
fn every_task_is_started_in_the_order_of_the_file() {
    let stage = Stage::new("minimal");
    fs::write(stage.path("home/config.toml"), "[pool]\nsize = 6\n").unwrap();
    stage.script("worker", "sleep 600");
    let list: Vec<String> = (1..=8).map(|it| format!("- Task {it}")).collect();
    let path = stage.write_items(&list.join("\n"));
    let (code, answer) = stage.json(&["new", "--from", &path, "--wait", "60", "--json"]);
    assert_eq!(code, 0, "{answer}");
    let waiting = answer["tasks"].as_array().unwrap().iter();
    let waiting: Vec<bool> = waiting.map(|it| it["waits"].is_array()).collect();
    let expected = [false, false, false, false, false, false, true, true];
    assert_eq!(waiting, expected, "{answer}");
    assert_eq!(stage.panes().len(), 6);
}

#[test]
fn one_failed_start_does_not_stop_the_others() {
    let stage = Stage::new("default");
    stage.configure("setup", &json!(["sh", "-c", "test \"$ORANGE_BRANCH\" = x"]));
    let path = stage.write_items("- Fix it\n- Fix that\n");
    let (code, answer) = stage.json(&["new", "--from", &path, "--wait", "60", "--json"]);
    assert_eq!(code, 3, "{answer}");
    assert_eq!(column(&answer, "outcome"), ["failed", "failed"]);
    assert_eq!(stage.tasks(), 2);
}

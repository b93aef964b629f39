//! `orange task list`: what is shown, and in which order.

use std::fs;
use std::process::Stdio;

use orange_engine::names::TaskId;

use crate::support::{ReportingAgent, Stage, Terminal, wait_for};

/// A workflow with a status that waits for the user.
const ASKING: &str = "
name: asking
version: 1
states:
  open: { kind: queued }
  held: { kind: human, expects: [] }
  closed: { kind: terminal }
transitions:
  - { from: open, to: held }
  - { from: held, to: open }
  - { from: held, to: closed }
verbs:
  spawn: held
  merge: []
  cancel: closed
";

impl Stage {
    /// The rows of a list: the sign, the task and the rest.
    fn rows(&self, arguments: &[&str]) -> Vec<(String, String, String)> {
        let list = [&["task", "list"], arguments].concat();
        let output = self.run_ok(&list);
        let lines = output.lines().skip(1);
        let row = |line: &str| {
            let mut words = line.split_whitespace();
            let mut word = || words.next().unwrap_or_default().to_owned();
            (word(), word(), line.to_owned())
        };
        lines.map(row).collect()
    }

    fn listed(&self, arguments: &[&str]) -> Vec<String> {
        let rows = self.rows(arguments);
        rows.into_iter().map(|(_, id, _)| id).collect()
    }

    fn sign(&self, id: &TaskId) -> String {
        let rows = self.rows(&[]);
        let row = rows.into_iter().find(|(_, it, _)| it == id.as_str());
        row.unwrap().0
    }
}

#[test]
fn an_empty_home_has_no_tasks() {
    let stage = Stage::new("default");
    assert!(!stage.home().database().exists());
    let output = stage.run_ok(&["task", "list"]);
    assert!(
        output.starts_with("no tasks in project `app`; "),
        "{output}"
    );
    assert!(output.contains("`orange new BRANCH"), "{output}");
    let (code, listed) = stage.json(&["task", "list", "--json"]);
    assert_eq!((code, &listed["tasks"]), (0, &serde_json::json!([])));
    assert!(!stage.home().database().exists(), "looking stores nothing");
}

#[test]
fn tasks_that_need_you_come_first_and_finished_ones_are_hidden() {
    let stage = Stage::new("default");
    let queued = stage.create(&["Wait here"]);
    let cancelled = stage.create(&["Stop it"]);
    stage.run_ok(&["task", "cancel", cancelled.as_str(), "--wait", "60"]);
    let running = stage.create(&["Run it"]);
    stage.run_ok(&["task", "spawn", running.as_str(), "--wait", "60"]);
    fs::create_dir_all(stage.path("home/workflows")).unwrap();
    fs::write(stage.path("home/workflows/asking.yml"), ASKING).unwrap();
    let asked = stage.create(&["Ask me", "--workflow", "asking"]);
    stage.run_ok(&["task", "update", asked.as_str(), "--status", "held"]);

    let open = [&asked, &running, &queued].map(ToString::to_string);
    assert_eq!(stage.listed(&[]), open);
    let rows = stage.rows(&[]);
    assert!(rows[0].2.contains("held"), "{rows:?}");
    assert!(rows[1].2.contains("Run"), "{rows:?}");
    assert!(
        rows[1].2.contains(&format!("orange-tasks/{running}")),
        "{rows:?}"
    );
    let all = [&open[..], &[cancelled.to_string()]].concat();
    assert_eq!(stage.listed(&["--all-statuses"]), all);
    let ended = ["--status", "cancelled"];
    assert_eq!(stage.listed(&ended), [cancelled.to_string()]);

    let (_, answer) = stage.json(&["task", "list", "--json"]);
    assert_eq!(answer["project"], "app");
    let tasks = answer["tasks"].as_array().unwrap();
    assert_eq!(tasks.len(), 3, "{answer}");
    assert_eq!(tasks[0]["id"], asked.as_str());
    assert_eq!(tasks[1]["agent"], "alive");
    assert_eq!(tasks[1]["kind"], "agent");
    assert_eq!(tasks[0]["kind"], "human");
}

#[test]
fn inside_a_project_only_its_tasks_are_listed() {
    let stage = Stage::new("minimal");
    let other = stage.path("other");
    assert!(
        stage
            .git_in(&stage.path(""), "clone -q repo other")
            .status
            .success()
    );
    let add = ["project", "add", other.to_str().unwrap(), "--harness"];
    stage.run_ok(&[&add[..], &["script"]].concat());
    let here = stage.create(&["Here"]);
    let there = stage.create(&["There", "--project", "other"]);
    assert_eq!(stage.listed(&[]), [here.to_string()]);
    assert_eq!(stage.listed(&["--project", "other"]), [there.to_string()]);
    assert_eq!(stage.listed(&["--all"]).len(), 2);
    let list = |directory: &std::path::Path| {
        let mut command = stage.orange(&["task", "list"]);
        let output = command.current_dir(directory).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let everywhere = list(&stage.path(""));
    assert!(everywhere.contains("PROJECT"), "{everywhere}");
    assert_eq!(everywhere.lines().count(), 3, "{everywhere}");
    assert!(!list(&stage.path("repo")).contains("PROJECT"));
    // A task's worktree is inside the home, but still belongs to its project.
    stage.run_ok(&["task", "spawn", here.as_str(), "--wait", "60"]);
    let inside = list(&stage.worktree(&here));
    assert!(
        inside.contains(here.as_str()) && !inside.contains(there.as_str()),
        "{inside}"
    );
    let (code, text) = stage.call(&["task", "list", "--project", "nothing"]);
    assert_eq!(code, 4, "{text}");
}

#[test]
fn list_shows_agents_and_writes_nothing() {
    let stage = Stage::new("default");
    let id = stage.create(&["Add a line"]);
    assert_eq!(stage.sign(&id), "○");
    stage.run_ok(&["task", "spawn", id.as_str(), "--wait", "60"]);
    stage.wait_for_turn("worker-1");
    assert_eq!(stage.sign(&id), "●");

    let socket = stage.home().tmux_socket();
    let aside = socket.with_extension("aside");
    fs::rename(&socket, &aside).unwrap();
    let sign = stage.sign(&id);
    fs::rename(&aside, &socket).unwrap();
    assert_eq!(sign, "?", "a look that fails tells nothing");

    let version = stage.task(&id).version;
    let pane = stage.tmux(&["list-panes", "-a", "-F", "#{pane_pid}"]);
    let mut kill = std::process::Command::new("kill");
    let killed = kill
        .args(["-9", pane.trim()])
        .stderr(Stdio::null())
        .status();
    assert!(killed.unwrap().success());
    wait_for("the death to be seen", || stage.sign(&id) == "✗");
    assert_eq!(stage.task(&id).version, version, "reads never write");
}

#[test]
fn a_list_follows_every_change_and_survives_a_rebuild() {
    let stage = Stage::new("default");
    let id = stage.create(&["Add a line", "--branch", "two"]);
    stage.run_ok(&["task", "update", id.as_str(), "--summary", "Add two"]);
    let row = |stage: &Stage| stage.rows(&[]).remove(0).2;
    let before = row(&stage);
    assert!(before.contains("Add two"), "{before}");
    assert!(before.contains(" two "), "{before}");
    stage.rebuild(&id);
    let words = |row: &str| {
        row.split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let (before, after) = (words(&before), words(&row(&stage)));
    // The age is the fourth word.
    assert_eq!(before[..3], after[..3]);
    assert_eq!(before[4..], after[4..]);
}

#[test]
fn a_damaged_row_needs_attention() {
    let stage = Stage::new("default");
    let id = stage.create(&["Add a line"]);
    for column in ["attention", "runs"] {
        let database = rusqlite::Connection::open(stage.home().database()).unwrap();
        let sql = format!("UPDATE task_rows SET {column} = 'torn'");
        assert_eq!(database.execute(&sql, []).unwrap(), 1);
        drop(database);
        let (code, listed) = stage.json(&["task", "list", "--json"]);
        assert_eq!(code, 0, "{listed}");
        let text = listed["tasks"][0]["attention"].to_string();
        assert!(text.contains("damaged"), "{column}: {listed}");
        // The next commit rewrites the row.
        stage.run_ok(&["task", "update", id.as_str(), "--summary", column]);
        let (_, listed) = stage.json(&["task", "list", "--json"]);
        assert_eq!(
            listed["tasks"][0]["attention"].as_array().map(Vec::len),
            Some(0)
        );
    }
}

#[test]
fn the_cost_of_each_task_and_the_total_say_what_is_unknown() {
    let stage = Stage::new("default");
    stage.declare_usage();
    let agent = ReportingAgent::with_stage(stage);
    let silent = agent.stage.create(&["silent", "Another task"]);
    agent
        .stage
        .run_ok(&["task", "spawn", silent.as_str(), "--wait", "60"]);
    let never = agent.stage.create(&["never", "A third task"]);
    let line = r#"{"at":"NOW","in":12345,"cached":5,"out":1000,"cost":1.5}"#;
    let path = agent.write_transcript("one.jsonl", &[line]);
    agent.tell(&["idle", "--transcript", &path]);
    let (_, listed) = agent.stage.json(&["task", "list", "--cost", "--json"]);
    let tasks = listed["tasks"].as_array().unwrap();
    let of = |id: &TaskId| &tasks.iter().find(|it| it["id"] == id.as_str()).unwrap()["usage"];
    assert_eq!(of(&agent.id)["input_tokens"], 12_345);
    assert!(of(&silent)["input_tokens"].is_null());
    assert_eq!(of(&silent)["runs"], 1);
    assert_eq!(of(&never)["runs"], 0);
    let total = &listed["usage"];
    assert_eq!(total["cost_usd"], "1.5");
    assert_eq!(total["minimums"].as_array().unwrap().len(), 4, "{total}");
    let text = agent.stage.run_ok(&["ls", "--cost"]);
    let row = |id: &TaskId| {
        text.lines()
            .find(|it| it.contains(id.as_str()))
            .unwrap()
            .to_owned()
    };
    assert!(text.contains("TOKENS"), "{text}");
    assert!(row(&agent.id).contains("13.3k"), "{text}");
    assert!(row(&agent.id).contains("$1.50"), "{text}");
    assert!(
        row(&silent).contains("?  ") && !text.contains("$?"),
        "{text}"
    );
    assert!(!row(&never).contains('?'), "{text}");
    let total = "total: tokens read at least 12345 (from a cache at least 5), tokens written at least \
                 1000; cost at least 1.5 USD; agents ran for";
    assert!(text.contains(total), "{text}");
    let (_, plain) = agent.stage.json(&["task", "list", "--json"]);
    assert!(plain.get("usage").is_none() && plain["tasks"][0].get("usage").is_none());
    assert!(!agent.stage.run_ok(&["ls"]).contains("TOKENS"));
}

#[test]
fn an_agent_that_exited_without_a_supervisor_puts_its_task_first() {
    let stage = Stage::new("minimal");
    stage.script("worker-1", "echo hello");
    stage.script("worker-2", "exit 7");
    let healthy = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", healthy.as_str()]);
    stage.wait_for_turn("worker-1");
    let exited = stage.create(&["Add another line"]);
    stage.run_ok(&["task", "spawn", exited.as_str()]);
    wait_for("the exit", || {
        let (_, listed) = stage.json(&["task", "list", "--json"]);
        let first = &listed["tasks"][0];
        first["id"] == exited.as_str() && first["attention"][0] == "its agent has exited"
    });
    // Reading changes nothing.
    assert_eq!(stage.task(&exited).attention, [""; 0]);
}

#[test]
fn the_list_fits_eighty_columns() {
    let stage = Stage::new("default");
    let id = stage.create(&[
        "a-branch-with-quite-a-long-name",
        "A summary that is rather long",
    ]);
    let review = [
        "other-branch-name",
        "Something else to do",
        "--status",
        "agent-review",
    ];
    stage.create(&review);
    let database = rusqlite::Connection::open(stage.home().database()).unwrap();
    let sql = "UPDATE task_rows SET round = 2, attention = '[\"push_branch: there is no remote\"]'";
    assert_eq!(database.execute(sql, []).unwrap(), 2);
    drop(database);
    for line in [
        "orange ls",
        "orange ls --all",
        "orange ls --cost",
        "orange ls --all --cost",
    ] {
        let name = line.replace([' ', '-'], "");
        let terminal = Terminal::start(&stage, &name, 80, line);
        terminal.finish();
        let shown = terminal.unwrapped_screen();
        terminal.close();
        for row in shown.lines() {
            let width = row.chars().count();
            assert!(width <= 80, "{line}: {width} columns: {row}");
        }
        assert!(shown.contains(id.as_str()), "{shown}");
    }
}

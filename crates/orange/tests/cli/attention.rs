//! `orange attention`: the queue of what needs you.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use orange_config::clock;
use orange_engine::names::TaskId;
use orange_engine::time::Timestamp;
use serde_json::Value;

use crate::support::{ReportingAgent, SOON, Stage, Terminal, start_with_gate, wait_for};

/// Kind, task and command of every item.
fn queue(stage: &Stage) -> Vec<(String, String, String)> {
    let (code, answer) = stage.json(&["attention", "--json"]);
    assert_eq!(code, 0, "{answer}");
    let items = answer["items"].as_array().unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let item = |it: &Value| (text(&it["kind"]), text(&it["task"]), text(&it["command"]));
    items.iter().map(item).collect()
}

fn expected(kind: &str, id: &TaskId, word: &str) -> (String, String, String) {
    let command = format!("orange task {word} {id}");
    (kind.to_owned(), id.to_string(), command)
}

#[test]
fn attention_is_one_queue_longest_waiting_first() {
    let agent = ReportingAgent::new();
    let stage = &agent.stage;
    assert_eq!(queue(stage), []);
    let nothing = stage.run_ok(&["attention"]);
    assert!(nothing.contains("needs you"), "{nothing}");
    let review = stage.create(&["Look at it", "--status", "reviewing"]);
    agent.tell(&["permission-wait", "{\"message\":\"May I run rm?\"}"]);
    let question = stage.create(&["--branch", "asks", "--status", "clarification"]);
    assert_eq!(
        queue(stage),
        [
            expected("review", &review, "diff"),
            expected("permission", &agent.id, "attach"),
            expected("question", &question, "attach"),
        ]
    );
    let shown = stage.run_ok(&["attention"]);
    for words in [
        "the work is ready for your review",
        "the worker is waiting for permission: May I run rm?",
        "an agent has a question; answer in its terminal",
    ] {
        assert!(shown.contains(words), "{shown}");
    }
    // An agent that continues, and a task that has ended, need no attention.
    agent.tell(&["working"]);
    stage.run_ok(&["task", "cancel", review.as_str(), "--yes"]);
    assert_eq!(queue(stage), [expected("question", &question, "attach")]);
}

#[test]
fn an_agent_that_never_reported_its_start_is_silent() {
    let agent = start_reporting_agent();
    let (stage, id) = (&agent.stage, agent.id.as_str());
    assert_eq!(queue(stage), [], "it may take a while");
    let silent = expected("silent", &agent.id, "attach");
    assert_eq!(after_three_minutes(&agent), [silent]);
    let why = || stage.run_ok(&["task", "why", id]);
    let words = "has reported nothing since it was started";
    assert!(why().contains(words), "{}", why());
    let (_, listed) = stage.json(&["task", "list", "--json"]);
    assert_eq!(listed["tasks"][0]["activity"], "silent", "{listed}");
    agent.tell(&["session-start"]);
    assert_eq!(queue(stage), []);
    assert!(!why().contains(words), "{}", why());
}

fn start_reporting_agent() -> ReportingAgent {
    let stage = Stage::new("default");
    stage.declare_event("session-start");
    ReportingAgent::with_stage(stage)
}

/// The queue three minutes after the agent's start, if something is expected of the agent.
fn after_three_minutes(agent: &ReportingAgent) -> Vec<(String, String, String)> {
    if let Ok(file) = File::options().append(true).open(agent.file()) {
        let began = file.metadata().unwrap().modified().unwrap();
        file.set_modified(began - Duration::from_mins(3)).unwrap();
    }
    queue(&agent.stage)
}

#[test]
fn an_agent_without_hooks_is_not_silent() {
    let stage = Stage::new("default");
    stage.declare_event("prompt-submitted");
    let agent = ReportingAgent::with_stage(stage);
    assert_eq!(after_three_minutes(&agent), [], "it never tells of a start");

    let stage = Stage::new("default");
    stage.declare_event("session-start");
    let path = stage.path("home/harnesses/script.toml");
    let definition = fs::read_to_string(&path).unwrap();
    let hooks = "[[files]]\npath = \".agent/hooks\"\noptional = true\ntext = \"tell\"\n";
    fs::write(&path, format!("{definition}{hooks}")).unwrap();
    fs::create_dir_all(stage.path("repo/.agent")).unwrap();
    fs::write(stage.path("repo/.agent/hooks"), "of the project").unwrap();
    for call in ["add .agent/hooks", "commit -q -m hooks"] {
        assert!(stage.git(call).status.success(), "git {call}");
    }
    let agent = ReportingAgent::with_stage(stage);
    assert_eq!(after_three_minutes(&agent), [], "it has no hooks");
}

#[test]
fn an_agent_that_died_early_is_not_silent() {
    let agent = start_reporting_agent();
    assert_eq!(after_three_minutes(&agent).len(), 1);
    agent.stage.tmux(&["kill-server"]);
    assert_eq!(
        queue(&agent.stage),
        [expected("exited", &agent.id, "respawn")]
    );
}

/// Moves what the agent reported, and the task's last status change, three minutes into the past.
fn age_by_three_minutes(agent: &ReportingAgent) {
    let earlier = clock::now().millis() - 180_000;
    let earlier = Timestamp::from_millis(earlier).to_string();
    let lines = agent.text();
    let lines = lines.lines().filter(|line| !line.is_empty()).map(|line| {
        let mut event: Value = serde_json::from_str(line).unwrap();
        event["at"] = Value::from(earlier.as_str());
        format!("{event}\n")
    });
    fs::write(agent.file(), lines.collect::<String>()).unwrap();
    let database = rusqlite::Connection::open(agent.stage.home().database()).unwrap();
    for sql in [
        "UPDATE task_rows SET entered_at = ?1",
        "UPDATE tasks SET snapshot = json_set(snapshot, '$.entered.at', ?1)",
    ] {
        assert_eq!(database.execute(sql, [&earlier]).unwrap(), 1);
    }
}

#[test]
fn an_agent_that_stops_midway_is_stalled() {
    let agent = ReportingAgent::new();
    let (stage, id) = (&agent.stage, agent.id.as_str());
    let why = || stage.run_ok(&["task", "why", id]);
    let activity = || stage.json(&["task", "list", "--json"]).1["tasks"][0]["activity"].clone();
    agent.tell(&["idle"]);
    assert_eq!(queue(stage), [], "it may continue at once");
    assert_eq!(activity(), "idle");
    age_by_three_minutes(&agent);
    assert_eq!(queue(stage), [expected("stalled", &agent.id, "attach")]);
    assert_eq!(activity(), "stalled");
    let listed = stage.run_ok(&["task", "list"]);
    assert!(listed.contains("stalled"), "{listed}");
    for shown in [why(), stage.run_ok(&["task", "show", id])] {
        assert!(shown.contains("has been idle for 3m"), "{shown}");
        assert!(shown.contains("`planning` waits for its work"), "{shown}");
        let command = format!("orange task tell {id} -m MESSAGE");
        let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(shown.contains(&command), "{shown}");
    }
    // It disappears when the agent works again, and when the task moves on.
    agent.tell(&["working"]);
    assert_eq!(queue(stage), []);
    assert!(!why().contains("has been idle"), "{}", why());
    agent.tell(&["idle"]);
    age_by_three_minutes(&agent);
    assert_eq!(queue(stage).len(), 1);
    stage.run_ok(&["task", "update", id, "--status", "clarification"]);
    let kinds: Vec<String> = queue(stage).into_iter().map(|it| it.0).collect();
    assert_eq!(kinds, ["question"], "here the agent waits for you");
}

#[test]
fn a_finished_agent_in_a_status_that_waits_for_you_is_not_stalled() {
    let agent = ReportingAgent::in_review();
    agent.tell(&["idle"]);
    age_by_three_minutes(&agent);
    assert_eq!(
        queue(&agent.stage),
        [expected("review", &agent.id, "diff")],
        "the user reviews, so the worker has nothing to do"
    );
    assert_eq!(agent.activity()["state"], "idle");
}

#[test]
fn a_dead_agent_is_respawned_not_said_to_work() {
    let agent = ReportingAgent::with_stage(Stage::new("minimal"));
    let (stage, id) = (&agent.stage, agent.id.as_str());
    agent.tell(&["working"]);
    let show = || stage.run_ok(&["task", "show", id]);
    let why = || stage.run_ok(&["task", "why", id]);
    let respawn = format!("run: orange task respawn {id}");
    assert!(show().contains("seems to be working"), "{}", show());
    assert!(!why().contains(&respawn), "{}", why());
    stage.tmux(&["kill-server"]);
    assert!(!show().contains("seems to be"), "{}", show());
    assert!(why().contains(&respawn), "{}", why());
    // The next command records the exit, which this workflow only marks.
    let (_, _) = stage.call(&["task", "update", id, "--summary", "Add two lines"]);
    wait_for("the recorded exit", || {
        !stage.task(&agent.id).attention.is_empty()
    });
    assert!(why().contains(&respawn), "{}", why());
    assert_eq!(queue(stage), [expected("trouble", &agent.id, "respawn")]);
}

#[test]
fn a_failed_effect_needs_you_since_it_failed() {
    let (stage, id) = start_with_gate("exit 7", "exit 0");
    let (code, output) = stage.call(&["task", "spawn", id.as_str()]);
    assert_ne!(code, 0, "{output}");
    assert!(
        !stage.task(&id).attention.is_empty(),
        "{}",
        stage.diagnostics(&id)
    );
    let (_, answer) = stage.json(&["attention", "--json"]);
    let items = answer["items"].as_array().unwrap();
    let gave_up = items.iter().find(|it| it["kind"] == "effect-failed");
    let gave_up = gave_up.unwrap_or_else(|| panic!("{answer}"));
    let text = gave_up["text"].as_str().unwrap();
    assert!(text.starts_with("run_command: "), "{text}");
    assert_eq!(gave_up["command"], format!("orange task why {id}"));
    let events = stage.store().events(&id, 0).unwrap();
    let since = gave_up["since"].as_str().unwrap();
    let mut at = events.iter().map(|it| it.event.at.to_string());
    assert!(at.any(|at| at == since), "{since}");
}

#[test]
fn a_follower_sees_added_and_removed_tasks() {
    let agent = ReportingAgent::new();
    let mut follow = agent.stage.orange(&["attention", "--follow", "--json"]);
    let mut child = follow.stdout(Stdio::piped()).spawn().unwrap();
    let (sender, lines) = mpsc::channel();
    let output = child.stdout.take().unwrap();
    let reader = thread::spawn(move || {
        for line in BufReader::new(output).lines() {
            let _over = sender.send(line.unwrap());
        }
    });
    let next = || {
        let line = lines.recv_timeout(SOON).unwrap();
        let line: Value = serde_json::from_str(&line).unwrap();
        crate::schema_check::judge(&line);
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        (text(&line["change"]), text(&line["item"]["kind"]))
    };
    let pair = |change: &str, kind: &str| (change.to_owned(), kind.to_owned());
    agent.tell(&["permission-wait"]);
    assert_eq!(next(), pair("added", "permission"));
    agent.tell(&["working"]);
    assert_eq!(next(), pair("gone", "permission"));
    agent.stage.create(&["Look at it", "--status", "reviewing"]);
    assert_eq!(next(), pair("added", "review"));
    let mut kill = Command::new("kill");
    let kill = kill.args(["-INT", &child.id().to_string()]);
    assert!(kill.status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    reader.join().unwrap();
    assert!(lines.try_recv().is_err(), "nothing else changed");
}

#[test]
fn an_agent_that_exited_without_a_supervisor_needs_you() {
    let stage = Stage::new("minimal");
    stage.script("worker-1", "exit 7");
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    let exited = [expected("exited", &id, "respawn")];
    wait_for("the exit", || queue(&stage) == exited);
    let text = stage.run_ok(&["attention"]);
    assert!(
        text.contains("the worker has exited; orange reacts at"),
        "{text}"
    );
    // The command that it names brings the agent back.
    stage.run_ok(&["task", "respawn", id.as_str()]);
    assert_eq!(queue(&stage), []);
}

#[test]
fn the_command_to_run_is_never_cut() {
    let stage = Stage::new("minimal");
    let id = stage.create(&["Add a line", "--status", "reviewing"]);
    let terminal = Terminal::start(&stage, "attention", 70, "orange attention");
    let screen = terminal.finish();
    assert!(
        screen.contains(&format!("orange task diff {id}")),
        "{screen}"
    );
}

#[test]
fn clearing_a_task_without_problems_says_so() {
    let stage = Stage::new("minimal");
    let id = stage.create(&["fix", "Fix it"]);
    stage.run_ok(&["task", "cancel", "fix", "--wait", "60"]);
    let output = stage.run_ok(&["attention", "--clear", "fix"]);
    assert_eq!(output, format!("{id}: has no problems to clear\n"));
}

#[test]
fn a_task_whose_worktree_is_gone_needs_you() {
    let stage = Stage::new("minimal");
    let id = crate::task_retry::create_reviewed_task(&stage);
    fs::remove_dir_all(stage.worktree(&id)).unwrap();
    let text = format!("its worktree is gone; run `orange task cancel {id}`");
    for words in [&["attention"] as &[&str], &["ls"]] {
        let (_, answer) = stage.json(&[words, &["--json"]].concat());
        assert!(answer.to_string().contains(&text), "{words:?}: {answer}");
    }
    let listed = stage.run_ok(&["workspace", "list"]);
    assert!(listed.contains("bound, worktree gone"), "{listed}");
    let (_, health) = stage.call(&["doctor"]);
    let health = health.split_whitespace().collect::<Vec<_>>().join(" ");
    let finding = format!("tasks whose worktree is gone: `{id}`");
    assert!(health.contains(&finding), "{health}");
    let (code, output) = stage.call(&["merge", id.as_str()]);
    assert_eq!(code, 6, "{output}");
    assert!(output.contains("orange task reopen"), "{output}");
    stage.run_ok(&["cancel", id.as_str()]);
    stage.run_ok(&["task", "reopen", id.as_str()]);
    assert!(stage.worktree(&id).is_dir());
    let (_, answer) = stage.json(&["attention", "--json"]);
    assert!(!answer.to_string().contains("is gone"), "{answer}");
}

//! What a headless run's report causes and shows.

use std::fs;

use orange_engine::names::TaskId;

use crate::support::{Stage, wait_for};

/// Runs `autopilot` with this script; returns the task once the end of the run was judged.
fn after_run(stage: &Stage, turn: usize, script: &str) -> TaskId {
    stage.script(&format!("worker-{turn}"), &format!("{script}\nexit 0\n"));
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str(), "--wait", "60"]);
    wait_for("its end", || stage.panes() == ["worker:1"]);
    // A command that checks the runs first; if the task has ended by then, the command is refused.
    let (code, output) = stage.call(&["task", "update", id.as_str(), "--priority", "1"]);
    assert!(matches!(code, 0 | 3), "{code}: {output}");
    wait_for("the end of its session", || stage.panes().is_empty());
    stage.wait_until_idle(&id);
    id
}

fn reporting(json: &str) -> String {
    format!("commit one\ncat > \"$ORANGE_REPORT\" <<'JSON'\n{json}\nJSON")
}

/// Everything that shows why a task waits for the user.
fn shown(stage: &Stage, id: &TaskId) -> Vec<String> {
    let of = |words: &[&str]| stage.run_ok(&[words, &[id.as_str()]].concat());
    vec![
        of(&["task", "show"]),
        of(&["task", "why"]),
        of(&["task", "history"]),
        stage.run_ok(&["attention"]),
        stage.run_ok(&["task", "list"]),
    ]
}

fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<&str>>().join(" ")
}

#[test]
fn a_report_with_a_null_a_wrong_type_a_mark_or_a_fence_counts() {
    let stage = Stage::new("autopilot");
    for (turn, json) in [
        r#"{"status":"done","summary":"ok","reason":null}"#,
        r#"{"status":"done","accomplished":"one thing","remaining":null,"delegations":null}"#,
        "\u{feff}{\"status\":\"done\"}",
        "```json\n{\"status\":\"done\"}\n```",
    ]
    .iter()
    .enumerate()
    {
        let id = after_run(&stage, turn + 1, &reporting(json));
        let task = stage.task(&id);
        assert_eq!(
            task.status.as_str(),
            "done",
            "{json}: {}",
            stage.diagnostics(&id)
        );
        assert_eq!(task.attention, [] as [&str; 0]);
        assert_eq!(stage.store().runs(&id).unwrap().len(), 1);
    }
    let attention = stage.call(&["attention"]).1;
    assert!(
        attention.contains("nothing in project `app` needs you"),
        "{attention}"
    );
}

#[test]
fn an_unreadable_report_needs_you_and_says_why() {
    let stage = Stage::new("autopilot");
    let ends = [
        (
            reporting(r#"{"status":"done","summary":"#),
            "the report could not be read: EOF while parsing",
        ),
        (
            reporting(r#"{"status":"blocked","status":"done"}"#),
            "duplicate field `status`",
        ),
        (
            reporting(r#"{"summary":"all"}"#),
            "the report has no status",
        ),
        (
            String::from("mkfifo \"$ORANGE_REPORT\""),
            "it is not a regular file",
        ),
        (
            String::from("ln -s /dev/zero \"$ORANGE_REPORT\""),
            "it is not a regular file",
        ),
        (
            String::from("truncate -s 100M \"$ORANGE_REPORT\""),
            "it has more than 1048576 bytes",
        ),
        (
            String::from(
                "{ printf '{\"summary\":'; yes '[' | head -c 200000; } > \"$ORANGE_REPORT\"",
            ),
            "recursion limit exceeded",
        ),
    ];
    for (turn, (script, why)) in ends.iter().enumerate() {
        let id = after_run(&stage, turn + 1, script);
        assert_eq!(stage.task(&id).status.as_str(), "needs_review", "{why}");
        assert_eq!(stage.store().runs(&id).unwrap().len(), 1, "{why}");
        for text in &shown(&stage, &id)[..4] {
            assert!(flat(text).contains(why), "{why}: {text}");
        }
    }
}

#[test]
fn a_blocked_task_shows_its_reason_in_every_view() {
    let stage = Stage::new("autopilot");
    let json = r#"{"status":"blocked","reason":"no key for the API",
                   "blockers":["the vault is sealed"],"remaining":["the client"]}"#;
    let id = after_run(&stage, 1, &reporting(json));
    assert_eq!(stage.task(&id).status.as_str(), "blocked");
    let why = "the run reported `blocked`: no key for the API; blockers: the vault is sealed; \
               remaining: the client";
    for text in &shown(&stage, &id)[..4] {
        assert!(flat(text).contains(why), "{text}");
    }
    // It is one item, not two.
    let attention = stage.run_ok(&["attention"]);
    assert_eq!(attention.matches("blocked").count(), 1, "{attention}");
    stage.rebuild(&id);
}

#[test]
fn done_means_committed() {
    let stage = Stage::new("autopilot");
    let done = "echo '{\"status\":\"done\",\"files_changed\":[\"new.txt\"]}' > \"$ORANGE_REPORT\"";
    let id = after_run(&stage, 1, &format!("commit one\necho x > new.txt\n{done}"));
    assert_eq!(stage.task(&id).status.as_str(), "needs_review");
    let why = "the run reported `done`, but 1 file is not committed: \
               `new.txt`";
    for text in &shown(&stage, &id)[..4] {
        assert!(flat(text).contains(why), "{text}");
    }
    // The file is saved, and every view of the task says how to restore it.
    let saved = format!(
        "uncommitted work in 1 file is saved as number 1; restore it with `orange task restore \
         {id} 1 --branch NAME`"
    );
    for command in ["diff", "show", "why"] {
        let (_, text) = stage.call(&["task", command, id.as_str()]);
        assert!(flat(&text).contains(&saved), "{command}: {text}");
    }
    let id = after_run(&stage, 2, done);
    assert_eq!(stage.task(&id).status.as_str(), "needs_review");
    let why = "the branch has no commit of its own";
    assert!(stage.task(&id).attention[0].contains(why));
    // An agent that renames its branch cannot prevent the end of its run from being judged.
    let renamed = "commit one\ngit branch -m elsewhere";
    let id = after_run(&stage, 3, &format!("{renamed}\n{done}"));
    assert_eq!(stage.task(&id).status.as_str(), "needs_review");
    let attention = &stage.task(&id).attention[0];
    assert!(
        attention.contains("its worktree is on `elsewhere`"),
        "{attention}"
    );
}

#[test]
fn without_a_supervisor_a_new_task_leaves_every_queue() {
    let stage = Stage::new("autopilot");
    stage.script("worker-1", "hang\n");
    let (code, answer) = stage.json(&[
        "task",
        "create",
        "--json",
        "--wait",
        "60",
        "one",
        "Add a line",
    ]);
    assert_eq!(code, 0, "{answer}");
    assert_eq!(answer["task"]["status"], "in_progress", "{answer}");
    assert_eq!(stage.panes(), ["worker:0"]);
}

/// A finished task whose branch could not be pushed.
fn unpushed(stage: &Stage, turn: usize) -> TaskId {
    let done = reporting(r#"{"status":"done"}"#);
    stage.script(&format!("worker-{turn}"), &format!("{done}\nexit 0\n"));
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str(), "--wait", "60"]);
    wait_for("its end", || stage.panes() == ["worker:1"]);
    stage.call(&["task", "update", id.as_str(), "--priority", "1"]);
    stage.wait_for_status(&id, "done");
    wait_for("the push to fail", || {
        stage.call(&["attention"]).1.contains("push_branch")
    });
    id
}

#[test]
fn a_failed_push_is_retried_or_cleared() {
    let stage = Stage::new("autopilot");
    let remote = stage.path("remote.git");
    let add = format!("remote add origin {}", remote.display());
    assert!(stage.git(&add).status.success());
    let address = remote.display().to_string();
    stage.run_ok(&["project", "update", "app", "--remote", &address]);
    let id = unpushed(&stage, 1);
    let (code, output) = stage.call(&["task", "retry", id.as_str(), "--wait", "60"]);
    assert_eq!(code, 6, "the retry fails too: {output}");
    assert!(output.contains("push_branch failed"), "{output}");
    stage.run_ok(&["attention", "--clear", id.as_str()]);
    let nothing_is_left = || {
        let (_, attention) = stage.call(&["attention"]);
        assert!(
            attention.contains("nothing in project `app` needs you"),
            "{attention}"
        );
        let (code, output) = stage.call(&["task", "retry", id.as_str()]);
        assert_eq!(code, 3, "{output}");
    };
    nothing_is_left();

    let id = unpushed(&stage, 2);
    let init = format!("init -q --bare {}", remote.display());
    assert!(stage.git(&init).status.success());
    stage.run_ok(&["task", "retry", id.as_str(), "--wait", "60"]);
    nothing_is_left();
    let branch = stage.task(&id).branch;
    let pushed = stage.git_in(&remote, &format!("rev-parse --verify {branch}"));
    assert!(pushed.status.success());
}

#[test]
fn a_question_of_a_run_is_answered_with_a_request_for_changes() {
    let stage = Stage::new("autopilot");
    let question = r#"{"status":"needs_review","reason":"Which database?"}"#;
    let id = after_run(&stage, 1, &reporting(question));
    assert_eq!(stage.task(&id).status.as_str(), "needs_review");
    let command = format!("orange task request-changes {id} -m TEXT");
    let why = stage.run_ok(&["task", "why", id.as_str()]);
    assert!(why.contains(&command), "{why}");
    let attention = stage.run_ok(&["attention"]);
    assert!(attention.contains("waits for your decision"), "{attention}");
    stage.script("worker-2", "give told < \"$prompt_file\"\nexit 4");
    let answer = [
        "task",
        "request-changes",
        id.as_str(),
        "-m",
        "Use Postgres.",
    ];
    stage.run_ok(&answer);
    stage.run_ok(&["task", "spawn", id.as_str(), "--wait", "60"]);
    wait_for("the next run", || stage.path("scripts/told").exists());
    let told = fs::read_to_string(stage.path("scripts/told")).unwrap();
    assert!(told.contains("Use Postgres."), "{told}");
}

#[test]
fn a_report_that_asks_for_children_creates_them_once() {
    let stage = Stage::new("autopilot");
    stage.configure("pool_size", &4.into());
    let json = r#"{"status":"in_progress","delegations":[
        {"title":"The first part","body":"Mind the gap.","labels":["x"],"suggested_agent":"nobody"},
        "The second part"]}"#;
    stage.script("worker-1", &format!("{}\nexit 0\n", reporting(json)));
    let done = format!("{}\nexit 0\n", reporting(r#"{"status":"done"}"#));
    for turn in 2..=4 {
        stage.script(&format!("worker-{turn}"), &done);
    }
    let id = stage.create(&["Add two lines"]);
    let _serving = crate::support::supervisor::RunningSupervisor::start(&stage);
    stage.call(&["task", "spawn", id.as_str(), "--wait", "60"]);
    stage.wait_for_status(&id, "done");
    let children: Vec<TaskId> = stage.task(&id).children.keys().cloned().collect();
    assert_eq!(children.len(), 2, "{}", stage.diagnostics(&id));
    let mut summaries = Vec::new();
    for child in &children {
        let task = stage.task(child);
        assert_eq!(task.status.as_str(), "done");
        assert_eq!(task.queueing.parent.as_ref(), Some(&id));
        assert_eq!(task.workflow.as_str(), "autopilot");
        assert_eq!(
            task.harness.as_str(),
            "script",
            "an unknown harness is not used"
        );
        summaries.push(task.summary.clone());
        if task.summary == "The first part" {
            let text = stage.task_text(child);
            assert!(
                text.contains("Mind the gap.") && text.contains("Labels: x"),
                "{text}"
            );
        }
    }
    summaries.sort();
    assert_eq!(summaries, ["The first part", "The second part"]);
    assert_eq!(stage.task(&id).attention, [] as [&str; 0]);
    let all = fs::read_dir(stage.home().tasks().join("app"))
        .unwrap()
        .count();
    assert_eq!(all, 3, "no child was created twice");
}

#[test]
fn the_command_that_attention_names_for_an_ended_run_succeeds_and_reads_its_report() {
    let stage = Stage::new("autopilot");
    stage.script(
        "worker-1",
        &format!("{}\nexit 0\n", reporting(r#"{"status":"done"}"#)),
    );
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str(), "--wait", "60"]);
    wait_for("its end", || stage.panes() == ["worker:1"]);
    let why = flat(&stage.run_ok(&["task", "why", id.as_str()]));
    assert!(
        why.contains("orange has read no report of this attempt"),
        "{why}"
    );
    let named = format!("orange task respawn {id}");
    let attention = stage.run_ok(&["attention"]);
    assert!(attention.contains(&named), "{attention}");
    let answer = stage.run_ok(&["task", "respawn", id.as_str(), "--wait", "60"]);
    assert!(answer.contains("to `done`"), "{answer}");
    assert_eq!(stage.task(&id).status.as_str(), "done");
}

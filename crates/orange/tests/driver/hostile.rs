//! Any text reaches the agent byte for byte, and is never interpreted.

use std::cell::Cell;
use std::fs;

use orange_driver::{Answer, DriverError, TaskRequest, WaitPolicy};
use orange_engine::document::demote_headings;
use orange_engine::input::{Request, RequestKind};
use orange_engine::language::verbs::Verb;
use orange_engine::names::TaskId;
use orange_engine::role::Role;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::library::work;
use crate::support::{Stage, wait_for};

/// The number of cases, unless `PROPTEST_CASES` asks for more.
const CASES: u32 = 5;

/// A workflow whose prompt is only the summary.
const BARE: &str = r#"
name: bare
version: 1
states:
  open: { kind: queued }
  working: { kind: agent, expects: [worker], respawn: { worker: { prompt: all } } }
  resting: { kind: human, expects: [] }
  closed: { kind: terminal }
transitions:
  - from: open
    to: working
    by: human
    hooks:
      - { action: acquire_workspace }
      - { action: spawn_agent, prompt: all }
  - from: working
    to: open
    trigger: spawn_failed
    hooks:
      - { action: kill_session }
      - { action: release_workspace }
  - { from: working, to: resting, by: [worker, human] }
  - from: resting
    to: working
    by: human
    hooks:
      - { action: notify_worker, message: "{message}" }
  - from: "*active"
    to: closed
    by: human
    hooks:
      - { action: kill_session }
      - { action: release_workspace }
verbs: { spawn: working, merge: [], cancel: closed, request-changes: working }
exit_monitoring:
  rules:
    - { status: working, action: mark_dead }
prompts:
  all: "{summary}"
"#;

/// Keeps the prompt, as file and argument, and TASK.md; then the output of the inbox.
const KEEP: &str = "\
out=$SCRIPTS/$ORANGE_TASK_ID
mkdir $out
cp \"$prompt_file\" $out/prompt
printf '%s' \"$argument\" > $out/argument
cp TASK.md $out/task
ask task update --status resting
";

const READ: &str = "orange inbox > $SCRIPTS/$ORANGE_TASK_ID/inbox\n";

fn start_stage(turns: u32) -> Stage {
    let stage = Stage::new("default");
    fs::create_dir_all(stage.path("home/workflows")).unwrap();
    fs::write(stage.path("home/workflows/bare.yml"), BARE).unwrap();
    let path = stage.path("home/harnesses/script.toml");
    let text = fs::read_to_string(&path).unwrap();
    let text = text.replace(
        "\"{prompt_file}\"]",
        "\"{prompt_file}\", \"--\", \"{prompt}\"]",
    );
    fs::write(path, text).unwrap();
    for turn in 0..turns {
        stage.script(&format!("worker-{}", 2 * turn + 1), KEEP);
        stage.script(&format!("worker-{}", 2 * turn + 2), READ);
    }
    stage
}

fn recorded_file(stage: &Stage, id: &TaskId, name: &str) -> Vec<u8> {
    fs::read(stage.path("scripts").join(id.as_str()).join(name)).unwrap()
}

/// The message in the inbox's output: everything below the line that names the sender.
fn message(printed: &[u8]) -> &[u8] {
    let end = printed.iter().position(|byte| *byte == b'\n').unwrap();
    printed[end + 1..].strip_suffix(b"\n").unwrap()
}

fn hostile() -> impl Strategy<Value = String> {
    let nasty = prop::sample::select(vec![
        "$(id)",
        "`id`",
        "${HOME}",
        "'",
        "\"",
        "\\",
        "\\\n",
        "\n",
        "\r\n",
        "\r",
        "\t",
        ";",
        "; ",
        "#{pid}",
        "#(id)",
        "-",
        "--",
        "--help",
        "-m",
        "%",
        "%s",
        "!",
        "\u{1b}[31m",
        "\u{1b}[201~",
        "\u{7f}",
        "\u{1}",
        "\u{9b}",
        "\u{202e}",
        "\u{feff}",
        "é",
        "🦀",
        "{summary}",
        "{message}",
        "{prompt}",
        "{prompt_file}",
        "{",
        "}",
        "|",
        "&",
        "<",
        "*",
        "~",
        " ",
        "=",
        "---\n",
        "...",
        "# a\n",
        "## Plan\n",
        "status: done\n",
        "```\n",
        "\u{2028}",
        "\u{85}",
        "\u{10ffff}",
        "null",
        "~",
        "1e3",
        "0x1",
        ": ",
        "- ",
        "@",
        "[",
        ",",
        "? ",
    ]);
    let any_text = any::<String>().prop_map(|text| text.replace('\0', ""));
    let mixed = prop::collection::vec(nasty, 0..20).prop_map(|parts| parts.concat());
    // Linux limits a single command line argument to 128 KiB.
    let long = "[ -~\u{e9}\n]{1,40}".prop_map(|part| part.repeat(1600));
    prop_oneof![3 => mixed, 2 => any_text, 1 => long]
}

#[test]
fn any_text_arrives_byte_for_byte_and_is_not_interpreted() {
    let cases = std::env::var("PROPTEST_CASES").ok();
    let cases = cases.and_then(|it| it.parse().ok()).unwrap_or(CASES);
    let config = Config {
        cases,
        failure_persistence: None,
        // Each case is a turn of the agent, which cannot be undone.
        max_shrink_iters: 0,
        ..Config::default()
    };
    let stage = start_stage(cases);
    let number = Cell::new(0);
    let law = |(summary, context, said): (String, String, String)| {
        number.set(number.get() + 2);
        let turn = number.get();
        let file = stage.path("context.md");
        fs::write(&file, &context).unwrap();
        let context_file = format!("@{}", file.display());
        // A single word would be taken as a branch.
        let branch = format!("--branch=any-{turn}");
        let options = ["--workflow=bare", &branch, "--context", &context_file];
        let id = stage.create(&[&options[..], &["--", &summary]].concat());
        stage.run_ok(&["task", "spawn", id.as_str(), "--wait", "60"]);
        stage.wait_for_turn(&format!("worker-{}", turn - 1));
        prop_assert_eq!(recorded_file(&stage, &id, "prompt"), summary.as_bytes());
        let argument = recorded_file(&stage, &id, "argument");
        let is_given = argument == summary.as_bytes();
        let is_told = argument.starts_with(b"Your instructions");
        let may_be_given = summary.len() <= 100 * 1024;
        let is_right = if may_be_given { is_given } else { is_told };
        prop_assert!(is_right, "{:?}", summary);
        let text = String::from_utf8(recorded_file(&stage, &id, "task")).unwrap();
        // Headings in it are demoted and an unclosed block is quoted, even where a line ends in a
        // lone carriage return; no word is lost.
        for line in context.split(['\n', '\r']).map(str::trim) {
            // An underlined heading becomes one with hashes.
            let is_kept = text.contains(line) || line.trim_matches('=').is_empty();
            prop_assert!(is_kept, "{:?} in {}", line, text);
        }
        let task = stage.task(&id);
        prop_assert_eq!(&task.summary, &summary);
        prop_assert_eq!(task.status.as_str(), "resting");
        let changes = ["task", "request-changes", id.as_str(), "-m", &said];
        stage.run_ok(&[&changes[..], &["--wait", "60"]].concat());
        stage.wait_for_turn(&format!("worker-{turn}"));
        let printed = recorded_file(&stage, &id, "inbox");
        prop_assert_eq!(message(&printed), said.as_bytes());
        stage.wait_until_idle(&id);
        stage.rebuild(&id);
        stage.run_ok(&["task", "cancel", id.as_str(), "--wait", "60"]);
        Ok(())
    };
    // A message of blanks, among which are some of Unicode's, counts as none.
    let said = hostile().prop_map(|text| {
        if text.trim().is_empty() {
            "?".into()
        } else {
            text
        }
    });
    let texts = (hostile(), hostile(), said);
    TestRunner::new(config).run(&texts, law).unwrap();
}

#[test]
fn a_megabyte_goes_by_file() {
    let stage = start_stage(1);
    let long = "-n 'ä🦀' $(id) \u{1b}[31m\n;".repeat(41_000);
    assert!(long.len() > 1_000_000, "{}", long.len());
    let driver = stage.driver();
    let mut new = work(&long);
    new.workflow = Some(String::from("bare"));
    new.context = Some(long.clone());
    let Answer::Done(created) = driver.requests.create(&new, WaitPolicy::Here).unwrap() else {
        panic!("not created");
    };
    let id = created.task.id;
    stage.run_ok(&["task", "spawn", id.as_str(), "--wait", "60"]);
    stage.wait_for_turn("worker-1");
    assert!(recorded_file(&stage, &id, "prompt") == long.as_bytes());
    let argument = String::from_utf8(recorded_file(&stage, &id, "argument")).unwrap();
    assert!(
        argument.len() < 4096 && argument.contains("prompt.md"),
        "{argument}"
    );
    let text = String::from_utf8(recorded_file(&stage, &id, "task")).unwrap();
    assert!(text.contains(demote_headings(&long).trim_matches('\n')));
    let request = |message: &str| TaskRequest {
        task: id.clone(),
        request: Request {
            by: Role::Human,
            kind: RequestKind::Verb(Verb::RequestChanges),
            is_confirmed: false,
            message: Some(message.to_owned()),
            head: None,
            if_version: None,
        },
        waiting: WaitPolicy::Here,
    };
    let refused = driver.requests.ask(&request("a\0b"));
    assert!(
        matches!(refused, Err(DriverError::HasNul("message"))),
        "{refused:?}"
    );
    assert_eq!(stage.task(&id).status.as_str(), "resting");
    let answer = driver.requests.ask(&request(&long)).unwrap();
    assert!(matches!(answer, Answer::Done(_)));
    stage.wait_for_turn("worker-2");
    assert!(message(&recorded_file(&stage, &id, "inbox")) == long.as_bytes());
}

#[test]
fn nul_is_refused_before_anything_is_written() {
    let stage = start_stage(0);
    let file = stage.path("context.md");
    fs::write(&file, "a\0b").unwrap();
    let context = format!("--context=@{}", file.display());
    let (code, answer) = stage.json(&["task", "create", "A line", &context, "--json"]);
    assert_eq!(
        (code, &answer["error"]["code"]),
        (2, &"text-has-nul".into())
    );
    let refused = stage
        .driver()
        .requests
        .create(&work("a\0b"), WaitPolicy::Skip);
    assert!(
        matches!(refused, Err(DriverError::HasNul("summary"))),
        "{refused:?}"
    );
    assert!(!stage.path("home/tasks/app").exists());
}

#[test]
fn lesson_27_text_that_looks_like_a_flag_is_text() {
    let stage = start_stage(1);
    let id = stage.create(&["--workflow", "bare", "--", "--json"]);
    assert_eq!(stage.task(&id).summary, "--json");
    for summary in ["-m", "--status", "- a list item"] {
        stage.run_ok(&["task", "update", id.as_str(), "--summary", summary]);
        assert_eq!(stage.task(&id).summary, summary);
    }
    // An id that looks like a flag is still an id, and no task has this one.
    let (code, output) = stage.call(&["task", "show", "--", "-rf"]);
    assert_eq!(code, 4, "{output}");
    stage.run_ok(&["task", "spawn", id.as_str()]);
    stage.wait_for_turn("worker-1");
    assert_eq!(recorded_file(&stage, &id, "prompt"), b"- a list item");
    // Nothing after `--` is a flag, so it is passed unchanged.
    assert_eq!(recorded_file(&stage, &id, "argument"), b"- a list item");
    wait_for("rest", || stage.task(&id).status.as_str() == "resting");
    stage.run_ok(&["task", "request-changes", id.as_str(), "-m", "--yes"]);
    stage.wait_for_turn("worker-2");
    assert_eq!(message(&recorded_file(&stage, &id, "inbox")), b"--yes");
}

//! Headless runs: what they print, and what follows from it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use orange_config::clock;
use orange_engine::effect::Effect;
use orange_engine::evidence::Evidence;
use orange_engine::names::TaskId;
use orange_engine::parking::Reason;
use orange_engine::task::PendingEffect;
use orange_engine::time::Timestamp;
use serde_json::{Value, json};

use crate::support::{RunningSupervisor, Stage, wait_for, way};

/// How the scripted agent starts headless, and what it prints then.
const HEADLESS: &str = r#"
[args.headless]
full = ["--prompt-file", "{prompt_file}", "--headless", ["{resumed_id}"]]

[result]
succeeded = [{ with = { type = "end", is_error = false } }]
failed = [{ with = { type = "end", is_error = true }, keys = ["why"] }]
text = [{ with = { type = "end" }, keys = ["text"] }]
session_id = [{ keys = ["id"] }]
input_tokens = [{ keys = ["usage", "in"] }]
output_tokens = [{ keys = ["usage", "out"] }]
cost_usd = [{ keys = ["usage", "cost"] }]

[[death]]
says = ["hit your limit"]
means = "quota"
wait = "1h"

[[death]]
says = ["Connection refused"]
means = "network"
"#;

const GOOD: &str = r#"
echo 'a line of a log'
echo '{"type":"begin","id":"s-1"}'
commit one
echo '{"type":"end","is_error":false,"text":"I added a line.","usage":{"in":300,"out":60,"cost":0.0024}}'
echo 'and a warning' >&2
echo '{"status":"done","files_changed":["work.txt"],"summary":"it"}' > "$ORANGE_REPORT"
exit 0
"#;

fn staged() -> Stage {
    let stage = Stage::new("autopilot");
    let path = stage.path("home/harnesses/script.toml");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("{text}{HEADLESS}")).unwrap();
    stage
}

fn created(stage: &Stage) -> TaskId {
    let id = stage.create(&["Add a line"]);
    spawn(stage, &id);
    id
}

/// One call passes through both queues.
fn spawn(stage: &Stage, id: &TaskId) {
    stage.run_ok(&["task", "spawn", id.as_str(), "--wait", "60"]);
}

/// Waits for the end of the run, and has it judged by a command that checks the runs first; if the
/// task has ended by then, the command itself is refused.
fn judge(stage: &Stage, id: &TaskId) {
    wait_for("its end", || stage.panes() == ["worker:1"]);
    // The start of a run that is already over may not be recorded yet.
    let is_start = |it: &PendingEffect| matches!(it.planned.effect, Effect::Spawn(_));
    wait_for("its start", || !stage.task(id).pending.iter().any(is_start));
    let update = ["task", "update", id.as_str(), "--summary", "Add two lines"];
    let (code, output) = stage.call(&update);
    assert!(matches!(code, 0 | 3), "{code}: {output}");
}

fn results(stage: &Stage, id: &TaskId) -> Vec<Value> {
    let (code, shown) = stage.json(&["task", "show", id.as_str(), "--json"]);
    assert_eq!(code, 0, "{shown}");
    shown["results"].as_array().unwrap().clone()
}

fn result_file(stage: &Stage, id: &TaskId, run: usize) -> PathBuf {
    let runs = stage.store().runs(id).unwrap();
    let tasks = stage.home().tasks().join("app").join(id.as_str());
    let run = tasks.join("runs").join(runs[run].id.as_str());
    run.join("result.jsonl")
}

#[test]
fn a_headless_run_ends_by_its_report_and_its_result_is_shown() {
    let stage = staged();
    stage.script(
        "worker-1",
        &format!("echo $argument_three > $SCRIPTS/manner\n{GOOD}"),
    );
    let id = created(&stage);
    judge(&stage, &id);
    stage.wait_for_status(&id, "done");
    stage.wait_until_idle(&id);
    let manner = fs::read_to_string(stage.path("scripts/manner")).unwrap();
    assert_eq!(manner, "--headless\n");
    let run = stage.store().runs(&id).unwrap()[0].id.clone();
    assert_eq!(
        results(&stage, &id),
        [json!({
            "run": run, "role": "worker", "status": "succeeded", "text": "I added a line.",
            "input_tokens": 300, "cached_tokens": null, "output_tokens": 60, "cost_usd": "0.0024",
            "session_id": "s-1", "error": null, "error_class": null,
        })]
    );
    let shown = stage.run_ok(&["task", "show", id.as_str()]);
    assert!(
        shown.contains("worker succeeded: I added a line."),
        "{shown}"
    );
    assert!(
        shown.contains("300 tokens read, 60 tokens written, 0.0024 USD"),
        "{shown}"
    );
    // What it used was recorded when it ended.
    let kept = result_file(&stage, &id, 0);
    fs::rename(&kept, kept.with_extension("aside")).unwrap();
    let (_, shown) = stage.json(&["task", "show", id.as_str(), "--json"]);
    fs::rename(kept.with_extension("aside"), &kept).unwrap();
    assert_eq!(shown["usage"]["input_tokens"], 300, "{shown}");
    assert_eq!(shown["usage"]["cost_usd"], "0.0024");
    assert!(shown["usage"]["cached_tokens"].is_null());
    // The pane is closed; its content was kept, and the redirected output comes after it.
    assert_eq!(stage.panes(), [] as [&str; 0]);
    let logs = stage.run_ok(&["task", "logs", id.as_str()]);
    let start = "agent runs headless; its output goes to ";
    assert!(logs.starts_with(start), "{logs}");
    assert!(logs.contains("\nand a warning\n"), "{logs}");
    assert!(logs.ends_with("\nI added a line.\n"), "{logs}");
    let mode = fs::metadata(result_file(&stage, &id, 0))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    // Nothing is kept of a pane whose server was killed; the redirected output is there.
    fs::remove_file(result_file(&stage, &id, 0).with_file_name("output.txt")).unwrap();
    let logs = stage.run_ok(&["task", "logs", id.as_str()]);
    assert_eq!(logs, "I added a line.\n");
}

#[test]
fn lesson_40_a_quota_error_in_the_output_parks_the_harness_until_the_next_run() {
    let stage = staged();
    let fails = r#"
echo '{"type":"begin","id":"s-7"}'
echo '{"type":"end","is_error":true,"why":"You have hit your limit · resets in 2 hours"}'
exit 0
"#;
    stage.script("worker-1", fails);
    stage.script(
        "worker-2",
        &format!("echo $argument | give resumed\n{GOOD}"),
    );
    let id = created(&stage);
    judge(&stage, &id);
    let runs = stage.store().runs(&id).unwrap();
    let Some(Evidence::Quota { until: Some(until) }) = runs[0].evidence else {
        panic!("{}", stage.diagnostics(&id));
    };
    let left = until.millis() - clock::now().millis();
    assert!((6_900_000..=7_200_000).contains(&left), "{left}");
    let parked = stage.store().parkings(clock::now()).unwrap();
    assert_eq!((parked.len(), parked[0].reason), (1, Reason::Quota));
    assert_eq!(
        parked[0].output_line.as_deref(),
        Some("You have hit your limit · resets in 2 hours")
    );
    let task = stage.task(&id);
    assert_eq!((task.status.as_str(), task.crash_count), ("in_progress", 0));
    let found = &results(&stage, &id)[0];
    assert_eq!(
        (&found["status"], &found["error_class"]),
        (&json!("failed"), &json!("quota"))
    );
    let shown = stage.run_ok(&["task", "show", id.as_str()]);
    assert!(
        shown.contains("worker failed (quota): You have hit your limit"),
        "{shown}"
    );

    stage.run_ok(&["harness", "unpark", "script"]);
    wait_for("the next", || stage.path("scripts/resumed").exists());
    judge(&stage, &id);
    stage.wait_for_status(&id, "done");
    // It resumes the conversation that the first run printed.
    let resumed = fs::read_to_string(stage.path("scripts/resumed")).unwrap();
    assert_eq!(resumed, "s-7\n");
    let both = results(&stage, &id);
    let statuses: Vec<&Value> = both.iter().map(|it| &it["status"]).collect();
    assert_eq!(statuses, ["failed", "succeeded"]);
}

#[test]
fn a_run_that_cannot_reach_its_service_is_repeated_and_not_counted() {
    let stage = staged();
    let fails = r#"
echo '{"type":"end","is_error":true,"why":"API error: Connection refused"}'
exit 1
"#;
    stage.script("worker-1", fails);
    stage.script("worker-2", GOOD);
    let id = created(&stage);
    judge(&stage, &id);
    let parked = stage.store().parkings(clock::now()).unwrap();
    assert_eq!((parked.len(), parked[0].reason), (1, Reason::Network));
    let until = parked[0].until.unwrap().millis();
    assert_eq!(until - parked[0].since.millis(), 60_000);
    let task = stage.task(&id);
    assert_eq!((task.status.as_str(), task.crash_count), ("in_progress", 0));
    assert_eq!(task.fields["attempts"], 1);
    assert_eq!(task.last_error, None);
    let why = stage.run_ok(&["task", "why", id.as_str()]);
    let reason = "the service of harness `script` cannot be reached; the next try is at";
    assert!(why.contains(reason), "{why}");
    // It continues without the user, so it does not ask for them.
    let (_, attention) = stage.json(&["attention", "--json"]);
    assert_eq!(attention["items"], json!([]), "{attention}");
    let listed = stage.run_ok(&["harness", "list"]);
    assert!(listed.contains("unreachable"), "{listed}");

    stage.run_ok(&["harness", "unpark", "script"]);
    wait_for("the next", || stage.store().runs(&id).unwrap().len() == 2);
    judge(&stage, &id);
    stage.wait_for_status(&id, "done");
    assert_eq!(stage.task(&id).postponements, 0);
}

#[test]
fn a_run_killed_while_printing_has_no_clear_result() {
    let stage = staged();
    let torn = "echo '{\"type\":\"begin\",\"id\":\"s-1\"}'\n\
                printf '{\"type\":\"end\",\"is_error\":false,\"text\":\"I ad'\nkill -9 $$";
    stage.script("worker-1", torn);
    stage.script("worker-2", "exit 4");
    let id = created(&stage);
    judge(&stage, &id);
    stage.wait_until_idle(&id);
    let runs = stage.store().runs(&id).unwrap();
    assert_eq!(runs[0].evidence, Some(Evidence::Signal { signal: 9 }));
    // The workflow retries; a run that prints nothing has no clear result either.
    assert_eq!(
        way(&stage, &id).last().unwrap(),
        "new",
        "{}",
        stage.diagnostics(&id)
    );
    spawn(&stage, &id);
    judge(&stage, &id);
    stage.wait_until_idle(&id);
    let both = results(&stage, &id);
    assert_eq!(both.len(), 2);
    for (result, session) in both.iter().zip([json!("s-1"), Value::Null]) {
        assert_eq!(result["status"], "unclear", "{result}");
        assert_eq!(result["session_id"], session, "{result}");
        for datum in ["text", "error", "error_class", "input_tokens", "cost_usd"] {
            assert!(result[datum].is_null(), "{datum}: {result}");
        }
    }
    assert_eq!(fs::read(result_file(&stage, &id, 1)).unwrap(), b"");
    let logs = stage.run_ok(&["task", "logs", id.as_str()]);
    assert!(logs.contains("runs headless"), "{logs}");
}

/// Makes everything that a run has reported three minutes older.
fn age_events(stage: &Stage, id: &TaskId) {
    let path = result_file(stage, id, 0).with_file_name("events.jsonl");
    let lines = fs::read_to_string(&path).unwrap();
    let before = clock::now().millis() - 180_000;
    let lines = lines.lines().filter(|line| !line.is_empty());
    let aged = lines.map(|line| {
        let mut event: Value = serde_json::from_str(line).unwrap();
        event["at"] = json!(Timestamp::from_millis(before));
        format!("{event}\n")
    });
    let aged: String = aged.collect();
    fs::write(&path, aged).unwrap();
}

#[test]
fn a_run_that_has_finished_but_does_not_exit_gives_up_its_place() {
    let stage = staged();
    let settings = "[supervisor]\nsweep = \"1s\"\n[limits]\nagents = 1\n";
    fs::write(stage.path("home/config.toml"), settings).unwrap();
    let idle = "commit one\norange agent-event idle\necho $$ | give pid\nhang";
    stage.script("worker-1", idle);
    stage.script("worker-2", GOOD);
    let _serving = RunningSupervisor::start(&stage);
    let id = created(&stage);
    wait_for("the end of the turn", || stage.path("scripts/pid").exists());
    // It may take its time to exit.
    let update = ["task", "update", id.as_str(), "--summary", "Add two lines"];
    stage.run_ok(&update);
    assert_eq!(stage.task(&id).status.as_str(), "in_progress");
    assert_eq!(stage.panes(), ["worker:0"]);
    age_events(&stage, &id);
    stage.wait_for_status(&id, "done");
    let pid = fs::read_to_string(stage.path("scripts/pid")).unwrap();
    let process = PathBuf::from(format!("/proc/{}", pid.trim()));
    assert!(!process.exists(), "its process was killed");
    let runs = stage.store().runs(&id).unwrap();
    assert_eq!(runs[0].evidence, Some(Evidence::NoExit));
    let history = stage.run_ok(&["task", "history", id.as_str()]);
    let reason = "finished its turn but did not exit";
    assert!(history.contains(reason), "{history}");
}

#[test]
fn a_definition_without_a_headless_start_prints_into_its_pane() {
    let stage = Stage::new("autopilot");
    stage.script(
        "worker-1",
        &format!("echo \"[$argument_three]\" > $SCRIPTS/manner\n{GOOD}"),
    );
    let id = created(&stage);
    wait_for("its end", || stage.panes() == ["worker:1"]);
    let logs = stage.run_ok(&["task", "logs", id.as_str()]);
    assert!(logs.starts_with("a line of a log\n"), "{logs}");
    judge(&stage, &id);
    stage.wait_for_status(&id, "done");
    let manner = fs::read_to_string(stage.path("scripts/manner")).unwrap();
    assert_eq!(manner, "[]\n");
    assert_eq!(results(&stage, &id), [] as [Value; 0]);
    assert!(!result_file(&stage, &id, 0).exists());
}

#[test]
fn a_message_to_a_headless_run_waits_for_the_next_start() {
    let stage = staged();
    stage.script("worker-1", "pause go\nexit 4");
    stage.script("worker-2", "give told < $prompt_file\nexit 4");
    let id = created(&stage);
    stage.call(&["task", "tell", id.as_str(), "-m", "Mind the gap."]);
    let undelivered = || stage.run_ok(&["task", "show", id.as_str()]);
    wait_for("the reason", || {
        undelivered().contains("the agent runs headless and reads no messages")
    });
    let logs = stage.run_ok(&["task", "logs", id.as_str()]);
    assert!(!logs.contains("Message from orange"), "{logs}");
    fs::write(stage.path("scripts/go"), "").unwrap();
    judge(&stage, &id);
    stage.wait_until_idle(&id);
    spawn(&stage, &id);
    wait_for("the next", || stage.path("scripts/told").exists());
    let output = fs::read_to_string(stage.path("scripts/told")).unwrap();
    assert!(output.contains("Message from orange"), "{output}");
}

#[test]
fn a_run_that_reports_failure_but_keeps_running_is_killed() {
    let stage = staged();
    let tells = "pause go\n\
                 orange agent-event failed '{\"message\":\"You have hit your limit\"}'\nhang";
    stage.script("worker-1", tells);
    let id = created(&stage);
    let before = clock::now();
    fs::write(stage.path("scripts/go"), "").unwrap();
    wait_for("its word", || stage.path("scripts/hangs").exists());
    wait_for("the end", || {
        stage
            .driver()
            .agents
            .process_events(std::slice::from_ref(&id))
            .unwrap();
        !stage.store().parkings(clock::now()).unwrap().is_empty()
    });
    let run = stage.store().runs(&id).unwrap().remove(0);
    assert!(matches!(run.evidence, Some(Evidence::Quota { .. })));
    // An agent that exits by itself prints more than it reports, so it gets time for that.
    let lasted = run.ended_at.unwrap().millis() - before.millis();
    assert!(lasted >= 5000, "{lasted}");
    assert_eq!(results(&stage, &id)[0]["status"], "unclear");
}

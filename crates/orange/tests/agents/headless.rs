//! Headless runs: the report decides, and the output is parsed.

use orange_config::clock::{self, Deadline};
use orange_engine::names::TaskId;
use orange_engine::parking::{Parking, Reason};
use serde_json::{Value, json};

use crate::agent::Agent;
use crate::namespace::run_in_namespace;
use crate::stage::{Around, SOON, Stage, running};

const WORK: &str = r#"
run cat ~/.ssh/id_ed25519 ~/.netrc; uname -n | sed s,^,host-is-,
run echo Bonjour > greet.txt
run git add . && git commit -qm 'Greet in French'
run echo '{"status":"done","files_changed":["greet.txt"]}' > "$ORANGE_REPORT"
say It greets in French: "Bonjour".
"#;

const SAID: &str = "It greets in French: \"Bonjour\".";

const QUOTA: &str = "run echo begun > begun.txt\nquota\nrun echo this is never run\n";

fn results(stage: &Stage, id: &TaskId) -> Vec<Value> {
    let shown = stage.orange(&["task", "show", id.as_str(), "--json"]);
    let shown: Value = serde_json::from_slice(&shown.stdout).unwrap();
    shown["results"].as_array().unwrap().clone()
}

/// Everything that an agent prints after a successful run is parsed.
fn check_good(stage: &Stage, id: &TaskId, result: &Value) {
    let diagnostics = || format!("{result}\n{}", stage.diagnostics(id));
    assert_eq!(result["status"], "succeeded", "{}", diagnostics());
    assert_eq!(result["text"], SAID, "{}", diagnostics());
    for tokens in ["input_tokens", "output_tokens"] {
        assert!(
            result[tokens].as_u64().is_some_and(|it| it > 0),
            "{}",
            diagnostics()
        );
    }
    assert!(result["session_id"].is_string(), "{}", diagnostics());
    assert!(
        result["error"].is_null() && result["error_class"].is_null(),
        "{}",
        diagnostics()
    );
}

/// It works, commits and reports with its own tools, and exits.
fn greet(around: Around, agent: Agent) {
    let stage = Stage::with_supervisor_around(around, agent);
    stage.script("greet", "worker-1", WORK);
    let id = stage.create("greet", &["--workflow", "autopilot"]);
    stage.wait_for(&id, "done");
    let results = results(&stage, &id);
    assert_eq!(results.len(), 1, "{}", stage.diagnostics(&id));
    check_good(&stage, &id, &results[0]);
    println!("{}: {}", agent.name(), results[0]);
    let logs = stage.orange(&["task", "logs", id.as_str()]);
    let logs = String::from_utf8(logs.stdout).unwrap();
    assert!(logs.trim_end().ends_with(SAID), "{logs}");
    let log = stage.git_text("log --format=%s greet");
    assert_eq!(log, "Greet in French\nfirst\n");
    stage.assert_around(around, &["worker"]);
    stage.assert_clean(&format!("{} runs headless", agent.name()));
}

fn parked_harnesses(stage: &Stage) -> Vec<Parking> {
    stage.store().parkings(clock::now()).unwrap()
}

/// It runs out of quota during its turn, and later resumes the conversation that it printed.
fn run_out(around: Around, agent: Agent) {
    let stage = Stage::with_supervisor_around(around, agent);
    stage.script("greet", "worker-1", QUOTA);
    let id = stage.create("greet", &["--workflow", "autopilot"]);
    let in_time = Deadline::after(SOON).wait_for(|| !parked_harnesses(&stage).is_empty());
    assert!(in_time, "{}", stage.diagnostics(&id));
    let parking = parked_harnesses(&stage).remove(0);
    assert_eq!(parking.reason, Reason::Quota, "{parking:?}");
    println!("{}: {:?}", agent.name(), parking.output_line);
    let gone = Deadline::after(SOON).wait_for(|| running().is_empty());
    assert!(gone, "it was to be ended: {:?}", running());
    let first = results(&stage, &id).remove(0);
    if agent == Agent::Opencode {
        // It retries endlessly; its plugin reported that, and it was killed before it could print
        // it.
        assert_eq!(first["status"], "unclear", "{first}");
    } else {
        assert_eq!(first["status"], "failed", "{first}");
        assert_eq!(first["error_class"], "quota", "{first}");
    }
    stage.script("greet", "worker-1", WORK);
    stage.orange(&["harness", "unpark", agent.name()]);
    stage.wait_for(&id, "done");
    let results = results(&stage, &id);
    assert_eq!(results.len(), 2, "{}", stage.diagnostics(&id));
    check_good(&stage, &id, &results[1]);
    assert_eq!(results[1]["session_id"], first["session_id"]);
    let requests = stage.requests();
    let last = requests.iter().rev().find(|it| it["step"] == json!(0));
    let body = last.unwrap()["body"].to_string();
    assert!(body.contains("begun.txt"), "it does not remember: {body}");
    stage.assert_clean(&format!("{} runs out headless", agent.name()));
}

macro_rules! headless {
    ($story:ident $around:ident: $($name:ident: $agent:ident;)+) => {
        $(
            #[test]
            fn $name() {
                let name = concat!("headless::", stringify!($name));
                run_in_namespace(name, &[Agent::$agent], || {
                    $story(Around::$around, Agent::$agent);
                });
            }
        )+
    };
}

headless! { greet Nothing:
    claude_reports_and_its_result_is_read: Claude;
    codex_reports_and_its_result_is_read: Codex;
    gemini_reports_and_its_result_is_read: Gemini;
    opencode_reports_and_its_result_is_read: Opencode;
    pi_reports_and_its_result_is_read: Pi;
}

headless! { run_out Nothing:
    lesson_40_claude_without_quota_is_parked_and_goes_on: Claude;
    lesson_40_codex_without_quota_is_parked_and_goes_on: Codex;
    lesson_40_gemini_without_quota_is_parked_and_goes_on: Gemini;
    lesson_40_opencode_without_quota_is_parked_and_goes_on: Opencode;
    lesson_40_pi_without_quota_is_parked_and_goes_on: Pi;
}

headless! { greet Sandbox:
    claude_reports_in_a_sandbox: Claude;
    codex_reports_in_a_sandbox: Codex;
    gemini_reports_in_a_sandbox: Gemini;
    opencode_reports_in_a_sandbox: Opencode;
    pi_reports_in_a_sandbox: Pi;
}

//! Agents that cannot continue: no quota, no login, no start.

use std::fs::{self, File};
use std::time::Duration;

use orange_config::clock::{self, Deadline, Stopwatch};
use orange_engine::names::TaskId;
use orange_engine::parking::{Parking, Reason};

use crate::agent::Agent;
use crate::namespace::run_in_namespace;
use crate::stage::{SOON, Stage, running};

const QUOTA: &str = "run echo begun > begun.txt\nquota\nrun echo this is never run\n";
const KEY: &str = "run echo begun > begun.txt\nkey\nrun echo this is never run\n";

const CONTINUE: &str = "say I continued.\n";

/// How long no agent may be started on a parked harness.
const QUIET: Duration = Duration::from_secs(6);

fn parked_harnesses(stage: &Stage) -> Vec<Parking> {
    stage.store().parkings(clock::now()).unwrap()
}

/// How many agents were ever started for a task.
fn starts(stage: &Stage, id: &TaskId) -> usize {
    let runs = stage.store().runs(id).unwrap();
    runs.iter().filter(|run| run.place.is_some()).count()
}

/// It runs out during its turn; no other agent is started, and later it resumes where it was.
fn run_out(agent: Agent, script: &str, reason: Reason) {
    let stage = Stage::with_supervisor(agent);
    stage.script("any", "worker-1", script);
    stage.script("any", "resumed-1", CONTINUE);
    let id = stage.create("one", &["--workflow", "minimal"]);
    let in_time = Deadline::after(SOON).wait_for(|| !parked_harnesses(&stage).is_empty());
    assert!(in_time, "{}", stage.diagnostics(&id));
    let parking = parked_harnesses(&stage).remove(0);
    assert_eq!(parking.harness.as_str(), agent.name());
    assert_eq!(parking.reason, reason, "{parking:?}");
    println!("{}: {:?}", agent.name(), parking.output_line);
    let gone = Deadline::after(SOON).wait_for(|| running().is_empty());
    assert!(gone, "it is still running: {:?}", running());
    let request_count = stage.requests().len();
    let options = ["task", "create", "two", "Another", "--workflow", "minimal"];
    stage.orange_unchecked(&options);
    let started = Deadline::after(QUIET).wait_for(|| !running().is_empty());
    assert!(!started, "{:?}", running());
    assert_eq!(
        stage.requests().len(),
        request_count,
        "the model is not called"
    );
    assert_eq!(starts(&stage, &id), 1);
    let list = stage.orange(&["attention", "--all"]);
    let list = String::from_utf8(list.stdout).unwrap();
    assert!(list.contains("parked"), "{list}");

    // When it comes back, it still knows its instructions and its work so far.
    stage.script("two", "worker-1", "say Nothing to do.");
    stage.orange(&["harness", "unpark", agent.name()]);
    stage.wait_for_step(&id, "resumed", 1, 0);
    let requests = stage.requests();
    let resumed = requests.iter().find(|it| it["role"] == "resumed").unwrap();
    let output = resumed["body"].to_string();
    assert!(output.contains("begun.txt"), "{}", stage.diagnostics(&id));
    assert_eq!(starts(&stage, &id), 2);
    for branch in ["one", "two"] {
        stage.orange(&["task", "cancel", branch]);
    }
    stage.assert_clean(&format!("{} has run out", agent.name()));
}

macro_rules! limits {
    ($script:ident, $reason:ident: $($name:ident: $agent:ident;)+) => {
        $(
            #[test]
            fn $name() {
                let name = concat!("limits::", stringify!($name));
                run_in_namespace(name, &[Agent::$agent], || {
                    run_out(Agent::$agent, $script, Reason::$reason);
                });
            }
        )+
    };
}

limits! { QUOTA, Quota:
    lesson_40_claude_without_quota_is_parked: Claude;
    lesson_40_codex_without_quota_is_parked: Codex;
    lesson_40_opencode_without_quota_is_parked: Opencode;
    lesson_40_pi_without_quota_is_parked: Pi;
}

limits! { KEY, Login:
    claude_that_is_not_logged_in_is_parked: Claude;
    codex_that_is_not_logged_in_is_parked: Codex;
    gemini_that_is_not_logged_in_is_parked: Gemini;
    opencode_that_is_not_logged_in_is_parked: Opencode;
    pi_that_is_not_logged_in_is_parked: Pi;
}

/// Not recognised: the agent offers another model in a dialog, and no hook or transcript reports
/// it.
#[test]
fn gemini_without_quota_asks_only_in_its_terminal() {
    let name = "limits::gemini_without_quota_asks_only_in_its_terminal";
    run_in_namespace(name, &[Agent::Gemini], || {
        let stage = Stage::with_supervisor(Agent::Gemini);
        stage.script("any", "worker-1", QUOTA);
        let id = stage.create("one", &["--workflow", "minimal"]);
        let asks = || stage.diagnostics(&id).contains("Usage limit reached for");
        let in_time = Deadline::after(SOON).wait_for(asks);
        assert!(in_time, "{}", stage.diagnostics(&id));
        let is_parked = Deadline::after(QUIET).wait_for(|| !parked_harnesses(&stage).is_empty());
        assert!(!is_parked, "then say so in docs/agents.md");
        stage.orange(&["task", "cancel", "one"]);
        stage.assert_clean("gemini without quota");
    });
}

/// Not fixable from outside: when two of them create the database at the same moment, one finds a
/// table that it was about to create, and hangs. Here the table exists beforehand.
#[test]
fn opencode_that_hangs_at_its_start_is_shown_as_silent() {
    let name = "limits::opencode_that_hangs_at_its_start_is_shown_as_silent";
    run_in_namespace(name, &[Agent::Opencode], || {
        let stage = Stage::new(&[Agent::Opencode]);
        // How long a start takes that does not hang.
        stage.script("any", "worker-1", "say Done.\n");
        let options = ["--workflow", "minimal", "--harness", "opencode"];
        let watch = Stopwatch::start();
        let whole = stage.create("whole", &options);
        stage.wait_for_step(&whole, "worker", 1, 0);
        let begins = watch.elapsed();
        stage.orange(&["task", "cancel", "whole"]);
        let gone = Deadline::after(SOON).wait_for(|| running().is_empty());
        assert!(gone, "{:?}", running());
        let request_count = stage.requests().len();
        let data = stage.path("person/.local/share/opencode");
        fs::rename(&data, data.with_extension("whole")).unwrap();
        fs::create_dir_all(&data).unwrap();
        let half = rusqlite::Connection::open(data.join("opencode.db")).unwrap();
        half.execute("CREATE TABLE workspace (id TEXT)", [])
            .unwrap();
        drop(half);
        let attention = || {
            let list = stage.orange(&["attention"]);
            String::from_utf8(list.stdout).unwrap()
        };
        let text = "has reported nothing since it was started";
        let id = stage.create("one", &options);
        assert!(!attention().contains(text), "it may take a while");
        let hangs = Deadline::after(begins * 3);
        let in_time = hangs.wait_for(|| stage.requests().len() > request_count);
        assert!(!in_time, "then harnesses/README.md need not mention it");
        assert!(!running().is_empty(), "it does not end either");
        let runs = stage.store().runs(&id).unwrap();
        let run = stage.path("person/orange/tasks/repo");
        let run = run.join(id.as_str()).join("runs").join(runs[0].id.as_str());
        let file = File::options().append(true).open(run.join("events.jsonl"));
        let file = file.unwrap();
        assert_eq!(file.metadata().unwrap().len(), 0, "it reported something");
        let began = file.metadata().unwrap().modified().unwrap();
        file.set_modified(began - Duration::from_mins(2)).unwrap();
        assert!(attention().contains(text), "{}", attention());
        stage.orange(&["task", "cancel", "one"]);
        stage.assert_clean("opencode with half a database");
    });
}

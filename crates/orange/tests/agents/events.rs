//! Events that agents report through their own hooks and plugins.

use std::fs;
use std::path::Path;
use std::time::Duration;

use orange_config::clock::{Deadline, Stopwatch};
use orange_engine::activity::{AgentEvent, AgentEventKind};
use orange_engine::names::TaskId;
use orange_store::latest_agent_events;
use serde_json::Value;

use crate::agent::Agent;
use crate::namespace::run_in_namespace;
use crate::stage::{SOON, Stage};

const WORK: &str = "run echo Bonjour > greet.txt\nsay I am done.\n";

/// No level except `full` lets an agent do this without asking.
const PUSH: &str = "run git push\nsay I am done.\n";

/// How long it may take until the user sees that an agent is waiting.
const SEES: Duration = Duration::from_secs(3);

/// The events that a task's worker reported, oldest first.
pub fn reported_events(stage: &Stage, id: &TaskId) -> Vec<AgentEvent> {
    let runs = stage.store().runs(id).unwrap();
    let run = runs.last().unwrap();
    let folder = stage.path("person/orange/tasks/repo").join(id.as_str());
    latest_agent_events(&folder.join("runs").join(run.id.as_str())).unwrap()
}

/// Waits until a task's worker reports this event.
pub fn wait_for_event(stage: &Stage, id: &TaskId, kind: AgentEventKind) -> Vec<AgentEvent> {
    let has = || reported_events(stage, id).iter().any(|it| it.kind == kind);
    let in_time = Deadline::after(SOON).wait_for(has);
    let events = reported_events(stage, id);
    assert!(in_time, "{kind}: {events:#?}\n{}", stage.diagnostics(id));
    events
}

fn check_events(agent: Agent) {
    let stage = Stage::new(&[agent]);
    stage.script("greet", "worker-1", WORK);
    let own = |file: &str| fs::read_to_string(stage.path("person").join(file)).ok();
    let settings = [
        ".claude/settings.json",
        ".codex/config.toml",
        ".gemini/settings.json",
    ];
    let before = settings.map(own);
    let id = stage.create(
        "greet",
        &["--workflow", "minimal", "--harness", agent.name()],
    );
    let events = wait_for_event(&stage, &id, AgentEventKind::Idle);
    let kinds: Vec<AgentEventKind> = events.iter().map(|it| it.kind).collect();
    let of = |kind| kinds.iter().position(|it| *it == kind);
    let order = [
        AgentEventKind::SessionStart,
        AgentEventKind::PromptSubmitted,
        AgentEventKind::Working,
        AgentEventKind::Idle,
    ];
    let places = order.map(|kind| of(kind).unwrap_or_else(|| panic!("no {kind}: {kinds:?}")));
    assert!(places.is_sorted(), "{kinds:?}");
    let session = events[0].session_id.as_deref().unwrap();
    assert!(!session.is_empty());
    let argv = stage.store().runs(&id).unwrap()[0]
        .setup
        .clone()
        .unwrap()
        .argv;
    let is_ours = argv.iter().any(|it| it == session);
    let chooses = matches!(agent, Agent::Codex | Agent::Opencode);
    assert_eq!(is_ours, !chooses, "{session} in {argv:?}");
    let transcript = events.iter().find_map(|it| it.transcript.as_deref());
    if agent == Agent::Opencode {
        assert_eq!(transcript, None, "it keeps its conversations in a database");
    } else {
        assert!(Path::new(transcript.unwrap()).is_file(), "{transcript:?}");
    }
    let shown = stage.orange(&["task", "show", "greet", "--json"]);
    let shown: Value = serde_json::from_slice(&shown.stdout).unwrap();
    assert_eq!(shown["activities"][0]["state"], "idle", "{shown}");
    // The scripted model counts 100 tokens for what it reads, and 20 for what it writes.
    let used = || {
        let shown = stage.orange(&["task", "show", "greet", "--json"]);
        let shown: Value = serde_json::from_slice(&shown.stdout).unwrap();
        shown["usage"].clone()
    };
    stage.wait_until(&id, "its usage", || used()["input_tokens"] == 200);
    assert_eq!(used()["output_tokens"], 40, "{}", used());
    assert_eq!(used()["cached_tokens"], 0, "{}", used());
    assert!(
        used()["cost_usd"].is_null(),
        "no agent knows a price: {}",
        used()
    );
    // The user's own settings are unchanged; only codex notes in them what it has shown.
    for (file, before) in settings.iter().zip(before) {
        let after = own(file);
        let (before, after) = (before.unwrap_or_default(), after.unwrap_or_default());
        assert!(after.starts_with(&before), "{file}:\n{after}");
        assert!(!after.contains("orange"), "{file}:\n{after}");
    }
    stage.orange(&["task", "cancel", "greet"]);
    stage.assert_clean(&format!("what {} reports", agent.name()));
}

fn wait_for_permission(agent: Agent) {
    let stage = Stage::new(&[agent]);
    stage.make_careful();
    stage.script("greet", "worker-1", PUSH);
    let id = stage.create(
        "greet",
        &["--workflow", "careful", "--harness", agent.name()],
    );
    stage.wait_for_step(&id, "worker", 1, 0);
    let watch = Stopwatch::start();
    wait_for_event(&stage, &id, AgentEventKind::PermissionWait);
    let since_told = Stopwatch::start();
    let shown = || {
        let listed = stage.orange(&["attention", "--json"]);
        let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
        let items = listed["items"].as_array().unwrap().clone();
        items.into_iter().find(|it| it["kind"] == "permission")
    };
    let in_time = Deadline::after(SEES).wait_for(|| shown().is_some());
    assert!(in_time, "{}", stage.diagnostics(&id));
    assert!(since_told.elapsed() < SEES);
    assert_eq!(shown().unwrap()["task"], id.as_str());
    println!(
        "{}: a question is shown {} ms after the model asked for the command",
        agent.name(),
        watch.elapsed().as_millis()
    );
    stage.orange(&["task", "cancel", "greet"]);
    stage.assert_clean(&format!("{} asks for permission", agent.name()));
}

macro_rules! events {
    ($act:ident: $($name:ident: $agent:ident;)+) => {
        $(
            #[test]
            fn $name() {
                let name = concat!("events::", stringify!($name));
                run_in_namespace(name, &[Agent::$agent], || $act(Agent::$agent));
            }
        )+
    };
}

events! { check_events:
    claude_tells_what_it_does: Claude;
    codex_tells_what_it_does: Codex;
    gemini_tells_what_it_does: Gemini;
    opencode_tells_what_it_does: Opencode;
    pi_tells_what_it_does: Pi;
}

// pi has no permissions.
events! { wait_for_permission:
    claude_waits_for_permission_and_it_shows: Claude;
    codex_waits_for_permission_and_it_shows: Codex;
    gemini_waits_for_permission_and_it_shows: Gemini;
    opencode_waits_for_permission_and_it_shows: Opencode;
}

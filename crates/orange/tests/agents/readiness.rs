//! `orange doctor` sees what an agent would ask at first start.

use serde_json::Value;

use crate::agent::Agent;
use crate::namespace::run_in_namespace;
use crate::stage::Stage;

/// What the doctor reports about an agent, as `health: message`.
fn readiness_lines(stage: &Stage, agent: Agent) -> Vec<String> {
    let answer = stage.orange_unchecked(&["doctor", "--json"]);
    let answer: Value = serde_json::from_slice(&answer.stdout).unwrap();
    let all = answer["checkups"].as_array().unwrap().iter();
    let about = all.filter(|it| it["subject"].as_str().unwrap().starts_with(agent.name()));
    let lines = about.map(|it| {
        let part = |key: &str| it[key].as_str().unwrap();
        format!("{}: {}", part("health"), part("message"))
    });
    lines.collect()
}

/// In a home where the agent was never started, and in one with its first-run questions answered.
fn check_readiness(agent: Agent) {
    let fresh = Stage::never_started(&[agent]);
    fresh.orange(&["project", "add", "--harness", agent.name()]);
    let found = readiness_lines(&fresh, agent);
    assert!(
        found.iter().any(|it| it.starts_with("error: ")),
        "doctor does not report what a task would wait for: {found:#?}"
    );
    assert!(found[0].ends_with("the tested version"), "{found:?}");
    let settled = Stage::new(&[agent]);
    settled.orange(&["project", "add", "--harness", agent.name()]);
    let found = readiness_lines(&settled, agent);
    assert!(
        found.iter().all(|it| it.starts_with("ok: ")),
        "the stories pass in such a home: {found:#?}"
    );
    settled.assert_clean(&format!("{} asked for its version", agent.name()));
}

macro_rules! readiness {
    ($($name:ident: $agent:ident;)+) => {
        $(
            #[test]
            fn $name() {
                let name = concat!("readiness::", stringify!($name));
                run_in_namespace(name, &[Agent::$agent], || check_readiness(Agent::$agent));
            }
        )+
    };
}

readiness! {
    claude_that_would_ask: Claude;
    codex_that_would_ask: Codex;
    gemini_that_would_ask: Gemini;
    opencode_that_would_ask: Opencode;
    pi_that_would_ask: Pi;
}

//! Agents see the skill that `orange install` wrote.

use orange_engine::skill::DESCRIPTION;

use crate::agent::Agent;
use crate::namespace::run_in_namespace;
use crate::stage::Stage;

const WORK: &str = r"
run git commit -q --allow-empty -m 'Learn'
run printf '\n## Handoff\n\nDONE: nothing was to be done\n' >> TASK.md
run orange task update --status reviewing
";

/// The first request to the model contains the skill's description only after the install.
fn check_skill(agent: Agent) {
    let stage = Stage::new(&[agent]);
    stage.script("before", "worker-1", WORK);
    stage.script("after", "worker-1", WORK);
    let shown = |branch: &str| {
        let options = ["--harness", agent.name(), "--workflow", "minimal"];
        let asked_before = stage.requests().len();
        let id = stage.create(branch, &options);
        stage.wait_for(&id, "reviewing");
        let requests = stage.requests();
        let mut bodies = requests[asked_before..].iter().map(|it| &it["body"]);
        bodies.any(|body| strings(body).contains(DESCRIPTION))
    };
    assert!(!shown("before"), "it knew before");
    let written = stage.orange(&["install"]);
    println!("{}", String::from_utf8_lossy(&written.stdout));
    assert!(shown("after"), "{} was not shown the skill", agent.name());
    stage.orange(&["install", "--uninstall"]);
    stage.assert_clean(&format!("{} learns", agent.name()));
}

/// All texts of a request, as the model reads them.
fn strings(body: &serde_json::Value) -> String {
    match body {
        serde_json::Value::String(text) => text.split_whitespace().collect::<Vec<_>>().join(" "),
        serde_json::Value::Array(list) => list.iter().map(strings).collect::<Vec<_>>().join("\n"),
        serde_json::Value::Object(map) => map.values().map(strings).collect::<Vec<_>>().join("\n"),
        _ => String::new(),
    }
}

macro_rules! skills {
    ($($name:ident: $agent:ident;)+) => {
        $(
            #[test]
            fn $name() {
                let name = concat!("skills::", stringify!($name));
                run_in_namespace(name, &[Agent::$agent], || check_skill(Agent::$agent));
            }
        )+
    };
}

skills! {
    claude_is_shown_the_skill: Claude;
    codex_is_shown_the_skill: Codex;
    gemini_is_shown_the_skill: Gemini;
    opencode_is_shown_the_skill: Opencode;
    pi_is_shown_the_skill: Pi;
}

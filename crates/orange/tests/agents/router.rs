//! The router, with each agent.

use std::fs;

use serde_json::Value;

use crate::agent::Agent;
use crate::namespace::run_in_namespace;
use crate::stage::Stage;

/// It answers with a schema, if it can, and what it used counts.
fn choose(agent: Agent) {
    let stage = Stage::new(&[agent]);
    let name = agent.name();
    let home = stage.path("person/orange");
    fs::create_dir_all(&home).unwrap();
    let settings = format!(
        "[router]\nharness = \"{name}\"\nchoices = [\"{name}:small\", \"{name}:big\"]\n\
         timeout = \"60s\"\n"
    );
    fs::write(home.join("config.toml"), settings).unwrap();
    let answer = format!(
        r#"{{"executor":"{name}","model":"big","decompose":false,"reason":"It is hard.","profile":{{"role":"Poet","skills":[],"tools":[],"constraints":[]}},"selected_skills":[]}}"#
    );
    stage.script("any", "router-1", &format!("say {answer}\n"));
    stage.orange(&["project", "add", "--workflow", "autopilot"]);
    let words = ["task", "create", "--no-spawn", "--json", "Greet in French"];
    let created = stage.orange(&words);
    let created: Value = serde_json::from_slice(&created.stdout).unwrap();
    let id = created["task"]["id"].as_str().unwrap();
    let words = ["task", "update", id, "--status", "routed", "--wait", "60"];
    stage.orange(&words);
    let why = stage.orange(&["task", "why", id]);
    let why = String::from_utf8(why.stdout).unwrap();
    let expected = format!("`{name}` with the model `big` was chosen by the router: It is hard.");
    let log = fs::read_to_string(home.join("orange.log")).unwrap_or_default();
    assert!(
        why.contains(&expected),
        "{why}\n{log}\n{:#?}",
        stage.requests()
    );
    let used = stage.orange(&["budget", "--json"]);
    let used: Value = serde_json::from_slice(&used.stdout).unwrap();
    let tokens = used["budgets"][0]["tokens"].as_u64().unwrap();
    assert!(tokens >= 120, "{used}");
    println!("{name}: the choice took {tokens} tokens");
    if matches!(agent, Agent::Claude | Agent::Codex) {
        let requests = stage.requests();
        let bodies: Vec<&Value> = requests.iter().map(|it| &it["body"]).collect();
        let has_schema = |body: &&&Value| body.to_string().contains("selected_skills\":{");
        assert!(bodies.iter().any(|it| has_schema(&it)), "{bodies:#?}");
    }
    stage.assert_clean(&format!("{name} is the router"));
}

macro_rules! routers {
    ($($test:ident: $agent:expr,)*) => {
        $(
            #[test]
            fn $test() {
                let name = concat!("router::", stringify!($test));
                run_in_namespace(name, &[$agent], || choose($agent));
            }
        )*
    };
}

routers! {
    claude_is_the_router: Agent::Claude,
    codex_is_the_router: Agent::Codex,
    gemini_is_the_router: Agent::Gemini,
    opencode_is_the_router: Agent::Opencode,
    pi_is_the_router: Agent::Pi,
}

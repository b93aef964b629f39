//! What the router answers, and what it costs.

use std::fs;

use orange_engine::names::TaskId;
use orange_engine::routing::RoutedBy;
use serde_json::Value;

use super::routing::{chosen, staged};
use crate::support::Stage;

/// What routers print that is no answer, as commands of a shell.
const MALFORMED: [&str; 31] = [
    "",
    "exit 1",
    "kill -9 $$",
    "echo",
    "echo other",
    "echo 'I would take other.'",
    "echo '{}'",
    "echo '[]'",
    "echo null",
    "echo '\"other\"'",
    "echo '[\"other\"]'",
    "echo '}{'",
    "echo '{'",
    "echo '}'",
    "echo '{\"executor\": \"other\"'",
    "echo '{executor: other}'",
    "echo \"{'executor': 'other'}\"",
    "echo '{\"executor\": other}'",
    "echo '{\"executor\": \"other\",}'",
    "echo '{\"executor\": \"other\"} {\"executor\": \"other\"}'",
    "echo '{\"executor\": null}'",
    "echo '{\"executor\": \"\"}'",
    "echo '{\"executor\": \"nothing\"}'",
    "echo '{\"executor\": \"Other\"}'",
    "echo '{\"executor\": \"../other\"}'",
    "echo '{\"executor\": {\"name\": \"other\"}}'",
    "echo '{\"agent\": \"other\"}'",
    "echo '{\"answer\": {\"executor\": \"other\"}}'",
    "echo '{\"executor\": \"other\"}' >&2",
    "printf '{\"executor\": \"\\377\\376\"}'",
    "yes '{\"executor\": \"other\", ' | head -c 6000000",
];

/// Lets a task be routed, but not started.
fn route(stage: &Stage, id: &TaskId) {
    let words = ["task", "update", id.as_str(), "--status", "routed"];
    stage.run_ok(&[&words[..], &["--wait", "60"]].concat());
}

fn used(stage: &Stage) -> Value {
    let (_, answer) = stage.json(&["budget", "--json"]);
    answer["budgets"][0].clone()
}

#[test]
fn a_malformed_answer_is_asked_for_once_more_and_then_the_default_is_used() {
    let stage = staged("[router]\nharness = \"router\"\n");
    let does = stage.path("does");
    stage.add_router(&format!(". {}", does.display()));
    for (number, answer) in MALFORMED.into_iter().enumerate() {
        fs::write(&does, format!("{answer}\n")).unwrap();
        let branch = format!("b{number}");
        let id = stage.create(&["--branch", &branch, "Do it"]);
        route(&stage, &id);
        let task = stage.task(&id);
        assert_eq!(
            chosen(&task),
            (RoutedBy::Default, "script"),
            "{answer}: {}",
            stage.diagnostics(&id)
        );
        let reason = task.routing.route.unwrap().reason;
        assert!(
            reason.starts_with("the router was of no help: "),
            "{answer}: {reason}"
        );
        assert_eq!(stage.router_calls(), 2 * (number + 1), "{answer}");
    }
    // A second answer that can be used is used.
    let once = "[ -e \"$0.once\" ] && echo '{\"executor\": \"other\"}'\ntouch \"$0.once\"\n";
    fs::write(&does, once).unwrap();
    let id = stage.create(&["--branch", "last", "Do it"]);
    route(&stage, &id);
    assert_eq!(chosen(&stage.task(&id)), (RoutedBy::Router, "other"));
    assert_eq!(stage.router_calls(), 2 * (MALFORMED.len() + 1));
}

#[test]
fn the_router_counts_for_budgets_and_does_not_start_without_one() {
    let stage = staged("[router]\nharness = \"router\"\n");
    stage.add_router(
        "echo '{\"usage\": {\"in\": 900, \"out\": 100, \"cost\": 0.25}}'\n\
         echo '{\"said\": \"{\\\"executor\\\": \\\"other\\\"}\"}'",
    );
    let path = stage.path("home/harnesses/router.toml");
    let definition = fs::read_to_string(&path).unwrap();
    let result = "[result]\ntext = [{ keys = [\"said\"] }]\n\
                  input_tokens = [{ keys = [\"usage\", \"in\"] }]\n\
                  output_tokens = [{ keys = [\"usage\", \"out\"] }]\n\
                  cost_usd = [{ keys = [\"usage\", \"cost\"] }]\n";
    fs::write(&path, definition.clone() + result).unwrap();
    let first = stage.create(&["Do it"]);
    route(&stage, &first);
    assert_eq!(chosen(&stage.task(&first)), (RoutedBy::Router, "other"));
    let day = used(&stage);
    assert_eq!(
        (&day["tokens"], &day["cost_usd"]),
        (&1000.into(), &"0.25".into())
    );
    // A rebuilt database knows it too.
    stage.lose_database();
    stage.run_ok(&["rebuild"]);
    assert_eq!(used(&stage), day);
    // A file that cannot be read is named, and nothing else is lost with it.
    let calls = stage.path(&format!("home/tasks/app/{first}/runs/router/calls.json"));
    let kept = fs::read(&calls).unwrap();
    fs::write(&calls, "[{").unwrap();
    stage.lose_database();
    let rebuilt = stage.orange(&["rebuild", "--json"]).output().unwrap();
    let rebuilt: Value = serde_json::from_slice(&rebuilt.stdout).unwrap();
    assert_eq!(rebuilt["skipped"][0]["path"], calls.to_str().unwrap());
    assert_eq!(chosen(&stage.task(&first)), (RoutedBy::Router, "other"));
    fs::write(&calls, kept).unwrap();
    stage.lose_database();
    stage.run_ok(&["rebuild"]);
    assert_eq!(used(&stage), day);
    // A budget that is used up keeps the router from starting.
    let settings = "[router]\nharness = \"router\"\n[budget]\nday = \"0.25 USD\"\n";
    fs::write(stage.path("home/config.toml"), settings).unwrap();
    let second = stage.create(&["--branch", "b", "Do it"]);
    route(&stage, &second);
    let task = stage.task(&second);
    assert_eq!(chosen(&task), (RoutedBy::Default, "script"));
    let reason = task.routing.route.unwrap().reason;
    let expected = "the budget for today (UTC) is used up: 0.25 USD of 0.25 USD";
    assert!(reason.contains(expected), "{reason}");
    // So does one that cannot be checked.
    let settings = "[router]\nharness = \"router\"\n[budget]\nday = \"9.00 USD\"\n";
    fs::write(stage.path("home/config.toml"), settings).unwrap();
    fs::write(&path, definition).unwrap();
    let third = stage.create(&["--branch", "c", "Do it"]);
    route(&stage, &third);
    let reason = stage.task(&third).routing.route.unwrap().reason;
    let expected = "`router` reports neither tokens nor cost";
    assert!(reason.contains(expected), "{reason}");
    assert_eq!(stage.router_calls(), 1);
}

//! `orange budget`.

use std::fs;

use crate::support::Stage;

#[test]
fn without_limits_only_what_was_used_is_shown() {
    let stage = Stage::new("default");
    let (code, answer) = stage.json(&["budget", "--json"]);
    assert_eq!(code, 0, "{answer}");
    assert_eq!(answer["budgets"][0]["scope"], "day");
    assert_eq!(answer["budgets"][0]["cost_usd"], "0.00");
    assert!(answer["budgets"][0]["limit"].is_null());
    assert_eq!(answer["unpriced"], "refuse");
    assert_eq!(answer["prices"]["source"], "litellm");
    let said = stage.run_ok(&["budget"]);
    assert!(said.contains("today"), "{said}");
}

#[test]
fn limits_of_the_home_and_of_a_project_are_shown() {
    let stage = Stage::new("default");
    let text = "[budget]\nday = \"5.00 USD\"\nproject = \"2M tokens\"\nhard = true\n";
    fs::write(stage.path("home/config.toml"), text).unwrap();
    let (_, answer) = stage.json(&["budget", "--json"]);
    let [day, project] = answer["budgets"].as_array().unwrap().as_slice() else {
        panic!("{answer}")
    };
    assert_eq!(day["left"], "5.00 USD");
    assert_eq!(project["name"], "app");
    assert_eq!(project["limit"], "2M tokens");
    assert_eq!(project["state"], "free");
    assert_eq!(answer["hard"], true);
    stage.configure("budget_project", &serde_json::json!("0.50 USD"));
    let said = stage.run_ok(&["budget"]);
    let lines: Vec<&str> = said.lines().collect();
    assert!(lines[2].starts_with("project app"), "{said}");
    assert!(lines[2].contains("0.50 USD"), "{said}");
    assert!(lines.iter().all(|it| it.chars().count() <= 60), "{said}");
    stage.configure("budget_project", &serde_json::json!("0.50 EUR"));
    let (code, said) = stage.call(&["budget"]);
    assert_ne!(code, 0, "{said}");
    assert!(
        said.contains("such as \"5.00 USD\" or \"2M tokens\""),
        "{said}"
    );
}

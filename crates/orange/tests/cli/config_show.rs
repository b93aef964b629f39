//! `orange config show`, and the page that explains the settings.

use std::fs;

use insta::assert_snapshot;
use orange_config::{Environment, Home, KEYS, Key, Kind, PolicyRule, Settings, policy_keys};

use crate::sandbox::{Sandbox, code, utf8};

const PAGE: &str = include_str!("../../../../docs/configuration.md");

fn with_config(text: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.home()).unwrap();
    fs::write(sandbox.home().join("config.toml"), text).unwrap();
    sandbox
}

#[test]
fn everything_has_a_value_without_a_file() {
    let sandbox = Sandbox::new();
    assert_snapshot!(sandbox.transcript("config show"));
    assert!(!sandbox.home().exists(), "reading creates nothing");
}

#[test]
fn each_value_says_where_it_comes_from() {
    let text = "harness = \"a\"\nworkflow = \"b\"\n\n[pool]\nsize = 3\n[limits.harness]\na = 2\n\
                [notify]\nwebhook = \"https://example.org/secret\"\n";
    let sandbox = with_config(text);
    let projects = r#"{"projects": [{"name": "app", "path": "/nowhere", "default_branch": "main",
        "workflow": "minimal"}]}"#;
    fs::write(sandbox.home().join("projects.json"), projects).unwrap();
    let line = "config show --project app";
    let mut command = sandbox.command(line);
    let output = command.env("ORANGE_LOG", "debug").output().unwrap();
    let transcript = sandbox.transcript_of(line, &output);
    assert!(!transcript.contains("secret"), "{transcript}");
    assert_snapshot!(transcript);
    let (json, _) = sandbox.json("config show --project app --json");
    let settings = json["settings"].as_array().unwrap();
    let find = |key: &str| settings.iter().find(|it| it["key"] == key).unwrap();
    assert_eq!(find("pool.size")["value"], 3);
    assert_eq!(find("pool.size")["origin"]["line"], 5);
    assert_eq!(find("workflow")["value"], "minimal");
    assert_eq!(find("workflow")["origin"]["kind"], "project");
    assert_eq!(find("limits.harness.a")["value"], 2);
    assert_eq!(find("log.keep")["origin"]["kind"], "default");
    assert!(find("limits.agents")["value"].is_null());
    assert!(!json.to_string().contains("secret"), "{json}");
}

#[test]
fn every_mistake_is_reported_with_its_position_and_a_suggestion() {
    let sandbox = with_config("harnes = \"a\"\n[pool]\nsize = \"3\"\n[loq]\nkeep = 1\n");
    assert_snapshot!(sandbox.transcript("config show"));
    let (json, code) = sandbox.json("config show --json");
    assert_eq!(code, 3);
    assert_eq!(json["error"]["code"], "config-invalid");
    let problems = &json["error"]["details"]["problems"];
    assert_eq!(problems[0]["line"], 1);
    assert_eq!(problems[0]["column"], 1);
    assert_eq!(problems[0]["nearest"], "harness");
}

#[test]
fn an_unreadable_file_and_an_invalid_variable_are_errors() {
    let sandbox = Sandbox::new();
    fs::create_dir_all(sandbox.home().join("config.toml")).unwrap();
    let output = sandbox.run("config show");
    assert_eq!(code(&output), 3);
    assert!(utf8(&output.stderr).contains("not a regular file"));
    let sandbox = Sandbox::new();
    let mut command = sandbox.command("config show");
    let output = command.env("ORANGE_LOG", "loud").output().unwrap();
    assert_eq!(code(&output), 2);
    let text = utf8(&output.stderr);
    assert!(
        text.contains("`ORANGE_LOG`: it must be \"error\""),
        "{text}"
    );
}

fn row(key: &Key, settings: &Settings) -> String {
    let kind = match key.kind {
        Kind::Name => "a name".to_owned(),
        Kind::Command => "a command".to_owned(),
        Kind::Path => "a path".to_owned(),
        Kind::Count => "a number, 0 or larger".to_owned(),
        Kind::Branch => "a branch".to_owned(),
        Kind::Duration => "a duration".to_owned(),
        Kind::Size => "a size".to_owned(),
        Kind::Switch => "`true` or `false`".to_owned(),
        Kind::Url => "an address".to_owned(),
        Kind::Budget => "an amount".to_owned(),
        Kind::Repository => "a repository".to_owned(),
        Kind::Names => "a list of names".to_owned(),
        Kind::Hosts => "a list of hosts".to_owned(),
        Kind::Arguments => "a program and its arguments".to_owned(),
        Kind::OneOf(words) => {
            let words: Vec<_> = words.iter().map(|it| format!("`{it}`")).collect();
            words.join(", ")
        }
    };
    let setting = settings.all().iter().find(|it| it.key == key.name);
    let built_in = setting.and_then(|it| it.value.as_ref());
    let built_in = built_in.map(|it| format!("`{it}`")).unwrap_or_default();
    let project = match key.name {
        "harness" | "review_harness" | "workflow" => format!("`{}`", key.name),
        "pool.size" => "`pool_size`".to_owned(),
        "pool.when_full" => "`when_full`".to_owned(),
        "merge.strategy" => "`merge_strategy`".to_owned(),
        "merge.verify" => "`merge_verify`".to_owned(),
        "sandbox.mode"
        | "sandbox.network"
        | "sandbox.hosts"
        | "forge.repository"
        | "forge.merge"
        | "forge.draft"
        | "forge.labels"
        | "forge.issues.label"
        | "forge.issues.workflow"
        | "forge.issues.comment"
        | "forge.issues.close"
        | "budget.task"
        | "budget.job"
        | "budget.project"
        | "budget.hard"
        | "budget.unpriced" => {
            format!("`{}`", key.name.replace('.', "_"))
        }
        _ => String::new(),
    };
    let variable = key.variable.map(|it| format!("`{it}`")).unwrap_or_default();
    let row = format!(
        "| `{}` | {kind} | {built_in} | {project} | {variable} | {} |",
        key.name.replace('*', "NAME"),
        key.meaning
    );
    row.replace("|  |", "| |").replace("|  |", "| |")
}

#[test]
fn the_documentation_lists_every_setting() {
    let environment = Environment::of([("ORANGE_HOME", "/nowhere/at/all")]);
    let home = Home::resolve(&environment).unwrap();
    let settings = Settings::load(&home, &environment, None).unwrap();
    let rows: Vec<String> = KEYS.iter().map(|key| row(key, &settings)).collect();
    let table = rows.join("\n");
    assert!(KEYS.len() > 15, "the keys were not found");
    assert!(
        PAGE.contains(&format!("|---|---|---|---|---|---|\n{table}\n\n")),
        "{table}"
    );
}

#[test]
fn the_page_about_policies_lists_what_they_may_set() {
    let page = include_str!("../../../../docs/repository-policy.md");
    let rows: Vec<String> = policy_keys()
        .map(|key| {
            let is_known = KEYS.iter().any(|it| it.name == key.name);
            let meaning = match key.policy {
                PolicyRule::Stricter => "counts only if it is stricter than yours",
                _ if is_known => "",
                _ => key.meaning,
            };
            format!("| `{}` | {meaning} |", key.name).replace("|  |", "| |")
        })
        .collect();
    assert!(rows.len() > 10, "the keys were not found");
    assert!(page.contains(&format!("|---|---|\n{}\n\n", rows.join("\n"))));
}

#[test]
fn the_documented_example_is_valid() {
    let example = PAGE.split("```toml\n").nth(1).unwrap();
    let example = example.split("```").next().unwrap();
    let sandbox = with_config(example);
    assert_eq!(code(&sandbox.run("config show")), 0);
}

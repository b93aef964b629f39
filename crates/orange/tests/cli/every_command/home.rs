//! Where `orange` looks for the user's own workflows.

use std::fs;

use insta::assert_snapshot;

use crate::sandbox::{SMALL, Sandbox, code, utf8};

#[test]
fn without_the_variable_the_home_is_in_the_users_home() {
    let sandbox = Sandbox::new();
    let folder = sandbox.root().join("person/orange/workflows");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("small.yml"), SMALL).unwrap();
    for value in [None, Some("")] {
        let mut command = sandbox.command("workflow show small");
        match value {
            None => command.env_remove("ORANGE_HOME"),
            Some(value) => command.env("ORANGE_HOME", value),
        };
        assert_eq!(utf8(&command.output().unwrap().stdout), SMALL);
    }
    assert_eq!(code(&sandbox.run("workflow show small")), 4);
}

#[test]
fn an_unknown_home_is_reported() {
    let sandbox = Sandbox::new().with_file("small.yml", SMALL);
    let run = |line: &str| {
        let mut command = sandbox.command(line);
        command.env_clear();
        command.output().unwrap()
    };
    let line = "workflow list";
    assert_snapshot!(sandbox.transcript_of(line, &run(line)));
    let json = utf8(&run("workflow list --json").stdout);
    assert!(json.contains("\"home-unknown\""), "{json}");
    let file = run("workflow check small.yml");
    assert_eq!(code(&file), 0, "a file needs no home");
}

#[test]
fn a_relative_home_is_refused() {
    let sandbox = Sandbox::new();
    let line = "workflow check";
    let mut command = sandbox.command(line);
    let output = command.env("ORANGE_HOME", "home").output().unwrap();
    assert_snapshot!(sandbox.transcript_of(line, &output));
    let mut command = sandbox.command("workflow check --json");
    let output = command.env("ORANGE_HOME", "home").output().unwrap();
    let json = utf8(&output.stdout);
    assert!(json.contains("\"home-not-absolute\""), "{json}");
    assert_eq!(code(&output), 2);
}

#[test]
fn a_home_that_cannot_be_listed_is_refused() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.home()).unwrap();
    fs::write(sandbox.home().join("workflows"), "a file").unwrap();
    assert_snapshot!(sandbox.transcript("workflow list"));
    let (answer, code) = sandbox.json("workflow list --json");
    assert_eq!(code, 3);
    assert_eq!(answer["error"]["code"], "home-unreadable");
    assert_eq!(answer["error"]["details"]["reason"], "not a directory");
}

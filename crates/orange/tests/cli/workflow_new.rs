//! `orange workflow new`.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::{fs, thread};

use insta::assert_snapshot;

use crate::sandbox::{SMALL, Sandbox, code, everything_below, keys, utf8};

fn files(folder: &Path) -> Vec<String> {
    let below = everything_below(folder);
    let names = below
        .iter()
        .map(|path| path.file_name().unwrap().to_str().unwrap());
    names.map(str::to_owned).collect()
}

#[test]
fn a_new_workflow_is_written_and_clean() {
    let sandbox = Sandbox::new();
    let lines = [
        "workflow new mine",
        "workflow check mine",
        "workflow list",
        "workflow new mine",
    ];
    assert_snapshot!(lines.map(|line| sandbox.transcript(line)).join("\n"));
    assert_eq!(files(&sandbox.home()), ["workflows", "mine.yml"]);
}

#[test]
fn a_new_workflow_begins_with_what_to_change() {
    let sandbox = Sandbox::new();
    sandbox.run("workflow new mine");
    let text = utf8(&sandbox.run("workflow show mine").stdout);
    let (header, rest) = text.split_once("\n\n").unwrap();
    assert_snapshot!(header);
    let shipped = utf8(&sandbox.run("workflow show minimal").stdout);
    assert_eq!(rest, shipped.replace("name: minimal", "name: mine"));
}

#[test]
fn every_shipped_workflow_can_be_the_start() {
    let sandbox = Sandbox::new();
    for from in ["default", "respawn", "minimal", "autopilot"] {
        let (answer, code) = sandbox.json(&format!("workflow new my-{from} --from {from} --json"));
        assert_eq!(code, 0);
        assert_eq!(keys(&answer), ["copy_of", "name", "path", "schema"]);
        assert_eq!(answer["schema"], "orange.workflow.new/1");
        assert_eq!(answer["name"], format!("my-{from}"));
        assert_eq!(answer["copy_of"], from);
        let path = sandbox.home().join(format!("workflows/my-{from}.yml"));
        assert_eq!(answer["path"], path.to_str().unwrap());
    }
    let checked = sandbox.run("workflow check");
    assert_eq!(code(&checked), 0, "{}", utf8(&checked.stdout));
}

#[test]
fn an_invalid_name_is_refused() {
    let sandbox = Sandbox::new();
    let lines = [
        "workflow new Mine.yml",
        "workflow new ../mine",
        "workflow new minimal",
        "workflow new mine --from other",
        "workflow new",
    ];
    assert_snapshot!(lines.map(|line| sandbox.transcript(line)).join("\n"));
    for name in ["", "1a", "-", "_a", "ä", "a/b", "a\nb", &"a".repeat(65)] {
        let mut command = sandbox.command("workflow new --json --");
        let output = command.arg(name).output().unwrap();
        assert_eq!(code(&output), 2, "{name}");
        assert!(
            utf8(&output.stdout).contains("workflow-name-invalid"),
            "{name}"
        );
    }
    let (answer, code) = sandbox.json("workflow new default --json");
    assert_eq!(code, 3);
    assert_eq!(answer["error"]["code"], "workflow-name-shipped");
    assert!(!sandbox.home().exists(), "nothing was made");
}

#[test]
fn existing_files_are_not_touched() {
    let sandbox = Sandbox::new()
        .with_workflow("file.yml", SMALL)
        .with_workflow("other.yaml", SMALL);
    let folder = sandbox.home().join("workflows");
    fs::create_dir(folder.join("folder.yml")).unwrap();
    symlink("nowhere", folder.join("dangling.yml")).unwrap();
    let before = everything_below(sandbox.root());
    for name in ["file", "other", "folder", "dangling"] {
        let (answer, code) = sandbox.json(&format!("workflow new {name} --json"));
        assert_eq!(code, 3, "{name}");
        assert_eq!(answer["error"]["code"], "workflow-exists", "{name}");
        assert_eq!(keys(&answer["error"]["details"]), ["name", "path"]);
    }
    assert_eq!(everything_below(sandbox.root()), before);
    assert_eq!(fs::read_to_string(folder.join("file.yml")).unwrap(), SMALL);
}

#[test]
fn leftovers_of_a_killed_process_are_ignored() {
    let sandbox = Sandbox::new().with_workflow(".mine.yml.0", "name: mi");
    assert!(!utf8(&sandbox.run("workflow list").stdout).contains("mine"));
    assert_eq!(code(&sandbox.run("workflow new mine")), 0);
    assert_eq!(code(&sandbox.run("workflow check mine")), 0);
    let folder = sandbox.home().join("workflows");
    assert_eq!(files(&folder), [".mine.yml.0", "mine.yml"]);
}

#[test]
fn one_of_many_concurrent_calls_wins() {
    let sandbox = Sandbox::new();
    let codes: Vec<i32> = thread::scope(|scope| {
        let runs: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| code(&sandbox.run("workflow new mine"))))
            .collect();
        runs.into_iter().map(|run| run.join().unwrap()).collect()
    });
    assert_eq!(
        codes.iter().filter(|code| **code == 0).count(),
        1,
        "{codes:?}"
    );
    assert_eq!(
        codes.iter().filter(|code| **code == 3).count(),
        7,
        "{codes:?}"
    );
    assert_eq!(code(&sandbox.run("workflow check mine")), 0);
    assert_eq!(files(&sandbox.home()), ["workflows", "mine.yml"]);
}

#[test]
fn an_unwritable_home_is_reported() {
    let sandbox = Sandbox::new();
    fs::write(sandbox.home(), "a file").unwrap();
    assert_snapshot!(sandbox.transcript("workflow new mine"));
    let (answer, code) = sandbox.json("workflow new mine --json");
    assert_eq!(code, 3);
    assert_eq!(answer["error"]["code"], "workflow-not-written");
    assert_eq!(keys(&answer["error"]["details"]), ["path", "reason"]);
}

//! `orange workflow list`.

use std::fs;

use insta::assert_snapshot;

use crate::sandbox::{BROKEN, SMALL, Sandbox, everything_below, keys};

#[test]
fn without_a_home_the_shipped_workflows_are_listed() {
    let sandbox = Sandbox::new();
    assert_snapshot!(sandbox.transcript("workflow list"));
}

#[test]
fn custom_workflows_follow_and_broken_ones_are_listed() {
    let sandbox = Sandbox::new()
        .with_workflow("small.yml", SMALL)
        .with_workflow("broken.yml", BROKEN)
        .with_workflow("default.yml", SMALL.replace("small", "default"))
        .with_workflow("minimal.yml", "name: minimal\n")
        .with_workflow("notes.txt", "not a workflow")
        .with_workflow(".#small.yml", "an editor's");
    assert_snapshot!(sandbox.transcript("workflow list"));
}

#[test]
fn one_broken_workflow_is_named_in_the_hint() {
    let sandbox = Sandbox::new().with_workflow("broken.yml", BROKEN);
    assert_snapshot!(sandbox.transcript("workflow list"));
}

#[test]
fn a_file_that_ends_in_yaml_is_listed_and_overrides_nothing() {
    let sandbox = Sandbox::new()
        .with_workflow("minimal.yaml", SMALL.replace("small", "minimal"))
        .with_workflow("small.yml", SMALL)
        .with_workflow("small.yaml", SMALL);
    assert_snapshot!(sandbox.transcript("workflow list"));
    let (answer, _) = sandbox.json("workflow show minimal --json");
    assert_eq!(answer["from"], "shipped");
    let (answer, _) = sandbox.json("workflow show small --json");
    let path = sandbox.home().join("workflows/small.yml");
    assert_eq!(answer["path"], path.to_str().unwrap());
}

#[test]
fn a_program_reads_the_same_list() {
    let sandbox = Sandbox::new()
        .with_workflow("broken.yml", BROKEN)
        .with_workflow("default.yml", SMALL.replace("small", "default"));
    let (answer, code) = sandbox.json("workflow list --json");
    assert_eq!(code, 0);
    assert_eq!(keys(&answer), ["schema", "workflows"]);
    assert_eq!(answer["schema"], "orange.workflow.list/1");
    let rows = answer["workflows"].as_array().unwrap();
    for row in rows {
        let expected = [
            "description",
            "from",
            "name",
            "overrides_shipped",
            "path",
            "problems",
            "states",
            "transitions",
        ];
        assert_eq!(keys(row), expected);
    }
    let own = &rows[0];
    assert_eq!(own["name"], "default");
    assert_eq!(own["from"], "home");
    assert_eq!(own["overrides_shipped"], true);
    assert_eq!(own["description"], "Open, then closed.");
    assert_eq!(own["states"], 2);
    assert_eq!(own["transitions"], 1);
    assert_eq!(own["problems"], 0);
    let path = sandbox.home().join("workflows/default.yml");
    assert_eq!(own["path"], path.to_str().unwrap());
    let shipped = &rows[1];
    assert_eq!(shipped["from"], "shipped");
    assert!(shipped["path"].is_null());
    let broken = rows.last().unwrap();
    assert_eq!(broken["name"], "broken");
    assert_eq!(broken["problems"], 3);
    assert!(broken["states"].is_null());
}

#[test]
fn reading_writes_nothing() {
    let sandbox = Sandbox::new();
    let before = everything_below(sandbox.root());
    for line in [
        "list",
        "list --json",
        "check",
        "show default",
        "show nothing",
    ] {
        sandbox.run(&format!("workflow {line}"));
    }
    assert_eq!(everything_below(sandbox.root()), before);
}

#[test]
fn a_directory_a_loop_and_a_dangling_link_are_listed() {
    let sandbox = Sandbox::new().with_workflow("small.yml", SMALL);
    let folder = sandbox.home().join("workflows");
    fs::create_dir(folder.join("folder.yml")).unwrap();
    std::os::unix::fs::symlink("loop.yml", folder.join("loop.yml")).unwrap();
    std::os::unix::fs::symlink("nowhere", folder.join("dangling.yml")).unwrap();
    assert_snapshot!(sandbox.transcript("workflow list"));
}

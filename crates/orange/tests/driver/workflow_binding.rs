//! Only workflows without errors can be bound to tasks and projects.

use std::fs;

use crate::support::Stage;

const SAFE: &str = "name: mine\nversion: 1\nstates:\n  pending: { kind: queued }\n  \
                    asked: { kind: human }\n  done: { kind: terminal }\ntransitions:\n  \
                    - { from: pending, to: asked, by: human }\n  \
                    - { from: asked, to: done, by: human }\n  \
                    - { from: pending, to: done, by: human }\n\
                    verbs: { spawn: asked, complete: done, merge: [], unblock: [], retry: [] }\n";

/// The only way out of `asked`.
const WAY_OUT: &str = "  - { from: asked, to: done, by: human }\n";

impl Stage {
    fn own_workflow(&self, text: &str) {
        fs::create_dir_all(self.path("home/workflows")).unwrap();
        fs::write(self.path("home/workflows/mine.yml"), text).unwrap();
    }

    fn refuses_unsafe(&self, arguments: &[&str]) {
        let (code, answer) = self.json(&[arguments, &["--json"]].concat());
        let error = &answer["error"];
        assert_eq!(
            (code, &error["code"]),
            (3, &"workflow-unsafe".into()),
            "{arguments:?}: {answer}"
        );
        let problems = error["details"]["problems"].as_array().unwrap();
        assert!(!problems.is_empty() && problems.len() <= 3, "{answer}");
        assert_eq!(error["details"]["workflow"], "mine", "{answer}");
        let hints = error["hints"].to_string();
        assert!(hints.contains("orange workflow check mine"), "{answer}");
    }
}

#[test]
fn a_workflow_with_errors_is_not_bound() {
    let stage = Stage::new("default");
    let id = stage.create(&["Add a line"]);
    stage.own_workflow(&SAFE.replace(WAY_OUT, ""));
    assert_eq!(stage.call(&["workflow", "check", "mine"]).0, 3);
    let bound = ["--workflow", "mine"];
    stage.refuses_unsafe(&[&["task", "create", "Another", "--no-spawn"], &bound[..]].concat());
    stage.refuses_unsafe(&[&["task", "update", id.as_str()], &bound[..]].concat());
    stage.refuses_unsafe(&[&["project", "update", "app"], &bound[..]].concat());
    let other = stage.path("other");
    fs::create_dir(&other).unwrap();
    for call in ["init -q -b main", "commit -q --allow-empty -m first"] {
        let call = format!("-c user.name=A -c user.email=a@example.org {call}");
        assert!(stage.git_in(&other, &call).status.success());
    }
    let path = other.to_str().unwrap();
    stage.refuses_unsafe(&[&["project", "add", path], &bound[..]].concat());
    assert!(!stage.run_ok(&["project", "list"]).contains("other"));

    // A new task binds the default that the settings file names.
    stage.run_ok(&["project", "add", path]);
    let settings = stage.path("home/config.toml");
    fs::write(&settings, "workflow = \"mine\"\n").unwrap();
    let create = ["task", "create", "A third", "--no-spawn"];
    stage.refuses_unsafe(&[&create[..], &["--project", "other"]].concat());
    fs::remove_file(&settings).unwrap();
    let projects = stage.path("home/projects.json");
    let text = fs::read_to_string(&projects).unwrap();
    fs::write(&projects, text.replace("\"default\"", "\"mine\"")).unwrap();
    stage.refuses_unsafe(&[&create[..], &["--project", "app"]].concat());

    let (_, listed) = stage.json(&["task", "list", "--all", "--json"]);
    assert_eq!(listed["tasks"].as_array().unwrap().len(), 1, "{listed}");
}

#[test]
fn a_check_result_is_cached_per_text_and_a_task_keeps_its_workflow() {
    let stage = Stage::new("default");
    stage.own_workflow(SAFE);
    let id = stage.create(&["Add a line", "--workflow", "mine"]);
    let list = stage.path("home/safe-workflows.json");
    let known = || -> Vec<String> { serde_json::from_slice(&fs::read(&list).unwrap()).unwrap() };
    assert_eq!(known().len(), 1);
    stage.create(&["Another", "--workflow", "mine"]);
    assert_eq!(known().len(), 1, "the same text is checked once");
    stage.create(&["A third"]);
    assert_eq!(known().len(), 1, "a shipped text needs no verdict");

    // A different text under the same name gets its own verdict.
    stage.own_workflow(&SAFE.replace(WAY_OUT, ""));
    let create = ["task", "create", "A fourth", "--no-spawn", "--workflow"];
    stage.refuses_unsafe(&[&create[..], &["mine"]].concat());
    assert_eq!(known().len(), 1);
    stage.run_ok(&["task", "update", id.as_str(), "--status", "asked"]);
    stage.run_ok(&["task", "complete", id.as_str()]);

    // An unreadable list is rewritten.
    fs::write(&list, "{").unwrap();
    stage.own_workflow(SAFE);
    stage.create(&["A fifth", "--workflow", "mine"]);
    assert_eq!(known().len(), 1);
}

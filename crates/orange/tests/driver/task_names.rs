//! Which task the typed text refers to.

use std::process::Command;

use orange_engine::names::TaskId;
use serde_json::Value;

use crate::support::Stage;

impl Stage {
    fn meant(&self, name: &str) -> Result<TaskId, String> {
        let driver = self.driver().with_directory(Some(self.path("repo")));
        driver
            .callers
            .resolve_task(Some(name))
            .map_err(|error| error.to_string())
    }

    /// Creates tasks until two ids share a first letter; returns that letter and both ids.
    fn two_with_same_letter(&self) -> (String, Vec<TaskId>) {
        let mut known: Vec<TaskId> = Vec::new();
        loop {
            let id = self.create(&["Number one"]);
            let first = &id.as_str()[..1];
            let alike = known.iter().find(|it| it.as_str().starts_with(first));
            if let Some(other) = alike {
                return (first.to_owned(), vec![other.clone(), id.clone()]);
            }
            known.push(id);
        }
    }
}

#[test]
fn an_id_a_prefix_or_a_branch_names_a_task() {
    let stage = Stage::new("default");
    let id = stage.create(&["fix", "Fix it"]);
    for named in [id.as_str(), &id.as_str()[..3], &id.as_str()[..1], "fix"] {
        assert_eq!(stage.meant(named), Ok(id.clone()), "{named}");
        let (code, shown) = stage.json(&["task", "show", named, "--json"]);
        assert_eq!(
            (code, &shown["task"]["id"]),
            (0, &id.as_str().into()),
            "{named}"
        );
    }
    for named in ["fi", "orange-tasks", "0000"] {
        let (code, answer) = stage.json(&["task", "show", named, "--json"]);
        assert_eq!(
            (code, &answer["error"]["code"]),
            (4, &"task-not-found".into()),
            "{named}"
        );
    }
    // A change affects the same task.
    stage.run_ok(&["task", "update", "fix", "--summary", "Fix all of it"]);
    assert_eq!(stage.task(&id).summary, "Fix all of it");
}

#[test]
fn an_ambiguous_prefix_lists_its_tasks() {
    let stage = Stage::new("default");
    let (named, ids) = stage.two_with_same_letter();
    let (code, output) = stage.call(&["task", "show", &named]);
    assert_eq!(code, 2, "{output}");
    for id in &ids {
        assert!(
            output.contains(&format!(
                "hint: `{id}` of `app` is in `pending`: Number one"
            )),
            "{output}"
        );
    }
    let (_, answer) = stage.json(&["task", "cancel", &named, "--json"]);
    assert_eq!(answer["error"]["code"], "task-ambiguous");
    assert_eq!(
        answer["error"]["details"]["candidates"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
    assert!(
        ids.iter()
            .all(|id| stage.task(id).status.as_str() == "pending")
    );
}

#[test]
fn a_branch_names_the_open_task_of_this_project() {
    let stage = Stage::new("default");
    let old = stage.create(&["fix", "Fix it"]);
    stage.run_ok(&["task", "cancel", old.as_str(), "--wait", "60"]);
    assert_eq!(
        stage.meant("fix"),
        Ok(old.clone()),
        "a finished one, if there is no other"
    );
    let new = stage.create(&["fix", "Fix it"]);
    assert_eq!(stage.meant("fix"), Ok(new.clone()));

    let clone = format!("clone -q {} other", stage.path("repo").display());
    let root = stage.path("");
    assert!(stage.git_in(&root, &clone).status.success());
    let other = stage.path("other");
    let call = |arguments: &[&str]| {
        let mut orange: Command = stage.orange(arguments);
        let output = orange.current_dir(&other).output().unwrap();
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        answer
    };
    let answer = call(&["task", "create", "fix", "Elsewhere", "--no-spawn", "--json"]);
    assert_eq!(answer["task"]["project"], "other", "{answer}");
    let elsewhere = answer["task"]["id"].clone();
    assert_eq!(
        call(&["task", "show", "fix", "--json"])["task"]["id"],
        elsewhere
    );
    assert_eq!(stage.meant("fix"), Ok(new));
    // Outside of any project, both match.
    let (code, said) = {
        let mut orange = stage.orange(&["task", "show", "fix"]);
        let output = orange.current_dir("/").output().unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    assert_eq!(code, Some(2), "{said}");
}

#[test]
fn inside_its_worktree_a_task_needs_no_name() {
    let stage = Stage::new("default");
    stage.script("worker-1", "ask task show");
    let id = stage.create(&["fix", "Fix it"]);
    stage.run_ok(&["task", "spawn", "fix", "--wait", "60"]);
    stage.wait_for_turn("worker-1");
    assert!(stage.calls().contains(id.as_str()), "{}", stage.calls());
    let mut orange = stage.orange(&["task", "show", "--json"]);
    let output = orange.current_dir(stage.worktree(&id)).output().unwrap();
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["task"]["id"], id.as_str());
}

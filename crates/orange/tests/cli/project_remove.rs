//! `orange project remove`.

use crate::support::Stage;

#[test]
fn a_project_can_be_removed_when_no_task_is_open() {
    let stage = Stage::new("default");
    stage.script("worker-1", "echo mine > unsaved.txt");
    let id = stage.create(&["fix", "Fix it"]);
    stage.run_ok(&["task", "spawn", "fix", "--wait", "60"]);
    stage.wait_for_turn("worker-1");
    let remove = ["project", "remove", "app"];
    let mut output = stage.transcript(&remove);
    let (code, answer) = stage.json(&[&remove[..], &["--json"]].concat());
    assert_eq!(
        (code, &answer["error"]["code"]),
        (3, &"project-in-use".into())
    );
    assert_eq!(answer["error"]["details"]["tasks"][0], id.as_str());
    assert_eq!(answer["error"]["details"]["workspaces"][0], "app--1");
    stage.run_ok(&["task", "cancel", "fix", "--wait", "60"]);
    stage.wait_until_idle(&id);
    output.push_str(&stage.transcript(&["project", "remove", "tea"]));
    let worktree = stage.home().workspaces().join("app--1");
    output.push_str(&stage.transcript(&remove));
    output.push_str(&stage.transcript(&remove));
    insta::assert_snapshot!(output);
    assert!(worktree.exists(), "worktrees stay");
    assert!(stage.home().tasks().join("app").join(id.as_str()).exists());
    assert!(stage.path("repo/.git").exists());
    let rescues = stage.git(&format!("for-each-ref refs/orange/rescue/{id}"));
    assert!(!rescues.stdout.is_empty(), "what was unsaved is kept");
    // Registered again, the project continues with the existing tasks.
    stage.run_ok(&["project", "add", "--name", "app", "--harness", "script"]);
    assert!(
        stage
            .run_ok(&["task", "restore", id.as_str()])
            .contains("1 file")
    );
    let (code, answer) = stage.json(&[
        "task", "create", "more", "Fix more", "--wait", "60", "--json",
    ]);
    assert_eq!(code, 0, "{answer}");
}

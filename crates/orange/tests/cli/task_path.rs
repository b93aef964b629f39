//! `orange task path`.

use orange_engine::names::TaskId;

use crate::support::Stage;

#[test]
fn the_path_is_that_of_the_worktree_while_there_is_one() {
    let stage = Stage::new("minimal");
    let id = stage.create(&["fix", "Fix it"]);
    let (code, answer) = stage.json(&["task", "path", "fix", "--json"]);
    assert_eq!(
        (code, answer["error"]["code"].as_str()),
        (4, Some("no-worktree"))
    );
    stage.run_ok(&["task", "spawn", "fix"]);
    let worktree = stage.worktree(&id).display().to_string();
    assert_eq!(
        stage.run_ok(&["task", "path", "fix"]),
        format!("{worktree}\n")
    );
    let (_, answer) = stage.json(&["task", "path", "fix", "--json"]);
    assert_eq!(answer["path"], worktree);
}

#[test]
fn without_a_worktree_the_hint_fits_the_task() {
    let stage = Stage::new("minimal");
    let hint = |task: &TaskId| {
        let (code, answer) = stage.json(&["task", "path", task.as_str(), "--json"]);
        assert_eq!(code, 4, "{answer}");
        answer["error"]["hints"][0].as_str().unwrap().to_owned()
    };
    let id = stage.create(&["fix", "Fix it"]);
    assert_eq!(
        hint(&id),
        format!("run `orange task spawn {id}` to start the work")
    );
    stage.run_ok(&["task", "cancel", "fix", "--wait", "60"]);
    let new_task = "create a new task for this work with `orange new SUMMARY`";
    assert_eq!(hint(&id), new_task);
    let (_, answer) = stage.json(&["task", "diff", "fix", "--json"]);
    assert_eq!(answer["error"]["hints"][0], new_task);
    assert_eq!(
        answer["error"]["message"],
        format!(
            "the branch of task `{id}` does not exist: it was finished before its work started"
        )
    );

    let id = stage.create(&["other", "Fix it"]);
    stage.run_ok(&["task", "spawn", "other"]);
    stage.run_ok(&["task", "cancel", "other", "--wait", "60"]);
    assert_eq!(
        hint(&id),
        format!("see its changes with `orange task diff {id}`")
    );
    stage.run_ok(&["task", "diff", "other"]);
}

//! `orange task path`.

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

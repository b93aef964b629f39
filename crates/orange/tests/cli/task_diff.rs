//! `orange task diff`.

use std::fs;

use serde_json::json;

use crate::support::Stage;

#[test]
fn diff_shows_committed_and_uncommitted_changes_separately() {
    let stage = Stage::new("default");
    let id = stage.create_reviewed_task();
    let worktree = stage.worktree(&id);
    fs::write(worktree.join("work.txt"), "one\nand more\n").unwrap();
    fs::write(worktree.join("new.txt"), "new\n").unwrap();
    let status = stage.git_in(&worktree, "status --porcelain").stdout;
    let shown = stage.run_ok(&["task", "diff", id.as_str()]);
    let (committed, uncommitted) = shown
        .split_once("\nNOT COMMITTED (will not be merged)\n")
        .unwrap();
    assert!(committed.starts_with("Committed: "), "{shown}");
    assert!(
        committed.lines().next().unwrap().ends_with(", 1 commit"),
        "{shown}"
    );
    assert!(committed.lines().any(|it| it == "+one"), "{shown}");
    for line in ["+and more", "+++ b/new.txt", "+new"] {
        assert!(uncommitted.lines().any(|it| it == line), "{line}: {shown}");
    }
    assert!(
        !committed.contains("new.txt") && !committed.contains("more"),
        "{shown}"
    );
    assert!(
        !shown.contains('\u{1b}') && !shown.contains("TASK.md"),
        "{shown}"
    );
    let stat = stage.run_ok(&["task", "diff", id.as_str(), "--stat"]);
    assert!(stat.contains("1 file changed, 1 insertion(+)"), "{stat}");
    assert!(stat.contains("2 files changed, 2 insertions(+)"), "{stat}");
    let (code, answer) = stage.json(&["task", "diff", id.as_str(), "--json"]);
    assert_eq!(code, 0);
    let text = |part: &str| answer[part]["diff"].as_str().unwrap().to_owned();
    assert!(committed.ends_with(&text("committed")), "{answer}");
    assert_eq!(uncommitted, text("uncommitted"));
    assert_eq!(
        (&answer["has_uncommitted"], &answer["commits"]),
        (&json!(true), &json!(1))
    );
    let files = json!([
        { "path": "new.txt", "added": 1, "removed": 0 },
        { "path": "work.txt", "added": 1, "removed": 0 },
    ]);
    assert_eq!(answer["uncommitted"]["files"], files);
    let now = stage.git_in(&worktree, "status --porcelain").stdout;
    assert_eq!(now, status, "looking changes nothing");
    // A reviewer asks for the diff of its own task.
    let inside = stage
        .orange(&["task", "diff", "--stat"])
        .current_dir(&worktree)
        .output();
    assert_eq!(String::from_utf8(inside.unwrap().stdout).unwrap(), stat);
    // Without a worktree, the diff still shows the commits.
    stage.run_ok(&["task", "cancel", id.as_str()]);
    stage.wait_until_idle(&id);
    let stat = stage.run_ok(&["task", "diff", id.as_str(), "--stat"]);
    assert!(stat.contains("1 file changed, 1 insertion(+)"), "{stat}");
    assert!(!stat.contains("NOT COMMITTED"), "{stat}");
}

#[test]
fn a_fast_forwarded_task_keeps_its_diff() {
    let stage = Stage::new("default");
    let id = stage.create_reviewed_task();
    let before = stage.run_ok(&["task", "diff", id.as_str()]);
    stage.run_ok(&["task", "merge", id.as_str()]);
    stage.wait_until_idle(&id);
    let after = stage.run_ok(&["task", "diff", id.as_str()]);
    assert_eq!(after, before);
    assert!(after.contains("+one"), "{after}");
}

//! `orange workspace list`.

use std::fs;

use crate::support::Stage;

#[test]
fn sizes_are_shown_per_worktree_and_in_total() {
    let stage = Stage::new("default");
    stage.run_ok(&["workspace", "init", "2"]);
    let id = stage.create(&["fix", "Add a line"]);
    stage.run_ok(&["task", "spawn", "fix", "--wait", "60"]);
    stage.wait_until_idle(&id);
    let (_, without) = stage.json(&["workspace", "list", "--json"]);
    assert_eq!(without.get("home_disk_bytes"), None, "{without}");
    fs::write(stage.worktree(&id).join("large"), vec![b'x'; 3 << 20]).unwrap();

    let (code, answer) = stage.json(&["workspace", "list", "--size", "--json"]);
    assert_eq!(code, 0, "{answer}");
    let all = answer["workspaces"].as_array().unwrap();
    let bytes = |at: usize| all[at]["disk_bytes"].as_u64().unwrap();
    let of_task = all.iter().position(|it| it["task"] == id.as_str()).unwrap();
    assert!(bytes(of_task) > 3 << 20, "{answer}");
    assert!((1..3 << 20).contains(&bytes(1 - of_task)), "{answer}");
    let total = answer["home_disk_bytes"].as_u64().unwrap();
    assert!(total >= bytes(0) + bytes(1), "{answer}");

    let output = stage.run_ok(&["workspace", "list", "--size"]);
    assert!(output.contains("SIZE"), "{output}");
    let line = output.lines().find(|line| line.contains(id.as_str()));
    assert!(line.unwrap().contains(" MB"), "{output}");
    let total = "orange's home, with all worktrees: ";
    let total = output.lines().find_map(|line| line.strip_prefix(total));
    assert!(total.unwrap().ends_with(" MB"), "{output}");
}

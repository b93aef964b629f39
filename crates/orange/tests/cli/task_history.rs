//! `orange task history`.

use crate::support::{PLAN_AND_WORK, Stage};

#[test]
fn history_describes_what_happened_and_why() {
    let stage = Stage::new("default");
    stage.script("worker-1", &format!("{PLAN_AND_WORK}exit 0"));
    stage.script("reviewer-1", "hang");
    let id = stage.create(&["fix", "Fix it"]);
    stage.run_ok(&["task", "spawn", "fix", "--wait", "60"]);
    stage.wait_for_status(&id, "agent-review");
    stage.wait_until_idle(&id);
    stage.run_ok(&["task", "cancel", "fix", "--wait", "60"]);
    insta::assert_snapshot!(stage.transcript(&["task", "history", "fix"]));
    let all = stage.run_ok(&["task", "history", "fix", "--all"]);
    assert!(all.contains("acquire_workspace was planned"), "{all}");
    assert!(all.contains("acquire_workspace was done"), "{all}");
    let (code, answer) = stage.json(&["task", "history", "fix", "--json"]);
    assert_eq!(code, 0);
    let events = answer["events"].as_array().unwrap();
    assert_eq!(events.len() as u64, stage.task(&id).version);
    assert!(
        events
            .iter()
            .all(|it| !it["text"].as_str().unwrap().is_empty())
    );
    assert_eq!(events[0]["type"], "task.created");
    let notable = events.iter().filter(|it| it["is_notable"] == true);
    let printed = stage.run_ok(&["task", "history", "fix"]);
    assert_eq!(notable.count(), printed.lines().count(), "{printed}");
    let (code, _) = stage.call(&["task", "history", "nothing"]);
    assert_eq!(code, 4);
}

//! A planned split, wherever a process dies.

use std::fs;

use orange_config::clock::Deadline;
use orange_engine::routing::Split;

use super::crash_marks::{reached_marks, set_crash_marks};
use crate::support::{SOON, Stage};

const PLAN: &str = r#"
echo '{"status":"in_progress","delegations":["One","Two"]}' > "$ORANGE_REPORT"
exit 0
"#;

/// Asks for a plan and lets it create the parts, with a death at this mark; returns how many marks
/// were reached.
fn plan(death: Option<usize>) -> usize {
    let stage = Stage::new("autopilot");
    stage.script("worker-1", PLAN);
    for turn in 2..=4 {
        stage.script(&format!("worker-{turn}"), "hang");
    }
    let id = stage.create(&["The whole"]);
    let deaths: Vec<usize> = death.into_iter().collect();
    let marks = [
        "before a commit",
        "after a commit",
        "before an effect",
        "after an effect",
        "the state of the repository is saved",
    ];
    set_crash_marks(&stage, &marks, &deaths);
    let in_time = Deadline::after(SOON).wait_for(|| {
        if matches!(stage.task(&id).status.as_str(), "new" | "routed") {
            stage.call(&["task", "spawn", id.as_str(), "--plan", "--wait", "60"]);
        }
        stage.call(&["task", "update", id.as_str(), "--summary", "The whole"]);
        let task = stage.task(&id);
        task.status.as_str() == "delegated" && task.pending.is_empty()
    });
    let reached = reached_marks(&stage);
    let case = format!("{death:?}: {reached:?}\n{}", stage.diagnostics(&id));
    assert!(in_time, "{case}");
    let task = stage.task(&id);
    assert_eq!(task.children.len(), 2, "{case}");
    assert_eq!(task.routing.split, Split::Planned, "{case}");
    let all = fs::read_dir(stage.home().tasks().join("app")).unwrap();
    assert_eq!(all.count(), 3, "{case}");
    assert_eq!(stage.store().runs(&id).unwrap().len(), 1, "{case}");
    reached.len()
}

const PARTS: usize = 3;

fn die_at(part: usize) {
    let marks = plan(None);
    assert!(marks >= 9, "{marks}");
    for death in (0..marks).filter(|death| death % PARTS == part) {
        plan(Some(death));
    }
}

#[test]
fn a_death_at_one_third_of_the_steps_creates_no_part_twice() {
    die_at(0);
}

#[test]
fn a_death_at_another_third_of_the_steps_creates_no_part_twice() {
    die_at(1);
}

#[test]
fn a_death_at_the_last_third_of_the_steps_creates_no_part_twice() {
    die_at(2);
}

//! One supervisor per home, which may come and go.

use super::Serving;
use crate::stage::{Stage, wait_for};
use crate::stories::{FAIL, FIX, PASS, PLAN_AND_WORK, way};

#[test]
fn a_whole_story_is_performed_by_the_supervisor_alone() {
    let stage = Stage::new("default");
    let serving = Serving::on(&stage);
    stage.script("worker-1", PLAN_AND_WORK);
    stage.script("worker-2", FIX);
    stage.script("reviewer-1", FAIL);
    stage.script("reviewer-2", PASS);
    let id = stage.create(&["Add a line"]);
    stage.must(&["task", "spawn", id.as_str(), "--wait", "60"]);
    stage.wait_for_status(&id, "reviewing");
    stage.wait_for_rest(&id);
    let expected = [
        "planning",
        "working",
        "agent-review",
        "working",
        "agent-review",
        "reviewing",
    ];
    assert_eq!(way(&stage, &id), expected, "{}", stage.told(&id));
    drop(serving);
    stage.must(&["task", "cancel", id.as_str(), "--wait", "60"]);
}

#[test]
fn there_is_one_for_a_home() {
    let stage = Stage::new("default");
    let serving = Serving::on(&stage);
    let (code, said) = stage.call(&["serve"]);
    assert_eq!(code, 5, "{said}");
    assert!(
        said.contains(&format!("process {}", serving.pid())),
        "{said}"
    );
    serving.kill();
    // Its lock went with it.
    let again = stage.must(&["serve", "--detach"]);
    assert!(again.contains("supervises this home"), "{again}");
    let said = stage.must(&["serve", "--stop"]);
    assert!(said.contains("supervises no more"), "{said}");
    wait_for("its end", || !stage.driver().is_supervised());
    let said = stage.must(&["serve", "--stop"]);
    assert!(said.contains("nobody supervises"), "{said}");
}

//! A stale page does nothing, and says what has changed.

use std::thread;
use std::time::Duration;

use super::Scene;
use crate::support::{PASS, PLAN_AND_WORK, Stage};

#[test]
fn row_35_a_stale_page_merges_nothing_and_says_what_has_changed() {
    let stage = Stage::new("default");
    stage.script("worker-1", PLAN_AND_WORK);
    stage.script("reviewer-1", PASS);
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    stage.wait_for_status(&id, "reviewing");
    stage.wait_until_idle(&id);
    let scene = Scene::new(stage);
    let (stage, browser) = (&scene.stage, &scene.browser);
    browser.tap("Add a line");
    browser.tap("Read the changes");
    browser.wait_for("+one");
    scene.count_requests();
    // Another device is faster. What is read stays, and the page says what it knows of the change.
    let words = ["task", "request-changes", id.as_str(), "-m", "Two lines"];
    stage.run_ok(&words);
    browser.wait_for("This task has changed");
    browser.wait_for("reviewing to working");
    assert!(browser.text().contains("+one"), "{}", browser.text());
    browser.tap("Merge");
    browser.wait_until("answers.some((it) => it.startsWith('412 ') && it.endsWith('/merge'))");
    browser.wait_for("Nothing was done, because the task has changed.");
    browser.wait_for("reviewing to working");
    assert_eq!(stage.task(&id).status.as_str(), "working");
    browser.tap("Show the current state");
    browser.wait_until("!document.body.innerText.includes('This task has changed')");
    // What is not usual from here is on the screen of the task, and asks first.
    browser.tap("Back");
    browser.wait_for("Not possible yet");
    browser.tap("Cancel task");
    browser.wait_for("Its agents are stopped.");
    browser.tap("Back");
    assert_eq!(stage.task(&id).status.as_str(), "working");
    browser.tap("Cancel task");
    browser.run("document.querySelector('dialog .danger').click()", &[]);
    browser.wait_for("the task is in cancelled now");
    stage.wait_for_status(&id, "cancelled");
    scene.assert_quiet(&["status of 412"]);
}

#[test]
fn a_hidden_page_is_silent_and_catches_up() {
    let scene = Scene::new(Stage::new("minimal"));
    let (stage, browser) = (&scene.stage, &scene.browser);
    scene.count_requests();
    stage.create(&["While it is visible"]);
    browser.wait_for("While it is visible");
    scene.set_hidden(true);
    // What was on its way may still arrive.
    thread::sleep(Duration::from_secs(1));
    let before = scene.answers().len();
    stage.create(&["While it is hidden"]);
    // It would have looked for requests in this time.
    thread::sleep(Duration::from_secs(6));
    assert_eq!(scene.answers().len(), before, "{:?}", scene.answers());
    scene.set_hidden(false);
    browser.wait_for("While it is hidden");
    // Its stream is back, too.
    browser.wait_until("answers.some((it) => it === '200 /api/v1/events')");
    stage.create(&["Afterwards"]);
    browser.wait_for("Afterwards");
    scene.assert_quiet(&[]);
}

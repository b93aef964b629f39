//! Requests for permission are answered by taps.

use std::fs;

use super::{Scene, asking};
use crate::support::{Stage, wait_for};

#[test]
fn row_37_requests_are_all_shown_and_each_gets_its_answer() {
    let stage = Stage::new("minimal");
    let asks = [
        asking("make publish", "first"),
        asking("rm -rf build", "second"),
        asking("make report", "third"),
    ];
    let asks = asks.map(|it| format!("({}) &\n", it.trim())).concat();
    stage.script("worker-1", &format!("{asks}wait\n"));
    let id = stage.create(&["Publish it"]);
    let scene = Scene::new(stage);
    let (stage, browser) = (&scene.stage, &scene.browser);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    browser.wait_for("make publish");
    browser.wait_for("rm -rf build");
    browser.wait_for("make report");
    let answer = |name: &str| fs::read_to_string(stage.path("scripts").join(name));
    browser.tap("Allow once make publish");
    browser.wait_for("Allowed once.");
    wait_for("the answer", || answer("first").is_ok());
    assert!(answer("first").unwrap().contains("\"allow\""));
    assert!(answer("second").is_err(), "only one was answered");
    assert!(!browser.offers("Allow once make publish"));
    // One that was answered elsewhere is gone, which the page says if it does not know yet.
    scene.hold_reads();
    let (_, queue) = stage.json(&["attention", "--all", "--json"]);
    let items = queue["items"].as_array().unwrap();
    let mut requests = items.iter().map(|it| &it["request"]);
    let gone = requests.find(|it| it["command"] == "make report");
    stage.run_ok(&["deny", gone.unwrap()["id"].as_str().unwrap()]);
    browser.tap("Allow once make report");
    browser.wait_until("document.querySelector('.notice.bad p') !== null");
    scene.release_reads();
    wait_for("the answer", || answer("third").is_ok());
    assert!(answer("third").unwrap().contains("\"deny\""));
    // The last one, on the screen of the task.
    browser.tap("Publish it");
    browser.tap("Deny rm -rf build");
    browser.write("dialog textarea", "Keep the build");
    browser.tap("Deny");
    browser.wait_for("Denied.");
    wait_for("the answer", || answer("second").is_ok());
    let second = answer("second").unwrap();
    assert!(
        second.contains("\"deny\"") && second.contains("Keep the build"),
        "{second}"
    );
    browser.wait_until("!document.body.innerText.includes('rm -rf build')");
    // The agent reads messages now.
    stage.wait_for_turn("worker-1");
    browser.tap("Send a message");
    browser.write("dialog textarea", "Go on");
    browser.tap("Send");
    browser.wait_for("The message is on its way.");
    stage.wait_for_turn("worker-2");
    scene.assert_quiet(&["status of 409"]);
}

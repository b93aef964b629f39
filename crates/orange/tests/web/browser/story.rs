//! A task from the first visit to its merge, by taps.

use serde_json::json;

use super::Scene;
use crate::support::{FIX, PASS, PLAN_AND_WORK, Stage};

#[test]
fn row_36_a_task_is_read_commented_sent_back_and_merged_once() {
    let stage = Stage::new("default");
    stage.script("worker-1", PLAN_AND_WORK);
    stage.script("worker-2", FIX);
    stage.script("reviewer-1", PASS);
    stage.script("reviewer-2", PASS);
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    stage.wait_for_status(&id, "reviewing");
    stage.wait_until_idle(&id);
    let scene = Scene::new(stage);
    let (stage, browser) = (&scene.stage, &scene.browser);
    scene.count_requests();
    // The first screen says what to do.
    browser.wait_for("work is ready for your review");
    browser.tap("Add a line");
    for text in [
        "reviewing",
        "requested by the reviewer, because ## Review says PASS",
        "1 file, 1 commit",
        "work.txt",
        "worker is running",
        "in 2 runs",
    ] {
        browser.wait_for(text);
    }
    browser.tap("TASK.md");
    browser.wait_for("APPROACH: add a line");
    browser.tap("Timeline");
    browser.wait_for("from agent-review to reviewing");
    browser.tap("Screen");
    // A comment on a line, with a word about the whole.
    browser.tap("Read the changes");
    browser.wait_for("+1");
    scene.tap_line("one");
    browser.wait_for("Line 1 of work.txt");
    browser.write("dialog textarea", "Say two");
    browser.tap("Keep");
    browser.wait_for("Say two");
    browser.tap("Request changes");
    browser.wait_for("1 comment will be sent too.");
    browser.write("dialog textarea", "Almost");
    browser.tap("Send");
    browser.wait_for("Request changes: the task is in working now.");
    stage.wait_for_turn("worker-2");
    let calls = stage.calls();
    for line in ["Almost", "In `work.txt`, line 1:", "> +one", "Say two"] {
        assert!(calls.contains(line), "{line}: {calls}");
    }
    // It comes back by itself; the comment was sent, so it is gone.
    browser.set_dark(true);
    stage.wait_for_status(&id, "reviewing");
    stage.wait_until_idle(&id);
    browser.wait_for("work is ready for your review");
    browser.tap("Add a line");
    browser.tap("Read the changes");
    browser.wait_for("two");
    assert!(!browser.text().contains("Say two"), "{}", browser.text());
    // Two taps merge once.
    browser.wait_until("[...document.querySelectorAll('.bar button')].some((it) => !it.disabled)");
    browser.run(
        "const [merge] = document.querySelectorAll('.bar button');
        merge.click(); merge.click();",
        &[],
    );
    browser.wait_for("Merge: the task is in done now.");
    browser.wait_for("Nothing.");
    assert!(!browser.text().contains("Add a line"), "{}", browser.text());
    stage.wait_for_status(&id, "done");
    let merges = scene.answers();
    let merges: Vec<&String> = merges.iter().filter(|it| it.ends_with("/merge")).collect();
    assert_eq!(merges, [&format!("200 /api/v1/tasks/{id}/merge")]);
    let log = stage.git("log --format=%s main");
    assert_eq!(String::from_utf8(log.stdout).unwrap(), "two\none\nfirst\n");
    scene.assert_quiet(&[]);
}

#[test]
fn a_task_is_created() {
    let scene = Scene::new(Stage::new("minimal"));
    let browser = &scene.browser;
    browser.tap("New task");
    browser.write("[name=summary]", "Fix <the> login");
    browser.write("[name=context]", "It fails.\nAlways.");
    browser.tap("Do not start it yet");
    browser.tap("Create");
    browser.wait_for("Created");
    browser.wait_for("Queued 1");
    browser.wait_for("Fix <the> login");
    let (_, listed) = scene.stage.json(&["task", "list", "--all", "--json"]);
    let task = &listed["tasks"][0];
    assert_eq!(task["summary"], "Fix <the> login");
    assert_eq!(task["status"], "pending");
    let id = orange_engine::names::TaskId::new(task["id"].as_str().unwrap());
    assert!(scene.stage.task_text(&id).contains("It fails.\nAlways."));
    browser.open(&format!("{}#/task/{id}", scene.url()));
    browser.tap("Start");
    browser.wait_for("Start: the task is in working now.");
    scene.stage.wait_for_status(&id, "working");
    // A refusal is shown, and what was written stays.
    browser.tap("New task");
    browser.write("[name=summary]", "Second task");
    browser.write("[name=context]", "@/etc/passwd");
    browser.tap("Create");
    browser.wait_for("context");
    let kept = browser.value("document.querySelector('[name=summary]').value");
    assert_eq!(kept, json!("Second task"));
    scene.assert_quiet(&["status of 400"]);
}

//! `orange task cancel`.

use crate::support::{Stage, Terminal};

#[test]
fn cancel_asks_for_confirmation_at_a_terminal() {
    let stage = Stage::new("default");
    let id = stage.create(&["fix", "Add a line"]);
    let terminal = Terminal::start(&stage, "no", 120, "orange task cancel fix");
    terminal.wait_for("Cancel ");
    terminal.press(&["n", "Enter"]);
    let screen = terminal.finish();
    assert!(screen.contains("[exit 3]"), "{screen}");
    assert_eq!(stage.task(&id).status.as_str(), "pending");
    let confirmed = Terminal::start(&stage, "yes", 120, "orange task cancel fix --yes");
    let screen = confirmed.finish();
    assert!(screen.contains("[exit 0]"), "{screen}");
    assert_eq!(stage.task(&id).status.as_str(), "cancelled");
    // Without a terminal there is no confirmation prompt.
    let other = stage.create(&["other", "Another"]);
    stage.run_ok(&["task", "cancel", "other"]);
    assert_eq!(stage.task(&other).status.as_str(), "cancelled");
}

#[test]
fn several_tasks_are_cancelled_and_each_is_reported() {
    let stage = Stage::new("default");
    let one = stage.create(&["one", "First"]);
    let two = stage.create(&["two", "Second"]);
    let (code, answer) = stage.json(&["task", "cancel", "one", "nothing", "two", "--json"]);
    assert_eq!(code, 3, "{answer}");
    assert_eq!(answer["schema"], "orange.task.several/1");
    let outcomes: Vec<_> = answer["tasks"].as_array().unwrap().iter().collect();
    let outcomes: Vec<_> = outcomes.iter().map(|it| &it["outcome"]).collect();
    assert_eq!(outcomes, ["succeeded", "refused", "succeeded"], "{answer}");
    assert_eq!(answer["tasks"][0]["task"], one.as_str());
    assert_eq!(answer["tasks"][1]["error"]["code"], "task-not-found");
    for id in [&one, &two] {
        assert_eq!(stage.task(id).status.as_str(), "cancelled");
    }
    // A second time, nothing is left to do.
    let output = stage.transcript(&["task", "cancel", "one", "two"]);
    assert!(output.contains("already in `cancelled`"), "{output}");
    let (code, answer) = stage.json(&["task", "delete", "one", "two", "--json"]);
    assert_eq!(code, 3, "{answer}");
    assert_eq!(answer["tasks"][1]["error"]["code"], "not-confirmed");
    let (one, two) = (one.as_str(), two.as_str());
    let (code, answer) = stage.json(&["task", "delete", one, two, "--yes", "--json"]);
    assert_eq!(code, 0, "{answer}");
    let (code, answer) = stage.json(&["task", "delete", one, two, "--undo", "--json"]);
    assert_eq!(code, 0, "{answer}");
    assert_eq!(answer["tasks"][1]["text"], "restored");
}

#[test]
fn one_question_lists_every_task_to_cancel() {
    let stage = Stage::new("default");
    let one = stage.create(&["one", "First"]);
    let two = stage.create(&["two", "Second"]);
    let terminal = Terminal::start(&stage, "no", 200, "orange cancel one two");
    terminal.wait_for("Cancel 2 tasks: ");
    terminal.press(&["n", "Enter"]);
    let screen = terminal.finish();
    assert!(
        screen.contains("`First`") && screen.contains("`Second`"),
        "{screen}"
    );
    assert!(screen.contains("[exit 3]"), "{screen}");
    for id in [&one, &two] {
        assert_eq!(stage.task(id).status.as_str(), "pending");
    }
}

//! `orange task tell`: messages to agents that drop keystrokes.

use std::fs;

use orange_driver::{TaskRequest, WaitPolicy};
use orange_engine::input::{Request, RequestKind};
use orange_engine::language::verbs::Verb;
use orange_engine::names::TaskId;
use orange_engine::role::Role;

use crate::support::{Stage, wait_for};

/// A task that waits for the user, with a worker that follows the script.
pub fn start_waiting_task(worker: &str) -> (Stage, TaskId) {
    start_waiting_task_on(Stage::new("default"), worker)
}

fn start_waiting_task_on(stage: Stage, worker: &str) -> (Stage, TaskId) {
    stage.script("worker-1", worker);
    let id = stage.create(&["Add a line", "--status", "reviewing"]);
    stage.run_ok(&["task", "respawn", id.as_str(), "--role", "worker"]);
    wait_for("the input box", || stage.path("scripts/box").exists());
    (stage, id)
}

fn enters(stage: &Stage) -> usize {
    let text = fs::read_to_string(stage.path("scripts/enters")).unwrap_or_default();
    text.lines().count()
}

fn is_undelivered(stage: &Stage, id: &TaskId) -> bool {
    let (_, shown) = stage.json(&["task", "show", id.as_str(), "--json"]);
    let output = stage.run_ok(&["task", "show", id.as_str()]);
    let undelivered = shown["inbox"][0]["undelivered"].as_bool().unwrap();
    assert_eq!(output.contains("undelivered"), undelivered, "{output}");
    undelivered
}

#[test]
fn lesson_24_a_swallowed_enter_is_pressed_again() {
    let (stage, id) = start_waiting_task("swallow 1\nask inbox");
    stage.run_ok(&["task", "request-changes", id.as_str(), "-m", "two lines"]);
    stage.wait_for_turn("worker-1");
    assert!(stage.calls().contains("two lines"), "{}", stage.calls());
    assert_eq!(enters(&stage), 2);
    let sent = fs::read_to_string(stage.path("scripts/sent")).unwrap();
    assert_eq!(
        sent, "Message from orange: run orange inbox and do what it says.\n",
        "once, and whole"
    );
    stage.wait_until_idle(&id);
    assert!(!is_undelivered(&stage, &id));
}

#[test]
fn an_unknown_role_names_the_roles_of_the_workflow() {
    let stage = Stage::new("default");
    let id = stage.create(&["Add a line"]);
    let tell = ["task", "tell", id.as_str(), "--role", "nope", "-m", "hi"];
    let (code, output) = stage.call(&tell);
    assert_eq!(code, 4, "{output}");
    let text = output.replace("\n       ", " ");
    let reason =
        "its workflow has no agent role `nope`; its agent roles are `worker` and `reviewer`";
    assert!(text.contains(reason), "{output}");
}

#[test]
fn lesson_24_a_message_during_an_inbox_read_does_not_suppress_the_next() {
    let (stage, id) = start_waiting_task("swallow 0\nswallow 0\nhang");
    let tell = |text: &str| {
        stage.run_ok(&["task", "tell", id.as_str(), "--role", "worker", "-m", text]);
    };
    let message = |number: usize| stage.store().inbox(&id).unwrap().remove(number);
    tell("one");
    wait_for("the first line", || message(0).delivery.sent_at.is_some());
    tell("two");
    wait_for("the second to be noted", || {
        message(1).delivery.sent_at.is_some()
    });
    assert_eq!(message(1).delivery.typed_at, None, "one line is for both");
    // The agent had asked for its messages before the second was written.
    let first = message(0).id;
    let driver = stage.driver();
    driver.views.mark_read(&id, &Role::Worker, first).unwrap();
    tell("three");
    wait_for("a line of its own", || {
        message(2).delivery.typed_at.is_some()
    });
}

#[test]
fn an_agent_started_for_a_message_learns_of_it_from_its_prompt() {
    let stage = Stage::new("default");
    stage.script("worker-1", "cp \"$prompt_file\" $SCRIPTS/prompt\nask inbox");
    let id = stage.create(&["Add a line", "--status", "reviewing"]);
    stage.run_ok(&["task", "request-changes", id.as_str(), "-m", "two lines"]);
    stage.wait_for_turn("worker-1");
    assert!(stage.calls().contains("two lines"), "{}", stage.calls());
    let prompt = fs::read_to_string(stage.path("scripts/prompt")).unwrap();
    let last = prompt.trim_end().lines().last().unwrap();
    assert_eq!(
        last, "Message from orange: run orange inbox and do what it says.",
        "{prompt}"
    );
    stage.wait_until_idle(&id);
    assert!(!is_undelivered(&stage, &id));
}

#[test]
fn lesson_25_a_message_to_an_unresponsive_agent_is_undelivered() {
    let (stage, id) = start_waiting_task("swallow 1000");
    let request = TaskRequest {
        task: id.clone(),
        request: Request {
            by: Role::Human,
            kind: RequestKind::Verb(Verb::RequestChanges),
            is_confirmed: false,
            message: Some(String::from("two lines")),
            head: None,
            if_version: None,
        },
        waiting: WaitPolicy::Here,
    };
    let driver = stage.driver();
    driver.requests.ask(&request).unwrap();
    // It is retried a few times, then left to the user and reported.
    wait_for("the end of trying", || {
        driver.performer.perform(&id).unwrap();
        !stage.task(&id).attention.is_empty()
    });
    let task = stage.task(&id);
    assert!(
        task.attention[0].contains("press Enter in its terminal"),
        "{:?}",
        task.attention
    );
    assert_eq!(task.status.as_str(), "working");
    assert!(is_undelivered(&stage, &id));
    // The line was typed once, however often Enter was tried.
    let screen = stage.tmux(&["capture-pane", "-p", "-J"]);
    assert_eq!(screen.matches("Message from orange").count(), 1, "{screen}");
    // The message is not lost: the next agent reads it.
    let (_, inbox) = stage.json(&["inbox", id.as_str(), "--json"]);
    let text = inbox["messages"][0]["text"].as_str().unwrap();
    assert!(text.contains("two lines"), "{text}");
}

#[test]
fn lesson_25_a_briefly_hidden_line_does_not_count_as_sent() {
    let stage = Stage::new("default");
    stage.declare_event("prompt-submitted");
    let (stage, id) = start_waiting_task_on(stage, "flicker\nask inbox");
    stage.run_ok(&["task", "request-changes", id.as_str(), "-m", "two lines"]);
    stage.wait_for_turn("worker-1");
    assert!(stage.calls().contains("two lines"), "{}", stage.calls());
    assert_eq!(enters(&stage), 2);
    let sent = fs::read_to_string(stage.path("scripts/sent")).unwrap();
    assert_eq!(sent.matches("Message from orange").count(), 1, "{sent}");
}

#[test]
fn lesson_26_a_dialog_gets_no_second_enter() {
    let (stage, id) = start_waiting_task("dialog");
    stage.run_ok(&["task", "request-changes", id.as_str(), "-m", "two lines"]);
    stage.wait_until_idle(&id);
    wait_for("the dialog", || {
        stage.tmux(&["capture-pane", "-p"]).contains("Install")
    });
    // Nothing is pending any more, so no more keys are pressed.
    assert_eq!(enters(&stage), 1, "{}", stage.diagnostics(&id));
    assert!(is_undelivered(&stage, &id));
}

#[test]
fn a_message_needs_a_task_that_was_started() {
    let stage = Stage::new("default");
    let id = stage.create(&["Add a line"]);
    let (code, said) = stage.call(&["task", "tell", id.as_str(), "-m", "hello"]);
    assert_eq!(code, 3, "{said}");
    assert!(said.contains("its work has not started"), "{said}");
    assert!(
        said.contains(&format!("`orange task spawn {id}`")),
        "{said}"
    );
}

#[test]
fn a_message_is_reported_and_part_of_the_history() {
    let stage = Stage::new("minimal");
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    // An id may be typed in capitals.
    let typed = id.as_str().to_uppercase();
    let answer = stage.run_ok(&["task", "tell", &typed, "-m", "mind the gap"]);
    assert_eq!(
        answer.trim(),
        format!("{id}: the message is in the worker's inbox")
    );
    let history = stage.run_ok(&["task", "history", id.as_str()]);
    let line = "message from the user to the worker: mind the gap";
    assert!(history.contains(line), "{history}");
}

#[test]
fn several_tasks_get_the_same_message() {
    let (stage, id) = start_waiting_task("swallow 0\nask inbox");
    let other = stage.create(&["other", "Not started"]);
    let names = [id.as_str(), other.as_str()];
    let tell = ["task", "tell", names[0], names[1], "--role", "worker", "-m"];
    let (code, answer) = stage.json(&[&tell[..], &["Hello", "--json"]].concat());
    assert_eq!(code, 3, "{answer}");
    assert_eq!(answer["tasks"][0]["outcome"], "succeeded", "{answer}");
    assert_eq!(answer["tasks"][1]["error"]["code"], "refused", "{answer}");
    assert_eq!(stage.store().inbox(&id).unwrap().len(), 1);
    assert_eq!(stage.store().inbox(&other).unwrap().len(), 0);
}

#[test]
fn an_empty_message_is_not_sent() {
    let stage = Stage::new("minimal");
    let id = stage.create(&["fix", "Fix it"]);
    let (code, text) = stage.call(&["tell", id.as_str(), "-m", " "]);
    assert_eq!(code, 2, "{text}");
    assert!(text.contains("the message is empty"), "{text}");
}

#[test]
fn a_task_under_review_is_not_said_to_be_unstarted() {
    let stage = Stage::new("minimal");
    let id = stage.create(&["fix", "Fix it", "--status", "reviewing"]);
    let (code, text) = stage.call(&["tell", id.as_str(), "-m", "Hello"]);
    assert_eq!(code, 3, "{text}");
    assert!(!text.contains("has not started"), "{text}");
    let queued = stage.create(&["other", "Fix it too"]);
    let (_, text) = stage.call(&["tell", queued.as_str(), "-m", "Hello"]);
    assert!(text.contains("has not started"), "{text}");
}

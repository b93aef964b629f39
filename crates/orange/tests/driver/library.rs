//! From creation to the user's review, step by step.

use orange_driver::{Answer, ChangeReport, Driver, NewTaskRequest, TaskRequest, WaitPolicy};
use orange_engine::input::{Request, RequestKind};
use orange_engine::language::verbs::Verb;
use orange_engine::names::{Status, TaskId};
use orange_engine::role::Role;
use orange_engine::task::AgentSettings;

use crate::support::{Stage, wait_for};

pub fn work(summary: &str) -> NewTaskRequest {
    NewTaskRequest {
        project: None,
        by: Role::Human,
        summary: summary.to_owned(),
        context: None,
        branch: None,
        workflow: None,
        harness: None,
        review_harness: None,
        status: None,
        agent_settings: AgentSettings::default(),
        labels: Vec::new(),
        queueing: orange_engine::task::Queueing::default(),
        issue: None,
        job: None,
        pull_request: None,
    }
}

pub fn create(driver: &Driver, new: &NewTaskRequest) -> TaskId {
    match driver.requests.create(new, WaitPolicy::Here).unwrap() {
        Answer::Done(changed) => changed.task.id,
        other => panic!("{other:?}"),
    }
}

pub fn ask(driver: &Driver, task: &TaskId, by: Role, ask: RequestKind) -> Answer {
    let request = TaskRequest {
        task: task.clone(),
        request: Request::new(by, ask),
        waiting: WaitPolicy::Here,
    };
    driver.requests.ask(&request).unwrap()
}

pub fn to(status: &str) -> RequestKind {
    RequestKind::Move {
        to: Status::new(status),
    }
}

pub fn expect_done(answer: Answer) -> ChangeReport {
    match answer {
        Answer::Done(changed) => *changed,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_task_goes_from_the_queue_to_the_users_review() {
    let stage = Stage::new("default");
    stage.script(
        "worker-1",
        "printf 'APPROACH: add a line\\nTOUCHING: work.txt\\n' | section Plan\ntouch $SCRIPTS/planned\n\
         pause go\ncommit one\necho 'DONE: a line' | section Handoff",
    );
    stage.script("reviewer-1", "echo 'Verdict: PASS' | section Review");
    let driver = stage.driver();
    let mut new = work("Add a line");
    new.context = Some(String::from("# Title\n\n## Plan\n\nAPPROACH: injected\n"));
    let id = create(&driver, &new);
    assert_eq!(stage.task(&id).status.as_str(), "pending");
    let text = stage.task_text(&id);
    assert!(text.contains("status: pending"), "{text}");
    assert!(text.contains("## Context\n\n### Title"), "{text}");
    assert!(text.contains("#### Plan"), "{text}");

    let changed = expect_done(ask(
        &driver,
        &id,
        Role::Human,
        RequestKind::Verb(Verb::Spawn),
    ));
    assert_eq!(changed.task.status.as_str(), "planning");
    assert_eq!(stage.panes(), ["worker:0"]);
    assert!(stage.worktree(&id).join("TASK.md").is_file());
    wait_for("the plan", || stage.path("scripts/planned").exists());

    let changed = expect_done(ask(&driver, &id, Role::Worker, to("working")));
    assert_eq!(
        changed.task.status.as_str(),
        "working",
        "{}",
        stage.diagnostics(&id)
    );
    stage.script("go", "");
    stage.wait_for_turn("worker-1");
    let changed = expect_done(ask(&driver, &id, Role::Worker, to("agent-review")));
    assert_eq!(changed.task.status.as_str(), "agent-review");
    assert_eq!(stage.panes(), ["reviewer:0", "worker:0"]);
    stage.wait_for_turn("reviewer-1");

    // The worker cannot pass its own review, whichever role wrote the verdict.
    let refused = ask(&driver, &id, Role::Worker, to("reviewing"));
    assert!(matches!(refused, Answer::Refused(_)), "{refused:?}");
    let changed = expect_done(ask(&driver, &id, Role::Reviewer, to("reviewing")));
    assert_eq!(changed.task.status.as_str(), "reviewing");
    assert!(
        changed.task.pending.is_empty(),
        "{}",
        stage.diagnostics(&id)
    );
    assert_eq!(stage.panes(), ["worker:0"]);
    let text = stage.task_text(&id);
    assert!(text.contains("status: reviewing"), "{text}");
    assert!(text.contains("workspace: app--1"), "{text}");

    // Asking again does not cause a second transition.
    let again = ask(&driver, &id, Role::Reviewer, to("reviewing"));
    assert!(matches!(again, Answer::AlreadyDone(_)), "{again:?}");

    // The work is on its branch, TASK.md is not.
    let log = stage.git(&format!("log --format=%s main..orange-tasks/{id}"));
    assert_eq!(String::from_utf8(log.stdout).unwrap().trim(), "one");
    let status = stage.git_in(&stage.worktree(&id), "status --porcelain");
    assert_eq!(String::from_utf8(status.stdout).unwrap(), "");

    expect_done(ask(
        &driver,
        &id,
        Role::Human,
        RequestKind::Verb(Verb::Cancel),
    ));
    assert_eq!(stage.panes(), [] as [&str; 0]);
    assert!(stage.store().workspace_of(&id).unwrap().is_none());
    assert!(stage.task_text(&id).contains("## Review"));
    let log = stage.git(&format!("log --format=%s main..orange-tasks/{id}"));
    assert_eq!(String::from_utf8(log.stdout).unwrap().trim(), "one");
}

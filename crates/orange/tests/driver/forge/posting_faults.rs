//! One comment, one label and one closing, whatever the forge answers.

use orange_engine::event::Fact;
use orange_engine::names::TaskId;
use scripted_forge::{Fault, Permission};

use crate::support::forge_stage::{ForgeStage, REPOSITORY};

/// A task whose work is merged, with everything left to post.
fn merged(it: &ForgeStage) -> (TaskId, u64) {
    let (id, number) = it.task_for_issue("reviewing");
    it.stage.run_ok(&["task", "merge", id.as_str(), "--yes"]);
    it.stage.wait_for_status(&id, "done");
    it.stage.wait_until_idle(&id);
    (id, number)
}

#[test]
fn lesson_84_an_answer_that_is_lost_writes_no_second_comment() {
    for fault in [Fault::CutAfter, Fault::GatewayTimeout, Fault::Truncated] {
        let it = ForgeStage::new("minimal");
        let (id, number) = it.task_for_issue("reviewing");
        it.forge.fault("issues/create-comment", 1, fault);
        it.forge.fault("issues/add-labels", 1, fault);
        let report = it.post(&id);
        assert!(!report.problems.is_empty(), "{fault:?}");
        it.post_all(&id);
        assert_eq!(it.comments(number).len(), 1, "{fault:?}");
        assert_eq!(it.write_count("issues/create-comment"), 1, "{fault:?}");
        assert_eq!(it.write_count("issues/add-labels"), 1, "{fault:?}");
        // The label is known as ours.
        it.stage.run_ok(&["task", "cancel", id.as_str(), "--yes"]);
        it.post_all(&id);
        assert!(it.forge.get(REPOSITORY, number).labels.is_empty());
    }
}

#[test]
fn lesson_84_a_comment_that_cannot_be_seen_yet_is_not_written_again() {
    let it = ForgeStage::new("minimal");
    let (id, number) = it.task_for_issue("pending");
    it.forge.fault("issues/create-comment", 1, Fault::CutAfter);
    it.forge.lag(5);
    it.post(&id);
    let report = it.post(&id);
    let problem = &report.problems[0];
    assert!(problem.contains("cannot be seen yet"), "{report:?}");
    it.post_all(&id);
    assert_eq!(it.comments(number).len(), 1);
    assert_eq!(it.write_count("issues/create-comment"), 1);
}

#[test]
fn a_comment_that_never_arrived_is_written_again() {
    let it = ForgeStage::new("minimal");
    let (id, number) = it.task_for_issue("pending");
    it.forge.fault("issues/create-comment", 1, Fault::CutBefore);
    it.post(&id);
    assert_eq!(it.comments(number).len(), 0);
    it.post_all(&id);
    assert_eq!(it.comments(number).len(), 1);
}

#[test]
fn lesson_85_a_failed_close_repeats_no_comment() {
    for fault in [Fault::ServerError, Fault::GatewayTimeout] {
        let it = ForgeStage::new("minimal");
        let (id, number) = merged(&it);
        it.forge.fault_always("issues/update", fault);
        for _ in 0..5 {
            let driver = it.stage.driver();
            driver.requests.post_status(&id, true).unwrap();
        }
        assert_eq!(it.comments(number).len(), 1, "{fault:?}");
        assert_eq!(it.write_count("issues/create-comment"), 1, "{fault:?}");
        assert_eq!(it.write_count("issues/update-comment"), 0, "{fault:?}");
        it.forge.clear_faults();
        it.post_all(&id);
        let issue = it.forge.get(REPOSITORY, number);
        let closed = issue.events.iter().filter(|it| it.name == "closed");
        assert_eq!(closed.count(), 1, "{fault:?}");
        assert_eq!(it.write_count("issues/update"), 1, "{fault:?}");
    }
}

#[test]
fn lesson_87_each_write_fails_for_itself() {
    let operations = ["issues/create-comment", "issues/add-labels"];
    for failing in operations {
        let it = ForgeStage::new("minimal");
        let (id, _) = it.task_for_issue("reviewing");
        it.forge.fault_always(failing, Fault::ServerError);
        let report = it.post(&id);
        assert_eq!(report.problems.len(), 1, "{report:?}");
        for operation in operations {
            let expected = usize::from(operation != failing);
            assert_eq!(
                it.write_count(operation),
                expected,
                "{failing}: {operation}"
            );
        }
        // What failed waits for its time, and costs nothing until then.
        let calls = it.forge.calls().len();
        let driver = it.stage.driver();
        let waiting = driver.requests.post_status(&id, false).unwrap().unwrap();
        assert!(waiting.problems.is_empty() && waiting.changes.is_empty());
        assert_eq!(it.forge.calls().len(), calls);
        it.forge.clear_faults();
        it.post_all(&id);
        assert_eq!(it.write_count(failing), 1);
    }
}

/// The notices about posts that a task has got.
fn notices(it: &ForgeStage, id: &TaskId) -> Vec<String> {
    let events = it.stage.store().events(id, 0).unwrap();
    let facts = events.into_iter().map(|it| it.event.fact);
    let raised = facts.filter_map(|fact| match fact {
        Fact::AttentionRaised { reason, .. } => Some(reason),
        _ => None,
    });
    raised.collect()
}

#[test]
fn what_is_refused_is_reported_once_and_not_repeated() {
    type Change = fn(&ForgeStage, u64);
    let cases: [(&str, Change); 4] = [
        ("deleted", |it, number| {
            it.forge.delete_issue(REPOSITORY, number);
        }),
        ("transferred", |it, number| {
            it.forge.repository("ada/other");
            it.forge.issue("ada/other", "ada", "An older one", "");
            it.forge.transfer(REPOSITORY, number, "ada", "ada/other");
        }),
        ("issues are disabled", |it, _| {
            it.forge.configure(REPOSITORY, |it| it.has_issues = false);
        }),
        ("archived", |it, _| {
            it.forge.configure(REPOSITORY, |it| it.archived = true);
        }),
    ];
    for (case, change) in cases {
        let it = ForgeStage::new("minimal");
        let (id, number) = it.task_for_issue("reviewing");
        change(&it, number);
        let driver = it.stage.driver();
        let report = driver.requests.post_status(&id, false).unwrap().unwrap();
        assert!(!report.problems.is_empty(), "{case}");
        let calls = it.forge.calls().len();
        for _ in 0..3 {
            let again = driver.requests.post_status(&id, false).unwrap().unwrap();
            assert!(again.problems.is_empty(), "{case}: {again:?}");
        }
        assert_eq!(it.forge.calls().len(), calls, "{case}");
        assert_eq!(it.forge.writes().len(), 0, "{case}");
        let notices = notices(&it, &id);
        assert_eq!(notices.len(), 1, "{case}: {notices:?}");
        let expected = format!("cannot post to issue #{number}: ");
        assert!(notices[0].starts_with(&expected), "{case}: {notices:?}");
        // Its own notice asks for no label.
        assert_eq!(it.stage.task(&id).status.as_str(), "reviewing");
    }
}

#[test]
fn a_locked_issue_is_reported_once() {
    let mut it = ForgeStage::new("minimal");
    let (id, number) = it.task_for_issue("reviewing");
    let token = it.forge.user("grace");
    it.forge.allow(REPOSITORY, "grace", Permission::Triage);
    it.forge.lock(REPOSITORY, number);
    let variables = it.stage.environment.variables().clone().into_iter();
    let own = [("GH_TOKEN".into(), token.into())];
    it.stage.environment = orange_config::Environment::of(variables.chain(own));
    let report = it.post(&id);
    assert_eq!(report.problems.len(), 1, "{report:?}");
    assert!(report.problems[0].contains("locked"), "{report:?}");
    // The label is set all the same.
    assert_eq!(it.forge.get(REPOSITORY, number).labels, ["needs-review"]);
    assert_eq!(notices(&it, &id).len(), 1);
    it.post(&id);
    assert_eq!(notices(&it, &id).len(), 1);
}

#[test]
fn another_issue_of_the_same_number_gets_nothing() {
    let it = ForgeStage::new("minimal");
    let (id, number) = it.task_for_issue("reviewing");
    it.forge.repository("ada/other");
    let other = it.forge.issue("ada/other", "ada", "Unrelated", "");
    assert_eq!(other, number);
    let other = serde_json::json!("github.com/ada/other");
    it.stage.configure("forge_repository", &other);
    let report = it.post(&id);
    assert!(report.problems[0].contains("is not the one"), "{report:?}");
    assert_eq!(it.forge.writes().len(), 0);
}

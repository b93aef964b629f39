//! Which issues start a task by themselves: only those with consent.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use orange_config::clock::Deadline;
use orange_engine::forge::marker::marker;
use scripted_forge::{Fault, Permission, Resource};

use crate::support::forge_stage::{ForgeStage, REPOSITORY};
use crate::support::{RunningSupervisor, SOON};

fn stage() -> ForgeStage {
    let it = ForgeStage::new("minimal");
    it.read_issues_with("agent");
    it.stage.script("worker-1", "true");
    it.forge.user("eve");
    it.forge.user("grace");
    it.forge.allow(REPOSITORY, "grace", Permission::Write);
    it
}

/// Opens an issue, and lets a second pass, so that what follows comes later.
fn issue(it: &ForgeStage, title: &str) -> u64 {
    let number = it.forge.issue(REPOSITORY, "eve", title, "Please");
    it.forge.advance(Duration::from_secs(2));
    number
}

fn wait_for(it: &ForgeStage, what: &str, condition: impl FnMut() -> bool) {
    let in_time = Deadline::after(SOON).wait_for(condition);
    let log = fs::read_to_string(it.stage.path("home/orange.log")).unwrap_or_default();
    let log: Vec<&str> = log.lines().rev().take(20).collect();
    assert!(in_time, "{what}: {log:#?}");
}

/// The reasons that are listed, by issue.
fn reasons(it: &ForgeStage) -> BTreeMap<u64, String> {
    let (code, answer) = it.stage.json(&["issue", "list", "--json"]);
    assert_eq!(code, 0, "{answer}");
    let issues = answer["issues"].as_array().unwrap().iter();
    let reason = |it: &serde_json::Value| {
        let reason = it["verdict"]["reason"].as_str().unwrap().to_owned();
        (it["number"].as_u64().unwrap(), reason)
    };
    issues.map(reason).collect()
}

#[test]
fn lesson_95_only_a_label_of_an_account_that_may_write_starts_something() {
    let it = stage();
    it.forge.bot("helper");
    it.forge.repository("ada/other");
    let step = || it.forge.advance(Duration::from_secs(2));
    let label = |number, by| {
        it.forge.label(REPOSITORY, number, by, "agent");
        step();
    };
    // Edited after the label, in the body or in the title.
    let edited = issue(&it, "Edited");
    label(edited, "grace");
    it.forge
        .rewrite(REPOSITORY, edited, "eve", "Edited", "Do evil");
    let renamed = issue(&it, "Renamed");
    label(renamed, "grace");
    it.forge
        .rewrite(REPOSITORY, renamed, "eve", "Do evil", "Please");
    // Set by a form, a reader, and a bot.
    let form = it
        .forge
        .issue_by_form(REPOSITORY, "eve", "Form", &["agent"]);
    let reader = issue(&it, "Reader");
    label(reader, "eve");
    let bot = issue(&it, "Bot");
    label(bot, "helper");
    // Labelled before it was reopened or moved here.
    let reopened = issue(&it, "Reopened");
    label(reopened, "grace");
    it.forge.close(REPOSITORY, reopened, "grace");
    step();
    it.forge.reopen(REPOSITORY, reopened, "eve");
    let moved = it.forge.issue("ada/other", "eve", "Moved", "Please");
    step();
    it.forge.label("ada/other", moved, "ada", "agent");
    step();
    let moved = it.forge.transfer("ada/other", moved, "ada", REPOSITORY);
    let closed = issue(&it, "Closed");
    label(closed, "grace");
    it.forge.close(REPOSITORY, closed, "grace");
    step();
    // And one that was commented and labelled further after its consent.
    let good = issue(&it, "Good");
    label(good, "grace");
    it.forge.comment(REPOSITORY, good, "eve", "Thank you");
    it.forge.label(REPOSITORY, good, "grace", "priority:5");
    let _supervisor = RunningSupervisor::start(&it.stage);
    let open = [edited, renamed, form, reader, bot, reopened, moved, good];
    wait_for(&it, "a verdict about each", || {
        let judged = it.judged_issues();
        open.iter().all(|number| judged.contains(number))
    });
    let [id] = it.all_tasks().try_into().unwrap();
    let task = it.stage.task(&id);
    assert_eq!(task.summary, "Good");
    assert_eq!(task.queueing.priority, 5);
    it.stage.wait_for_status(&id, "working");
    let reasons = reasons(&it);
    for (number, reason) in [
        (edited, "the text may have changed"),
        (renamed, "the text may have changed"),
        (form, "eve set the label"),
        (reader, "eve set the label"),
        (bot, "helper[bot] set the label"),
        (reopened, "moved here or reopened"),
        (moved, "moved here or reopened"),
        (good, "is for it"),
    ] {
        assert!(reasons[&number].contains(reason), "{number}: {reasons:?}");
    }
    assert!(!reasons.contains_key(&closed));
}

#[test]
fn lesson_94_a_permission_that_is_unknown_starts_nothing_until_it_is_known() {
    let it = stage();
    let number = issue(&it, "Fix it");
    it.forge.label(REPOSITORY, number, "grace", "agent");
    for operation in [
        "repos/get-collaborator-permission-level",
        "issues/list-events",
        "issues/list-comments",
        "graphql",
        "issues/get",
    ] {
        it.forge.fault_always(operation, Fault::BadGateway);
        let _refused = it.stage.call(&["issue", "list"]);
        let supervisor = RunningSupervisor::start(&it.stage);
        let before = it.forge.count("issues/list-for-repo");
        wait_for(&it, "three rounds", || {
            it.forge.count("issues/list-for-repo") >= before + 2
        });
        supervisor.kill();
        assert!(it.all_tasks().is_empty(), "{operation}");
        it.forge.clear_faults();
    }
    let _supervisor = RunningSupervisor::start(&it.stage);
    wait_for(&it, "a task", || it.all_tasks().len() == 1);
}

#[test]
fn lesson_88_an_issue_that_another_orange_works_on_is_not_started() {
    let it = stage();
    let status = format!("Working on it\n\n{}", marker("zzzz/status"));
    let taken = issue(&it, "Taken");
    it.forge.comment(REPOSITORY, taken, "grace", &status);
    it.forge.label(REPOSITORY, taken, "grace", "agent");
    // Anyone can copy a marker.
    let faked = issue(&it, "Faked");
    it.forge.comment(REPOSITORY, faked, "eve", &status);
    it.forge.label(REPOSITORY, faked, "grace", "agent");
    let _supervisor = RunningSupervisor::start(&it.stage);
    wait_for(&it, "verdicts", || it.judged_issues() == [taken, faked]);
    let [id] = it.all_tasks().try_into().unwrap();
    assert_eq!(it.stage.task(&id).summary, "Faked");
    let reasons = reasons(&it);
    assert!(reasons[&taken].contains("of grace"), "{reasons:?}");
}

#[test]
fn lesson_92_a_finished_issue_is_not_started_again() {
    let it = stage();
    let number = issue(&it, "Fix it");
    it.forge.label(REPOSITORY, number, "grace", "agent");
    let _supervisor = RunningSupervisor::start(&it.stage);
    wait_for(&it, "a task", || it.all_tasks().len() == 1);
    let [first] = it.all_tasks().try_into().unwrap();
    it.stage.wait_for_status(&first, "working");
    it.stage
        .run_ok(&["task", "cancel", first.as_str(), "--yes"]);
    it.stage.wait_for_status(&first, "cancelled");
    // It stays open with its label, and people go on talking about it.
    for comment in ["Well?", "Done?"] {
        it.forge.advance(Duration::from_secs(2));
        it.forge.comment(REPOSITORY, number, "eve", comment);
        let before = it.forge.count("issues/list-events");
        wait_for(&it, "a new look", || {
            it.forge.count("issues/list-events") > before
        });
    }
    wait_for(&it, "a verdict", || it.judged_issues() == [number]);
    assert_eq!(it.all_tasks(), std::slice::from_ref(&first));
    let found = reasons(&it);
    assert!(
        found[&number].contains("a task was created for this text"),
        "{found:?}"
    );
    // Another text with another label is another start.
    it.forge
        .rewrite(REPOSITORY, number, "eve", "Fix it", "Fix more");
    it.forge.unlabel(REPOSITORY, number, "grace", "agent");
    it.forge.advance(Duration::from_secs(2));
    it.forge.label(REPOSITORY, number, "grace", "agent");
    wait_for(&it, "a second task", || it.all_tasks().len() == 2);
}

#[test]
fn an_unchanged_list_costs_nothing_and_writes_nothing() {
    let it = stage();
    let number = issue(&it, "Not yet");
    it.forge.label(REPOSITORY, number, "eve", "agent");
    let _supervisor = RunningSupervisor::start(&it.stage);
    wait_for(&it, "a verdict", || it.judged_issues() == [number]);
    let quiet = it.forge.count("issues/list-for-repo") + 2;
    wait_for(&it, "a quiet round", || {
        it.forge.count("issues/list-for-repo") >= quiet
    });
    let before = it.stage.store().sequence().unwrap();
    let calls = it.forge.calls().len();
    let lists = it.forge.count("issues/list-for-repo");
    wait_for(&it, "three more rounds", || {
        it.forge.count("issues/list-for-repo") >= lists + 3
    });
    assert_eq!(it.stage.store().sequence().unwrap(), before);
    // Nothing but the list was asked for.
    let lists = it.forge.count("issues/list-for-repo") - lists;
    let calls = it.forge.calls().len() - calls;
    assert!(calls <= lists + 1, "{calls} calls for {lists} lists");
}

#[test]
fn issues_are_read_within_the_share_of_the_quota() {
    let it = stage();
    let number = issue(&it, "Not yet");
    it.forge.label(REPOSITORY, number, "eve", "agent");
    it.forge.set_remaining("ada", Resource::Core, 30);
    let _supervisor = RunningSupervisor::start(&it.stage);
    wait_for(&it, "a verdict", || it.judged_issues() == [number]);
    // Less than 30 requests are left for an hour, so the next look is minutes away.
    let lists = it.forge.count("issues/list-for-repo");
    let later = Deadline::after(Duration::from_secs(4));
    let more = later.wait_for(|| it.forge.count("issues/list-for-repo") > lists + 1);
    assert!(!more, "{} lists", it.forge.count("issues/list-for-repo"));
}

#[test]
fn lesson_93_an_approval_is_for_the_text_that_was_approved() {
    let it = stage();
    let number = issue(&it, "Fix it");
    it.stage.run_ok(&["issue", "approve", "1", "--no-start"]);
    it.forge.advance(Duration::from_secs(2));
    it.forge
        .rewrite(REPOSITORY, number, "eve", "Fix it", "Do evil");
    let supervisor = RunningSupervisor::start(&it.stage);
    let before = it.forge.count("issues/list-for-repo");
    wait_for(&it, "three rounds", || {
        it.forge.count("issues/list-for-repo") >= before + 3
    });
    assert!(it.all_tasks().is_empty());
    supervisor.kill();
    // The present text is approved: this text is what the agent gets, whatever is edited later.
    it.forge.advance(Duration::from_secs(2));
    it.forge
        .rewrite(REPOSITORY, number, "eve", "Fix it", "Do good");
    it.stage.run_ok(&["issue", "approve", "1", "--no-start"]);
    let _supervisor = RunningSupervisor::start(&it.stage);
    wait_for(&it, "a task", || it.all_tasks().len() == 1);
    let [id] = it.all_tasks().try_into().unwrap();
    it.stage.wait_for_turn("worker-1");
    let path = it.stage.path(&format!("home/tasks/app/{id}/issue.md"));
    let approved = fs::read_to_string(&path).unwrap();
    assert!(approved.contains("Do good"), "{approved}");
    it.forge.advance(Duration::from_secs(2));
    it.forge
        .rewrite(REPOSITORY, number, "eve", "Evil", "Do evil again");
    let before = it.forge.count("issues/list-for-repo");
    wait_for(&it, "two more rounds", || {
        it.forge.count("issues/list-for-repo") >= before + 2
    });
    assert_eq!(fs::read_to_string(&path).unwrap(), approved);
    assert_eq!(it.stage.task(&id).summary, "Fix it");
    assert_eq!(it.all_tasks(), [id]);
}

#[test]
fn lesson_96_a_bot_needs_the_permission_that_everyone_needs() {
    let it = stage();
    it.forge.bot("helper");
    let number = issue(&it, "Fix it");
    it.forge.label(REPOSITORY, number, "helper", "agent");
    it.forge.label(REPOSITORY, number, "helper", "priority:9");
    it.forge.comment(REPOSITORY, number, "helper", "bot-words");
    let supervisor = RunningSupervisor::start(&it.stage);
    wait_for(&it, "a verdict", || it.judged_issues() == [number]);
    assert!(it.all_tasks().is_empty(), "{:?}", reasons(&it));
    supervisor.kill();
    // Nor is it heard when an account with permission starts the task.
    it.forge.advance(Duration::from_secs(2));
    it.forge.unlabel(REPOSITORY, number, "grace", "agent");
    it.forge.label(REPOSITORY, number, "grace", "agent");
    let supervisor = RunningSupervisor::start(&it.stage);
    wait_for(&it, "a task", || it.all_tasks().len() == 1);
    let [id] = it.all_tasks().try_into().unwrap();
    it.stage.wait_for_turn("worker-1");
    supervisor.kill();
    assert_eq!(it.stage.task(&id).queueing.priority, 0);
    let path = it.stage.path(&format!("home/tasks/app/{id}/issue.md"));
    let text = fs::read_to_string(&path).unwrap();
    assert!(!text.contains("bot-words"), "{text}");
    // A bot that may write counts like everyone who may write.
    it.forge.allow(REPOSITORY, "helper", Permission::Write);
    let number = issue(&it, "Fix more");
    it.forge.label(REPOSITORY, number, "helper", "agent");
    let _supervisor = RunningSupervisor::start(&it.stage);
    wait_for(&it, "a second task", || it.all_tasks().len() == 2);
}

//! Commands in comments: who may give them; each is obeyed once.

use std::fs;
use std::time::Duration;

use orange_config::clock::Deadline;
use orange_engine::chat::channel::Channel;
use orange_engine::event::Fact;
use orange_engine::names::TaskId;
use orange_engine::role::Role;
use orange_store::{ChatRecord, ChatState};
use scripted_forge::{Fault, Permission};

use crate::support::forge_stage::{ForgeStage, REPOSITORY};
use crate::support::{RunningSupervisor, SOON};

const LISTING: &str = "issues/list-comments-for-repo";

/// A stage whose project obeys comments. `grace` may write, `eve` may only read.
pub fn stage(workflow: &str) -> ForgeStage {
    let it = ForgeStage::new(workflow);
    for name in ["grace", "eve"] {
        it.forge.user(name);
    }
    it.forge.allow(REPOSITORY, "grace", Permission::Write);
    it.forge.allow(REPOSITORY, "eve", Permission::Read);
    obey(&it, "\"app\"");
    it
}

/// Sets the projects whose comments are read.
fn obey(it: &ForgeStage, projects: &str) {
    let config = format!(
        "[forge]\npoll = \"1s\"\ncold = \"1s\"\nshare = 100\n\n[forge.issues]\ncomment = \"none\"\n\n\
         [chat.github]\nprojects = [{projects}]\n"
    );
    fs::write(it.stage.path("home/config.toml"), config).unwrap();
}

fn wait_for(it: &ForgeStage, what: &str, condition: impl FnMut() -> bool) {
    let in_time = Deadline::after(SOON).wait_for(condition);
    let log = fs::read_to_string(it.stage.path("home/orange.log")).unwrap_or_default();
    let log: Vec<&str> = log.lines().rev().take(20).collect();
    assert!(in_time, "{what}:\n{:#?}\n{log:#?}", records(it));
}

pub fn records(it: &ForgeStage) -> Vec<ChatRecord> {
    it.stage.store().all_chat(Channel::GitHub).unwrap()
}

/// Waits until comments are listened to: older ones are not obeyed.
pub fn wait_until_read(it: &ForgeStage) {
    let before = it.forge.count(LISTING);
    wait_for(it, "two rounds", || it.forge.count(LISTING) >= before + 3);
    // What is written from now on is later than what was read.
    it.forge.advance(Duration::from_secs(2));
}

/// The answers of orange at an issue.
pub fn answers(it: &ForgeStage, number: u64) -> Vec<String> {
    let comments = it.forge.get(REPOSITORY, number).comments.into_iter();
    let own = comments.filter(|it| it.author == "ada" && it.body.starts_with("```"));
    own.map(|it| it.body).collect()
}

/// Writes a comment and returns its answer.
fn ask(it: &ForgeStage, number: u64, text: &str) -> String {
    let before = answers(it, number).len();
    it.forge.comment(REPOSITORY, number, "grace", text);
    wait_for(it, text, || answers(it, number).len() > before);
    answers(it, number).pop().unwrap()
}

/// A task for a new issue whose agent runs.
fn running_task(it: &ForgeStage) -> (TaskId, u64) {
    it.stage.script("worker-1", "sleep 60");
    let number = it.forge.issue(REPOSITORY, "ada", "A bug", "It fails.");
    let id = it.stage.create(&["--issue", &number.to_string()]);
    it.stage.run_ok(&["task", "spawn", id.as_str()]);
    it.stage.wait_for_status(&id, "working");
    it.stage.wait_until_idle(&id);
    (id, number)
}

/// The messages of status changes that a comment caused.
pub fn sent_back(it: &ForgeStage, id: &TaskId) -> Vec<String> {
    let events = it.stage.store().events(id, 0).unwrap().into_iter();
    let messages = events.filter_map(|it| match it.event.fact {
        Fact::StatusChanged(change) => {
            let message = change.message?;
            assert_eq!(change.by, Role::Human);
            Some(message)
        }
        _ => None,
    });
    messages.filter(|it| it.contains("by GitHub")).collect()
}

#[test]
fn commands_of_people_with_write_permission_are_obeyed() {
    let it = stage("minimal");
    let (id, number) = running_task(&it);
    let _supervisor = RunningSupervisor::start(&it.stage);
    wait_until_read(&it);
    let answer = ask(&it, number, "/orange status");
    assert!(answer.contains(&format!("{id} working")), "{answer}");
    assert!(answer.starts_with("```text\n"), "{answer}");
    let answer = ask(&it, number, "/orange why\r\n");
    assert!(answer.contains("in `working` since"), "{answer}");
    let answer = ask(&it, number, "/orange tell use oil");
    assert!(
        answer.contains(&format!("sent to the agent of {id}")),
        "{answer}"
    );
    let inbox = it.stage.store().events(&id, 0).unwrap();
    let inbox = format!("{inbox:?}");
    assert!(
        inbox.contains("From grace by GitHub (message github.com/"),
        "{inbox}"
    );
    it.stage.wait_until_idle(&id);
    // What only the user may do is answered with the command, and nothing changes.
    for command in ["merge", "approve", "cancel", "retry"] {
        let version = it.stage.task(&id).version;
        let answer = ask(&it, number, &format!("/orange {command}"));
        assert!(answer.contains("not possible from a chat"), "{answer}");
        assert!(answer.contains(id.as_str()), "{answer}");
        assert_eq!(it.stage.task(&id).version, version, "{command}");
    }
    // There is nothing to send back while the agent works.
    let answer = ask(&it, number, "/orange request-changes now");
    assert!(answer.contains("cannot request changes"), "{answer}");
    assert_eq!(it.stage.task(&id).status.as_str(), "working");
    // Text of a comment is not read by the forge in the answer.
    let created = ask(&it, number, "/orange new Ping @team ``` #1\n\nmore");
    let [new] = it
        .all_tasks()
        .into_iter()
        .filter(|it| *it != id)
        .collect::<Vec<_>>()
        .try_into()
        .unwrap();
    assert!(
        created.contains(&format!("created task {new}")),
        "{created}"
    );
    let listed = ask(&it, number, "/orange list");
    assert!(listed.starts_with("````text\n"), "{listed}");
    assert!(listed.contains("Ping @team ``` #1"), "{listed}");
    assert_eq!(it.forge.violations(), Vec::<String>::new());
}

#[test]
fn work_is_sent_back_once() {
    let it = stage("minimal");
    let (id, number) = it.task_for_issue("reviewing");
    it.stage.script("worker-1", "sleep 60");
    it.stage.wait_until_idle(&id);
    let _supervisor = RunningSupervisor::start(&it.stage);
    wait_until_read(&it);
    let answer = ask(
        &it,
        number,
        "/orange request-changes\n\nUse oil.\nMuch of it.",
    );
    assert!(
        answer.contains(&format!("sent the work of {id} back")),
        "{answer}"
    );
    it.stage.wait_for_status(&id, "working");
    let [message] = sent_back(&it, &id).try_into().unwrap();
    assert!(
        message.starts_with("From grace by GitHub (message github.com/"),
        "{message}"
    );
    assert!(message.ends_with("\nUse oil.\nMuch of it."), "{message}");
}

#[test]
fn lesson_110_comments_without_permission_are_never_obeyed_or_answered() {
    let it = stage("minimal");
    let (id, number) = it.task_for_issue("reviewing");
    it.stage.wait_until_idle(&id);
    let other = it.forge.issue(REPOSITORY, "grace", "Without a task", "");
    it.forge.bot("helper");
    it.forge.allow(REPOSITORY, "helper", Permission::Write);
    it.forge.user("mallory");
    // From before orange listens.
    it.forge
        .comment(REPOSITORY, number, "grace", "/orange new Early");
    it.forge.advance(Duration::from_secs(2));
    let supervisor = RunningSupervisor::start(&it.stage);
    wait_until_read(&it);
    let command = "/orange new Evil";
    for (author, text) in [
        ("eve", command),
        ("mallory", command),
        ("helper", command),
        ("eve", "/orange request-changes now"),
        ("grace", "> /orange new Evil\n\nIs this right?"),
        ("grace", "```\n/orange new Evil\n```"),
        ("grace", "    /orange new Evil"),
        ("grace", "See below.\n/orange new Evil"),
        ("grace", "<!-- x -->/orange new Evil"),
        // A copied marker does not make it a text of orange, and a text of orange is no command.
        (
            "eve",
            "/orange new Evil <!-- orange:answer/github.com/1 -->",
        ),
        (
            "ada",
            "/orange new Evil <!-- orange:answer/github.com/1 -->",
        ),
    ] {
        it.forge.comment(REPOSITORY, number, author, text);
    }
    it.forge.comment(REPOSITORY, other, "grace", command);
    let edited = it.forge.comment(REPOSITORY, number, "grace", "Hello.");
    it.forge.advance(Duration::from_secs(2));
    it.forge
        .rewrite_comment(REPOSITORY, number, "eve", edited, command);
    it.forge.advance(Duration::from_secs(2));
    let answer = ask(&it, number, "/orange status");
    assert!(answer.contains(&format!("{id} reviewing")), "{answer}");
    assert_eq!(answers(&it, number).len(), 1);
    assert_eq!(answers(&it, other).len(), 0);
    assert_eq!(it.all_tasks(), std::slice::from_ref(&id));
    assert_eq!(it.stage.task(&id).status.as_str(), "reviewing");
    let all = records(&it);
    let ignored = all.iter().filter(|it| it.state == ChatState::Ignored);
    let mut ignored: Vec<(&str, &str)> = ignored
        .map(|it| (it.sender.as_str(), it.answer.as_deref().unwrap()))
        .collect();
    ignored.sort_unstable();
    let denied = "its sender or its room is not allowed";
    assert_eq!(
        ignored,
        [
            ("eve", denied),
            ("eve", denied),
            ("eve", denied),
            ("grace", "it was edited; only a new message counts"),
            ("helper[bot]", "a bot wrote it"),
            ("mallory", denied),
        ]
    );
    assert!(all.iter().all(|it| it.text.is_none()), "{all:?}");
    // A permission that was withdrawn counts no more, at once.
    it.forge.allow(REPOSITORY, "grace", Permission::Read);
    it.forge.comment(REPOSITORY, number, "grace", command);
    wait_for(&it, "the refusal", || {
        records(&it)
            .iter()
            .filter(|it| it.sender == "grace")
            .count()
            == 3
    });
    assert_eq!(it.all_tasks(), std::slice::from_ref(&id));
    drop(supervisor);
    let log = fs::read_to_string(it.stage.path("home/orange.log")).unwrap();
    assert!(log.contains("chat.ignored"), "{log}");
    assert!(!log.contains("Evil"), "{log}");
}

#[test]
fn a_project_that_is_not_listed_is_never_read() {
    let it = stage("minimal");
    obey(&it, "");
    let (_, number) = it.task_for_issue("reviewing");
    it.forge
        .comment(REPOSITORY, number, "grace", "/orange status");
    let supervisor = RunningSupervisor::start(&it.stage);
    std::thread::sleep(Duration::from_secs(3));
    assert_eq!(it.forge.count(LISTING), 0);
    drop(supervisor);
    obey(&it, "\"nowhere\"");
    let (_, doctor) = it.stage.call(&["doctor"]);
    assert!(
        doctor.contains("not a project on GitHub: nowhere"),
        "{doctor}"
    );
    obey(&it, "\"app\"");
    let (_, doctor) = it.stage.call(&["doctor"]);
    assert!(
        doctor.contains("people with write permission may give commands"),
        "{doctor}"
    );
}

#[test]
fn an_unchanged_round_is_one_free_request_and_no_write() {
    let it = stage("minimal");
    let (id, number) = it.task_for_issue("reviewing");
    it.stage.wait_until_idle(&id);
    let _supervisor = RunningSupervisor::start(&it.stage);
    wait_until_read(&it);
    ask(&it, number, "/orange status");
    wait_until_read(&it);
    let sequence = it.stage.store().sequence().unwrap();
    let position = || it.stage.store().all_chat(Channel::GitHub).unwrap();
    let (before, known) = (it.forge.calls().len(), position());
    wait_for(&it, "more rounds", || {
        let calls = it.forge.calls();
        calls[before..]
            .iter()
            .filter(|it| it.operation == LISTING)
            .count()
            >= 4
    });
    let calls = it.forge.calls();
    let calls = &calls[before..];
    for call in calls {
        let what = format!("{} {} {}", call.method, call.path, call.status);
        // The others are about pull requests.
        let known = [LISTING, "graphql", "pulls/list"];
        assert!(known.contains(&call.operation.as_str()), "{what}");
        let is_free = call.status == 304 && call.cost == 0;
        assert!(call.operation != LISTING || is_free, "{what}");
    }
    assert_eq!(it.stage.store().sequence().unwrap(), sequence);
    assert_eq!(position(), known);
}

#[test]
fn an_unknown_permission_obeys_nothing_until_it_is_known() {
    let it = stage("minimal");
    let (id, number) = it.task_for_issue("reviewing");
    it.stage.wait_until_idle(&id);
    let _supervisor = RunningSupervisor::start(&it.stage);
    wait_until_read(&it);
    let permission = "repos/get-collaborator-permission-level";
    it.forge.fault_always(permission, Fault::BadGateway);
    it.forge
        .comment(REPOSITORY, number, "grace", "/orange new Fix it");
    let before = it.forge.count(permission);
    wait_for(&it, "two failures", || {
        it.forge.count(permission) >= before + 2
    });
    assert_eq!(it.all_tasks(), std::slice::from_ref(&id));
    assert_eq!(records(&it), []);
    it.forge.clear_faults();
    wait_for(&it, "the answer", || answers(&it, number).len() == 1);
    assert_eq!(it.all_tasks().len(), 2);
}

#[test]
fn an_answer_without_a_confirmation_is_written_once() {
    let it = stage("minimal");
    let (id, number) = it.task_for_issue("reviewing");
    it.stage.wait_until_idle(&id);
    let _supervisor = RunningSupervisor::start(&it.stage);
    wait_until_read(&it);
    it.forge.fault("issues/create-comment", 1, Fault::CutAfter);
    it.forge
        .comment(REPOSITORY, number, "grace", "/orange status");
    wait_for(&it, "the end", || {
        records(&it).iter().any(|it| it.state == ChatState::Ended)
    });
    assert_eq!(answers(&it, number).len(), 1);
    assert_eq!(it.write_count("issues/create-comment"), 1);
}

#[test]
fn a_command_on_a_pull_request_is_not_feedback() {
    let it = stage("minimal");
    let id = it.reviewed_task();
    it.stage.run_ok(&["task", "pr", id.as_str()]);
    let number = it.stage.task(&id).pull_request.unwrap().number;
    let feedback = |it: &ForgeStage| it.look(&id)["pull_request"]["open_points"].clone();
    let before = feedback(&it);
    it.forge
        .comment(REPOSITORY, number, "grace", "/orange status");
    assert_eq!(feedback(&it), before);
    it.forge.comment(REPOSITORY, number, "grace", "Use oil.");
    assert_ne!(feedback(&it), before);
    let _supervisor = RunningSupervisor::start(&it.stage);
    wait_until_read(&it);
    let answer = ask(&it, number, "/orange status");
    assert!(answer.contains(&format!("{id} reviewing")), "{answer}");
}

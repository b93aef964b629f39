//! A lost machine's task continues on another one.

use std::fs;

use orange_effects::process::{Liveness, ProcessIdentity};
use orange_fleet::ids::{TaskId as FleetTaskId, Version};

use super::ledger_server::LedgerServer;
use super::machines::Machine;
use super::{WORK, cancel, create_and_start, log};
use crate::support::wait_for;

/// Works without an end, with a commit, a file that is not committed, and a text.
const BEGIN: &str = "\
commit one
echo unsaved > notes.txt
echo 'It is in notes.txt.' | section Found
echo here | give begun
pause never
";

/// A machine whose agent works on a task, and the task.
fn working(server: &LedgerServer) -> (Machine, orange_engine::names::TaskId) {
    let mut machine = Machine::join("a", server, None);
    machine.stage.script("worker-1", BEGIN);
    let id = create_and_start(server);
    machine.run();
    let begun = machine.stage.path("scripts/begun");
    wait_for("the agent", || begun.exists());
    machine.stage.wait_until_idle(&id);
    (machine, id)
}

#[test]
fn a_lost_machines_task_continues_on_another_one_and_its_tail_stays_in_the_trash() {
    let server = LedgerServer::start();
    let (mut first, id) = working(&server);
    let task = id.as_str();
    let is_shipped = || server.head(task).version.0 == first.stage.task(&id).version;
    wait_for("everything in the log", is_shipped);
    let acknowledged = log(&server, &id);
    wait_for("the agent's work at the server", || {
        let ledger = server.ledger();
        let wip = ledger.tasks[&FleetTaskId::new(task)].wip.as_ref();
        wip.is_some_and(|it| it.document.contains("It is in notes.txt.") && !it.bundle.is_empty())
    });
    // What the log does not get.
    server.refuse_appends(true);
    let (code, text) = first
        .stage
        .call(&["task", "tell", task, "--message", "only here"]);
    assert!(code == 0 || code == 5, "{text}");
    let tail = first.stage.task(&id).version;
    assert!(tail > server.head(task).version.0);
    first.lose();
    server.refuse_appends(false);

    let mut second = Machine::join("b", &server, Some(&first));
    let script = format!("cat TASK.md | give text\ngit add notes.txt\n{WORK}");
    second.stage.script("worker-1", &script);
    second.run();
    wait_for("the other machine", || {
        server.owner(task).as_deref() == Some("b")
    });
    wait_for("the work", || server.status(task) == "reviewing");
    let text = fs::read_to_string(second.stage.path("scripts/text")).unwrap();
    assert!(text.contains("It is in notes.txt."), "{text}");
    let branch = format!("orange-tasks/{id}");
    let range = format!("log --reverse --format=%s main..{branch}");
    assert_eq!(second.stage.git_output("repo", &range), "one\none");
    let file = format!("show {branch}:notes.txt");
    assert_eq!(second.stage.git_output("repo", &file), "unsaved");
    let commits = log(&server, &id);
    assert_eq!(commits[..acknowledged.len()], acknowledged);
    let here = second.stage.store().commits_of(&id, Version(0)).unwrap();
    assert_eq!(here[..commits.len()], commits);
    let moves = here.iter().flat_map(|it| &it.events);
    let moves = moves.filter(|it| it.as_str().contains("task.moved"));
    assert_eq!(moves.count(), 1);

    // The first machine comes back and is fenced.
    first.run();
    wait_for("the removal", || !first.has(&id));
    assert!(first.stage.panes().is_empty(), "{:?}", first.stage.panes());
    let [trash] = first.trash().try_into().unwrap();
    let history = fs::read_to_string(trash.join("history.jsonl")).unwrap();
    assert!(history.contains("only here"), "{history}");
    let rescues = first.stage.git_output(
        "repo",
        &format!("for-each-ref --format=%(refname) refs/orange/rescue/{task}"),
    );
    let rescue = rescues.lines().last().unwrap().to_owned();
    let saved = first
        .stage
        .git_output("repo", &format!("show {rescue}:notes.txt"));
    assert_eq!(saved, "unsaved");
    cancel(&server, &id);
    let lost = log(&server, &id);
    let texts = lost.iter().flat_map(|it| &it.events);
    assert!(
        !texts
            .into_iter()
            .any(|it| it.as_str().contains("only here"))
    );
}

#[test]
fn a_runner_that_is_killed_continues_with_its_agents_under_the_same_incarnation() {
    let server = LedgerServer::start();
    let (mut machine, id) = working(&server);
    let runner = orange_fleet::ids::RunnerId::new("a");
    let before = server.ledger().runners[&runner].incarnation;
    let panes = machine
        .stage
        .tmux(&["list-panes", "-a", "-F", "#{pane_pid}"]);
    let agent = ProcessIdentity::of(panes.trim().parse().unwrap()).unwrap();
    machine.kill_runner();
    machine.run();
    assert_eq!(agent.liveness(), Liveness::Alive);
    let task = id.as_str();
    machine.stage.script("never", "");
    machine
        .stage
        .script("worker-2", &format!("rm notes.txt\n{WORK}"));
    let (code, text) = machine
        .stage
        .call(&["task", "tell", task, "--message", "go on"]);
    // The message may still be on its way.
    assert!(code == 0 || code == 5, "{text}");
    wait_for("the work", || server.status(task) == "reviewing");
    assert_eq!(server.ledger().runners[&runner].incarnation, before);
    assert_eq!(machine.stage.store().runs(&id).unwrap().len(), 1);
    // The end of its work ends it.
    wait_for("the end of the agent", || {
        agent.liveness() == Liveness::Gone
    });
    cancel(&server, &id);
}

#[test]
fn a_second_runner_is_refused_and_a_drained_one_leaves() {
    let server = LedgerServer::start();
    let (mut machine, id) = working(&server);
    let (code, text) = machine.stage.call(&["runner", "run"]);
    assert_eq!(code, 3, "{text}");
    assert!(text.contains("runs it"), "{text}");
    let (code, text) = machine.stage.call(&["runner", "leave"]);
    assert_eq!(code, 3, "{text}");
    let (code, text) = machine.stage.call(&["runner", "drain"]);
    assert_eq!(code, 0, "{text}");
    cancel(&server, &id);
    let other = create_and_start(&server);
    wait_for("beats", || {
        let membership = machine.stage.store().membership().unwrap().unwrap();
        membership.link.tasks().is_empty()
    });
    assert_eq!(server.owner(other.as_str()), None);
    machine.kill_runner();
    let (code, text) = machine.stage.call(&["runner", "leave"]);
    assert_eq!(code, 0, "{text}");
    assert_eq!(machine.stage.store().membership().unwrap(), None);
    assert!(!machine.stage.path("home/runner/token").exists());
}

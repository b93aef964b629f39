//! Machines with real git and tmux, and a server.

#[cfg(feature = "crash-points")]
mod crashes;
mod freezing;
mod ledger_server;
mod machines;
mod real_server;
mod takeover;

use orange_engine::names::TaskId;
use orange_fleet::chain::{Commit, Head};
use orange_fleet::ids::{TaskId as FleetTaskId, Version};
use orange_fleet::ledger::MailState;

use crate::support::wait_for;
use ledger_server::LedgerServer;
use machines::{Machine, create};

/// The worker submits its work.
const WORK: &str = "\
commit one
echo 'DONE: a line' | section Handoff
ask task update --status reviewing
";

const START: &str = r#"{"kind":"verb","verb":"spawn"}"#;
const CANCEL: &str = r#"{"kind":"verb","verb":"cancel","confirmed":true}"#;

/// The log of a task, which must be a chain whose epochs never fall.
fn log(server: &LedgerServer, task: &TaskId) -> Vec<Commit> {
    let ledger = server.ledger();
    let record = &ledger.tasks[&FleetTaskId::new(task.as_str())];
    let commits: Vec<Commit> = record.log.iter().map(|it| it.commit.clone()).collect();
    let mut head = Head::default();
    for commit in &commits {
        assert!(commit.follows(head), "{commit:?}");
        head = commit.head();
    }
    let epochs = record.log.iter().map(|it| it.epoch);
    assert!(epochs.is_sorted());
    commits
}

/// Creates a task and asks for its start.
fn create_and_start(server: &LedgerServer) -> TaskId {
    let id = create(server, "Add a line");
    server.ask(id.as_str(), "start", START);
    id
}

/// Cancels a task by mail, and waits until no machine holds it.
fn cancel(server: &LedgerServer, id: &TaskId) {
    let task = id.as_str();
    let mail = server.ask(task, "cancel", CANCEL);
    wait_for("the decision", || server.mail(&mail) != MailState::Open);
    assert!(
        matches!(server.mail(&mail), MailState::Recorded(_)),
        "{:?}",
        server.mail(&mail)
    );
    wait_for("the end", || server.owner(task).is_none());
    assert_eq!(server.status(task), "cancelled");
}

#[test]
fn a_task_from_the_server_is_worked_on_and_decided_by_mail() {
    let server = LedgerServer::start();
    let mut machine = Machine::join("a", &server, None);
    machine.stage.script("worker-1", WORK);
    let id = create_and_start(&server);
    machine.run();
    wait_for("the work", || server.status(id.as_str()) == "reviewing");
    let nonsense = server.ask(id.as_str(), "k1", r#"{"kind":"format","disk":"/"}"#);
    wait_for("an answer", || server.mail(&nonsense) != MailState::Open);
    assert!(matches!(server.mail(&nonsense), MailState::Answered(_)));
    cancel(&server, &id);
    let commits = log(&server, &id);
    let store = machine.stage.store();
    assert_eq!(store.commits_of(&id, Version(0)).unwrap(), commits);
    let mail = commits.iter().filter(|it| it.request.is_some()).count();
    assert_eq!(mail, 2, "the start and the cancellation");
    // A home that has joined gets its tasks from the server.
    let (code, text) = machine.stage.call(&["task", "create", "mine"]);
    assert_eq!(code, 3, "{text}");
    assert!(text.contains("create the task at the server"), "{text}");
}

//! The runner is killed at each mark, and nothing acknowledged is lost.

use std::fs;

use orange_engine::names::TaskId;
use orange_fleet::chain::Commit;
use orange_fleet::ids::Version;

use super::ledger_server::LedgerServer;
use super::machines::Machine;
use super::{WORK, cancel, create_and_start, log};
use crate::support::{Stage, wait_for};

/// Kills the next process that reaches this mark.
fn die_at(stage: &Stage, mark: &str) {
    let folder = stage.path("home/crash-points");
    fs::create_dir_all(&folder).unwrap();
    let _absent = fs::remove_file(folder.join("reached"));
    fs::write(folder.join("orders"), format!("{mark}\n0\n")).unwrap();
}

fn live(stage: &Stage) {
    let _absent = fs::remove_file(stage.path("home/crash-points/orders"));
}

/// Whether the log is the beginning of what is here.
fn is_prefix(here: &[Commit], log: &[Commit]) -> bool {
    here.len() >= log.len() && here[..log.len()] == *log
}

fn local(machine: &Machine, id: &TaskId) -> Vec<Commit> {
    machine.stage.store().commits_of(id, Version(0)).unwrap()
}

#[test]
fn a_runner_that_dies_at_any_mark_of_claim_and_ship_continues() {
    each_mark(&[
        "after work has arrived",
        "after a task was taken over",
        "before the move of a task is recorded",
        "after the move of a task is recorded",
        "before commits are shipped",
        "before the answer to shipped commits is stored",
        "after the answer to shipped commits is stored",
    ]);
}

#[test]
fn a_runner_that_dies_at_any_mark_of_give_back_and_removal_continues() {
    each_mark(&[
        "before a task is given back",
        "before the answer to a task that was given back is stored",
        "after the agents of a removed task are killed",
        "after the worktree of a removed task is released",
        "after the directory of a removed task is in the trash",
    ]);
}

fn each_mark(marks: &[&str]) {
    for mark in marks {
        println!("{mark}");
        let server = LedgerServer::start();
        let mut machine = Machine::join("a", &server, None);
        machine.stage.script("worker-1", WORK);
        // Without a request the task is taken and given back, with it worked on.
        let id = super::create(&server, "Add a line");
        die_at(&machine.stage, mark);
        machine.run();
        if mark.contains("ship") {
            server.ask(id.as_str(), "start", super::START);
        }
        wait_for("the death", || machine.has_died());
        machine.kill_runner();
        let acknowledged = log(&server, &id);
        live(&machine.stage);
        machine.run();
        server.ask(id.as_str(), "start", super::START);
        wait_for("the work", || server.status(id.as_str()) == "reviewing");
        let whole = log(&server, &id);
        assert!(is_prefix(&whole, &acknowledged), "{mark}");
        assert!(is_prefix(&local(&machine, &id), &whole), "{mark}");
        let runs = machine.stage.store().runs(&id).unwrap();
        assert_eq!(runs.len(), 1, "{mark}");
        cancel(&server, &id);
    }
}

#[test]
fn a_machine_that_takes_a_task_over_may_die_at_any_mark() {
    for mark in [
        "after a task was taken over",
        "before the move of a task is recorded",
        "after the move of a task is recorded",
        "before the answer to shipped commits is stored",
    ] {
        println!("{mark}");
        let server = LedgerServer::start();
        let mut first = Machine::join("a", &server, None);
        first
            .stage
            .script("worker-1", "echo here | give begun\npause never\n");
        let id = create_and_start(&server);
        first.run();
        let begun = first.stage.path("scripts/begun");
        wait_for("the agent", || begun.exists());
        first.stage.wait_until_idle(&id);
        wait_for("everything in the log", || {
            server.head(id.as_str()).version.0 == first.stage.task(&id).version
        });
        first.lose();
        let acknowledged = log(&server, &id);
        let mut second = Machine::join("b", &server, Some(&first));
        second.stage.script("worker-1", WORK);
        die_at(&second.stage, mark);
        second.run();
        wait_for("the death", || second.has_died());
        second.kill_runner();
        live(&second.stage);
        second.run();
        wait_for("the work", || server.status(id.as_str()) == "reviewing");
        let whole = log(&server, &id);
        assert!(is_prefix(&whole, &acknowledged), "{mark}");
        let moves = whole.iter().flat_map(|it| &it.events);
        let moves = moves.filter(|it| it.as_str().contains("task.moved"));
        assert_eq!(moves.count(), 1, "{mark}");
        cancel(&server, &id);
    }
}

/// Starts a task while the log accepts nothing; returns whether an agent ran all the same.
fn starts_without_acknowledgement(is_gated: bool) -> bool {
    let server = LedgerServer::start();
    let mut machine = Machine::join("a", &server, None);
    machine.stage.script("worker-1", WORK);
    if !is_gated {
        fs::create_dir_all(machine.stage.path("home/crash-points")).unwrap();
        fs::write(machine.stage.path("home/crash-points/off"), "gate\n").unwrap();
    }
    let id = create_and_start(&server);
    server.refuse_appends(true);
    machine.run();
    let mut has_started = false;
    wait_for("a start, or one that waits", || {
        let store = machine.stage.store();
        let runs = store.runs(&id).unwrap_or_default();
        has_started = runs.iter().any(|it| it.place.is_some());
        let pending = store.pending(&id).unwrap_or_default();
        has_started || pending.iter().any(orange_store::Pending::is_gated)
    });
    let plans = log(&server, &id);
    let is_planned = plans
        .iter()
        .flat_map(|it| &it.events)
        .any(|it| it.as_str().contains("spawn_agent") || it.as_str().contains("\"spawn\""));
    assert!(!is_planned, "the log has no plan of a start");
    server.refuse_appends(false);
    wait_for("the work", || server.status(id.as_str()) == "reviewing");
    cancel(&server, &id);
    has_started
}

#[test]
fn no_agent_starts_before_the_log_has_its_plan_and_the_check_notices_one_that_does() {
    assert!(!starts_without_acknowledgement(true));
    assert!(starts_without_acknowledgement(false));
}

//! Notes by performers: runs, messages, gate commands.

use std::path::PathBuf;

use orange_engine::effect::EffectId;
use orange_engine::input::CommandResult;
use orange_engine::names::RunId;
use orange_engine::role::Role;
use orange_store::{
    GateCommand, GateResult, NewMessage, ProcessIdentity, RunPlace, RunSetup, StoreError,
};

use crate::sandbox::{RecordedTask, Sandbox, instant, minimal};

pub fn setup() -> RunSetup {
    RunSetup {
        argv: vec![String::from("agent"), String::from("-p\u{0}\"'$()\n")],
        environment: vec![String::from("PATH"), String::from("ORANGE_RUN_ID")],
        directory: PathBuf::from("/w/coffee--1"),
        secret_hash: "ab".repeat(32),
        at: instant(7),
    }
}

pub fn place() -> RunPlace {
    let process = |pid: u32| ProcessIdentity {
        pid,
        started: format!("tick {pid}"),
    };
    RunPlace {
        socket: PathBuf::from("/run/orange/tmux"),
        server: process(100),
        session: String::from("$3"),
        window: String::from("@7"),
        pane: String::from("%12"),
        process: process(4242),
        boot_id: String::from("boot"),
    }
}

#[test]
fn a_run_is_noted_before_and_after_it_starts() {
    let sandbox = Sandbox::new();
    let mut store = sandbox.store();
    let workflow = minimal();
    let mut recorded = RecordedTask::begin(&mut store, &workflow);
    recorded.world.move_to(Role::Human, "working");
    recorded.catch_up(&mut store).unwrap();
    let id = recorded.world.task.id.clone();
    let run = recorded.world.task.runs[&Role::Worker].id.clone();
    store.set_run_setup(&id, &run, &setup()).unwrap();
    store.set_run_place(&id, &run, &place()).unwrap();
    let found = store.runs(&id).unwrap().remove(0);
    assert_eq!(found.setup, Some(setup()));
    assert_eq!(found.place, Some(place()));
    // A start that began is recorded although it was cancelled.
    recorded.world.move_to(Role::Human, "cancelled");
    recorded.catch_up(&mut store).unwrap();
    assert_eq!(store.runs(&id).unwrap().len(), 1);
    let unknown = store.set_run_place(&id, &RunId::new("nobody"), &place());
    assert!(matches!(unknown, Err(StoreError::UnknownRun { .. })));
}

#[test]
fn a_message_is_written_once_per_effect_and_read_once() {
    let sandbox = Sandbox::new();
    let mut store = sandbox.store();
    let workflow = minimal();
    let id = RecordedTask::begin(&mut store, &workflow).world.task.id;
    let text = "first\nline 2; `$(x)` \u{0} 🍊";
    let message = |effect: Option<u64>, at| NewMessage {
        to: Role::Worker,
        from: Role::Human,
        text,
        effect: effect.map(EffectId),
        at: instant(at),
    };
    let first = store.write_message(&id, &message(Some(4), 1)).unwrap();
    assert_eq!(
        store.write_message(&id, &message(Some(4), 2)).unwrap(),
        first
    );
    let second = store.write_message(&id, &message(None, 3)).unwrap();
    let third = store.write_message(&id, &message(None, 3)).unwrap();
    assert!(first < second && second < third);
    assert_eq!(
        store
            .mark_read(&id, &Role::Reviewer, third, instant(5))
            .unwrap(),
        0
    );
    assert_eq!(
        store
            .mark_read(&id, &Role::Worker, second, instant(5))
            .unwrap(),
        2
    );
    assert_eq!(
        store
            .mark_read(&id, &Role::Worker, second, instant(6))
            .unwrap(),
        0
    );
    let inbox = store.inbox(&id).unwrap();
    assert_eq!(inbox.len(), 3);
    assert_eq!(inbox[0].text, text);
    assert_eq!(inbox[0].written_at, instant(1));
    assert_eq!(inbox[1].read_at, Some(instant(5)));
    assert_eq!(inbox[2].read_at, None);
}

#[test]
fn a_gate_command_result_is_used_once_and_for_its_status() {
    let sandbox = Sandbox::new();
    let mut store = sandbox.store();
    let workflow = minimal();
    let id = RecordedTask::begin(&mut store, &workflow).world.task.id;
    let command = vec![String::from("cargo"), String::from("te\"st")];
    let wanted = |entered| GateCommand {
        command: command.clone(),
        entered,
        timeout: 60,
        answer: None,
    };
    let answer = GateResult {
        result: CommandResult::Exited(1),
        state: String::from("abc"),
    };
    store
        .request_gate_command(&id, &wanted(3), instant(1))
        .unwrap();
    store
        .request_gate_command(&id, &wanted(3), instant(2))
        .unwrap();
    assert_eq!(store.gate_commands(&id).unwrap(), [wanted(3)]);

    // For another status it is requested again, and the old command's result does not count.
    store
        .request_gate_command(&id, &wanted(9), instant(3))
        .unwrap();
    store.record_gate_result(&id, &wanted(3), &answer).unwrap();
    assert_eq!(store.gate_commands(&id).unwrap(), [wanted(9)]);

    store.record_gate_result(&id, &wanted(9), &answer).unwrap();
    let mut answered = wanted(9);
    answered.answer = Some(answer.clone());
    assert_eq!(store.gate_commands(&id).unwrap(), [answered.clone()]);
    assert_eq!(
        store.claim_gate_command(&id, &command).unwrap(),
        Some(answered)
    );
    assert_eq!(store.claim_gate_command(&id, &command).unwrap(), None);
    assert_eq!(store.gate_commands(&id).unwrap(), []);
}

//! Rebuilding: what is tolerated, what is reported, what is kept.

use std::fs;

use orange_engine::names::{ProjectName, TaskId, WorkspaceName};
use orange_engine::role::Role;
use orange_store::{
    NewMessage, PendingProgress, StoreError, WorkspaceState, bind, project, rebuild,
};

use crate::fixtures::{World, new_task};
use crate::notes;
use crate::sandbox::{RecordedTask, Sandbox, instant, minimal, nudge};

fn delete_database(sandbox: &Sandbox) {
    for suffix in ["", "-wal", "-shm"] {
        let _ = fs::remove_file(format!("{}{suffix}", sandbox.home.database().display()));
    }
}

#[test]
fn a_working_task_comes_back_with_runs_messages_and_workspace() {
    let sandbox = Sandbox::new();
    let mut store = sandbox.store();
    let workflow = minimal();
    let mut recorded = RecordedTask::begin(&mut store, &workflow);
    let id = recorded.world.task.id.clone();
    let (project_name, slot) = (ProjectName::new("coffee"), WorkspaceName::new("coffee--1"));
    let worktree = sandbox.worktree();
    store
        .add_workspace(&slot, &project_name, 1, &worktree)
        .unwrap();
    recorded.world.move_to(Role::Human, "working");
    recorded.catch_up(&mut store).unwrap();
    let run = recorded.world.task.runs[&Role::Worker].id.clone();
    store.set_run_setup(&id, &run, &notes::setup()).unwrap();
    store.set_run_place(&id, &run, &notes::place()).unwrap();
    recorded.world.settle();
    recorded.catch_up(&mut store).unwrap();
    project(&mut store, &id, instant(1)).unwrap();
    bind(&mut store, &id, &worktree.join("TASK.md"), instant(2)).unwrap();
    let message = NewMessage {
        to: Role::Worker,
        from: Role::Human,
        text: "hello",
        effect: None,
        at: instant(3),
    };
    store.write_message(&id, &message).unwrap();
    project(&mut store, &id, instant(1)).unwrap();
    let before = (
        store.runs(&id).unwrap(),
        store.inbox(&id).unwrap(),
        store.workspaces(&project_name).unwrap(),
    );
    assert_eq!(before.2[0].state, WorkspaceState::Bound(id.clone()));
    drop(store);
    delete_database(&sandbox);

    let report = rebuild(&sandbox.home).unwrap();
    assert_eq!(report.tasks[0].remarks, Vec::<String>::new());
    assert_eq!(report.old_database, None);
    let store = sandbox.store();
    let after = (
        store.runs(&id).unwrap(),
        store.inbox(&id).unwrap(),
        store.workspaces(&project_name).unwrap(),
    );
    assert_eq!(after, before);
    assert_eq!(store.require(&id).unwrap().task, recorded.world.task);
}

#[test]
fn events_after_the_last_projection_are_lost_and_reported() {
    let sandbox = Sandbox::new();
    let mut store = sandbox.store();
    let workflow = minimal();
    let id = RecordedTask::begin(&mut store, &workflow).world.task.id;
    project(&mut store, &id, instant(1)).unwrap();
    nudge(&mut store, &id);
    drop(store);
    // A truncated line is lost as well.
    let history = sandbox.task_directory().join("history.jsonl");
    let mut text = fs::read_to_string(&history).unwrap();
    text.push_str("{\"sequence\":3,\"version\":3,\"at\":");
    fs::write(&history, &text).unwrap();
    let report = rebuild(&sandbox.home).unwrap();
    assert_eq!(report.tasks[0].version, 2);
    assert!(report.tasks[0].remarks[0].contains("cut short"));
    // The old database is kept next to the new one.
    let old = report.old_database.unwrap();
    assert!(old.exists());
    let mut store = sandbox.store();
    assert_eq!(store.require(&id).unwrap().task.version, 2);
    let task = nudge(&mut store, &id);
    project(&mut store, &id, instant(1)).unwrap();
    assert_eq!(task.version, 3);
    let kept = rusqlite::Connection::open(&old).unwrap();
    let version: u64 = kept
        .query_row("SELECT version FROM tasks", [], |row| row.get(0))
        .unwrap();
    assert_eq!(version, 3);
    // Rebuilding once more keeps both.
    drop(store);
    let again = rebuild(&sandbox.home).unwrap().old_database.unwrap();
    assert!(old.exists() && again.exists() && old != again);
}

#[test]
fn a_directory_that_cannot_be_read_is_reported_and_left_alone() {
    let sandbox = Sandbox::new();
    let mut store = sandbox.store();
    let workflow = minimal();
    let id = RecordedTask::begin(&mut store, &workflow).world.task.id;
    project(&mut store, &id, instant(1)).unwrap();
    let mut other = new_task("Another", None);
    other.branch = orange_engine::names::BranchName::new("another");
    other.id = TaskId::new("zzzz");
    let other = World::create(&workflow, &other).unwrap();
    let other = RecordedTask::of(&mut store, other).world.task.id;
    project(&mut store, &other, instant(1)).unwrap();
    drop(store);
    delete_database(&sandbox);
    let tasks = sandbox.home.tasks().join("coffee");
    fs::create_dir_all(tasks.join("empty")).unwrap();
    fs::create_dir_all(tasks.join("copy")).unwrap();
    for file in ["history.jsonl", "workflow.yml"] {
        fs::copy(tasks.join("zzzz").join(file), tasks.join("copy").join(file)).unwrap();
    }
    let history = tasks.join("k3f9/history.jsonl");
    let damaged = fs::read_to_string(&history)
        .unwrap()
        .replacen("version", "vers", 1);
    fs::write(&history, &damaged).unwrap();

    let report = rebuild(&sandbox.home).unwrap();
    let restored: Vec<_> = report.tasks.iter().map(|task| task.task.as_str()).collect();
    assert_eq!(restored, ["zzzz"]);
    let skipped: Vec<_> = report
        .skipped
        .iter()
        .map(|skipped| {
            (
                skipped.path.file_name().unwrap().to_str().unwrap(),
                skipped.reason.clone(),
            )
        })
        .collect();
    assert_eq!(skipped.len(), 3, "{skipped:?}");
    assert!(
        skipped[0].0 == "copy" && skipped[0].1.contains("`zzzz`"),
        "{skipped:?}"
    );
    assert!(skipped[1].0 == "empty" && skipped[1].1.contains("workflow.yml"));
    assert!(skipped[2].0 == "k3f9" && skipped[2].1.contains("line 1"));
    assert_eq!(fs::read_to_string(&history).unwrap(), damaged);
    let store = sandbox.store();
    assert!(store.load(&id).unwrap().is_none());
    assert!(
        store
            .pending(&other)
            .unwrap()
            .iter()
            .all(|pending| pending.mark == PendingProgress::Waiting)
    );
}

#[test]
fn a_store_with_the_old_database_open_reports_it() {
    let sandbox = Sandbox::new();
    let mut store = sandbox.store();
    let workflow = minimal();
    let id = RecordedTask::begin(&mut store, &workflow).world.task.id;
    project(&mut store, &id, instant(1)).unwrap();
    rebuild(&sandbox.home).unwrap();
    let message = NewMessage {
        to: Role::Worker,
        from: Role::Human,
        text: "late",
        effect: None,
        at: instant(3),
    };
    let late = store.write_message(&id, &message);
    assert!(matches!(late, Err(StoreError::Replaced { .. })));
    drop(store);
    // Closing the old database does not remove the log of the new one.
    let mut store = sandbox.store();
    store.write_message(&id, &message).unwrap();
    assert_eq!(sandbox.store().inbox(&id).unwrap().len(), 1);
}

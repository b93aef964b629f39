//! A task that another machine held continues here, without its workspace.

use std::fs;
use std::io::Write as _;

use orange_engine::effect::{Effect, EffectOutcome};
use orange_engine::event::{Event, Fact};
use orange_engine::format::FORMAT;
use orange_engine::input::{Cause, Observation};
use orange_engine::names::{ProjectName, TaskId, WorkspaceName};
use orange_engine::role::Role;
use orange_engine::task::Workspace;
use orange_store::{
    Commit, CommitOutcome, PendingProgress, ReplayedTask, StartAnswer, Store, StoreError,
    WorkspaceState, project, rebuild,
};
use rusqlite::Connection;

use crate::fixtures::{World, document, load_clean};
use crate::sandbox::{RecordedTask, Sandbox, instant, minimal, nudge, source};

const SLOT: &str = "coffee--1";

fn replayed<'a>(world: &'a World<'_>) -> ReplayedTask<'a> {
    ReplayedTask {
        events: &world.events,
        workflow_text: source(world.workflow),
        document: None,
    }
}

/// A store with a free workspace of the name that the other machine used.
fn with_slot(sandbox: &Sandbox) -> Store {
    let mut store = sandbox.store();
    let (project, slot) = (ProjectName::new("coffee"), WorkspaceName::new(SLOT));
    let worktree = sandbox.worktree();
    store.add_workspace(&slot, &project, 1, &worktree).unwrap();
    store
}

fn slot(store: &Store) -> WorkspaceState {
    let slots = store.workspaces(&ProjectName::new("coffee")).unwrap();
    slots[0].state.clone()
}

/// Records what was decided here since `version`.
fn record(store: &mut Store, task: &TaskId, version: u64, events: &[Event]) {
    let commit = Commit {
        task,
        version,
        events,
        document: None,
        reserve: None,
        limits: None,
        workflow_text: None,
    };
    let answer = store.record(&commit).unwrap();
    assert!(matches!(answer, CommitOutcome::Recorded(_)), "{answer:?}");
}

#[test]
fn a_workspace_of_the_same_name_is_bound_only_once_it_is_acquired_here() {
    let workflow = minimal();
    let mut world = World::begin(&workflow);
    world.move_to(Role::Human, "working");
    world.settle();
    assert_eq!(
        world.task.workspace,
        Workspace::Bound(WorkspaceName::new(SLOT))
    );
    let sandbox = Sandbox::new();
    let mut store = with_slot(&sandbox);
    let id = world.task.id.clone();
    assert_eq!(
        store.insert_replayed(&replayed(&world)).unwrap(),
        world.task
    );
    assert_eq!(store.require(&id).unwrap().task, world.task);
    assert_eq!(slot(&store), WorkspaceState::Free);
    let runs = store.runs(&id).unwrap();
    assert_eq!(runs.len(), 1);
    assert_eq!(runs[0].place, None);

    let version = world.task.version;
    world.observe(Observation::Moved);
    let start = usize::try_from(version).unwrap();
    record(&mut store, &id, version, &world.events[start..]);
    assert_eq!(slot(&store), WorkspaceState::Free);
    let runs = store.runs(&id).unwrap();
    assert!(runs[0].ended_at.is_some() && runs[1].ended_at.is_none());
    let pending = store.pending(&id).unwrap();
    let effects: Vec<_> = pending.iter().map(|it| &it.planned.effect).collect();
    assert!(
        matches!(
            effects[..],
            [Effect::AcquireWorkspace { restore: true }, Effect::Spawn(_)]
        ),
        "{effects:?}"
    );

    let version = world.task.version;
    world.step(Cause::Observation(Observation::EffectDone {
        effect: pending[0].planned.id,
        outcome: EffectOutcome::Bound(WorkspaceName::new(SLOT)),
    }));
    let start = usize::try_from(version).unwrap();
    record(&mut store, &id, version, &world.events[start..]);
    assert_eq!(slot(&store), WorkspaceState::Bound(id.clone()));
    assert_eq!(store.require(&id).unwrap().task, world.task);

    // What this machine recorded is not undone by a repetition of what it took over.
    let earlier = ReplayedTask {
        events: &world.events[..start],
        ..replayed(&world)
    };
    assert_eq!(store.insert_replayed(&earlier).unwrap(), world.task);
    assert_eq!(slot(&store), WorkspaceState::Bound(id));
}

#[test]
fn repeating_changes_nothing_and_a_task_that_returns_gets_what_it_lacks() {
    let workflow = minimal();
    let mut world = World::begin(&workflow);
    let sandbox = Sandbox::new();
    let mut store = with_slot(&sandbox);
    store.insert_replayed(&replayed(&world)).unwrap();
    let before = store.sequence().unwrap();
    store.insert_replayed(&replayed(&world)).unwrap();
    assert_eq!(store.sequence().unwrap(), before);
    world.move_to(Role::Human, "working");
    world.settle();
    assert_eq!(
        store.insert_replayed(&replayed(&world)).unwrap(),
        world.task
    );
    let events = store.events(&world.task.id, 0).unwrap();
    let events: Vec<Event> = events.into_iter().map(|it| it.event).collect();
    assert_eq!(events, world.events);
    assert_eq!(slot(&store), WorkspaceState::Free);
    assert_eq!(
        store
            .rows(&orange_store::RowFilter::default())
            .unwrap()
            .rows
            .len(),
        1
    );
}

#[test]
fn another_history_of_the_same_id_is_refused_and_nothing_changes() {
    let workflow = minimal();
    let sandbox = Sandbox::new();
    let mut store = sandbox.store();
    let mut recorded = RecordedTask::begin(&mut store, &workflow);
    let mut other = recorded.world.clone();
    recorded.world.move_to(Role::Human, "working");
    recorded.catch_up(&mut store).unwrap();
    other.observe(Observation::AttentionNeeded {
        reason: String::from("something else"),
    });
    let before = (
        store.sequence().unwrap(),
        store.events(&other.task.id, 0).unwrap(),
    );
    let refused = store.insert_replayed(&replayed(&other)).unwrap_err();
    assert!(
        matches!(refused, StoreError::AnotherHistory { version: 3, .. }),
        "{refused}"
    );
    assert!(!refused.hints().is_empty());
    let after = (
        store.sequence().unwrap(),
        store.events(&other.task.id, 0).unwrap(),
    );
    assert_eq!(after, before);
    // A history with a gap is refused as a whole.
    let mut gap = World::begin(&workflow);
    gap.task.id = TaskId::new("x1x1");
    if let Fact::TaskCreated(created) = &mut gap.events[0].fact {
        created.id = TaskId::new("x1x1");
    }
    gap.observe(Observation::Moved);
    gap.events.remove(1);
    gap.observe(Observation::Moved);
    assert!(store.insert_replayed(&replayed(&gap)).is_err());
    assert_eq!(store.load(&TaskId::new("x1x1")).unwrap(), None);
}

#[test]
fn a_task_that_still_has_a_workspace_here_is_not_extended() {
    let workflow = minimal();
    let sandbox = Sandbox::new();
    let mut store = with_slot(&sandbox);
    let mut recorded = RecordedTask::begin(&mut store, &workflow);
    recorded.world.move_to(Role::Human, "working");
    recorded.world.settle();
    recorded.catch_up(&mut store).unwrap();
    let id = recorded.world.task.id.clone();
    assert_eq!(slot(&store), WorkspaceState::Bound(id.clone()));
    let mut elsewhere = recorded.world.clone();
    elsewhere.observe(Observation::Moved);
    let refused = store.insert_replayed(&replayed(&elsewhere)).unwrap_err();
    assert!(
        matches!(refused, StoreError::StillBound { .. }),
        "{refused}"
    );
    assert_eq!(store.require(&id).unwrap().task, recorded.world.task);
}

#[test]
fn an_effect_that_must_not_happen_twice_may_have_begun_on_the_other_machine() {
    let text = source(&minimal()).replacen(
        "      - { action: acquire_workspace, restore: true }\n",
        "      - { action: acquire_workspace, restore: true }\n      - { action: run_command, command: [\"true\"] }\n",
        1,
    );
    let workflow = load_clean(&text);
    let mut world = World::begin(&workflow);
    world.move_to(Role::Human, "working");
    let acquisition = world.task.pending[0].planned.id;
    world.observe(Observation::EffectDone {
        effect: acquisition,
        outcome: EffectOutcome::Bound(WorkspaceName::new(SLOT)),
    });
    let sandbox = Sandbox::new();
    let mut store = with_slot(&sandbox);
    let replayed = ReplayedTask {
        events: &world.events,
        workflow_text: &text,
        document: Some(&document("# kept\n")),
    };
    store.insert_replayed(&replayed).unwrap();
    let id = world.task.id.clone();
    let version = world.task.version;
    world.observe(Observation::Moved);
    let start = usize::try_from(version).unwrap();
    record(&mut store, &id, version, &world.events[start..]);
    let pending = store.pending(&id).unwrap();
    let command = &pending[0];
    assert!(matches!(command.planned.effect, Effect::RunCommand { .. }));
    assert!(matches!(command.mark, PendingProgress::Started { .. }));
    let answer = store
        .start_effect(&id, command.planned.id, "me", instant(9))
        .unwrap();
    let expected = "another machine";
    assert!(
        matches!(&answer, StartAnswer::Interrupted { by, .. } if by == expected),
        "{answer:?}"
    );
    // All others may be performed.
    for later in &pending[1..] {
        assert_eq!(later.mark, PendingProgress::Waiting);
    }
    assert_eq!(store.last_import(&id).unwrap().unwrap().text, "# kept\n");
}

fn newer_event(version: u64) -> String {
    let format = FORMAT + 1;
    format!(
        r#"{{"sequence":9,"version":{version},"at":"2026-01-01T00:00:00.000Z","format":{format},"type":"task.teleported"}}"#
    )
}

#[test]
fn events_of_a_newer_format_are_named_as_such() {
    let workflow = minimal();
    let sandbox = Sandbox::new();
    let mut store = sandbox.store();
    let recorded = RecordedTask::begin(&mut store, &workflow);
    let id = recorded.world.task.id.clone();
    let database = Connection::open(sandbox.home.database()).unwrap();
    let sql = "INSERT INTO events (task, version, sequence, at, event) VALUES (?1, 9, 9, '', ?2)";
    database
        .execute(sql, [id.as_str(), &newer_event(9)])
        .unwrap();
    let refused = store.events(&id, 0).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "cannot read the history of task `k3f9`: it needs event format 3, but this version of \
         orange reads formats up to 2"
    );
    let hints = refused.hints();
    assert!(
        hints.iter().all(|hint| !hint.contains("rebuild")),
        "{hints:?}"
    );
}

#[test]
fn a_rebuild_does_not_take_a_newer_event_for_a_torn_line() {
    let workflow = minimal();
    let sandbox = Sandbox::new();
    let mut store = sandbox.store();
    let recorded = RecordedTask::begin(&mut store, &workflow);
    let id = recorded.world.task.id.clone();
    let task = nudge(&mut store, &id);
    project(&mut store, &id, instant(1)).unwrap();
    drop(store);
    let history = sandbox.task_directory().join("history.jsonl");
    let mut file = fs::OpenOptions::new().append(true).open(history).unwrap();
    writeln!(file, "{}", newer_event(task.version + 1)).unwrap();
    for suffix in ["", "-wal", "-shm"] {
        let _ = fs::remove_file(format!("{}{suffix}", sandbox.home.database().display()));
    }
    let report = rebuild(&sandbox.home).unwrap();
    assert!(report.tasks.is_empty());
    let reason = &report.skipped[0].reason;
    assert!(reason.contains("it needs event format 3"), "{reason}");
}

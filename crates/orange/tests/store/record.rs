//! Recording: one transaction, everything derived from the events.

use orange_engine::event::{Event, Fact};
use orange_engine::evidence::Evidence;
use orange_engine::input::Observation;
use orange_engine::names::{ProjectName, TaskId, WorkspaceName};
use orange_engine::role::Role;
use orange_engine::task::{PendingState, Task};
use orange_store::{
    Commit, CommitOutcome, Creation, PendingProgress, Reservation, StartAnswer, StoreError,
    TaskFilter, WorkspaceState,
};

use crate::fixtures::{World, document, new_task, shipped_workflow, status};
use crate::sandbox::{RecordedTask, Sandbox, instant, minimal, source};

fn attention(task: &Task) -> Event {
    Event {
        version: task.version + 1,
        at: instant(9),
        fact: Fact::AttentionRaised {
            reason: format!("version {}", task.version),
        },
    }
}

fn plain_commit(task: &Task, events: &[Event]) -> Commit<'static> {
    Commit {
        task: Box::leak(Box::new(task.id.clone())),
        version: task.version,
        events: Box::leak(events.to_vec().into_boxed_slice()),
        document: None,
        reserve: None,
        limits: None,
        workflow_text: None,
    }
}

#[test]
fn a_task_reads_back_with_its_workflow_and_events() {
    let sandbox = Sandbox::new();
    let mut store = sandbox.store();
    let workflow = shipped_workflow("default");
    let mut recorded_task = RecordedTask::begin(&mut store, &workflow);
    recorded_task.world.move_to(Role::Human, "planning");
    let recorded = recorded_task.catch_up(&mut store).unwrap();
    let loaded = store.require(&recorded_task.world.task.id).unwrap();
    assert_eq!(loaded.task, recorded_task.world.task);
    assert_eq!(loaded.workflow_text, source(&workflow));
    assert_eq!(loaded.sequence, recorded.sequence);
    assert!(loaded.directory.ends_with("tasks/coffee/k3f9"));
    let events = store.events(&recorded_task.world.task.id, 0).unwrap();
    let events: Vec<_> = events.into_iter().map(|recorded| recorded.event).collect();
    assert_eq!(events, recorded_task.world.events);
    assert!(store.load(&TaskId::new("nobody")).unwrap().is_none());
}

#[test]
fn a_stale_version_changes_nothing() {
    let sandbox = Sandbox::new();
    let mut store = sandbox.store();
    let workflow = minimal();
    let recorded = RecordedTask::begin(&mut store, &workflow);
    let first = recorded.world.task.clone();
    let commit = plain_commit(&first, &[attention(&first)]);
    assert!(matches!(
        store.record(&commit).unwrap(),
        CommitOutcome::Recorded(_)
    ));
    let before = (store.sequence().unwrap(), store.require(&first.id).unwrap());
    let version = first.version + 1;
    assert_eq!(
        store.record(&commit).unwrap(),
        CommitOutcome::Stale { version }
    );
    let after = (store.sequence().unwrap(), store.require(&first.id).unwrap());
    assert_eq!(before, after);
}

#[test]
fn an_id_is_used_once() {
    let sandbox = Sandbox::new();
    let mut store = sandbox.store();
    let workflow = minimal();
    let recorded = RecordedTask::begin(&mut store, &workflow);
    let again = store.create(&Creation {
        events: &recorded.world.events,
        workflow_text: source(&workflow),
        document: None,
        issue_text: None,
    });
    assert!(matches!(again, Err(StoreError::DuplicateTask { .. })));
}

#[test]
fn events_that_do_not_follow_are_refused_whole() {
    let sandbox = Sandbox::new();
    let mut store = sandbox.store();
    let workflow = minimal();
    let recorded = RecordedTask::begin(&mut store, &workflow);
    let task = recorded.world.task.clone();
    let good = attention(&task);
    let mut gap = good.clone();
    gap.version += 2;
    let refused = store.record(&plain_commit(&task, &[good, gap]));
    assert!(matches!(refused, Err(StoreError::VersionGap { .. })));
    let mut second_birth = recorded.world.events[0].clone();
    second_birth.version = task.version + 1;
    let refused = store.record(&plain_commit(&task, &[second_birth]));
    assert!(matches!(refused, Err(StoreError::FirstEventInvalid(_))));
    assert_eq!(store.require(&task.id).unwrap().task, task);
    assert_eq!(
        store.events(&task.id, 0).unwrap().len(),
        recorded.world.events.len()
    );
}

#[test]
fn every_commit_has_one_number_and_readers_follow_it() {
    let sandbox = Sandbox::new();
    let mut store = sandbox.store();
    let workflow = minimal();
    let mut recorded_task = RecordedTask::begin(&mut store, &workflow);
    let created = store.sequence().unwrap();
    recorded_task.world.move_to(Role::Human, "working");
    let recorded = recorded_task.catch_up(&mut store).unwrap();
    assert_eq!(recorded.sequence, created + 1);
    let since = store.events_since(created).unwrap();
    assert!(since.len() > 1);
    assert!(
        since
            .iter()
            .all(|event| event.sequence == recorded.sequence)
    );
    let listing = store.list(&TaskFilter::default()).unwrap();
    assert_eq!(listing.sequence, recorded.sequence);
    assert_eq!(listing.tasks[0].task, recorded_task.world.task);
    let filter = |project: &str, at: &str| TaskFilter {
        project: Some(ProjectName::new(project)),
        status: Some(status(at)),
    };
    let count = |filter| store.list(&filter).unwrap().tasks.len();
    assert_eq!(count(filter("coffee", "working")), 1);
    assert_eq!(count(filter("coffee", "pending")), 0);
    assert_eq!(count(filter("tea", "working")), 0);
}

#[test]
fn pending_effects_are_those_of_the_task() {
    let sandbox = Sandbox::new();
    let mut store = sandbox.store();
    let workflow = minimal();
    let mut recorded = RecordedTask::begin(&mut store, &workflow);
    recorded.world.move_to(Role::Human, "working");
    recorded.catch_up(&mut store).unwrap();
    let id = recorded.world.task.id.clone();
    let shown = |store: &orange_store::Store| -> Vec<_> {
        let all = store.pending(&id).unwrap();
        all.into_iter()
            .map(|pending| (pending.planned, pending.mark))
            .collect()
    };
    let expected: Vec<_> = recorded
        .world
        .task
        .pending
        .iter()
        .map(|pending| (pending.planned.clone(), PendingProgress::Waiting))
        .collect();
    assert_eq!(expected.len(), 2);
    assert_eq!(shown(&store), expected);

    // The first fails permanently, which stops the second.
    let effect = expected[0].0.id;
    let error = String::from("no disk");
    recorded.world.observe(Observation::EffectFailed {
        effect,
        error,
        feedback: None,
    });
    recorded.catch_up(&mut store).unwrap();
    for pending in store.pending(&id).unwrap() {
        let engine = recorded
            .world
            .task
            .pending_effect(pending.planned.id)
            .unwrap();
        let mark = match &engine.state {
            PendingState::Waiting => PendingProgress::Waiting,
            PendingState::Failed { .. } => PendingProgress::Failed,
            PendingState::Stopped => PendingProgress::Stopped,
        };
        assert_eq!(pending.mark, mark);
    }
}

#[test]
fn runs_follow_the_events() {
    let sandbox = Sandbox::new();
    let mut store = sandbox.store();
    let workflow = minimal();
    let mut recorded = RecordedTask::begin(&mut store, &workflow);
    recorded.world.move_to(Role::Human, "working");
    recorded.catch_up(&mut store).unwrap();
    let id = recorded.world.task.id.clone();
    let run = recorded.world.task.runs[&Role::Worker].id.clone();
    let runs = store.runs(&id).unwrap();
    assert_eq!(runs.len(), 1);
    assert_eq!((&runs[0].id, &runs[0].role), (&run, &Role::Worker));
    assert!(runs[0].setup.is_none() && runs[0].ended_at.is_none());
    recorded.world.settle();
    recorded
        .world
        .ends(&Role::Worker, Evidence::Signal { signal: 9 });
    recorded.catch_up(&mut store).unwrap();
    let runs = store.runs_named(&run).unwrap();
    assert_eq!(runs[0].evidence, Some(Evidence::Signal { signal: 9 }));
    assert!(runs[0].ended_at.is_some());
}

#[test]
fn a_cancelled_start_that_never_began_leaves_no_run() {
    let sandbox = Sandbox::new();
    let mut store = sandbox.store();
    let workflow = minimal();
    let mut recorded = RecordedTask::begin(&mut store, &workflow);
    recorded.world.move_to(Role::Human, "working");
    recorded.catch_up(&mut store).unwrap();
    let id = recorded.world.task.id.clone();
    assert_eq!(store.runs(&id).unwrap().len(), 1);
    recorded.world.move_to(Role::Human, "cancelled");
    recorded.catch_up(&mut store).unwrap();
    assert_eq!(store.runs(&id).unwrap(), []);
}

#[test]
fn a_workspace_is_reserved_bound_and_freed_with_the_commits() {
    let sandbox = Sandbox::new();
    let mut store = sandbox.store();
    let workflow = minimal();
    let mut recorded = RecordedTask::begin(&mut store, &workflow);
    let id = recorded.world.task.id.clone();
    let text = document("## Handoff\n");
    let plain = |task: &Task, events: &[Event]| Commit {
        document: Some(Box::leak(Box::new(text.clone()))),
        ..plain_commit(task, events)
    };
    let (project, name) = (ProjectName::new("coffee"), WorkspaceName::new("coffee--1"));
    let path = sandbox.home.path().join("workspaces/coffee--1");
    store.add_workspace(&name, &project, 1, &path).unwrap();
    let state = |store: &orange_store::Store| store.workspaces(&project).unwrap()[0].state.clone();
    assert_eq!(state(&store), WorkspaceState::Free);

    let task = recorded.world.task.clone();
    recorded.world.move_to(Role::Human, "working");
    let new = &recorded.world.events[usize::try_from(task.version).unwrap()..];
    let commit = Commit {
        reserve: Some(&name),
        limits: None,
        workflow_text: None,
        ..plain(&task, new)
    };
    assert!(matches!(
        store.record(&commit).unwrap(),
        CommitOutcome::Recorded(_)
    ));
    assert_eq!(state(&store), WorkspaceState::Reserved(id.clone()));

    // Another task cannot have it, and that task's own commit does not happen either.
    let mut other = new_task("Another", None);
    other.branch = orange_engine::names::BranchName::new("another");
    other.id = TaskId::new("zzzz");
    let other = World::create(&workflow, &other).unwrap();
    let other = RecordedTask::of(&mut store, other).world.task;
    let commit = Commit {
        reserve: Some(&name),
        limits: None,
        workflow_text: None,
        ..plain(&other, &[attention(&other)])
    };
    let by = Some(id.clone());
    assert_eq!(
        store.record(&commit).unwrap(),
        CommitOutcome::Taken { by: by.clone() }
    );
    assert_eq!(store.require(&other.id).unwrap().task, other);
    assert_eq!(
        store.reserve_workspace(&name, &other.id).unwrap(),
        Reservation::Taken { by }
    );

    let done = recorded.world.events.len();
    let task = recorded.world.task.clone();
    recorded.world.settle();
    let bound = plain(&task, &recorded.world.events[done..]);
    store.record(&bound).unwrap();
    assert_eq!(state(&store), WorkspaceState::Bound(id.clone()));
    assert_eq!(store.workspace_of(&id).unwrap().unwrap().path, path);

    let (done, task) = (recorded.world.events.len(), recorded.world.task.clone());
    recorded.world.move_to(Role::Human, "cancelled");
    recorded.world.settle();
    let released = plain(&task, &recorded.world.events[done..]);
    store.record(&released).unwrap();
    assert_eq!(state(&store), WorkspaceState::Free);
    assert!(store.workspace_of(&id).unwrap().is_none());

    store.retire_workspace(&name).unwrap();
    let taken = store.reserve_workspace(&name, &other.id).unwrap();
    assert_eq!(taken, Reservation::Taken { by: None });
    let found = store.workspaces(&other.project).unwrap();
    let retired = found.iter().find(|it| it.name == name).unwrap();
    assert!(store.free_workspace(retired).unwrap());
    assert_eq!(
        store.reserve_workspace(&name, &other.id).unwrap(),
        Reservation::Reserved
    );
    // A listing from before another task got it cannot release it.
    assert!(!store.free_workspace(retired).unwrap());
    assert_eq!(state(&store), WorkspaceState::Reserved(other.id));
}

#[test]
fn every_import_is_kept_with_its_author() {
    let sandbox = Sandbox::new();
    let mut store = sandbox.store();
    let workflow = minimal();
    let mut recorded = RecordedTask::begin(&mut store, &workflow);
    let id = recorded.world.task.id.clone();
    recorded.world.write(&[("## Handoff", "DONE: a")]);
    let text = recorded.world.file.clone().unwrap();
    recorded.world.import_as(Role::Worker);
    recorded.catch_up(&mut store).unwrap();
    // The same text again, by another role.
    recorded.world.import_as(Role::Human);
    let last = recorded.world.events.last().unwrap().clone();
    let missing = store.record(&plain_commit(&store.require(&id).unwrap().task, &[last]));
    assert!(matches!(missing, Err(StoreError::ImportWithoutText { .. })));
    recorded.catch_up(&mut store).unwrap();
    let imports = store.imports(&id).unwrap();
    let by: Vec<_> = imports.iter().map(|import| import.by.clone()).collect();
    assert_eq!(by, [Role::Human, Role::Worker, Role::Human]);
    assert_eq!(imports[1].hash, imports[2].hash);
    let last = store.last_import(&id).unwrap().unwrap();
    assert_eq!(
        (last.text.as_str(), last.with_request),
        (text.as_str(), true)
    );
    assert_eq!(document(&last.text).text(), text);
}

#[test]
fn a_snapshot_of_another_shape_is_rebuilt() {
    let sandbox = Sandbox::new();
    let mut store = sandbox.store();
    let workflow = minimal();
    let mut recorded = RecordedTask::begin(&mut store, &workflow);
    recorded.world.move_to(Role::Human, "working");
    recorded.catch_up(&mut store).unwrap();
    let connection = rusqlite::Connection::open(sandbox.home.database()).unwrap();
    connection
        .execute("UPDATE tasks SET snapshot = '{}'", [])
        .unwrap();
    assert_eq!(
        store.require(&recorded.world.task.id).unwrap().task,
        recorded.world.task
    );
}

#[test]
fn an_effect_that_happens_at_most_once_begins_once() {
    let sandbox = Sandbox::new();
    let mut store = sandbox.store();
    let workflow = minimal();
    let mut recorded = RecordedTask::begin(&mut store, &workflow);
    recorded.world.move_to(Role::Human, "working");
    recorded.catch_up(&mut store).unwrap();
    let id = recorded.world.task.id.clone();
    let convergent = recorded.world.task.pending[0].planned.id;
    assert_eq!(
        store
            .start_effect(&id, convergent, "a", instant(5))
            .unwrap(),
        StartAnswer::Go
    );
    assert_eq!(
        store
            .start_effect(&id, convergent, "b", instant(6))
            .unwrap(),
        StartAnswer::Go
    );

    let version = recorded.world.task.version + 1;
    let command = orange_engine::effect::PlannedEffect {
        id: orange_engine::effect::EffectId(version),
        plan: version,
        effect: orange_engine::effect::Effect::RunCommand {
            command: vec![String::from("true")],
        },
        timeout: None,
        on_error: orange_engine::language::hooks::OnError::Stop,
    };
    let once = command.id;
    recorded.world.fact(Fact::EffectPlanned(command));
    recorded.catch_up(&mut store).unwrap();
    assert_eq!(
        store.start_effect(&id, once, "a", instant(5)).unwrap(),
        StartAnswer::Go
    );
    let interrupted = StartAnswer::Interrupted {
        by: String::from("a"),
        at: instant(5),
    };
    assert_eq!(
        store.start_effect(&id, once, "b", instant(6)).unwrap(),
        interrupted
    );
    // A commit about something else does not hide that it began.
    recorded.world.fact(Fact::AttentionRaised {
        reason: String::from("x"),
    });
    recorded.catch_up(&mut store).unwrap();
    assert_eq!(
        store.start_effect(&id, once, "b", instant(6)).unwrap(),
        interrupted
    );
    // A requested retry is granted.
    recorded.world.fact(Fact::EffectFailed {
        effect: once,
        error: String::from("interrupted"),
        feedback: None,
    });
    recorded.catch_up(&mut store).unwrap();
    assert_eq!(
        store.start_effect(&id, once, "b", instant(6)).unwrap(),
        StartAnswer::NotWaiting
    );
    recorded.world.fact(Fact::EffectRetried { effect: once });
    recorded.catch_up(&mut store).unwrap();
    assert_eq!(
        store.start_effect(&id, once, "b", instant(6)).unwrap(),
        StartAnswer::Go
    );
    let gone = orange_engine::effect::EffectId(999);
    assert_eq!(
        store.start_effect(&id, gone, "b", instant(6)).unwrap(),
        StartAnswer::NotWaiting
    );
}

#[test]
fn a_failed_attempt_waits_and_delays_the_following_effects() {
    let sandbox = Sandbox::new();
    let mut store = sandbox.store();
    let workflow = minimal();
    let mut recorded = RecordedTask::begin(&mut store, &workflow);
    recorded.world.move_to(Role::Human, "working");
    recorded.catch_up(&mut store).unwrap();
    let id = recorded.world.task.id.clone();
    let first = recorded.world.task.pending[0].planned.id;
    let due = |store: &orange_store::Store, at| -> Vec<u64> {
        let due = store.due_effects(instant(at)).unwrap();
        due.into_iter()
            .map(|pending| pending.planned.id.0)
            .collect()
    };
    let both: Vec<u64> = recorded
        .world
        .task
        .pending
        .iter()
        .map(|p| p.planned.id.0)
        .collect();
    assert_eq!(due(&store, 10), both);
    store.start_effect(&id, first, "a", instant(10)).unwrap();
    let attempts = store
        .record_failed_attempt(&id, first, "busy", instant(20))
        .unwrap();
    assert_eq!(attempts, Some(1));
    assert_eq!(due(&store, 19), [0; 0]);
    assert_eq!(due(&store, 20), both);
    let pending = store.pending(&id).unwrap();
    assert_eq!(
        (pending[0].attempts, pending[0].error.as_deref()),
        (1, Some("busy"))
    );
    assert_eq!(pending[0].mark, PendingProgress::Waiting);
    // A finished effect has no attempts left to note.
    recorded.world.settle();
    recorded.catch_up(&mut store).unwrap();
    assert_eq!(
        store
            .record_failed_attempt(&id, first, "busy", instant(30))
            .unwrap(),
        None
    );
    assert_eq!(due(&store, 99), [0; 0]);
}

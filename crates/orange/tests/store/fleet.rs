//! A home in a fleet: commits, the gate, tasks that move.

use std::collections::BTreeSet;

use orange_config::clock;
use orange_engine::effect::{Effect, EffectId, EffectOutcome};
use orange_engine::event::{Event, Fact};
use orange_engine::input::{Observation, RequestKind};
use orange_engine::names::{TaskId, WorkspaceName};
use orange_engine::role::Role;
use orange_fleet::chain::{Commit as LogCommit, Head, Sha};
use orange_fleet::ids::{
    Epoch, HomeId, Incarnation, MailId, RunnerId, TaskId as FleetTaskId, Version,
};
use orange_fleet::link::{LeaseTerms, RunnerLink};
use orange_fleet::message::{
    AppendResult, BeatAnswer, Claim, RegisterAnswer, TaskResult, Text, Want, Wip,
};
use orange_fleet::time::{Period, Timestamp};
use orange_store::{
    Claimed, Commit, CommitOutcome, EffectGate, Membership, StartAnswer, Store, StoreError,
};
use rusqlite::Connection;

use crate::fixtures::{World, document, load_clean};
use crate::sandbox::{RecordedTask, Sandbox, instant, minimal, nudge};

const INCARNATION: Incarnation = Incarnation(1);

fn task() -> FleetTaskId {
    FleetTaskId::new("k3f9")
}

fn now() -> Timestamp {
    Timestamp(u64::try_from(clock::since_boot().as_millis()).unwrap())
}

/// The standing of a home that was registered a moment ago.
fn registered() -> Membership {
    let mut link = RunnerLink::new(HomeId::new("h"), Incarnation(0), LeaseTerms::default());
    let answer = RegisterAnswer::Registered {
        incarnation: INCARNATION,
        lost_after: Period::seconds(900),
    };
    link.register_answered(Incarnation(0), now(), &answer);
    Membership {
        server: String::from("http://127.0.0.1:1"),
        runner: RunnerId::new("r"),
        boot: clock::boot_id().map(str::to_owned),
        link,
        lost_after: Period::seconds(900),
        dropped: std::collections::BTreeMap::new(),
        is_draining: false,
    }
}

fn joined(sandbox: &Sandbox) -> Store {
    let mut store = sandbox.store();
    store.join_fleet(&registered()).unwrap();
    store
}

/// A claim of everything that a store has recorded.
fn claim(store: &Store, epoch: u64) -> Claim {
    let commits = store.commits_of(&TaskId::new("k3f9"), Version(0)).unwrap();
    let texts = commits.iter().flat_map(|it| store.texts_of(it).unwrap());
    Claim {
        task: task(),
        epoch: Epoch(epoch),
        head: commits.last().map_or_else(Head::default, LogCommit::head),
        texts: texts.collect(),
        commits,
        wip: None,
        elsewhere: Vec::new(),
    }
}

fn take_over(store: &mut Store, claim: &Claim) -> Result<Claimed, StoreError> {
    store.take_over(claim, |known, local| {
        known.link.claimed(INCARNATION, claim, local)
    })
}

/// Tells the link that the log has everything.
fn acknowledge(store: &mut Store, epoch: u64) {
    let commits = store.commits_of(&TaskId::new("k3f9"), Version(0)).unwrap();
    let version = commits.last().unwrap().last;
    let result = TaskResult {
        task: task(),
        epoch: Epoch(epoch),
        result: AppendResult::Ok { version },
    };
    let halted = store
        .update_membership(|known| known.link.append_answered(&result, &commits))
        .unwrap();
    assert_eq!(halted, None);
}

fn is_chain(commits: &[LogCommit]) -> bool {
    let mut head = Head::default();
    commits.iter().all(|commit| {
        let follows = commit.follows(head);
        head = commit.head();
        follows
    })
}

/// A home that holds a task whose agent works, as another home has recorded it, and its world.
fn with_task_from_elsewhere<'a>(
    sandbox: &Sandbox,
    workflow: &'a orange_engine::Workflow,
) -> (Store, World<'a>, Claim) {
    let elsewhere = Sandbox::new();
    let mut other = elsewhere.store();
    let mut recorded = RecordedTask::begin(&mut other, workflow);
    recorded.world.move_to(Role::Human, "working");
    recorded.catch_up(&mut other).unwrap();
    let mut store = joined(sandbox);
    let claim = claim(&other, 1);
    let taken = take_over(&mut store, &claim).unwrap();
    assert!(matches!(taken, Claimed::TakenOver(_)), "{taken:?}");
    (store, recorded.world, claim)
}

/// Records what happened in the world after a version.
fn record(store: &mut Store, world: &World<'_>, version: u64) -> Result<CommitOutcome, StoreError> {
    let text = document(world.file.as_deref().unwrap_or_default());
    store.record(&Commit {
        task: &world.task.id,
        version,
        events: &world.events[usize::try_from(version).unwrap()..],
        document: Some(&text),
        reserve: None,
        limits: None,
        workflow_text: None,
    })
}

#[test]
fn what_one_transaction_recorded_is_one_commit_of_a_chain() {
    let sandbox = Sandbox::new();
    let mut store = sandbox.store();
    let workflow = minimal();
    let mut recorded = RecordedTask::begin(&mut store, &workflow);
    let created = recorded.world.task.version;
    recorded.world.move_to(Role::Human, "working");
    recorded.catch_up(&mut store).unwrap();
    let moved = recorded.world.task.version;
    nudge(&mut store, &recorded.world.task.id);
    let id = &recorded.world.task.id;
    let commits = store.commits_of(id, Version(0)).unwrap();
    let lasts: Vec<u64> = commits.iter().map(|it| it.last.0).collect();
    assert_eq!(lasts, [created, moved, moved + 1]);
    assert!(is_chain(&commits));
    let database = Connection::open(sandbox.home.database()).unwrap();
    let mut statement = database
        .prepare("SELECT event FROM events ORDER BY version")
        .unwrap();
    let stored = statement.query_map([], |row| row.get::<_, String>(0));
    let stored: Vec<String> = stored.unwrap().map(Result::unwrap).collect();
    let shipped = commits.iter().flat_map(|it| &it.events);
    let shipped: Vec<&str> = shipped.map(orange_fleet::json::Json::as_str).collect();
    assert_eq!(shipped, stored);
    assert_eq!(
        store.commits_of(id, Version(created)).unwrap(),
        commits[1..]
    );
    let texts = store.texts_of(&commits[0]).unwrap();
    let workflow_text = store.require(id).unwrap().workflow_text;
    let document = store.last_import(id).unwrap().unwrap();
    assert_eq!(texts[0].content, workflow_text);
    assert_eq!(texts[1].sha.to_string(), document.hash);
    let imports = store.imports(id).unwrap().len();
    let named: usize = commits.iter().map(|it| it.texts.len()).sum();
    assert_eq!(named, imports + 1);
}

#[test]
fn a_commit_names_the_workflow_of_its_time() {
    let sandbox = Sandbox::new();
    let mut store = sandbox.store();
    let workflow = minimal();
    let mut recorded = RecordedTask::begin(&mut store, &workflow);
    let id = recorded.world.task.id.clone();
    let before = store.require(&id).unwrap().workflow_text;
    let after = before.replacen(
        "      - { action: acquire_workspace, restore: true }\n",
        "      - { action: acquire_workspace, restore: true }\n      - { action: run_command, command: [\"true\"] }\n",
        1,
    );
    assert_ne!(after, before);
    let version = recorded.world.task.version;
    recorded.world.ask(
        Role::Human,
        RequestKind::ChangeWorkflow {
            workflow: Box::new(load_clean(&after)),
            text: after.clone(),
        },
    );
    let text = document(recorded.world.file.as_deref().unwrap());
    store
        .record(&Commit {
            task: &id,
            version,
            events: &recorded.world.events[usize::try_from(version).unwrap()..],
            document: Some(&text),
            reserve: None,
            limits: None,
            workflow_text: Some(&after),
        })
        .unwrap();
    nudge(&mut store, &id);
    let commits = store.commits_of(&id, Version(0)).unwrap();
    assert_eq!(commits[0].texts[0], Sha::of(before.as_bytes()));
    assert!(commits[1].texts.contains(&Sha::of(after.as_bytes())));
    assert!(commits[2].texts.is_empty());
    // Another home pins the task to the text of its time, too.
    let other = Sandbox::new();
    let mut taker = joined(&other);
    take_over(&mut taker, &claim(&store, 1)).unwrap();
    assert_eq!(taker.require(&id).unwrap().workflow_text, after);
    assert_eq!(taker.commits_of(&id, Version(0)).unwrap(), commits);
}

#[test]
fn a_task_that_moves_twice_keeps_the_log_that_every_home_has_shipped() {
    let workflow = minimal();
    let (first, second) = (Sandbox::new(), Sandbox::new());
    let (mut store, mut world, claimed) = with_task_from_elsewhere(&first, &workflow);
    let id = world.task.id.clone();
    assert_eq!(store.commits_of(&id, Version(0)).unwrap(), claimed.commits);
    let version = world.task.version;
    world.observe(Observation::Moved);
    record(&mut store, &world, version).unwrap();
    store.finish_arrival(&id).unwrap();
    let commits = store.commits_of(&id, Version(0)).unwrap();
    assert_eq!(commits[..claimed.commits.len()], claimed.commits);
    assert_eq!(commits.len(), claimed.commits.len() + 1);
    assert!(is_chain(&commits));

    let mut taker = joined(&second);
    take_over(&mut taker, &claim(&store, 2)).unwrap();
    assert_eq!(taker.commits_of(&id, Version(0)).unwrap(), commits);
    assert_eq!(
        taker.require(&id).unwrap().task,
        store.require(&id).unwrap().task
    );
}

#[test]
fn events_stay_as_another_version_wrote_them() {
    let workflow = minimal();
    let elsewhere = Sandbox::new();
    let mut other = elsewhere.store();
    let recorded = RecordedTask::begin(&mut other, &workflow);
    let id = recorded.world.task.id.clone();
    // The same event with another spacing, as another serializer would write it.
    let database = Connection::open(elsewhere.home.database()).unwrap();
    let spaced = "UPDATE events SET event = replace(event, '{\"version\":1,', '{\"version\": 1,')";
    database.execute(spaced, []).unwrap();
    let claim = claim(&other, 1);
    assert!(
        claim.commits[0].events[0]
            .as_str()
            .contains("\"version\": 1,")
    );
    let sandbox = Sandbox::new();
    let mut store = joined(&sandbox);
    take_over(&mut store, &claim).unwrap();
    assert_eq!(store.commits_of(&id, Version(0)).unwrap(), claim.commits);
    assert_eq!(store.events(&id, 0).unwrap()[0].event.version, 1);
}

#[test]
fn a_claim_that_is_no_log_of_the_task_changes_nothing() {
    let workflow = minimal();
    let elsewhere = Sandbox::new();
    let mut other = elsewhere.store();
    RecordedTask::begin(&mut other, &workflow);
    let good = claim(&other, 1);
    let mut bad = vec![good.clone(), good.clone(), good.clone(), good.clone()];
    bad[0].texts[0].content.push('x');
    bad[1].texts.clear();
    bad[2].task = FleetTaskId::new("other");
    bad[3].head.version = Version(99);
    let mut reordered = good.clone();
    reordered.commits[0].events.reverse();
    bad.push(reordered);
    let mut without_workflow = good.clone();
    let events = good.commits[0].events.clone();
    let commit = LogCommit::new(Head::default(), events, Vec::new(), None).unwrap();
    without_workflow.head = commit.head();
    without_workflow.commits = vec![commit];
    bad.push(without_workflow);
    let mut extra = good.clone();
    let text = Text {
        sha: Sha::of(b"more"),
        content: String::from("more"),
    };
    let mut texts = good.commits[0].texts.clone();
    texts.extend([text.sha, text.sha]);
    let events = good.commits[0].events.clone();
    let commit = LogCommit::new(Head::default(), events, texts, None).unwrap();
    extra.texts.push(text);
    extra.head = commit.head();
    extra.commits = vec![commit];
    bad.push(extra);

    let sandbox = Sandbox::new();
    let mut store = joined(&sandbox);
    let before = (store.sequence().unwrap(), store.membership().unwrap());
    for bad in &bad {
        let refused = take_over(&mut store, bad).unwrap_err();
        assert!(matches!(refused, StoreError::BadLog { .. }), "{refused}");
        let after = (store.sequence().unwrap(), store.membership().unwrap());
        assert_eq!(after, before);
    }
    assert!(matches!(
        take_over(&mut store, &good).unwrap(),
        Claimed::TakenOver(_)
    ));
    let repeated = take_over(&mut store, &good).unwrap();
    assert_eq!(repeated, Claimed::Stale);
}

#[test]
fn only_the_holder_records_and_no_task_begins_in_a_joined_home() {
    let workflow = minimal();
    let sandbox = Sandbox::new();
    let (mut store, mut world, _) = with_task_from_elsewhere(&sandbox, &workflow);
    let id = world.task.id.clone();
    let version = world.task.version;
    let mut early = world.clone();
    early.observe(Observation::AttentionNeeded {
        reason: String::from("too early"),
    });
    let refused = record(&mut store, &early, version).unwrap_err();
    assert!(matches!(refused, StoreError::Arriving { .. }), "{refused}");
    world.observe(Observation::Moved);
    record(&mut store, &world, version).unwrap();
    assert!(store.arrivals().unwrap()[0].is_moved);
    let other_workflow = minimal();
    let other = World::begin(&other_workflow);
    let refused = store
        .create(&orange_store::Creation {
            events: &other.events,
            workflow_text: crate::sandbox::source(&other_workflow),
            document: None,
            issue_text: None,
        })
        .unwrap_err();
    assert!(matches!(refused, StoreError::Joined { .. }), "{refused}");
    assert!(!refused.hints().is_empty());

    let stale = BeatAnswer::Alive {
        lost_after: Period::seconds(90),
        now: Timestamp(0),
        lost: vec![orange_fleet::message::OwnedTask {
            task: task(),
            epoch: Epoch(1),
        }],
        yours: Vec::new(),
        want: Want::Hold,
    };
    store
        .update_membership(|known| known.link.beat_answered(INCARNATION, now(), &stale))
        .unwrap();
    let version = store.require(&id).unwrap().task.version;
    let mut late = world.clone();
    late.observe(Observation::AttentionNeeded {
        reason: String::from("too late"),
    });
    let refused = record(&mut store, &late, version).unwrap_err();
    assert!(matches!(refused, StoreError::NotHeld { .. }), "{refused}");
    assert_eq!(store.require(&id).unwrap().task.version, version);
}

#[test]
fn mail_is_decided_by_one_commit() {
    let workflow = minimal();
    let sandbox = Sandbox::new();
    let (mut store, mut world, _) = with_task_from_elsewhere(&sandbox, &workflow);
    let version = world.task.version;
    world.observe(Observation::Moved);
    record(&mut store, &world, version).unwrap();
    let id = world.task.id.clone();
    let mail = MailId::new("m1");
    let mut decide = |reason: &str| {
        let task = store.require(&id).unwrap().task;
        let event = Event {
            version: task.version + 1,
            at: instant(9),
            fact: Fact::AttentionRaised {
                reason: reason.to_owned(),
            },
        };
        let commit = Commit {
            task: &id,
            version: task.version,
            events: &[event],
            document: None,
            reserve: None,
            limits: None,
            workflow_text: None,
        };
        let recorded = store.record_for(&commit, Some(&mail));
        let commits = store.commits_of(&id, Version(0)).unwrap();
        let version = store.require(&id).unwrap().task.version;
        (recorded.is_ok(), commits, version)
    };
    let (first, commits, version) = decide("once");
    assert!(first);
    assert_eq!(commits.last().unwrap().request, Some(mail.clone()));
    let (second, after, same) = decide("twice");
    assert!(!second);
    assert_eq!((after, same), (commits, version));
}

#[test]
fn an_effect_waits_until_the_log_has_its_plan_and_a_kill_does_not() {
    let workflow = minimal();
    let sandbox = Sandbox::new();
    let (mut store, mut world, claimed) = with_task_from_elsewhere(&sandbox, &workflow);
    let id = world.task.id.clone();
    let start = |store: &mut Store, effect: EffectId| {
        store.start_effect(&id, effect, "me", instant(9)).unwrap()
    };
    // The effects of the other machine are in the log, and must not start here all the same.
    let theirs = store.pending(&id).unwrap()[0].planned.id;
    assert!(theirs.0 <= claimed.head.version.0);
    assert_eq!(
        start(&mut store, theirs),
        StartAnswer::Gated(EffectGate::Arriving)
    );
    let version = world.task.version;
    world.observe(Observation::Moved);
    record(&mut store, &world, version).unwrap();
    store.finish_arrival(&id).unwrap();

    let first = store.pending(&id).unwrap()[0].clone();
    assert_eq!(
        start(&mut store, first.planned.id),
        StartAnswer::Gated(EffectGate::Unacknowledged)
    );
    let waiting = store.pending(&id).unwrap()[0].clone();
    assert!(waiting.is_gated());
    assert_eq!((waiting.attempts, &waiting.mark), (0, &first.mark));
    assert!(store.due_effects(instant(9)).unwrap().is_empty());
    acknowledge(&mut store, 1);
    store.release_gated_effects(&id).unwrap();
    assert_eq!(
        store.due_effects(instant(9)).unwrap()[0].planned,
        first.planned
    );
    assert_eq!(start(&mut store, first.planned.id), StartAnswer::Go);
    let version = world.task.version;
    world.observe(Observation::EffectDone {
        effect: first.planned.id,
        outcome: EffectOutcome::Bound(WorkspaceName::new("coffee--1")),
    });
    let slot = sandbox.worktree();
    let name = WorkspaceName::new("coffee--1");
    store
        .add_workspace(&name, &world.task.project, 1, &slot)
        .unwrap();
    record(&mut store, &world, version).unwrap();

    // The log does not have the cancellation, but the agent stops.
    let version = world.task.version;
    world.move_to(Role::Human, "cancelled");
    record(&mut store, &world, version).unwrap();
    let pending = store.pending(&id).unwrap();
    let kill = pending
        .iter()
        .find(|it| matches!(it.planned.effect, Effect::Kill(_)));
    let release = pending
        .iter()
        .find(|it| matches!(it.planned.effect, Effect::ReleaseWorkspace { .. }));
    assert_eq!(
        start(&mut store, release.unwrap().planned.id),
        StartAnswer::Gated(EffectGate::Unacknowledged)
    );
    assert_eq!(start(&mut store, kill.unwrap().planned.id), StartAnswer::Go);

    acknowledge(&mut store, 1);
    store
        .update_membership(|known| known.boot = Some(String::from("another boot")))
        .unwrap();
    assert_eq!(
        start(&mut store, release.unwrap().planned.id),
        StartAnswer::Gated(EffectGate::Frozen)
    );
}

#[test]
fn a_removed_task_leaves_no_row_and_can_come_again() {
    let workflow = minimal();
    let sandbox = Sandbox::new();
    let (mut store, mut world, mut claimed) = with_task_from_elsewhere(&sandbox, &workflow);
    let id = world.task.id.clone();
    let version = world.task.version;
    world.observe(Observation::Moved);
    record(&mut store, &world, version).unwrap();
    // A claim under a new epoch of a log that lacks what is here.
    claimed.epoch = Epoch(2);
    claimed.wip = Some(Wip {
        epoch: Epoch(1),
        number: 3,
        base: String::from("b"),
        bundle: String::new(),
        document: String::from("# saved\n"),
        imported: None,
    });
    assert_eq!(take_over(&mut store, &claimed).unwrap(), Claimed::Continued);
    let dropped = |known: &mut Membership| {
        known.link.ended(&task(), Epoch(2));
    };
    store.update_membership(dropped).unwrap();
    claimed.epoch = Epoch(3);
    let refused = take_over(&mut store, &claimed).unwrap_err();
    assert!(matches!(refused, StoreError::OtherCopy { .. }), "{refused}");
    store.discard_task(&id, |_| ()).unwrap();
    assert_eq!(store.load(&id).unwrap(), None);
    let database = Connection::open(sandbox.home.database()).unwrap();
    let tables: BTreeSet<String> = database
        .prepare("SELECT name FROM sqlite_schema WHERE type = 'table'")
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    for table in tables {
        let sql = format!("SELECT * FROM \"{table}\"");
        let mut statement = database.prepare(&sql).unwrap();
        let columns = statement.column_count();
        let mut rows = statement.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            let names =
                (0..columns).any(|at| row.get::<_, String>(at).is_ok_and(|it| it == "k3f9"));
            assert!(!names, "{table}");
        }
    }
    assert!(matches!(
        take_over(&mut store, &claimed).unwrap(),
        Claimed::TakenOver(_)
    ));
    assert_eq!(store.arrivals().unwrap()[0].wip, claimed.wip);
}

#[test]
fn a_home_joins_once_without_tasks_of_its_own_and_leaves_empty() {
    let workflow = minimal();
    let sandbox = Sandbox::new();
    let mut store = sandbox.store();
    assert_eq!(store.membership().unwrap(), None);
    RecordedTask::begin(&mut store, &workflow);
    let refused = store.join_fleet(&registered()).unwrap_err();
    assert!(
        matches!(refused, StoreError::CannotJoin { .. }),
        "{refused}"
    );
    assert!(matches!(
        store.leave_fleet().unwrap_err(),
        StoreError::NotJoined { .. }
    ));

    let other = Sandbox::new();
    let (mut store, _, _) = with_task_from_elsewhere(&other, &workflow);
    assert!(matches!(
        store.join_fleet(&registered()).unwrap_err(),
        StoreError::CannotJoin { .. }
    ));
    let refused = store.leave_fleet().unwrap_err();
    assert!(
        matches!(refused, StoreError::NotGivenBack { .. }),
        "{refused}"
    );
    store
        .discard_task(&TaskId::new("k3f9"), |known| {
            known.link.ended(&task(), Epoch(1));
        })
        .unwrap();
    store.leave_fleet().unwrap();
    // It is an independent home again.
    RecordedTask::begin(&mut store, &workflow);
}

//! Random histories, made by the real engine and rebuilt.

use std::fs;

use orange_engine::Workflow;
use orange_engine::evidence::Evidence;
use orange_engine::input::{Observation, RequestKind};
use orange_engine::language::gates::GitCondition;
use orange_engine::role::Role;
use orange_engine::task::PendingState;
use orange_store::{
    RebuildReport, ReplayedTask, Store, StoreError, bind, project, rebuild, release,
};
use proptest::prelude::*;
use proptest::sample::{Index, select};

use crate::fixtures::{World, git_facts, new_task, request, shipped_workflow};
use crate::sandbox::{RecordedTask, Sandbox, instant, source};

#[derive(Clone, Debug)]
enum Step {
    Write(&'static str),
    Move(Role, Index),
    Import(Role, bool),
    Done(Index),
    GivenUp(Index),
    Retry,
    Ends(Role, Evidence),
    Respawn,
    /// A performer checks the world, and copies are brought up to date.
    Project,
}

const FILES: [&str; 4] = [
    "---\nmine: 1\n---\n## Plan\n\nAPPROACH: steps\n",
    "## Plan\n\nAPPROACH: steps\n\n## Handoff\n\nDONE: a\n",
    "## Handoff\n\nDONE: b\n\n## Review\n\nVerdict: PASS\n",
    "## Handoff\n\nDONE: b\n\n## Review\n\nVerdict: FAIL\n\nno\n",
];

fn any_step() -> impl Strategy<Value = Step> {
    let role = || {
        select(vec![
            Role::Worker,
            Role::Reviewer,
            Role::Human,
            Role::Engine,
        ])
    };
    let agent = || select(vec![Role::Worker, Role::Reviewer]);
    let evidence = select(vec![
        Evidence::Exit { code: 0 },
        Evidence::Signal { signal: 9 },
        Evidence::Environment,
    ]);
    prop_oneof![
        3 => select(FILES.to_vec()).prop_map(Step::Write),
        8 => (role(), any::<Index>()).prop_map(|(role, to)| Step::Move(role, to)),
        1 => (role(), any::<bool>()).prop_map(|(role, asked)| Step::Import(role, asked)),
        8 => any::<Index>().prop_map(Step::Done),
        1 => any::<Index>().prop_map(Step::GivenUp),
        1 => Just(Step::Retry),
        2 => (agent(), evidence).prop_map(|(role, evidence)| Step::Ends(role, evidence)),
        1 => Just(Step::Respawn),
        2 => Just(Step::Project),
    ]
}

fn apply(world: &mut World<'_>, happening: &Step) {
    let pending = |world: &World<'_>, index: &Index| {
        let waiting: Vec<_> = world
            .task
            .pending
            .iter()
            .filter(|p| p.state == PendingState::Waiting)
            .collect();
        (!waiting.is_empty()).then(|| index.get(&waiting).planned.clone())
    };
    match happening {
        Step::Write(text) => world.file = Some((*text).to_owned()),
        Step::Move(by, to) => {
            let to = to.get(&world.workflow.states).name.clone();
            world.step(request(by.clone(), RequestKind::Move { to }));
        }
        Step::Import(by, asked) => {
            world.observe(Observation::DocumentRead {
                by: by.clone(),
                is_request: *asked,
            });
        }
        Step::Done(index) => {
            if let Some(planned) = pending(world, index) {
                let outcome = world.outcome_of(&planned.effect);
                world.observe(Observation::EffectDone {
                    effect: planned.id,
                    outcome,
                });
            }
        }
        Step::GivenUp(index) => {
            if let Some(planned) = pending(world, index) {
                let error = String::from("it broke");
                world.observe(Observation::EffectFailed {
                    effect: planned.id,
                    error,
                    feedback: None,
                });
            }
        }
        Step::Retry => {
            world.step(request(Role::Human, RequestKind::RetryEffects));
        }
        Step::Ends(role, evidence) => {
            if world.task.runs.contains_key(role) {
                let run = world.task.runs[role].id.clone();
                world.facts.reports.entry(run.clone()).or_insert(None);
                let evidence = evidence.clone();
                world.step(orange_engine::Cause::Observation(Observation::RunEnded {
                    run,
                    evidence,
                    output_line: None,
                }));
            }
        }
        Step::Respawn => {
            world.step(request(Role::Human, RequestKind::Respawn { role: None }));
        }
        Step::Project => {}
    }
}

/// Everything in the database about a task, except notes and sequence numbers.
fn stored_state(
    store: &Store,
    id: &orange_engine::names::TaskId,
) -> impl PartialEq + std::fmt::Debug + use<> {
    let stored = store.require(id).unwrap();
    let events: Vec<_> = store.events(id, 0).unwrap();
    let runs = store.runs(id).unwrap();
    let last = store.last_import(id).unwrap();
    let last = last.map(|import| (import.text, import.by, import.version));
    (
        stored,
        events,
        store.pending(id).unwrap(),
        runs,
        last,
        store.sequence().unwrap(),
    )
}

fn lose_and_rebuild(sandbox: &Sandbox) -> RebuildReport {
    for suffix in ["", "-wal", "-shm"] {
        let _ = fs::remove_file(format!("{}{suffix}", sandbox.home.database().display()));
    }
    assert!(matches!(
        Store::open(&sandbox.home),
        Err(StoreError::DatabaseLost { .. })
    ));
    rebuild(&sandbox.home).unwrap()
}

fn run_history(workflow: &Workflow, history: &[Step]) {
    let sandbox = Sandbox::in_memory();
    let mut store = sandbox.store();
    let mut world = World::create(workflow, &new_task("Add a thing", None)).unwrap();
    world.facts.git = Some(git_facts(
        &GitCondition::ALL.map(|(_, condition)| condition),
    ));
    let mut recorded = RecordedTask::of(&mut store, world);
    let id = recorded.world.task.id.clone();
    let inside = sandbox.worktree().join("TASK.md");
    project(&mut store, &id, instant(1)).unwrap();
    for (at, happening) in history.iter().enumerate() {
        apply(&mut recorded.world, happening);
        recorded.catch_up(&mut store);
        if matches!(happening, Step::Project) {
            if at % 2 == 0 {
                bind(&mut store, &id, &inside, instant(2)).unwrap();
            } else {
                release(&mut store, &id, instant(2)).unwrap();
            }
            project(&mut store, &id, instant(1)).unwrap();
        }
    }
    // The pending rows agree with the engine.
    let rows: Vec<_> = store
        .pending(&id)
        .unwrap()
        .into_iter()
        .map(|p| p.planned)
        .collect();
    let engine: Vec<_> = recorded
        .world
        .task
        .pending
        .iter()
        .map(|p| p.planned.clone())
        .collect();
    assert_eq!(rows, engine);

    // Another machine has the same task, and what follows from its events alone.
    let elsewhere = Sandbox::in_memory();
    let mut other = elsewhere.store();
    let replayed = ReplayedTask {
        events: &recorded.world.events,
        workflow_text: source(workflow),
        document: None,
    };
    other.insert_replayed(&replayed).unwrap();
    assert_eq!(other.require(&id).unwrap().task, recorded.world.task);
    let planned = other.pending(&id).unwrap().into_iter().map(|it| it.planned);
    assert_eq!(planned.collect::<Vec<_>>(), engine);
    assert_eq!(other.runs(&id).unwrap(), store.runs(&id).unwrap());
    assert_eq!(other.workspaces(&recorded.world.task.project).unwrap(), []);

    project(&mut store, &id, instant(1)).unwrap();
    let before = stored_state(&store, &id);
    drop(store);
    let report = lose_and_rebuild(&sandbox);
    assert_eq!(report.skipped, []);
    assert_eq!(report.tasks.len(), 1);
    let store = sandbox.store();
    assert_eq!(store.require(&id).unwrap().task, recorded.world.task);
    assert_eq!(stored_state(&store, &id), before);
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        max_shrink_iters: 200,
        cases: 24,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_rebuilt_database_equals_the_lost_one(
        name in select(vec!["default", "respawn", "minimal", "autopilot"]),
        history in proptest::collection::vec(any_step(), 0..60),
    ) {
        run_history(&shipped_workflow(name), &history);
    }
}

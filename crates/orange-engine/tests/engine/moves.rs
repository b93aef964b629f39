//! A task continues on another machine.

use std::collections::BTreeSet;

use orange_engine::effect::{Effect, EffectClass, EffectId, PlannedEffect, Spawn};
use orange_engine::event::{Event, Fact};
use orange_engine::evidence::Evidence;
use orange_engine::input::{Cause, Observation, RequestKind};
use orange_engine::language::verbs::Verb;
use orange_engine::language::workflow::Kind;
use orange_engine::names::{RunId, WorkspaceName};
use orange_engine::replay;
use orange_engine::role::Role;
use orange_engine::task::{PendingState, RunState, Task, Workspace};
use proptest::prelude::*;

use crate::fixtures::{World, plan_of, shipped_workflow, shown_plan};
use crate::laws::WORKFLOWS;
use crate::random_histories::{any_step, cause, config};

/// The start that a pending effect may lead to.
fn start(effect: &Effect) -> Option<&Spawn> {
    match effect {
        Effect::Spawn(spawn) => Some(spawn),
        Effect::NotifyRole(notify) => notify.spawn_if_absent.as_ref(),
        _ => None,
    }
}

fn waiting(task: &Task) -> impl Iterator<Item = (EffectId, &Effect)> {
    let pending = task.pending.iter();
    let waiting = pending.filter(|it| it.state == PendingState::Waiting);
    waiting.map(|it| (it.planned.id, &it.planned.effect))
}

/// The roles that the waiting effects may start, once for each.
fn coming(task: &Task) -> Vec<Role> {
    let starts = waiting(task).filter_map(|(_, effect)| start(effect));
    let mut roles: Vec<Role> = starts.map(|spawn| spawn.role.clone()).collect();
    roles.sort();
    roles
}

fn runs_of(events: &[Event]) -> BTreeSet<RunId> {
    let planned = events.iter().filter_map(|event| match &event.fact {
        Fact::EffectPlanned(planned) => start(&planned.effect),
        _ => None,
    });
    planned.map(|spawn| spawn.run.clone()).collect()
}

/// Moves the task, and checks what holds for every move.
fn move_task(world: &mut World<'_>) -> Result<(), TestCaseError> {
    let before = world.task.clone();
    let earlier = runs_of(&world.events);
    let recorded = world.events.len();
    plan_of(world.step(Cause::Observation(Observation::Moved)));
    let (task, new) = (&world.task, &world.events[recorded..]);
    prop_assert_eq!(&new[0].fact, &Fact::TaskMoved);
    prop_assert_eq!(&task.status, &before.status);
    prop_assert_eq!(&task.entered, &before.entered);
    prop_assert_eq!(task.format, orange_engine::FORMAT);
    // Nothing of the other machine is left.
    let workspaces = [Workspace::None, Workspace::Acquiring];
    prop_assert!(workspaces.contains(&task.workspace), "{:?}", task.workspace);
    let acquires = |task: &Task| {
        let is_acquisition = |effect: &Effect| matches!(effect, Effect::AcquireWorkspace { .. });
        waiting(task).filter(|(_, it)| is_acquisition(it)).count()
    };
    let is_acquiring = task.workspace == Workspace::Acquiring;
    prop_assert_eq!(acquires(task), usize::from(is_acquiring));
    for pending in &task.pending {
        let effect = &pending.planned.effect;
        let is_ending = matches!(effect, Effect::Kill(_) | Effect::ReleaseWorkspace { .. });
        prop_assert!(!is_ending, "{effect:?}");
    }
    let starts = runs_of(new);
    for run in task.runs.values() {
        let is_planned = run.state == RunState::Starting && starts.contains(&run.id);
        prop_assert!(run.state.has_ended() || is_planned, "{run:?}");
    }
    // Every start is a new run, and waits for the workspace.
    prop_assert!(starts.is_disjoint(&earlier));
    let first_start = waiting(task).find(|(_, it)| start(it).is_some());
    let acquisition = waiting(task).find(|(_, it)| matches!(it, Effect::AcquireWorkspace { .. }));
    if let (Some((start, _)), Some((acquisition, _))) = (first_start, acquisition) {
        prop_assert!(acquisition < start);
    }
    let runs = waiting(task).filter_map(|(_, it)| Some(start(it)?.run.clone()));
    prop_assert!(runs.collect::<BTreeSet<_>>().is_subset(&starts));
    // Starts are those that were planned, and the expected agents that were lost.
    let state = world.workflow.state(&before.status).unwrap();
    let mut expected = coming(&before);
    for role in &state.expects {
        if before.is_live(role) && !expected.contains(role) && state.respawn.contains_key(role) {
            expected.push(role.clone());
        }
    }
    if state.kind == Kind::Terminal {
        expected.clear();
    }
    expected.sort();
    let was_stopped = before
        .pending
        .iter()
        .any(|it| it.state == PendingState::Stopped);
    if !was_stopped {
        prop_assert_eq!(coming(task), expected);
    }
    if state.kind == Kind::Terminal {
        prop_assert!(coming(task).is_empty() && !is_acquiring);
    }
    // An effect that must not happen twice is still known by its id, unless it cannot have begun.
    for (id, effect) in waiting(&before) {
        let is_delicate = effect.class() == EffectClass::AtMostOnce;
        if is_delicate && acquires(&before) == 0 {
            prop_assert_eq!(
                task.pending_effect(id).map(|it| &it.state),
                Some(&PendingState::Waiting)
            );
        }
    }
    Ok(())
}

/// The task without what differs between two plans of the same: ids, versions and times. An effect
/// that must not happen twice keeps its id, and so may come before the others the second time.
#[derive(Debug, PartialEq)]
struct Essence {
    workspace: Workspace,
    coming: Vec<Role>,
    effects: Vec<&'static str>,
    live: Vec<(Role, bool)>,
}

fn essence(task: &Task) -> Essence {
    let runs = task.runs.iter();
    let mut effects: Vec<_> = waiting(task).map(|(_, effect)| effect.label()).collect();
    effects.sort_unstable();
    Essence {
        workspace: task.workspace.clone(),
        coming: coming(task),
        effects,
        live: runs
            .map(|(role, run)| (role.clone(), run.state.is_live()))
            .collect(),
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_move_at_any_point_of_any_history_obeys_the_laws(
        which in 0..WORKFLOWS.len(),
        history in proptest::collection::vec(any_step(), 0..50),
        later in proptest::collection::vec(any_step(), 0..20),
    ) {
        let workflow = &WORKFLOWS[which];
        let mut world = World::begin(workflow);
        for happening in &history {
            if let Some(cause) = cause(&mut world, happening) {
                world.step(cause);
            }
        }
        move_task(&mut world)?;
        let once = essence(&world.task);
        // A second move before anything was performed changes nothing that matters.
        move_task(&mut world)?;
        prop_assert_eq!(essence(&world.task), once);
        let ends = workflow.is_terminal(&world.task.status);
        for happening in &later {
            if let Some(cause) = cause(&mut world, happening) {
                let reopens = matches!(&cause, Cause::Request(request) if request.kind == RequestKind::Reopen);
                let status = world.task.status.clone();
                world.step(cause);
                prop_assert!(!ends || reopens || status == world.task.status || !workflow.is_terminal(&status));
            }
        }
        move_task(&mut world)?;
        prop_assert_eq!(&replay(&world.events).unwrap(), &world.task);
        let json = serde_json::to_string(&world.events).unwrap();
        let read: Vec<Event> = serde_json::from_str(&json).unwrap();
        prop_assert_eq!(&read, &world.events);
    }
}

#[test]
fn a_moved_worker_starts_again_once_its_workspace_is_there() {
    let workflow = shipped_workflow("default");
    let mut world = World::placed(&workflow, "working");
    let plan = world.observe(Observation::Moved);
    assert_eq!(
        shown_plan(&plan),
        "moved acquire_workspace spawn_agent(worker claude)"
    );
    let before = world.events.len();
    world.settle();
    let started = world.events[before..].iter();
    assert_eq!(
        started
            .filter(|it| matches!(it.fact, Fact::EffectDone { .. }))
            .count(),
        2
    );
    assert_eq!(world.task.runs[&Role::Worker].state, RunState::Alive);
    let ended = world.events.iter().any(|event| {
        matches!(&event.fact, Fact::RunEnded { evidence, .. } if *evidence == Evidence::Environment)
    });
    assert!(ended);
}

#[test]
fn an_interrupted_start_is_planned_again_in_its_own_plan() {
    let workflow = shipped_workflow("default");
    let mut world = World::begin(&workflow);
    world.move_to(Role::Human, "planning");
    let entry = world.task.unfinished_plan;
    let first = world.task.runs[&Role::Worker].id.clone();
    let plan = world.observe(Observation::Moved);
    assert_eq!(
        shown_plan(&plan),
        "moved cancels cancels acquire_workspace spawn_agent(worker claude)"
    );
    assert_eq!(world.task.unfinished_plan, entry);
    assert_ne!(world.task.runs[&Role::Worker].id, first);
    world.settle();
    assert_eq!(world.task.unfinished_plan, None);
}

#[test]
fn a_failed_start_after_a_move_leads_where_a_failed_start_leads() {
    let workflow = shipped_workflow("default");
    let mut world = World::begin(&workflow);
    world.move_to(Role::Human, "planning");
    world.observe(Observation::Moved);
    let acquisition = world.task.pending[0].planned.id;
    world.observe(Observation::EffectFailed {
        effect: acquisition,
        error: String::from("no workspace is free"),
        feedback: None,
    });
    assert_eq!(world.task.status.as_str(), "pending");
}

#[test]
fn an_agent_that_the_user_stopped_stays_stopped() {
    let workflow = shipped_workflow("default");
    let mut world = World::placed(&workflow, "working");
    world.ask(Role::Human, RequestKind::Stop { role: None });
    world.settle();
    let plan = world.observe(Observation::Moved);
    assert_eq!(shown_plan(&plan), "moved acquire_workspace");
    assert!(world.task.runs[&Role::Worker].state.is_stopped());
    // It can be started where the task is now.
    let plan = plan_of(world.ask(Role::Human, RequestKind::Respawn { role: None }));
    assert_eq!(shown_plan(&plan), "kill_agent spawn_agent(worker claude)");
}

#[test]
fn what_holds_nothing_moves_without_starting_anything() {
    for name in ["default", "respawn", "autopilot", "github"] {
        let workflow = shipped_workflow(name);
        for state in &workflow.states {
            let mut world = World::placed(&workflow, state.name.as_str());
            world.task.workspace = Workspace::None;
            world.task.runs.clear();
            let plan = world.observe(Observation::Moved);
            assert_eq!(shown_plan(&plan), "moved", "{name}: {}", state.name);
        }
    }
}

#[test]
fn a_failed_release_is_done_and_what_it_stopped_goes_on() {
    let workflow = shipped_workflow("default");
    let mut world = World::placed(&workflow, "working");
    plan_of(world.verb(Role::Human, Verb::Cancel));
    let first = world.task.pending[0].planned.id;
    world.observe(Observation::EffectFailed {
        effect: first,
        error: String::from("it survived SIGKILL"),
        feedback: None,
    });
    assert!(!world.task.attention.is_empty());
    world.observe(Observation::Moved);
    assert_eq!(world.task.workspace, Workspace::None);
    assert!(
        world.task.attention.is_empty(),
        "{:?}",
        world.task.attention
    );
    assert!(world.task.runs.is_empty());
    world.settle();
    assert!(world.task.pending.is_empty());
    assert_eq!(world.task.unfinished_plan, None);
}

/// A retried acquisition and a new one may wait at the same time.
#[test]
fn only_one_workspace_is_acquired() {
    let workflow = shipped_workflow("default");
    let mut world = World::begin(&workflow);
    world.move_to(Role::Human, "planning");
    let again = world.task.pending[0].planned.clone();
    world.fact(Fact::EffectPlanned(PlannedEffect {
        id: EffectId(world.task.version + 1),
        ..again
    }));
    let plan = world.observe(Observation::Moved);
    let acquired = shown_plan(&plan).matches("acquire_workspace").count();
    assert_eq!(acquired, 1);
}

#[test]
fn the_workspace_that_was_bound_elsewhere_is_not_bound_here() {
    let workflow = shipped_workflow("default");
    let mut world = World::placed(&workflow, "reviewing");
    assert_eq!(
        world.task.workspace,
        Workspace::Bound(WorkspaceName::new("coffee--1"))
    );
    let plan = world.observe(Observation::Moved);
    assert_eq!(shown_plan(&plan), "moved acquire_workspace");
}

#[test]
fn the_prompt_names_the_context_file_of_the_new_run() {
    let workflow = shipped_workflow("autopilot");
    let mut world = World::begin(&workflow);
    // The first start leads to the router, the second to the work.
    plan_of(world.verb(Role::Human, Verb::Spawn));
    world.settle();
    plan_of(world.verb(Role::Engine, Verb::Spawn));
    let first = world.task.runs.values().next().unwrap().id.clone();
    world.observe(Observation::Moved);
    let (_, effect) = waiting(&world.task)
        .find(|(_, it)| start(it).is_some())
        .unwrap();
    let spawn = start(effect).unwrap();
    assert_ne!(spawn.run, first);
    assert!(
        spawn.prompt.contains(&format!("runs/{}/", spawn.run)),
        "{}",
        spawn.prompt
    );
    assert!(!spawn.prompt.contains(&format!("runs/{first}/")));
}

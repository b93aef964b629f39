//! Runs that plan how to split a task.

use orange_engine::effect::{Effect, Spawn};
use orange_engine::evidence::Evidence;
use orange_engine::input::{Observation, RequestKind};
use orange_engine::language::verbs::Verb;
use orange_engine::refusal::{Blocker, CannotPlan};
use orange_engine::replay;
use orange_engine::report::Report;
use orange_engine::role::Role;
use orange_engine::routing::Split;
use orange_engine::task::{Queueing, Workspace};
use orange_engine::{Workflow, load};

use crate::fixtures::{World, new_task, plan_of, refusal_of, shipped_workflow};

/// A task whose planning run is about to start.
fn planning(workflow: &Workflow) -> World<'_> {
    let mut world = World::begin(workflow);
    plan_of(world.ask(Role::Human, RequestKind::Split));
    world.verb(Role::Human, Verb::Spawn);
    world.settle();
    plan_of(world.verb(Role::Human, Verb::Spawn));
    world
}

/// The start that is pending.
fn pending_start(world: &World<'_>) -> Spawn {
    let mut pending = world.task.pending.iter();
    let start = pending.find_map(|it| match &it.planned.effect {
        Effect::Spawn(spawn) => Some(spawn.clone()),
        _ => None,
    });
    start.unwrap()
}

fn assert_plans(world: &World<'_>, case: &str) {
    let start = pending_start(world);
    assert!(start.plans && start.without_worktree, "{case}");
    assert!(
        start.prompt.starts_with("# Plan the parts of a task"),
        "{case}: {}",
        start.prompt
    );
    assert_eq!(world.task.workspace, Workspace::None, "{case}");
    assert!(
        !world.effects().contains(&"acquire_workspace"),
        "{case}: {:?}",
        world.effects()
    );
}

fn reports(world: &mut World<'_>, text: &str) {
    let run = world.task.runs[&Role::Worker].id.clone();
    let report = serde_json::from_str(text).unwrap_or_else(|_| Report::unreadable("not JSON"));
    world.observe(Observation::ReportArrived { run, report });
    world.settle();
}

#[test]
fn a_planning_run_that_must_be_started_again_plans_again() {
    let workflow = shipped_workflow("autopilot");
    let endings = [
        Evidence::Quota { until: None },
        Evidence::Login,
        Evidence::Network,
        Evidence::Environment,
    ];
    for evidence in endings {
        let case = format!("{evidence:?}");
        let mut world = planning(&workflow);
        assert_plans(&world, &case);
        world.settle();
        world.ends(&Role::Worker, evidence.clone());
        if evidence == Evidence::Environment {
            plan_of(world.ask(Role::Human, RequestKind::Respawn { role: None }));
        }
        assert_eq!(world.task.status.as_str(), "in_progress", "{case}");
        assert_plans(&world, &case);
        assert_eq!(world.task.routing.split, Split::Wanted, "{case}");
        assert_eq!(replay(&world.events).unwrap(), world.task, "{case}");
    }
}

#[test]
fn a_stopped_planning_run_is_restarted_as_one() {
    let workflow = shipped_workflow("autopilot");
    let mut world = planning(&workflow);
    world.settle();
    plan_of(world.ask(Role::Human, RequestKind::Restart { role: None }));
    assert_plans(&world, "restart");
    world.settle();
    plan_of(world.ask(Role::Human, RequestKind::Stop { role: None }));
    world.settle();
    plan_of(world.ask(Role::Human, RequestKind::Respawn { role: None }));
    assert_plans(&world, "respawn");
}

#[test]
fn a_planning_run_that_crashes_is_another_attempt() {
    let workflow = shipped_workflow("autopilot");
    let mut world = planning(&workflow);
    world.settle();
    world.ends(&Role::Worker, Evidence::Exit { code: 1 });
    world.settle();
    assert_eq!(world.task.status.as_str(), "new");
    assert_eq!(world.task.routing.split, Split::Wanted);
}

#[test]
fn a_planning_run_cannot_finish_its_task() {
    let workflow = shipped_workflow("autopilot");
    // Every git condition holds, as for a branch with the commits of an earlier attempt.
    let mut world = planning(&workflow);
    world.settle();
    world.commit();
    reports(&mut world, r#"{"status": "done", "files_changed": ["a"]}"#);
    assert_eq!(world.task.status.as_str(), "new", "{:?}", world.task.report);
    assert_eq!(world.task.routing.split, Split::Planned);
    // An ordinary run with the same report can.
    world.verb(Role::Human, Verb::Spawn);
    world.settle();
    plan_of(world.verb(Role::Human, Verb::Spawn));
    let start = pending_start(&world);
    assert!(!start.plans && !start.without_worktree);
    assert_eq!(
        world.task.routing.split,
        Split::Planned,
        "a task is planned once"
    );
    world.settle();
    assert!(world.task.workspace.is_held());
    reports(&mut world, r#"{"status": "done", "files_changed": ["a"]}"#);
    assert_eq!(world.task.status.as_str(), "done");
}

#[test]
fn a_plan_that_needs_the_user_is_made_again() {
    let workflow = shipped_workflow("autopilot");
    for (text, expected) in [
        ("not JSON", "needs_review"),
        (r#"{"summary": "no status"}"#, "needs_review"),
        (
            r#"{"status": "needs_review", "reason": "Which one?"}"#,
            "needs_review",
        ),
        (
            r#"{"status": "blocked", "reason": "No access."}"#,
            "blocked",
        ),
        (
            r#"{"status": "in_progress", "delegations": [{"title": "a", "after": ["0"]}]}"#,
            "needs_review",
        ),
    ] {
        let mut world = planning(&workflow);
        world.settle();
        reports(&mut world, text);
        assert_eq!(world.task.status.as_str(), expected, "{text}");
        assert_eq!(world.task.routing.split, Split::Wanted, "{text}");
        plan_of(world.verb(Role::Human, Verb::Retry));
        world.settle();
        world.verb(Role::Engine, Verb::Spawn);
        world.settle();
        plan_of(world.verb(Role::Engine, Verb::Spawn));
        assert_plans(&world, text);
    }
}

#[test]
fn only_the_user_plans_a_queued_task_that_may_delegate() {
    let workflow = shipped_workflow("autopilot");
    for by in [Role::Worker, Role::assistant()] {
        let mut world = World::begin(&workflow);
        let refusal = refusal_of(world.ask(by, RequestKind::Split));
        assert!(
            matches!(&refusal.missing[..], [Blocker::NotAllowed { .. }]),
            "{refusal}"
        );
    }
    let refused = |world: &mut World<'_>, expected: CannotPlan| {
        let refusal = refusal_of(world.ask(Role::Human, RequestKind::Split));
        let reason = expected;
        assert_eq!(refusal.missing, [Blocker::CannotPlan { reason }]);
        assert_eq!(refusal.missing[0].code(), "cannot-plan");
        assert_eq!(refusal.hints.len(), 1, "{refusal}");
    };
    for status in ["in_progress", "delegated", "blocked", "needs_review"] {
        refused(&mut World::placed(&workflow, status), CannotPlan::Status);
    }
    let mut deep = new_task("Add a thing", None);
    deep.queueing = Queueing {
        depth: 2,
        ..Queueing::default()
    };
    let mut deep = World::create(&workflow, &deep).unwrap();
    refused(&mut deep, CannotPlan::Depth);
    let without = shipped_workflow("default");
    refused(&mut World::begin(&without), CannotPlan::Workflow);
}

#[test]
fn the_engine_starts_no_task_that_waits_for_an_answer_about_its_split() {
    let workflow = shipped_workflow("autopilot");
    let mut world = World::placed(&workflow, "routed");
    world.task.routing.split = Split::Suggested;
    let refusal = refusal_of(world.verb(Role::Engine, Verb::Spawn));
    assert!(
        matches!(&refusal.missing[..], [Blocker::HeldBack { .. }]),
        "{refusal}"
    );
    plan_of(world.verb(Role::Human, Verb::Spawn));
    assert_eq!(world.task.routing.split, Split::Ignored);
    assert!(!pending_start(&world).plans);
}

#[test]
fn no_workflow_has_the_role_of_the_chat() {
    let text = shipped_workflow_text().replace("limits:", "roles: [assistant]\n\nlimits:");
    let problems = load(&text).into_result().unwrap_err();
    assert!(
        problems
            .iter()
            .any(|it| it.message == "role `assistant` is the agent of `orange chat`"),
        "{problems:?}"
    );
}

fn shipped_workflow_text() -> &'static str {
    orange_engine::shipped_workflows::find("autopilot")
        .unwrap()
        .source
}

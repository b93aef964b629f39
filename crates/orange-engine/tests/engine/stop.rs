//! Stopping and restarting agents.

use orange_engine::decision::Decision;
use orange_engine::effect::{Effect, KillScope};
use orange_engine::event::Fact;
use orange_engine::evidence::Evidence;
use orange_engine::input::{Observation, RequestKind};
use orange_engine::language::verbs::Verb;
use orange_engine::names::RunId;
use orange_engine::refusal::Blocker;
use orange_engine::replay;
use orange_engine::role::Role;
use orange_engine::task::RunState;

use crate::fixtures::{World, plan_of, refusal_of, shipped_workflow};

const STOP: RequestKind = RequestKind::Stop { role: None };
const RESTART: RequestKind = RequestKind::Restart { role: None };

/// The runs that pending kills name.
fn killed(world: &World<'_>) -> Vec<RunId> {
    let pending = world.task.pending.iter();
    let kills = pending.filter_map(|it| match &it.planned.effect {
        Effect::Kill(kill) if kill.scope == KillScope::Runs => Some(kill.runs.clone()),
        _ => None,
    });
    kills.flatten().collect()
}

fn is_done(decision: &Decision) -> bool {
    matches!(decision, Decision::Plan(plan) if plan.is_already_done)
}

/// A task whose worker was started and runs.
fn working(workflow: &orange_engine::Workflow) -> World<'_> {
    let mut world = World::begin(workflow);
    world.verb(Role::Human, Verb::Spawn);
    world.settle();
    world
}

#[test]
fn a_stopped_agent_is_no_death_and_nothing_starts_it_again() {
    for name in ["default", "minimal", "session", "respawn", "github"] {
        let workflow = shipped_workflow(name);
        let mut world = working(&workflow);
        let status = world.task.status.clone();
        let run = world.task.runs[&Role::Worker].id.clone();
        plan_of(world.ask(Role::Human, STOP));
        assert_eq!(killed(&world), std::slice::from_ref(&run), "{name}");
        assert_eq!(world.effects(), ["kill_agent"], "{name}");
        // The process ends because of the kill, before or after that is recorded.
        let ended = Observation::RunEnded {
            run,
            evidence: Evidence::Signal { signal: 15 },
            output_line: None,
        };
        assert!(world.observe(ended.clone()).events.is_empty(), "{name}");
        world.settle();
        assert!(world.observe(ended).events.is_empty(), "{name}");
        assert!(world.task.runs[&Role::Worker].state.is_stopped(), "{name}");
        assert_eq!(world.task.status, status, "{name}");
        assert_eq!(world.task.crash_count, 0, "{name}");
        assert_eq!(
            world.task.attention,
            ["the worker was stopped by the user"],
            "{name}"
        );
        assert!(world.task.workspace.is_held(), "{name}");
        assert!(is_done(&world.ask(Role::Human, STOP)), "{name}");
        assert_eq!(replay(&world.events).unwrap(), world.task, "{name}");

        plan_of(world.ask(Role::Human, RESTART));
        world.settle();
        assert_eq!(world.task.runs[&Role::Worker].state, RunState::Alive);
        assert!(world.task.attention.is_empty(), "{name}");
    }
}

#[test]
fn a_task_without_an_agent_says_so_and_agents_may_not_ask() {
    let workflow = shipped_workflow("default");
    let mut world = World::begin(&workflow);
    let refusal = refusal_of(world.ask(Role::Human, STOP));
    assert!(
        matches!(&refusal.missing[..], [Blocker::NoAgentRunning { .. }]),
        "{refusal}"
    );
    assert_eq!(refusal.hints.len(), 1, "{refusal}");
    let nothing = refusal_of(world.ask(Role::Human, RESTART));
    assert!(
        matches!(&nothing.missing[..], [Blocker::NoRespawn { .. }]),
        "{nothing}"
    );
    let mut world = working(&workflow);
    for kind in [STOP, RESTART, RequestKind::Reopen] {
        let refusal = refusal_of(world.ask(Role::Worker, kind));
        assert!(
            matches!(&refusal.missing[..], [Blocker::NotAllowed { .. }]),
            "{refusal}"
        );
    }
    world.verb(Role::Human, Verb::Cancel);
    world.settle();
    for kind in [STOP, RESTART] {
        let refusal = refusal_of(world.ask(Role::Human, kind));
        assert!(
            matches!(&refusal.missing[..], [Blocker::Terminal { .. }]),
            "{refusal}"
        );
    }
}

#[test]
fn a_start_that_has_not_happened_is_stopped_too() {
    let workflow = shipped_workflow("default");
    let mut world = World::begin(&workflow);
    world.verb(Role::Human, Verb::Spawn);
    let run = world.task.runs[&Role::Worker].id.clone();
    plan_of(world.ask(Role::Human, STOP));
    // The workspace is still bound; only the agent is not started.
    assert_eq!(world.effects(), ["acquire_workspace", "kill_agent"]);
    assert_eq!(killed(&world), [run]);
    world.settle();
    assert!(world.task.runs[&Role::Worker].state.is_stopped());
    assert_eq!(world.task.unfinished_plan, None);
}

#[test]
fn a_message_on_its_way_is_kept_but_starts_no_agent() {
    let workflow = shipped_workflow("default");
    let mut world = World::placed(&workflow, "reviewing");
    plan_of(world.verb(Role::Human, Verb::RequestChanges));
    assert!(world.task.is_being_notified(&Role::Worker));
    plan_of(world.ask(Role::Human, STOP));
    assert!(!world.task.is_being_notified(&Role::Worker));
    let notified = world.task.pending.iter().any(|it| {
        matches!(&it.planned.effect, Effect::NotifyRole(notify)
            if notify.spawn_if_absent.is_none() && notify.message.contains("asks for changes"))
    });
    assert!(notified, "{:?}", world.task.pending);
    plan_of(world.ask(Role::Human, RESTART));
    assert!(world.task.is_live(&Role::Worker));
}

#[test]
fn a_restart_kills_first_and_starts_only_if_that_succeeds() {
    let workflow = shipped_workflow("default");
    let mut world = working(&workflow);
    let old = world.task.runs[&Role::Worker].id.clone();
    let plan = plan_of(world.ask(Role::Human, RESTART));
    let respawned = plan
        .events
        .iter()
        .any(|event| matches!(event.fact, Fact::AgentRespawned { .. }));
    assert!(respawned);
    assert_eq!(world.effects(), ["kill_agent", "spawn_agent"]);
    assert_eq!(killed(&world), std::slice::from_ref(&old));
    let plans: Vec<u64> = world
        .task
        .pending
        .iter()
        .map(|it| it.planned.plan)
        .collect();
    assert_eq!(plans[0], plans[1]);
    assert!(is_done(&world.ask(Role::Human, RESTART)));
    let kill = world.task.pending[0].planned.id;
    let mut failing = world.clone();
    failing.observe(Observation::EffectFailed {
        effect: kill,
        error: String::from("it would not die"),
        feedback: None,
    });
    assert!(!failing.task.is_live(&Role::Worker));
    world.settle();
    assert_ne!(world.task.runs[&Role::Worker].id, old);
    assert_eq!(world.task.runs[&Role::Worker].state, RunState::Alive);
}

#[test]
fn a_restart_does_not_wait_for_the_pause_after_a_crash() {
    let workflow = shipped_workflow("default");
    let mut world = World::placed(&workflow, "agent-review");
    world.ends(&Role::Reviewer, Evidence::Exit { code: 1 });
    let delays = |world: &World<'_>| -> Vec<u64> {
        let pending = world.task.pending.iter();
        let spawns = pending.filter_map(|it| match &it.planned.effect {
            Effect::Spawn(spawn) => Some(spawn.delay),
            _ => None,
        });
        spawns.collect()
    };
    assert!(
        matches!(delays(&world)[..], [1..=3600]),
        "{:?}",
        delays(&world)
    );
    plan_of(world.ask(Role::Human, RESTART));
    assert_eq!(delays(&world), [0]);
}

#[test]
fn both_agents_are_stopped_and_restarted() {
    let workflow = shipped_workflow("default");
    let mut world = World::placed(&workflow, "agent-review");
    plan_of(world.ask(
        Role::Human,
        RequestKind::Respawn {
            role: Some(Role::Worker),
        },
    ));
    world.settle();
    let only = RequestKind::Stop {
        role: Some(Role::Worker),
    };
    let mut one = world.clone();
    plan_of(one.ask(Role::Human, only));
    assert!(!one.task.is_live(&Role::Worker) && one.task.is_live(&Role::Reviewer));
    plan_of(world.ask(Role::Human, STOP));
    assert_eq!(world.task.attention.len(), 2);
    world.settle();
    plan_of(world.ask(Role::Human, RESTART));
    world.settle();
    for role in [Role::Worker, Role::Reviewer] {
        assert_eq!(world.task.runs[&role].state, RunState::Alive, "{role}");
    }
}

//! Cancelled tasks that continue.

use orange_engine::effect::Effect;
use orange_engine::event::Fact;
use orange_engine::input::{Cause, Observation, Request, RequestKind};
use orange_engine::language::verbs::Verb;
use orange_engine::names::TaskId;
use orange_engine::refusal::Blocker;
use orange_engine::replay;
use orange_engine::role::Role;
use orange_engine::task::{RunState, Workspace};

use crate::fixtures::{World, load_clean, plan_of, refusal_of, shipped_workflow, status};

/// Cancels a task and lets the effects of that succeed.
fn cancel(world: &mut World<'_>) {
    plan_of(world.verb(Role::Human, Verb::Cancel));
    world.settle();
    assert_eq!(world.task.workspace, Workspace::None);
}

fn reopen(world: &mut World<'_>) {
    let plan = plan_of(world.ask(Role::Human, RequestKind::Reopen));
    let reopened = |fact: &Fact| matches!(fact, Fact::TaskReopened { .. });
    let reopened = plan.events.iter().filter(|event| reopened(&event.fact));
    assert_eq!(reopened.count(), 1);
    assert_eq!(replay(&world.events).unwrap(), world.task);
}

#[test]
fn a_task_continues_where_it_was_cancelled_with_what_was_saved() {
    for name in ["default", "minimal", "session", "respawn", "github"] {
        let workflow = shipped_workflow(name);
        let mut world = World::begin(&workflow);
        world.verb(Role::Human, Verb::Spawn);
        world.settle();
        let before = world.task.clone();
        cancel(&mut world);
        reopen(&mut world);
        assert_eq!(world.task.status, before.status, "{name}");
        assert_eq!(world.task.entered.from, before.entered.from, "{name}");
        assert_eq!(world.effects(), ["acquire_workspace", "spawn_agent"]);
        let restores = matches!(
            world.task.pending[0].planned.effect,
            Effect::AcquireWorkspace { restore: true }
        );
        assert!(restores, "{name}");
        world.settle();
        assert_eq!(world.task.runs[&Role::Worker].state, RunState::Alive);
        assert!(world.task.attention.is_empty(), "{name}");
    }
}

#[test]
fn a_queued_task_waits_again_and_a_review_needs_no_agent() {
    let workflow = shipped_workflow("default");
    let mut queued = World::begin(&workflow);
    cancel(&mut queued);
    reopen(&mut queued);
    assert_eq!(queued.task.status, status("pending"));
    assert_eq!(queued.task.entered.from, None);
    assert!(queued.effects().is_empty());

    let mut world = World::begin(&workflow);
    world.step(Cause::Request(Request::new(
        Role::Human,
        RequestKind::Verb(Verb::Spawn),
    )));
    world.settle();
    let mut failing = world.clone();
    world.write(&[("## Plan", "APPROACH: steps")]);
    world.expect_move(Role::Worker, "working");
    world.commit();
    world.write(&[("## Handoff", "DONE: all\nREMAINING: none")]);
    world.expect_move(Role::Worker, "agent-review");
    world.write(&[
        ("## Handoff", "DONE: all\nREMAINING: none"),
        ("## Review", "Verdict: PASS"),
    ]);
    world.expect_move(Role::Reviewer, "reviewing");
    let submission = world.task.submission.clone();
    assert!(submission.is_some());
    cancel(&mut world);
    reopen(&mut world);
    assert_eq!(world.task.status, status("reviewing"));
    assert_eq!(world.effects(), ["acquire_workspace"]);
    assert_eq!(world.task.submission, submission);

    // A start that fails leads where every failed start leads.
    cancel(&mut failing);
    reopen(&mut failing);
    let effect = failing.task.pending[0].planned.id;
    failing.observe(Observation::EffectFailed {
        effect,
        error: String::from("no room"),
        feedback: None,
    });
    assert_eq!(failing.task.status, status("pending"));
}

#[test]
fn only_a_cancelled_task_is_reopened_and_only_once_its_work_is_saved() {
    let workflow = shipped_workflow("default");
    let mut world = World::begin(&workflow);
    world.verb(Role::Human, Verb::Spawn);
    world.settle();
    let open = refusal_of(world.ask(Role::Human, RequestKind::Reopen));
    assert!(
        matches!(
            &open.missing[..],
            [Blocker::NotCancelled {
                has_ended: false,
                ..
            }]
        ),
        "{open}"
    );
    plan_of(world.verb(Role::Human, Verb::Cancel));
    let busy = refusal_of(world.ask(Role::Human, RequestKind::Reopen));
    assert!(
        matches!(&busy.missing[..], [Blocker::EffectsRunning]),
        "{busy}"
    );
    world.settle();
    let agent = refusal_of(world.ask(Role::Worker, RequestKind::Reopen));
    assert!(
        matches!(&agent.missing[..], [Blocker::NotAllowed { .. }]),
        "{agent}"
    );

    let mut merged = World::placed(&workflow, "done");
    let refusal = refusal_of(merged.ask(Role::Human, RequestKind::Reopen));
    assert!(
        matches!(
            &refusal.missing[..],
            [Blocker::NotCancelled {
                has_ended: true,
                ..
            }]
        ),
        "{refusal}"
    );
    assert_eq!(
        refusal.hints,
        ["create a new task for further work with `orange task create`"]
    );
}

const PAUSE: &str = "name: pausing
version: 1
states:
  open: { kind: queued }
  busy: { kind: agent, expects: [worker], respawn: { worker: { prompt: worker } } }
  paused: { kind: human }
  merged: { kind: terminal }
  dropped: { kind: terminal }
entry:
  open: {}
transitions:
  - { from: open, to: busy, by: human, hooks: [{ action: acquire_workspace }, { action: spawn_agent, prompt: worker }] }
  - { from: busy, to: paused, by: human, hooks: [{ action: kill_session }] }
  - { from: paused, to: '@previous', by: human }
  - { from: '*active', to: dropped, by: human, hooks: [{ action: kill_session }, { action: release_workspace }] }
  - { from: busy, to: merged, trigger: merged, by: human }
verbs:
  spawn: busy
  merge: merged
  cancel: dropped
  unblock: '@previous'
exit_monitoring:
  rules:
    - { status: busy, no_artifact: true, action: crash, on_crash: mark }
prompts:
  worker: Work.
";

#[test]
fn the_way_back_never_leads_to_the_end() {
    let workflow = load_clean(PAUSE);
    let mut world = World::begin(&workflow);
    world.expect_move(Role::Human, "busy");
    world.expect_move(Role::Human, "paused");
    for _ in 0..2 {
        cancel(&mut world);
        assert_eq!(world.task.status, status("dropped"));
        reopen(&mut world);
        assert_eq!(world.task.status, status("paused"));
        assert_eq!(world.task.entered.from, Some(status("busy")));
        // It had a workspace there, so it gets one again.
        assert_eq!(world.effects(), ["acquire_workspace"]);
        world.settle();
    }
    plan_of(world.verb(Role::Human, Verb::Unblock));
    assert_eq!(world.task.status, status("busy"));
}

#[test]
fn a_parent_waits_again_for_a_reopened_child() {
    let workflow = shipped_workflow("default");
    let mut parent = World::placed(&workflow, "working");
    let child = TaskId::new("child");
    let added = Observation::ChildAdded {
        child: child.clone(),
    };
    let ended = Observation::ChildEnded {
        child: child.clone(),
        status: status("cancelled"),
    };
    let reopened = Observation::ChildReopened {
        child: child.clone(),
    };
    assert!(parent.observe(reopened.clone()).events.is_empty());
    parent.observe(added);
    parent.observe(ended.clone());
    assert_eq!(parent.task.children[&child], Some(status("cancelled")));
    parent.observe(reopened.clone());
    assert_eq!(parent.task.children[&child], None);
    assert!(parent.observe(reopened).events.is_empty());
    parent.observe(ended);
    assert_eq!(parent.task.children[&child], Some(status("cancelled")));
}

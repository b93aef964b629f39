//! Whole lifecycles and the corner cases between them.

use orange_engine::decision::Decision;
use orange_engine::document::Document;
use orange_engine::effect::{Effect, EffectClass, EffectOutcome, MergeStrategy};
use orange_engine::event::Fact;
use orange_engine::evidence::Evidence;
use orange_engine::input::{Cause, CommandResult, FactNeeded, Observation, Request, RequestKind};
use orange_engine::language::gates::{GitCondition, PullRequestState};
use orange_engine::language::verbs::Verb;
use orange_engine::language::workflow::Permissions;
use orange_engine::merge_result::MergeResult;
use orange_engine::names::{BranchName, CommitId, FieldName, TaskId, WorkspaceName};
use orange_engine::report::{Delegation, Report};
use orange_engine::role::Role;
use orange_engine::task::{PendingState, RunState, Workspace};
use orange_engine::why::explain;
use orange_engine::{Workflow, replay, vouches_for_document};

use crate::fixtures::{
    ALL_HOLD, World, git_facts, in_state, load_clean, new_task, plan_of, refusal_of, request,
    shipped_workflow, shown, status,
};

fn default() -> Workflow {
    shipped_workflow("default")
}

fn full_workflow() -> Workflow {
    load_clean(include_str!("everything.yml"))
}

fn done(status: &str) -> Report {
    Report {
        status: Some(status.to_owned()),
        ..Report::default()
    }
}

/// Advances to working, with a live worker.
fn working(workflow: &Workflow) -> World<'_> {
    let mut world = World::begin(workflow);
    world.verb(Role::Human, Verb::Spawn);
    world.settle();
    world.write(&[("## Plan", "APPROACH: steps")]);
    world.expect_move(Role::Worker, "working");
    world
}

fn in_review(workflow: &Workflow) -> World<'_> {
    let mut world = working(workflow);
    world.write(&[("## Handoff", "DONE: all")]);
    world.expect_move(Role::Worker, "agent-review");
    world
}

#[test]
fn from_pending_to_done() {
    let workflow = default();
    let mut world = in_review(&workflow);
    assert_eq!(world.task.fields["review_round"], 1);
    assert!(world.task.is_live(&Role::Worker) && world.task.is_live(&Role::Reviewer));
    world.write(&[("## Handoff", "DONE: all"), ("## Review", "Verdict: PASS")]);
    world.expect_move(Role::Reviewer, "reviewing");
    assert!(world.task.is_live(&Role::Worker) && !world.task.is_live(&Role::Reviewer));
    let facts = world.facts.git.take().unwrap();
    assert_eq!(shown(&world.verb(Role::Human, Verb::Merge)), "needs git");
    world.facts.git = Some(facts);
    let plan = plan_of(world.verb(Role::Human, Verb::Merge));
    let merge = plan.effects().next().unwrap();
    let Effect::Merge(asked) = &merge.effect else {
        panic!()
    };
    assert_eq!((asked.head.as_str(), asked.base.as_str()), ("head", "base"));
    assert_eq!(world.task.status, status("reviewing"));
    // Asking again, while it runs or after it succeeded, does not start a second merge.
    assert_eq!(shown(&world.verb(Role::Human, Verb::Merge)), "already");
    world.settle();
    assert_eq!(world.task.status, status("done"));
    assert_eq!(world.task.workspace, Workspace::None);
    assert!(world.task.runs.is_empty());
    assert!(world.task.pending.is_empty());
    assert_eq!(shown(&world.verb(Role::Human, Verb::Merge)), "already");
    assert_eq!(
        shown(&world.verb(Role::Human, Verb::Cancel)),
        "refused terminal"
    );
    assert_eq!(replay(&world.events).unwrap(), world.task);
}

#[test]
fn a_merge_records_its_commit() {
    let workflow = default();
    let mut world = World::placed(&workflow, "reviewing");
    world.facts.git = Some(git_facts(&ALL_HOLD));
    world.verb(Role::Human, Verb::Merge);
    let effect = world.task.pending_merge().unwrap();
    let outcome = EffectOutcome::Merged(MergeResult::from_commit(CommitId::new("abc123")));
    world.observe(Observation::EffectDone { effect, outcome });
    let because = explain(&world.events).unwrap().evidence;
    assert_eq!(because, ["the branch was merged as abc123"]);
}

#[test]
fn a_finished_task_ignores_observations() {
    let workflow = default();
    for name in ["done", "cancelled"] {
        let mut world = World::placed(&workflow, name);
        for observation in [
            Observation::Merged {
                commit: CommitId::new("abc"),
            },
            in_state(PullRequestState::Closed),
            Observation::ChildAdded {
                child: TaskId::new("c"),
            },
            Observation::ChildEnded {
                child: TaskId::new("c"),
                status: status("done"),
            },
            Observation::TimedOut,
        ] {
            assert_eq!(
                world.observe(observation.clone()).events,
                [],
                "{name}: {observation:?}"
            );
        }
    }
    // A merge answers `already` only if a merge led to the status.
    let seed = load_clean(include_str!("seeds/minimal.yml"));
    let mut world = World::placed(&seed, "reviewing");
    world.expect_move(Role::Human, "done");
    assert_eq!(
        shown(&world.verb(Role::Human, Verb::Merge)),
        "refused terminal"
    );
}

#[test]
fn a_role_that_no_hook_starts_respawns_with_its_default_harness() {
    let source = "name: x\nversion: 1\nstates:\n  a:\n    expects: [reviewer, worker]\n    respawn:\n      reviewer: { prompt: p }\n      worker: { prompt: p }\n  z: { terminal: true }\ntransitions:\n  - { from: a, to: z }\nprompts:\n  p: Look.\n";
    let workflow = load_clean(source);
    for (role, harness, window) in [
        (Role::Reviewer, "codex", "reviewer"),
        (Role::Worker, "claude", "worker"),
    ] {
        let mut world = World::begin(&workflow);
        world.task.workspace = Workspace::Bound(WorkspaceName::new("coffee--1"));
        world.ask(Role::Human, RequestKind::Respawn { role: Some(role) });
        let Effect::Spawn(spawn) = &world.task.pending[0].planned.effect else {
            panic!()
        };
        assert_eq!(
            (spawn.harness.as_str(), spawn.window.as_str()),
            (harness, window)
        );
        assert!(!spawn.headless);
    }
}

#[test]
fn a_failed_merge_leaves_the_status_and_says_why() {
    let workflow = default();
    let mut world = World::placed(&workflow, "reviewing");
    world.facts.git = Some(git_facts(&ALL_HOLD));
    world.verb(Role::Human, Verb::Merge);
    let effect = world.task.pending_merge().unwrap();
    let error = String::from("conflict in a.rs");
    world.observe(Observation::EffectFailed {
        effect,
        error,
        feedback: None,
    });
    assert_eq!(world.task.status, status("reviewing"));
    assert_eq!(world.task.attention, ["merge: conflict in a.rs"]);
    assert_eq!(world.task.pending_merge(), None);
    // The next attempt replaces the failed one.
    let strategy = MergeStrategy::Squash;
    world.ask(
        Role::Human,
        RequestKind::Merge {
            strategy: Some(strategy),
            local: false,
            only_head: false,
        },
    );
    assert_eq!(world.task.pending.len(), 1);
    assert_eq!(world.task.attention, [] as [&str; 0]);
    world.settle();
    assert_eq!(world.task.status, status("done"));
}

#[test]
fn a_merge_checks_its_gates_and_asks_for_confirmation() {
    let workflow = default();
    let mut world = World::placed(&workflow, "reviewing");
    world.facts.git = Some(git_facts(&[]));
    let decision = world.verb(Role::Human, Verb::Merge);
    assert_eq!(
        shown(&decision),
        "refused gate-failed (the worktree has uncommitted changes) + gate-failed (the \
         branch has no commit of its own) + gate-failed (TASK.md was committed to the branch)"
    );
    let mut world = World::placed(&workflow, "working");
    world.facts.git = Some(git_facts(&ALL_HOLD));
    let refusal = refusal_of(world.verb(Role::Human, Verb::Merge));
    assert_eq!(refusal.code(), "confirmation-needed");
    assert_eq!(
        refusal.hints,
        ["to confirm, run `orange task merge k3f9 --yes`"]
    );
    let Cause::Request(mut asked) = request(Role::Human, RequestKind::Verb(Verb::Merge)) else {
        panic!()
    };
    asked.is_confirmed = true;
    world.step(Cause::Request(asked));
    world.settle();
    assert_eq!(world.task.status, status("done"));
}

#[test]
fn a_seed_workflow_merges_along_its_request_edge() {
    let workflow = load_clean(include_str!("seeds/minimal.yml"));
    let mut world = World::placed(&workflow, "reviewing");
    world.verb(Role::Human, Verb::Merge);
    world.settle();
    assert_eq!(world.task.status, status("done"));
    // An outside event without an edge in this status is reported once.
    let mut world = World::placed(&workflow, "reviewing");
    let merged = || Observation::Merged {
        commit: CommitId::new("abc"),
    };
    assert_eq!(world.observe(merged()).events.len(), 2);
    assert_eq!(world.observe(merged()).events.len(), 0);
    assert_eq!(world.task.attention.len(), 1);
}

#[test]
fn a_failed_review_notifies_the_worker_or_spawns_a_new_one() {
    let workflow = default();
    let mut world = in_review(&workflow);
    world.write(&[
        ("## Handoff", "DONE: all"),
        ("## Review", "Verdict: FAIL\nno tests"),
    ]);
    let plan = plan_of(world.move_to(Role::Reviewer, "working"));
    let notify = plan.effects().find_map(|planned| match &planned.effect {
        Effect::NotifyRole(notify) => Some(notify),
        _ => None,
    });
    let notify = notify.unwrap();
    assert!(
        notify
            .message
            .contains("The review of round 1 did not pass"),
        "{}",
        notify.message
    );
    let spawn = notify.spawn_if_absent.as_ref().unwrap();
    assert_eq!(spawn.role, Role::Worker);
    assert_eq!(spawn.permissions, Permissions::Reduced);
    assert_eq!(spawn.window, "worker");
    assert!(spawn.prompt.contains("Status: working"), "{}", spawn.prompt);
    // No worker was running, so the message became a start.
    let id = plan
        .effects()
        .find(|planned| planned.effect.label() == "notify_worker")
        .unwrap()
        .id;
    let run = spawn.run.clone();
    world.observe(Observation::EffectDone {
        effect: id,
        outcome: EffectOutcome::SpawnedInstead,
    });
    assert_eq!(world.task.runs[&Role::Worker].id, run);
    assert!(world.task.is_live(&Role::Worker));
}

#[test]
fn two_failed_reviews_make_the_task_stuck_until_the_user_decides() {
    let workflow = default();
    let mut world = in_review(&workflow);
    for (round, next) in [(1, "working"), (2, "stuck")] {
        assert_eq!(world.task.fields["review_round"], round);
        let review = format!("Verdict: FAIL\nround {round}");
        world.write(&[("## Review", &review)]);
        world.expect_move(Role::Reviewer, next);
        if next == "working" {
            world.write(&[("## Handoff", "DONE: second")]);
            world.expect_move(Role::Worker, "agent-review");
        }
    }
    assert_eq!(
        world.refused(Role::Worker, "reviewing").code(),
        "not-allowed"
    );
    world.write(&[("## Handoff", "DONE: third")]);
    world.expect_move(Role::Human, "agent-review");
    assert_eq!(world.task.fields["review_round"], 1);
}

#[test]
fn an_empty_summary_is_clarified_first() {
    let workflow = default();
    let mut world = World::create(&workflow, &new_task("  ", None)).unwrap();
    assert_eq!(world.task.status, status("pending"));
    world.verb(Role::Engine, Verb::Spawn);
    assert_eq!(world.task.status, status("clarification"));
    world.settle();
    let summary = Some(String::from("Add a thing"));
    world.ask(
        Role::Worker,
        RequestKind::Amend {
            summary,
            branch: None,
            priority: None,
            to: None,
        },
    );
    assert_eq!(world.task.summary, "Add a thing");
    for turn in 1..=3 {
        world.expect_move(Role::Worker, "planning");
        assert_eq!(world.task.fields["clarifications"], turn);
        world.expect_move(Role::Worker, "clarification");
    }
    assert_eq!(
        world.refused(Role::Worker, "planning").code(),
        "guard-failed"
    );
    world.expect_move(Role::Human, "planning");
    assert_eq!(world.task.fields["clarifications"], 0);
}

#[test]
fn a_task_starts_in_an_entry_state_of_its_workflow() {
    let workflow = default();
    let world = World::create(&workflow, &new_task("x", Some("agent-review"))).unwrap();
    assert_eq!(world.effects(), ["acquire_workspace", "spawn_reviewer"]);
    assert_eq!(world.task.fields["review_round"], 1);
    assert_eq!(world.task.unfinished_plan, Some(1));
    let world = World::create(&workflow, &new_task("x", Some("pending"))).unwrap();
    assert_eq!(world.task.unfinished_plan, None);
    let refused = |summary, entry| {
        World::create(&workflow, &new_task(summary, Some(entry)))
            .err()
            .unwrap()
    };
    let refusal = refused("x", "clarification");
    assert_eq!(
        refusal.to_string(),
        "cannot create a task in `clarification`: this is only for a task without a summary, \
         but it has one"
    );
    assert_eq!(
        refusal.hints,
        ["leave `--status` out, and the workflow chooses the first status"]
    );
    assert_eq!(refused("x", "done").code(), "no-entry");
    assert_eq!(
        refused("x", "done").hints,
        ["run `orange task create --status pending`"]
    );
    assert_eq!(refused("x", "nowhere").code(), "unknown-status");
    assert_eq!(
        refused("x", "nowhere").hints,
        [
            "a task can begin in `pending`, `clarification`, `agent-review` or `reviewing`; without \
          `--status` the workflow chooses"
        ]
    );
    let workflow = full_workflow();
    let world = World::create(&workflow, &new_task("long enough", None)).unwrap();
    assert_eq!(world.task.fields["loops"], 1);
}

#[test]
fn crashes_add_up_only_within_one_status() {
    let workflow = default();
    let mut world = working(&workflow);
    let plan = world.ends(&Role::Worker, Evidence::Exit { code: 3 });
    assert_eq!(world.task.crash_count, 1);
    assert_eq!(
        world.task.attention,
        ["the worker exited with code 3; it crashed once in this status"]
    );
    // Observing the same death again changes nothing.
    let again = world.ends(&Role::Worker, Evidence::Exit { code: 3 });
    assert_eq!(again.events, []);
    assert!(!plan.events.is_empty());
    world.ask(Role::Human, RequestKind::Respawn { role: None });
    assert_eq!(world.effects(), ["kill_agent", "spawn_agent"]);
    world.settle();
    assert!(world.task.is_live(&Role::Worker));
    assert_eq!(world.task.crash_count, 1, "a respawn is not a success");
    world.write(&[("## Handoff", "DONE: x")]);
    world.move_to(Role::Worker, "agent-review");
    assert_eq!(
        world.task.crash_count, 1,
        "not before the hooks have finished"
    );
    world.settle();
    assert_eq!(world.task.crash_count, 0);
}

#[test]
fn a_second_crash_leads_to_stuck_with_a_live_agent() {
    let workflow = default();
    let mut world = working(&workflow);
    world.ends(&Role::Worker, Evidence::Signal { signal: 11 });
    world.ask(Role::Human, RequestKind::Respawn { role: None });
    world.settle();
    world.ends(&Role::Worker, Evidence::Closed);
    assert_eq!(world.task.status, status("stuck"));
    assert_eq!(world.effects(), ["kill_agent", "notify_worker"]);
    world.settle();
    assert!(world.task.is_live(&Role::Worker));
    assert_eq!(world.task.crash_count, 0);
}

#[test]
fn a_dead_reviewer_is_respawned_with_a_backoff() {
    let workflow = default();
    let mut world = in_review(&workflow);
    let first = world.task.runs[&Role::Reviewer].id.clone();
    let plan = world.ends(&Role::Reviewer, Evidence::OutOfMemory);
    let spawn = plan.effects().find_map(|planned| match &planned.effect {
        Effect::Spawn(spawn) => Some(spawn.clone()),
        _ => None,
    });
    let spawn = spawn.unwrap();
    assert_eq!(
        (spawn.delay, spawn.window.as_str(), spawn.harness.as_str()),
        (10, "review-1", "codex")
    );
    assert_ne!(spawn.run, first);
    assert_eq!(world.task.fields["review_round"], 1, "the same round");
    world.settle();
    world.ends(&Role::Reviewer, Evidence::Exit { code: 1 });
    assert_eq!(world.task.status, status("stuck"));
}

#[test]
fn backoff_doubles_and_ends_at_an_hour() {
    let text =
        include_str!("everything.yml").replace("stuck_after: max_rounds\n", "stuck_after: 40\n");
    let workflow = load_clean(&text);
    for (crashes, delay) in [(0, 2), (1, 4), (2, 8), (9, 1024), (11, 3600), (38, 3600)] {
        let mut world = World::placed(&workflow, "busy");
        world.set("crash_count", crashes);
        let plan = world.ends(&Role::Worker, Evidence::Exit { code: 1 });
        let found = plan.effects().find_map(|planned| match &planned.effect {
            Effect::Spawn(spawn) => Some(spawn.delay),
            _ => None,
        });
        assert_eq!(found, Some(delay), "after {crashes}");
    }
}

#[test]
fn a_run_we_kill_is_not_a_crash() {
    let workflow = shipped_workflow("respawn");
    let mut world = World::begin(&workflow);
    world.verb(Role::Human, Verb::Spawn);
    world.settle();
    let worker = world.task.runs[&Role::Worker].id.clone();
    world.write(&[("## Handoff", "all done")]);
    world.move_to(Role::Worker, "agent-review");
    assert_eq!(world.task.runs[&Role::Worker].state, RunState::Ending);
    let evidence = Evidence::Signal { signal: 1 };
    let plan = world.observe(Observation::RunEnded {
        run: worker.clone(),
        evidence,
        output_line: None,
    });
    assert_eq!(plan.events, []);
    let kill = world
        .task
        .pending
        .iter()
        .find_map(|pending| match &pending.planned.effect {
            Effect::Kill(kill) => Some(kill.clone()),
            _ => None,
        });
    assert_eq!(kill.unwrap().runs, [worker]);
    world.settle();
    assert_eq!(
        world.task.runs.keys().collect::<Vec<_>>(),
        [&Role::Reviewer]
    );
}

#[test]
fn a_death_before_the_start_is_reported_is_still_a_death() {
    let workflow = default();
    let mut world = World::begin(&workflow);
    world.verb(Role::Human, Verb::Spawn);
    let spawn = world.task.pending[1].planned.id;
    world.ends(&Role::Worker, Evidence::Exit { code: 127 });
    assert_eq!(world.task.crash_count, 1);
    world.observe(Observation::EffectDone {
        effect: spawn,
        outcome: EffectOutcome::Done,
    });
    assert!(matches!(
        world.task.runs[&Role::Worker].state,
        RunState::Ended { .. }
    ));
}

#[test]
fn a_failed_start_keeps_the_run_record() {
    let workflow = default();
    // The run was observed to die before its start failed: the death stays recorded.
    let mut world = working(&workflow);
    world.ends(&Role::Worker, Evidence::Environment);
    world.ask(Role::Human, RequestKind::Respawn { role: None });
    let spawn = world.task.pending[0].planned.id;
    world.ends(&Role::Worker, Evidence::Exit { code: 1 });
    let error = String::from("it died");
    world.observe(Observation::EffectFailed {
        effect: spawn,
        error: error.clone(),
        feedback: None,
    });
    assert!(matches!(
        world.task.runs[&Role::Worker].state,
        RunState::Ended { .. }
    ));
    // The run was never observed: no agent is running, and there is no workspace.
    let mut world = World::create(&workflow, &new_task("x", Some("agent-review"))).unwrap();
    let acquire = world.task.pending[0].planned.id;
    world.observe(Observation::EffectFailed {
        effect: acquire,
        error: error.clone(),
        feedback: None,
    });
    assert_eq!(world.task.workspace, Workspace::None);
    assert_eq!(world.task.pending[1].state, PendingState::Stopped);
    assert!(!world.task.is_live(&Role::Reviewer));
    assert_eq!(world.task.attention, ["acquire_workspace: it died"]);
    // Retrying both brings the workspace and the reviewer after all.
    world.ask(Role::Human, RequestKind::RetryEffects);
    assert_eq!(world.task.workspace, Workspace::Acquiring);
    assert!(world.task.is_live(&Role::Reviewer));
    world.settle();
    assert!(matches!(world.task.workspace, Workspace::Bound(_)));
    assert!(world.task.is_live(&Role::Reviewer));
    // A failed attempt to acquire another workspace does not lose the held one.
    let mut world = World::placed(&workflow, "resuming");
    world.task.workspace = Workspace::Bound(WorkspaceName::new("coffee--1"));
    world.verb(Role::Human, Verb::Spawn);
    assert!(matches!(world.task.workspace, Workspace::Bound(_)));
    let acquire = world.task.pending[0].planned.id;
    world.observe(Observation::EffectFailed {
        effect: acquire,
        error,
        feedback: None,
    });
    let name = WorkspaceName::new("coffee--1");
    assert_eq!(
        world.task.workspace,
        Workspace::Releasing(Some(name.clone()))
    );
    let released = world.task.pending.iter().any(|pending| {
        pending.planned.effect
            == Effect::ReleaseWorkspace {
                workspace: Some(name.clone()),
            }
    });
    assert!(released, "the release names the workspace that was bound");
}

#[test]
fn a_failed_start_returns_to_the_queue() {
    let workflow = default();
    let mut world = World::begin(&workflow);
    for failures in 1..=3 {
        assert!(matches!(
            world.verb(Role::Engine, Verb::Spawn),
            Decision::Plan(_)
        ));
        let acquire = world.task.pending[0].planned.id;
        let error = String::from("no space left");
        world.observe(Observation::EffectFailed {
            effect: acquire,
            error,
            feedback: None,
        });
        assert_eq!(world.task.status, status("pending"));
        assert_eq!(world.task.fields["spawn_failures"], failures);
        assert_eq!(world.effects(), ["kill_session", "release_workspace"]);
        world.settle();
        assert_eq!(world.task.workspace, Workspace::None);
        assert!(world.task.runs.is_empty());
    }
    let refusal = refusal_of(world.verb(Role::Engine, Verb::Spawn));
    assert_eq!(refusal.code(), "guard-failed");
    world.verb(Role::Human, Verb::Spawn);
    assert_eq!(world.task.status, status("planning"));
    assert_eq!(world.task.fields["spawn_failures"], 0);
}

#[test]
fn a_failed_respawn_keeps_the_status() {
    let workflow = default();
    let mut world = working(&workflow);
    world.ends(&Role::Worker, Evidence::Environment);
    assert_eq!(world.task.crash_count, 0);
    world.ask(
        Role::Human,
        RequestKind::Respawn {
            role: Some(Role::Worker),
        },
    );
    let kill = world.task.pending[0].planned.id;
    world.observe(Observation::EffectDone {
        effect: kill,
        outcome: EffectOutcome::Done,
    });
    let effect = world.task.pending[0].planned.id;
    world.observe(Observation::EffectFailed {
        effect,
        error: String::from("no tmux"),
        feedback: None,
    });
    assert_eq!(world.task.status, status("working"));
    assert_eq!(world.task.attention, ["spawn_agent: no tmux"]);
    assert!(!world.task.is_live(&Role::Worker));
    // Another respawn replaces the failed one.
    world.ask(
        Role::Human,
        RequestKind::Respawn {
            role: Some(Role::Worker),
        },
    );
    assert_eq!(world.task.pending.len(), 1);
    world.settle();
    assert!(world.task.is_live(&Role::Worker));
}

#[test]
fn a_failed_effect_stops_the_later_ones_of_its_plan() {
    let workflow = default();
    let mut world = working(&workflow);
    world.verb(Role::Human, Verb::Cancel);
    let kill = world.task.pending[0].planned.id;
    world.observe(Observation::EffectFailed {
        effect: kill,
        error: String::from("immortal"),
        feedback: None,
    });
    let states: Vec<&PendingState> = world
        .task
        .pending
        .iter()
        .map(|pending| &pending.state)
        .collect();
    assert_eq!(
        states,
        [
            &PendingState::Failed {
                error: String::from("immortal")
            },
            &PendingState::Stopped
        ]
    );
    assert!(matches!(
        world.task.workspace,
        Workspace::Releasing(Some(_))
    ));
    assert!(world.task.unfinished_plan.is_some());
    // Failing twice is recorded once.
    let again = world.observe(Observation::EffectFailed {
        effect: kill,
        error: String::from("immortal"),
        feedback: None,
    });
    assert_eq!(again.events, []);
    // An ended task must not keep its slot: both effects are retried, in order.
    assert_eq!(
        shown(&world.ask(Role::Worker, RequestKind::RetryEffects)),
        "refused not-allowed (only human)"
    );
    assert!(matches!(
        world.ask(Role::Engine, RequestKind::RetryEffects),
        Decision::Plan(_)
    ));
    assert_eq!(world.task.attention, [""; 0]);
    world.settle();
    assert_eq!(world.task.workspace, Workspace::None);
    assert_eq!(world.task.status, status("cancelled"));
    assert_eq!(
        shown(&world.ask(Role::Human, RequestKind::RetryEffects)),
        "refused nothing-to-do"
    );
}

const DEPLOYING: &str = "
name: deploying
version: 1
description: Runs a command before the workspace is given back.
states:
  open: { kind: queued }
  held: { kind: human, expects: [] }
  closed: { kind: terminal }
transitions:
  - from: open
    to: held
    by: human
    hooks:
      - action: acquire_workspace
  - from: held
    to: closed
    by: human
    hooks:
      - action: kill_session
      - { action: run_command, command: [deploy] }
      - action: release_workspace
verbs:
  spawn: held
  merge: []
  cancel: closed
";

#[test]
fn releasing_the_workspace_is_retried_on_its_own() {
    let workflow = load_clean(DEPLOYING);
    let waiting = |world: &World<'_>| {
        let pending = world.task.pending.iter();
        let pending = pending.filter(|it| it.state == PendingState::Waiting);
        let labels: Vec<&str> = pending.map(|it| it.planned.effect.label()).collect();
        labels
    };
    let closed = |failing: usize| {
        let mut world = World::begin(&workflow);
        world.move_to(Role::Human, "held");
        world.settle();
        world.move_to(Role::Human, "closed");
        for _done in 0..failing {
            let planned = world.task.pending[0].planned.clone();
            let outcome = world.outcome_of(&planned.effect);
            let effect = planned.id;
            world.observe(Observation::EffectDone { effect, outcome });
        }
        let effect = world.task.pending[0].planned.id;
        let error = String::from("broken");
        world.observe(Observation::EffectFailed {
            effect,
            error,
            feedback: None,
        });
        assert_eq!(waiting(&world), [""; 0]);
        world
    };
    // No live agent loses its workspace.
    let mut world = closed(0);
    world.ask(Role::Engine, RequestKind::RetryReleases);
    assert_eq!(waiting(&world), ["kill_session", "release_workspace"]);
    assert_eq!(world.task.attention, [""; 0]);
    // A failed command is not run again, and is still reported.
    let mut world = closed(1);
    assert_eq!(
        shown(&world.ask(Role::Worker, RequestKind::RetryReleases)),
        "refused not-allowed (only human)"
    );
    world.ask(Role::Human, RequestKind::RetryReleases);
    assert_eq!(waiting(&world), ["release_workspace"]);
    assert_eq!(world.task.attention, ["run_command: broken"]);
    world.settle();
    assert_eq!(world.task.workspace, Workspace::None);
    assert_eq!(world.effects(), ["run_command"]);
    assert_eq!(
        shown(&world.ask(Role::Human, RequestKind::RetryReleases)),
        "refused nothing-to-do"
    );
    let mut world = closed(2);
    world.ask(Role::Human, RequestKind::RetryReleases);
    assert_eq!(waiting(&world), ["release_workspace"]);
    world.settle();
    assert_eq!(world.task.workspace, Workspace::None);
}

#[test]
fn some_failures_stop_nothing() {
    let workflow = default();
    let mut world = World::placed(&workflow, "reviewing");
    world.observe(Observation::Merged {
        commit: CommitId::new("head"),
    });
    assert_eq!(
        world.effects(),
        [
            "kill_session",
            "release_workspace",
            "delete_remote_branch",
            "spawn_next"
        ]
    );
    let delete = world.task.pending[2].planned.id;
    world.observe(Observation::EffectFailed {
        effect: delete,
        error: String::from("offline"),
        feedback: None,
    });
    let mut pending = world.task.pending.iter();
    assert!(pending.all(|pending| pending.state != PendingState::Stopped));
    world.settle();
    assert_eq!(world.effects(), ["delete_remote_branch"]);
    assert_eq!(
        world.task.unfinished_plan, None,
        "a failure that may be passed over does not count"
    );
    assert_eq!(world.task.attention, ["delete_remote_branch: offline"]);
}

#[test]
fn a_transition_cancels_obsolete_effects() {
    let workflow = default();
    // A cancel by the user calls off the reviewer's start; kills and releases still run.
    let mut world = working(&workflow);
    world.write(&[("## Handoff", "DONE: x")]);
    world.move_to(Role::Worker, "agent-review");
    assert_eq!(world.effects(), ["archive_section", "spawn_reviewer"]);
    world.move_to(Role::Human, "cancelled");
    assert_eq!(
        world.effects(),
        [
            "archive_section",
            "kill_reviewer",
            "kill_session",
            "release_workspace"
        ]
    );
    // The worker's start stays wanted as long as the status expects the worker.
    let mut world = World::begin(&workflow);
    world.verb(Role::Human, Verb::Spawn);
    world.move_to(Role::Human, "clarification");
    assert_eq!(world.effects(), ["acquire_workspace", "spawn_agent"]);
    // Any status change calls off a merge that has not happened.
    let mut world = World::placed(&workflow, "reviewing");
    world.facts.git = Some(git_facts(&ALL_HOLD));
    world.verb(Role::Human, Verb::Merge);
    world.move_to(Role::Human, "working");
    assert_eq!(world.effects(), ["notify_worker"]);
    // A newer message to the worker calls off the older one, which may have become a start.
    world.move_to(Role::Human, "stuck");
    assert_eq!(world.effects(), ["kill_agent", "notify_worker"]);
}

#[test]
fn failed_effects_belong_to_the_previous_transition() {
    let workflow = full_workflow();
    let mut world = World::placed(&workflow, "busy");
    world.write(&[("## Plan", "APPROACH: x")]);
    world
        .facts
        .commands
        .insert(vec![String::from("true")], CommandResult::Exited(0));
    world.move_to(Role::Worker, "asking");
    let push = world.task.pending.iter();
    let push = push.map(|pending| &pending.planned);
    let push = push.filter(|planned| planned.effect.label() == "push_branch");
    let push = push.map(|planned| planned.id).next().unwrap();
    let error = String::from("offline");
    world.observe(Observation::EffectFailed {
        effect: push,
        error,
        feedback: None,
    });
    assert_eq!(
        world.effects(),
        [
            "kill_agent",
            "run_command",
            "push_branch",
            "create_pr",
            "notify"
        ]
    );
    world.observe(Observation::Merged {
        commit: CommitId::new("abc"),
    });
    assert_eq!(
        world.effects(),
        [
            "kill_agent",
            "run_command",
            "kill_session",
            "release_workspace",
            "delete_remote_branch",
            "spawn_next"
        ]
    );
}

#[test]
fn a_late_outcome_of_a_cancelled_effect_is_ignored() {
    let workflow = default();
    let mut world = World::begin(&workflow);
    world.verb(Role::Human, Verb::Spawn);
    let spawn = world.task.pending[1].planned.id;
    world.verb(Role::Human, Verb::Cancel);
    assert!(world.task.pending_effect(spawn).is_none());
    // Killing the session also names the run, so the run needs no separate kill.
    assert_eq!(
        world.effects(),
        ["acquire_workspace", "kill_session", "release_workspace"]
    );
    let late = world.observe(Observation::EffectDone {
        effect: spawn,
        outcome: EffectOutcome::Done,
    });
    assert_eq!(late.events, []);
    let late = world.observe(Observation::EffectFailed {
        effect: spawn,
        error: String::new(),
        feedback: None,
    });
    assert_eq!(late.events, []);
    // The workspace that was still being bound is released as well.
    world.settle();
    assert_eq!(world.task.workspace, Workspace::None);
}

#[test]
fn a_workspace_bound_late_is_released() {
    let workflow = default();
    let mut world = World::begin(&workflow);
    world.verb(Role::Human, Verb::Spawn);
    let acquire = world.task.pending[0].planned.id;
    world.verb(Role::Human, Verb::Cancel);
    assert_eq!(world.task.workspace, Workspace::Releasing(None));
    let name = WorkspaceName::new("coffee--3");
    world.observe(Observation::EffectDone {
        effect: acquire,
        outcome: EffectOutcome::Bound(name.clone()),
    });
    assert_eq!(world.task.workspace, Workspace::Releasing(Some(name)));
    world.settle();
    assert_eq!(world.task.workspace, Workspace::None);
}

#[test]
fn a_hand_edit_is_a_request_of_the_current_version() {
    let workflow = default();
    let mut world = working(&workflow);
    let entered = world.task.entered.version;
    world.write(&[("## Handoff", "DONE: x")]);
    let version = world.task.version;
    let edit = |to: &str, version| RequestKind::HandEdit {
        to: status(to),
        version,
    };
    // A version from memory: not a request. The same status: nothing to request.
    let stale = plan_of(world.ask(Role::Worker, edit("agent-review", entered - 1)));
    assert_eq!(stale.events, []);
    let invented = plan_of(world.ask(Role::Worker, edit("agent-review", version + 1)));
    assert_eq!(invented.events, []);
    let same = plan_of(world.ask(Role::Worker, edit("working", version)));
    assert_eq!(same.events, []);
    let rejected = plan_of(world.ask(Role::Worker, edit("done", version)));
    assert_eq!(rejected.events.len(), 1);
    assert!(
        matches!(&rejected.events[0].fact, Fact::EditRejected { reason, .. } if reason.contains("cannot be requested"))
    );
    assert_eq!(world.task.version, version + 1);
    let version = world.task.version;
    world.ask(Role::Worker, edit("agent-review", version));
    assert_eq!(world.task.status, status("agent-review"));
}

#[test]
fn an_edit_outside_a_worktree_never_counts_as_the_user() {
    let workflow = default();
    let mut world = working(&workflow);
    let version = world.task.version;
    let edit = RequestKind::HandEdit {
        to: status("cancelled"),
        version,
    };
    let decision = world.ask(Role::Human, edit);
    assert!(matches!(decision, Decision::Plan(_)), "{decision:?}");
    assert_eq!(world.task.status, status("working"));
    let command = format!("orange task update {} --status cancelled", world.task.id);
    let attention = world.task.attention.join("\n");
    assert!(attention.contains(&command), "{attention}");
}

#[test]
fn a_reviewer_that_was_killed_approves_nothing() {
    let workflow = default();
    for (evidence, to) in [
        (Evidence::Signal { signal: 9 }, "agent-review"),
        (Evidence::Closed, "agent-review"),
        (Evidence::OutOfMemory, "agent-review"),
        (Evidence::Exit { code: 0 }, "reviewing"),
    ] {
        let mut world = in_review(&workflow);
        world.write(&[("## Handoff", "DONE: x"), ("## Review", "Verdict: PASS")]);
        world.import_as(Role::Reviewer);
        world.ends(&Role::Reviewer, evidence.clone());
        assert_eq!(world.task.status, status(to), "{evidence}");
    }
}

#[test]
fn a_refused_request_vouches_only_for_a_matching_verdict() {
    let workflow = default();
    let world = in_review(&workflow);
    let text = |verdict: &str| {
        let text = format!("## Review\n\nVerdict: {verdict}\n");
        Document::parse(text.as_bytes()).unwrap()
    };
    let to = |name: &str| RequestKind::Move { to: status(name) };
    for (verdict, ask, stands) in [
        ("PASS", to("reviewing"), true),
        ("FAIL", to("working"), true),
        ("FAIL", to("stuck"), true),
        ("PASS", to("working"), false),
        ("PASS", to("stuck"), false),
        ("FAIL", to("reviewing"), false),
        ("PASS", RequestKind::Verb(Verb::Merge), false),
        ("PASS", to("nowhere"), false),
        ("none yet", to("nowhere"), true),
    ] {
        let document = text(verdict);
        let found = vouches_for_document(&workflow, &world.task, &document, &ask);
        assert_eq!(found, stands, "{verdict} {ask:?}");
    }
}

#[test]
fn repeating_a_request_succeeds_without_events() {
    let workflow = default();
    let mut world = in_review(&workflow);
    let plan = plan_of(world.move_to(Role::Worker, "agent-review"));
    assert!(plan.is_already_done && plan.events.is_empty());
    assert_eq!(
        world.refused(Role::Reviewer, "agent-review").code(),
        "same-status"
    );
    let mut world = World::begin(&workflow);
    assert_eq!(world.refused(Role::Human, "pending").code(), "same-status");
    world.verb(Role::Human, Verb::Cancel);
    assert_eq!(shown(&world.verb(Role::Human, Verb::Cancel)), "already");
    assert_eq!(
        shown(&world.verb(Role::Engine, Verb::Cancel)),
        "refused terminal"
    );
    assert_eq!(shown(&world.move_to(Role::Human, "cancelled")), "already");
    assert_eq!(
        shown(&world.ask(
            Role::Human,
            RequestKind::Amend {
                summary: Some(String::from("y")),
                branch: None,
                priority: None,
                to: None,
            }
        )),
        "refused terminal"
    );
}

#[test]
fn summary_and_branch_can_be_changed() {
    let workflow = default();
    let mut world = World::begin(&workflow);
    let amend = |summary: Option<&str>, branch: Option<&str>| RequestKind::Amend {
        summary: summary.map(str::to_owned),
        branch: branch.map(BranchName::new),
        priority: None,
        to: None,
    };
    assert_eq!(
        shown(&world.ask(Role::Worker, amend(None, Some("fix-v1.2")))),
        "refused not-allowed (only human)",
        "no worker is at work yet"
    );
    world.verb(Role::Human, Verb::Spawn);
    world.facts.git = None;
    assert_eq!(
        shown(&world.ask(Role::Worker, amend(None, Some("main")))),
        "needs git"
    );
    world.facts.git = Some(git_facts(&[]));
    assert_eq!(
        shown(&world.ask(Role::Worker, amend(None, Some("main")))),
        "refused gate-failed (the task is on the default branch)"
    );
    world.facts.git = Some(git_facts(&[GitCondition::BranchNotDefault]));
    world.ask(Role::Worker, amend(None, Some("fix-v1.2")));
    assert_eq!(world.task.branch.as_str(), "fix-v1.2");
    assert_eq!(world.task.summary, "Add a thing");
    assert_eq!(
        shown(&world.ask(Role::Worker, amend(Some("Add a thing"), Some("fix-v1.2")))),
        "already"
    );
    assert_eq!(
        shown(&world.ask(Role::Worker, amend(None, None))),
        "already"
    );
}

#[test]
fn a_parent_waits_for_its_children_and_wakes() {
    let workflow = default();
    let mut world = working(&workflow);
    assert_eq!(
        world.refused(Role::Worker, "delegated").code(),
        "guard-failed"
    );
    let child = |name: &str| TaskId::new(name);
    world.observe(Observation::ChildAdded { child: child("a") });
    world.observe(Observation::ChildAdded { child: child("b") });
    assert_eq!(
        world
            .observe(Observation::ChildAdded { child: child("b") })
            .events,
        []
    );
    assert_eq!(world.task.value(&FieldName::new("children_open")), 2);
    world.expect_move(Role::Worker, "delegated");
    assert_eq!(world.task.workspace, Workspace::None);
    let ended = |name: &str| Observation::ChildEnded {
        child: child(name),
        status: status("done"),
    };
    world.observe(ended("a"));
    assert_eq!(world.task.status, status("delegated"));
    world.observe(ended("b"));
    assert_eq!(world.task.status, status("resuming"));
    assert_eq!(world.observe(ended("b")).events, []);
    world.verb(Role::Engine, Verb::Spawn);
    assert_eq!(world.task.status, status("working"));
    let restores = world
        .task
        .pending
        .iter()
        .any(|pending| pending.planned.effect == Effect::AcquireWorkspace { restore: true });
    assert!(restores);
}

#[test]
fn autopilot_goes_from_new_to_done() {
    let workflow = shipped_workflow("autopilot");
    let mut world = World::begin(&workflow);
    world.verb(Role::Engine, Verb::Spawn);
    assert_eq!(world.task.status, status("routed"));
    world.settle();
    let plan = plan_of(world.verb(Role::Engine, Verb::Spawn));
    let Some(Effect::Spawn(spawn)) = plan.effects().nth(1).map(|planned| &planned.effect) else {
        panic!()
    };
    assert!(spawn.headless);
    assert!(spawn.prompt.contains("Attempt: 1 of 5"));
    assert!(spawn.prompt.contains("{\n  \"status\""), "{}", spawn.prompt);
    world.settle();
    let run = world.task.runs[&Role::Worker].id.clone();
    world.commit();
    world.observe(Observation::ReportArrived {
        run,
        report: Report {
            summary: String::from("all of it"),
            ..done("done")
        },
    });
    assert_eq!(world.task.status, status("done"));
    world.settle();
    assert_eq!(world.task.workspace, Workspace::None);
}

#[test]
fn autopilot_delegates_and_wakes() {
    let workflow = shipped_workflow("autopilot");
    let mut world = World::placed(&workflow, "in_progress");
    world.set("attempts", 1);
    let run = world.task.runs[&Role::Worker].id.clone();
    let child = Delegation {
        title: String::from("Tests"),
        ..Delegation::default()
    };
    let report = Report {
        delegations: vec![child.clone()],
        ..done("in_progress")
    };
    world.observe(Observation::ReportArrived { run, report });
    assert_eq!(world.task.status, status("delegated"));
    let created = world
        .task
        .pending
        .iter()
        .find_map(|pending| match &pending.planned.effect {
            Effect::CreateChildren { delegations } => Some(delegations.clone()),
            _ => None,
        });
    assert_eq!(created.unwrap(), [child]);
    world.settle();
    let child = TaskId::new("child0");
    assert_eq!(world.task.children[&child], None);
    world.observe(Observation::ChildEnded {
        child,
        status: status("cancelled"),
    });
    assert_eq!(world.task.status, status("new"));
    assert_eq!(world.task.fields["attempts"], 2);
}

#[test]
fn a_report_of_a_new_run_does_not_carry_the_old_one() {
    let workflow = shipped_workflow("autopilot");
    let mut world = World::placed(&workflow, "in_progress");
    let run = world.task.runs[&Role::Worker].id.clone();
    world.observe(Observation::ReportArrived {
        run,
        report: done("in_progress"),
    });
    assert_eq!(world.task.status, status("new"));
    assert!(world.task.report.is_some());
    world.settle();
    world.expect_move(Role::Engine, "routed");
    world.expect_move(Role::Engine, "in_progress");
    assert_eq!(world.task.report, None);
}

#[test]
fn gate_commands_are_requested_last() {
    let workflow = full_workflow();
    let mut world = World::placed(&workflow, "busy");
    let refusal = refusal_of(world.move_to(Role::Worker, "asking"));
    assert_eq!(refusal.unchecked, ["true"]);
    world.write(&[("## Plan", "APPROACH: x")]);
    let Decision::Needs(needs) = world.move_to(Role::Worker, "asking") else {
        panic!()
    };
    assert_eq!(
        needs.facts,
        [FactNeeded::Command {
            command: vec![String::from("true")],
            timeout: 300
        }]
    );
    assert_eq!(needs.entered, world.task.entered.version);
    let run = |world: &mut World<'_>, result| {
        world
            .facts
            .commands
            .insert(vec![String::from("true")], result);
        shown(&world.move_to(Role::Worker, "asking"))
    };
    assert_eq!(
        run(&mut world, CommandResult::TimedOut),
        "refused gate-failed (`true` timed out)"
    );
    assert_eq!(
        run(&mut world, CommandResult::Exited(2)),
        "refused gate-failed (`true` exited with code 2)"
    );
    assert!(run(&mut world, CommandResult::Exited(0)).starts_with("-> asking"));
}

#[test]
fn cheap_facts_are_gathered_before_a_refusal() {
    let text = include_str!("everything.yml").replace("gate: [tidy, open]", "gate: [tidy, plan]");
    let workflow = load_clean(&text);
    let mut world = World::placed(&workflow, "asking");
    world.facts.git = None;
    assert_eq!(shown(&world.verb(Role::Human, Verb::Retry)), "needs git");
    world.facts.git = Some(git_facts(&[]));
    let decision = shown(&world.verb(Role::Human, Verb::Retry));
    assert!(decision.contains("`## Plan` is missing"), "{decision}");
    assert!(decision.contains("uncommitted changes"), "{decision}");
}

#[test]
fn facts_for_another_version_do_not_count() {
    let workflow = full_workflow();
    let mut world = World::placed(&workflow, "asking");
    let holds = GitCondition::ALL.map(|(_, condition)| condition);
    world.facts.git = Some(git_facts(&holds));
    world.facts.pull_request = Some(None);
    let cause = request(Role::Human, RequestKind::Verb(Verb::Retry));
    let mut input = world.input(cause.clone());
    input.context.facts.entered += 1;
    let decision = orange_engine::decide(&workflow, &world.task, &input);
    assert_eq!(shown(&decision), "needs git, pullrequest");
    assert_eq!(
        shown(&world.decide(cause)),
        "refused gate-failed (there is no pull request)"
    );
}

#[test]
fn previous_leads_back_and_is_refused_without_one() {
    let workflow = full_workflow();
    let mut world = World::create(&workflow, &new_task("long enough", Some("asking"))).unwrap();
    world.settle();
    assert_eq!(world.refused(Role::Human, "busy").code(), "no-previous");
    assert_eq!(
        shown(&world.verb(Role::Human, Verb::Retry)),
        "refused verb-unavailable"
    );
}

#[test]
fn a_timeout_takes_its_time() {
    let workflow = full_workflow();
    let mut world = World::placed(&workflow, "busy");
    let entered = world.task.entered.at.millis();
    let at = |world: &mut World<'_>, seconds: i64| {
        let mut input = world.input(Cause::Observation(Observation::TimedOut));
        input.context.at = orange_engine::time::Timestamp::from_millis(entered + seconds * 1000);
        shown(&orange_engine::decide(&workflow, &world.task, &input))
    };
    assert_eq!(at(&mut world, -5), "stays");
    assert_eq!(at(&mut world, 9), "stays");
    assert_eq!(at(&mut world, 10), "-> asking");
}

#[test]
fn roles_of_the_workflow_s_own_run_and_die_like_the_others() {
    let workflow = full_workflow();
    let mut world = World::begin(&workflow);
    let plan = plan_of(world.verb(Role::Human, Verb::Spawn));
    let qa = Role::from_name("qa");
    let spawns: Vec<(String, String, String)> = plan
        .effects()
        .filter_map(|planned| match &planned.effect {
            Effect::Spawn(spawn) => Some((
                spawn.role.to_string(),
                spawn.window.clone(),
                spawn.prompt.clone(),
            )),
            _ => None,
        })
        .collect();
    assert_eq!(
        spawns,
        [
            (
                String::from("worker"),
                String::from("w-2"),
                String::from("{Add a thing} 2/2 0")
            ),
            (
                String::from("qa"),
                String::from("qa"),
                String::from("{Add a thing} 2/2 0")
            ),
            (
                String::from("reviewer"),
                String::from("review-0"),
                String::from("{Add a thing} 2/2 0")
            ),
        ]
    );
    let runs: Vec<&str> = world
        .task
        .runs
        .values()
        .map(|run| run.id.as_str())
        .collect();
    assert_eq!(runs.len(), 3);
    assert_ne!(runs[0], runs[1]);
    world.settle();
    world.ends(&qa, Evidence::Exit { code: 1 });
    assert_eq!(world.task.attention, ["the qa exited with code 1"]);
    world.ask(
        Role::Human,
        RequestKind::Respawn {
            role: Some(qa.clone()),
        },
    );
    let Effect::Spawn(spawn) = &world.task.pending[1].planned.effect else {
        panic!()
    };
    assert_eq!(
        (
            spawn.harness.as_str(),
            spawn.window.as_str(),
            spawn.permissions
        ),
        ("codex", "qa", Permissions::Reduced)
    );
    assert_eq!(
        shown(&world.ask(
            Role::Human,
            RequestKind::Respawn {
                role: Some(Role::from_name("clerk"))
            }
        )),
        "refused unknown-role"
    );
    assert_eq!(
        shown(&world.ask(
            Role::Human,
            RequestKind::Respawn {
                role: Some(Role::Worker)
            }
        )),
        "refused still-running"
    );
}

#[test]
fn an_agent_without_a_workspace_is_not_respawned() {
    let workflow = default();
    let mut world = World::placed(&workflow, "working");
    world.task.runs.clear();
    world.task.workspace = Workspace::None;
    let refusal = refusal_of(world.ask(Role::Human, RequestKind::Respawn { role: None }));
    assert_eq!(refusal.code(), "no-workspace");
    assert_eq!(
        refusal.to_string(),
        "cannot respawn an agent of task `k3f9` in `working`: it has no workspace"
    );
    assert_eq!(
        refusal.hints,
        ["see what happened to it with `orange task show k3f9`"]
    );
}

#[test]
fn a_message_from_the_user_reaches_the_worker() {
    let workflow = default();
    let mut world = World::placed(&workflow, "reviewing");
    let request = Request {
        by: Role::Human,
        kind: RequestKind::Verb(Verb::RequestChanges),
        is_confirmed: false,
        message: Some(String::from("use {branch} and $(rm -rf /)")),
        head: None,
        if_version: None,
    };
    let plan = plan_of(world.step(Cause::Request(request)));
    let Some(Effect::NotifyRole(notify)) = plan.effects().next().map(|planned| &planned.effect)
    else {
        panic!()
    };
    assert!(
        notify
            .message
            .starts_with("The user asks for changes: use {branch} and $(rm -rf /)\n"),
        "{}",
        notify.message
    );
    let said = world.events.iter().find_map(|event| match &event.fact {
        Fact::StatusChanged(changed) => changed.message.clone(),
        _ => None,
    });
    assert_eq!(said.as_deref(), Some("use {branch} and $(rm -rf /)"));
}

#[test]
fn why_tells_the_story_from_the_events() {
    let workflow = default();
    let mut world = working(&workflow);
    world.ends(&Role::Worker, Evidence::Exit { code: 3 });
    let text = explain(&world.events).unwrap().to_string();
    assert!(
        text.contains("requested by the worker in `planning`"),
        "{text}"
    );
    assert!(text.contains("because `## Plan` has APPROACH"), "{text}");
    assert!(
        text.contains("the worker stopped: it exited with code 3"),
        "{text}"
    );
    assert!(
        text.contains("crash 1 of the worker in this status"),
        "{text}"
    );
    assert!(text.contains("needs you"), "{text}");
    world.write(&[("## Handoff", "DONE: x")]);
    world.ask(Role::Human, RequestKind::Respawn { role: None });
    world.settle();
    world.ends(&Role::Worker, Evidence::Exit { code: 0 });
    let text = explain(&world.events).unwrap().to_string();
    assert!(
        text.contains("in `agent-review`") && text.contains("exit in `working`"),
        "{text}"
    );
    assert!(
        text.contains("because the worker exited with code 0"),
        "{text}"
    );
    let archive = world.task.pending[0].planned.id;
    world.observe(Observation::EffectFailed {
        effect: archive,
        error: String::from("read-only"),
        feedback: None,
    });
    let text = explain(&world.events).unwrap().to_string();
    assert!(text.contains("archive_section failed: read-only"), "{text}");
    assert!(
        text.contains("spawn_reviewer was not started because archive_section failed"),
        "{text}"
    );
    assert_eq!(explain(&[]), None);
}

#[test]
fn a_clean_exit_is_not_an_error() {
    let workflow = default();
    for name in ["clarification", "stuck"] {
        let mut world = World::placed(&workflow, name);
        world.ends(&Role::Worker, Evidence::Exit { code: 1 });
        assert_eq!(world.task.last_error, None, "{name}");
    }
    let mut world = World::placed(&workflow, "working");
    world.write(&[("## Handoff", "DONE: x")]);
    world.ends(&Role::Worker, Evidence::Exit { code: 0 });
    assert_eq!(world.task.status, status("agent-review"));
    assert_eq!(world.task.last_error, None);
}

#[test]
fn repeated_deaths_are_counted_per_cause() {
    let workflow = default();
    let mut world = working(&workflow);
    let same = FieldName::new("same_errors");
    world.ends(&Role::Worker, Evidence::Exit { code: 3 });
    assert_eq!(world.task.value(&same), 1);
    world.ask(Role::Human, RequestKind::Respawn { role: None });
    world.settle();
    world.ends(&Role::Worker, Evidence::Exit { code: 3 });
    assert_eq!(world.task.value(&same), 2);
    assert_eq!(world.task.status, status("stuck"));
    world.expect_move(Role::Human, "working");
    assert_eq!(
        world.task.value(&same),
        0,
        "a user's decision resets the count"
    );
}

#[test]
fn effects_say_whether_they_may_be_repeated() {
    use orange_engine::language::hooks::Channel;
    let command = Effect::RunCommand {
        command: vec![String::from("make")],
    };
    assert_eq!(command.class(), EffectClass::AtMostOnce);
    let told = |via| Effect::Notify {
        message: String::new(),
        via,
    };
    assert_eq!(
        told(vec![Channel::Desktop, Channel::Bell]).class(),
        EffectClass::Convergent
    );
    assert_eq!(
        told(vec![Channel::Bell, Channel::Webhook]).class(),
        EffectClass::AtMostOnce
    );
    assert_eq!(
        Effect::ReleaseWorkspace { workspace: None }.class(),
        EffectClass::Convergent
    );
}

#[test]
fn a_history_with_a_gap_is_not_a_history() {
    let workflow = default();
    let world = in_review(&workflow);
    let mut events = world.events.clone();
    assert_eq!(
        replay(&events[1..]).unwrap_err().to_string(),
        "a task's history does not begin with `task.created`"
    );
    assert_eq!(
        replay(&[]).unwrap_err().to_string(),
        "a task's history has no events"
    );
    events.remove(3);
    assert_eq!(
        replay(&events).unwrap_err().to_string(),
        "a task's history has version 5 where version 4 belongs"
    );
}

#[test]
fn gates_on_the_document_request_it() {
    let workflow = default();
    let mut world = World::placed(&workflow, "working");
    world.file = None;
    assert_eq!(
        shown(&world.move_to(Role::Worker, "agent-review")),
        "needs document"
    );
    let run = world.task.runs[&Role::Worker].id.clone();
    let ended = Observation::RunEnded {
        run,
        evidence: Evidence::Exit { code: 0 },
        output_line: None,
    };
    assert_eq!(
        shown(&world.step(Cause::Observation(ended))),
        "needs document"
    );
    assert!(
        world.task.is_live(&Role::Worker),
        "a death that cannot be judged is not yet judged"
    );
    assert_eq!(
        shown(&world.step(Cause::Observation(Observation::DocumentRead {
            by: Role::Human,
            is_request: false
        }))),
        "needs document"
    );
    // A request that needs no document does not wait for one.
    assert!(shown(&world.move_to(Role::Human, "cancelled")).starts_with("-> cancelled"));
}

#[test]
fn an_artifact_is_judged_by_its_rule_before_its_edge() {
    // The rule requires a fresh plan, the edge only some plan.
    let workflow = full_workflow();
    let mut world = World::placed(&workflow, "busy");
    world.write(&[("## Plan", "APPROACH: x")]);
    world.import_as(Role::Engine);
    for memory in world.task.sections.values_mut() {
        memory.at_entry = memory.hash;
    }
    let mut fresh = world.clone();
    world.ends(&Role::Worker, Evidence::Exit { code: 0 });
    assert_eq!(world.task.status, status("busy"));
    assert_eq!(world.task.crash_count, 1);
    fresh.write(&[("## Plan", "APPROACH: another")]);
    fresh.ends(&Role::Worker, Evidence::Exit { code: 0 });
    assert_eq!(fresh.task.status, status("asking"));
}

#[test]
fn a_report_s_text_is_empty_when_it_says_nothing() {
    let text = include_str!("everything.yml").replace(
        "report: remaining, empty: true",
        "report: reason, empty: true",
    );
    let workflow = load_clean(&text);
    for (reason, follows) in [("", true), (" \n", true), ("because", false)] {
        let mut world = World::placed(&workflow, "busy");
        let run = world.task.runs[&Role::Worker].id.clone();
        let report = Report {
            reason: reason.to_owned(),
            ..done("done")
        };
        world.observe(Observation::ReportArrived { run, report });
        assert_eq!(world.task.status == status("parked"), follows, "{reason:?}");
    }
}

#[test]
fn hints_fit_the_caller_and_the_available_steps() {
    let workflow = default();
    let hints = |decision: Decision| match decision {
        Decision::Refusal(refusal) => refusal.hints,
        other => panic!("{other:?}"),
    };
    let mut world = World::placed(&workflow, "planning");
    let waits = "see what the task waits for with `orange task why k3f9`";
    assert_eq!(hints(world.move_to(Role::Human, "pending")), [waits]);
    assert_eq!(
        hints(world.move_to(Role::Reviewer, "agent-review")),
        [waits]
    );
    assert_eq!(
        hints(world.move_to(Role::Human, "agent-review")),
        [
            "from here you can run `orange task update k3f9 --status working`, \
             `orange task update k3f9 --status clarification` or \
             `orange task update k3f9 --status cancelled`; \
             `orange task why k3f9` shows what each needs"
        ]
    );
    // A step whose `when` is false would be refused, so it is not offered.
    let mut world = World::placed(&workflow, "pending");
    assert_eq!(
        hints(world.move_to(Role::Human, "working")),
        [
            "from here you can run `orange task update k3f9 --status planning` or \
             `orange task update k3f9 --status cancelled`; \
             `orange task why k3f9` shows what each needs"
        ]
    );
    let mut world = World::placed(&workflow, "working");
    for (by, command) in [
        (Role::Worker, "orange task complete"),
        (Role::Human, "orange task complete k3f9"),
    ] {
        let hint = hints(world.verb(by, Verb::Complete)).remove(0);
        assert!(hint.ends_with(&format!("then run `{command}`")), "{hint}");
    }
}

#[test]
fn every_refusal_has_a_code_a_reason_and_a_next_step() {
    let workflow = default();
    let mut world = working(&workflow);
    let refusal = world.refused(Role::Worker, "agent-review");
    assert_eq!(
        refusal.to_string(),
        "cannot move task `k3f9` from `working` to `agent-review`: `## Handoff` is missing in TASK.md"
    );
    assert_eq!(
        refusal.hints,
        [
            "add to TASK.md: `## Handoff` with at least one of the lines `DONE: …`, `REMAINING: …`, \
          `DECISIONS: …` and `UNCERTAIN: …`; then run `orange task update --status agent-review`"
        ]
    );
    let refusal = world.refused(Role::Worker, "reviewing");
    assert_eq!(refusal.hints.len(), 1);
    assert!(
        refusal.hints[0].contains("`orange task update --status agent-review`"),
        "{:?}",
        refusal.hints
    );
    let refusal = world.refused(Role::Worker, "nowhere");
    assert_eq!(
        refusal.to_string(),
        "cannot move task `k3f9` from `working` to `nowhere`: its workflow has no status `nowhere`"
    );
    let refusal = world.refused(Role::Worker, "done");
    assert_eq!(
        refusal.hints,
        ["merge the branch to get there: `orange task merge k3f9`"]
    );
    let refusal = world.refused(Role::Worker, "cancelled");
    assert_eq!(
        refusal.to_string(),
        "cannot move task `k3f9` from `working` to `cancelled`: the worker may not request this, only the user"
    );
    assert_eq!(
        refusal.hints,
        [
            "ask the user to run `orange task update k3f9 --status cancelled` outside the agents' sessions"
        ]
    );
    let json = serde_json::to_value(&refusal).unwrap();
    assert_eq!(json["missing"][0]["code"], "not-allowed");
}

#[test]
fn a_workspace_is_acquired_only_where_none_is_held() {
    let workflow = default();
    let mut world = World::placed(&workflow, "reviewing");
    world.move_to(Role::Human, "working");
    assert_eq!(world.effects(), ["notify_worker"]);
    // A task created in review that got no workspace gets one before an agent works in it.
    let mut world = World::create(&workflow, &new_task("Add a thing", Some("reviewing"))).unwrap();
    let acquire = world.task.pending[0].planned.id;
    world.observe(Observation::EffectFailed {
        effect: acquire,
        error: String::from("the pool is full"),
        feedback: None,
    });
    world.move_to(Role::Human, "working");
    assert_eq!(world.effects(), ["acquire_workspace", "notify_worker"]);
}

#[test]
fn attention_is_raised_once() {
    let workflow = default();
    let mut world = World::placed(&workflow, "working");
    let what = String::from("rescue 1 could not be brought back");
    let noticed = Observation::AttentionNeeded {
        reason: what.clone(),
    };
    assert_eq!(world.observe(noticed.clone()).events.len(), 1);
    assert_eq!(world.task.attention, [what]);
    assert_eq!(world.observe(noticed).events, []);
    assert_eq!(world.task.status, status("working"));
}

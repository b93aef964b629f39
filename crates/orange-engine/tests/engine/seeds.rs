//! The source documents and the transition table of the shipped workflows.

use orange_engine::Decision;
use orange_engine::effect::Effect;
use orange_engine::evidence::Evidence;
use orange_engine::input::Observation;
use orange_engine::language::exit_rules::{ExitOutcome, OnCrash};

use orange_engine::language::verbs::Verb;
use orange_engine::language::workflow::{Kind, Permissions, Target, Trigger};
use orange_engine::load;
use orange_engine::role::Role;

use crate::fixtures::{ALL_HOLD, World, git_facts, load_clean, shipped_workflow, status};
use crate::source_documents::{LARGE, MINIMAL};

#[test]
fn both_seed_workflows_load_without_a_problem() {
    assert_eq!(load_clean(LARGE).states.len(), 8);
    assert_eq!(load_clean(MINIMAL).states.len(), 5);
}

#[test]
fn version_1_fills_in_the_defaults_of_the_seeds() {
    let workflow = load_clean(LARGE);
    let state = |name: &str| workflow.state(&status(name)).unwrap();
    assert_eq!(workflow.entries.len(), 1);
    assert_eq!(workflow.entries[0].status, status("pending"));
    assert_eq!(state("pending").kind, Kind::Queued);
    assert_eq!(state("working").kind, Kind::Agent);
    assert_eq!(state("agent-review").kind, Kind::Agent);
    assert_eq!(state("reviewing").kind, Kind::Human);
    assert_eq!(state("stuck").kind, Kind::Human);
    assert_eq!(state("done").kind, Kind::Terminal);
    assert_eq!(state("working").expects, [Role::Worker]);
    assert_eq!(state("agent-review").expects, [Role::Reviewer]);
    assert_eq!(state("clarification").expects, [Role::Worker]);
    assert_eq!(state("reviewing").expects, []);
    let respawn = &state("agent-review").respawn[&Role::Reviewer];
    assert_eq!(respawn.prompt.as_str(), "reviewer");
    assert_eq!(respawn.permissions, Permissions::Reduced);
    assert_eq!(
        state("stuck").respawn[&Role::Worker].prompt.as_str(),
        "stuck_fix"
    );
    assert!(workflow.edges.iter().all(|edge| edge.by.is_empty()));
    assert!(
        workflow
            .edges
            .iter()
            .all(|edge| edge.trigger == Trigger::Request)
    );
    let crash = workflow
        .exit_rules
        .iter()
        .find_map(|rule| match &rule.outcome {
            ExitOutcome::Crash(crash) => Some(crash),
            _ => None,
        });
    let crash = crash.unwrap();
    assert_eq!(crash.stuck_after, Some(2));
    assert_eq!(crash.then, Some(status("stuck")));
    assert_eq!(crash.on_crash, OnCrash::Mark);
    let verb = |verb| workflow.verbs[&verb].clone();
    let to = |name: &str| Target::Status(status(name));
    assert_eq!(verb(Verb::Spawn), [to("working"), to("clarification")]);
    assert_eq!(verb(Verb::Merge), [to("done")]);
    assert_eq!(verb(Verb::Cancel), [to("cancelled")]);
    assert_eq!(verb(Verb::Complete), [to("agent-review"), to("reviewing")]);
    assert_eq!(verb(Verb::Stuck), [to("stuck")]);
    assert_eq!(verb(Verb::RequestChanges), [to("working")]);
    assert_eq!(verb(Verb::Retry), [to("pending")]);
    assert_eq!(verb(Verb::Unblock), [to("pending")]);
}

#[test]
fn the_small_seed_does_not_count_crashes() {
    let workflow = load_clean(MINIMAL);
    let mut world = World::placed(&workflow, "working");
    world.set("crash_count", 1);
    world.ends(&Role::Worker, Evidence::Exit { code: 1 });
    assert_eq!(world.task.status, status("working"));
    assert_eq!(world.task.crash_count, 2);
    assert_eq!(
        world.task.attention,
        [
            "the worker exited with code 1; it crashed 2 times in this status, which is the limit, but \
          the workflow names no status to move to"
        ]
    );
}

#[test]
fn the_large_seed_cannot_leave_agent_review_after_crashes() {
    let workflow = load_clean(LARGE);
    let mut world = World::placed(&workflow, "agent-review");
    world.set("review_round", 1);
    world.set("crash_count", 1);
    world.ends(&Role::Reviewer, Evidence::Exit { code: 1 });
    assert_eq!(world.task.status, status("agent-review"));
    assert_eq!(world.task.attention.len(), 1);
    assert_eq!(
        world.task.attention[0],
        "the reviewer exited with code 1; it crashed 2 times in this status, and orange cannot \
         continue: the workflow allows this only if `review_round >= 2`, but review_round is 1; \
         `## Review` is missing in TASK.md"
    );
}

/// A row of the table behind `default`: from, to, what it needs, what it does.
struct Row {
    from: &'static str,
    to: &'static str,
    /// What TASK.md must contain, and in which round.
    given: Precondition,
    hooks: &'static [&'static str],
    /// How `default` differs on purpose, if at all.
    differs: Option<(&'static [&'static str], &'static str)>,
}

#[derive(Clone, Copy)]
enum Precondition {
    Nothing,
    Plan,
    Handoff,
    Pass,
    Fail(i64),
}

const fn row(
    from: &'static str,
    to: &'static str,
    given: Precondition,
    hooks: &'static [&'static str],
) -> Row {
    Row {
        from,
        to,
        given,
        hooks,
        differs: None,
    }
}

const LET_GO: &[&str] = &["kill_session", "release_workspace"];

static TABLE: [Row; 20] = [
    row(
        "pending",
        "planning",
        Precondition::Nothing,
        &["acquire_workspace", "spawn_agent"],
    ),
    row("pending", "cancelled", Precondition::Nothing, &[]),
    row("planning", "working", Precondition::Plan, &[]),
    row("planning", "clarification", Precondition::Nothing, &[]),
    row("planning", "cancelled", Precondition::Nothing, LET_GO),
    Row {
        differs: Some((
            &["clarifications"],
            "leaving is counted, so that a worker tires of it",
        )),
        ..row("clarification", "planning", Precondition::Nothing, &[])
    },
    row("clarification", "cancelled", Precondition::Nothing, LET_GO),
    Row {
        differs: Some((
            &["archive_section", "review_round", "spawn_reviewer"],
            "the round is counted before the spawn that uses it, and an old review is set aside",
        )),
        ..row(
            "working",
            "agent-review",
            Precondition::Handoff,
            &["spawn_reviewer", "review_round"],
        )
    },
    row("working", "clarification", Precondition::Nothing, &[]),
    Row {
        differs: Some((
            &["notify_worker"],
            "entering stuck makes sure that an agent is there",
        )),
        ..row("working", "stuck", Precondition::Nothing, &[])
    },
    row("working", "cancelled", Precondition::Nothing, LET_GO),
    row(
        "agent-review",
        "reviewing",
        Precondition::Pass,
        &["kill_reviewer"],
    ),
    row(
        "agent-review",
        "working",
        Precondition::Fail(1),
        &["kill_reviewer", "notify_worker"],
    ),
    Row {
        differs: Some((
            &["kill_reviewer", "notify_worker"],
            "entering stuck makes sure that an agent is there",
        )),
        ..row(
            "agent-review",
            "stuck",
            Precondition::Fail(2),
            &["kill_reviewer"],
        )
    },
    row(
        "agent-review",
        "cancelled",
        Precondition::Nothing,
        &["kill_reviewer", "kill_session", "release_workspace"],
    ),
    Row {
        differs: Some((
            &[
                "review_round",
                "clarifications",
                "delegations",
                "notify_worker",
            ],
            "a person's decision begins a new account",
        )),
        ..row(
            "reviewing",
            "working",
            Precondition::Nothing,
            &["notify_worker"],
        )
    },
    row(
        "reviewing",
        "done",
        Precondition::Nothing,
        &[
            "kill_session",
            "release_workspace",
            "delete_remote_branch",
            "spawn_next",
        ],
    ),
    row("reviewing", "cancelled", Precondition::Nothing, LET_GO),
    Row {
        differs: Some((
            &["review_round", "clarifications", "delegations"],
            "a person's decision begins a new account",
        )),
        ..row("stuck", "reviewing", Precondition::Nothing, &[])
    },
    row("stuck", "cancelled", Precondition::Nothing, LET_GO),
];

#[test]
fn the_table_of_the_first_seed_is_a_subset_of_default() {
    let workflow = shipped_workflow("default");
    for row in &TABLE {
        let done = take(&workflow, row);
        let expected = row.differs.map_or(row.hooks, |(hooks, _)| hooks);
        let set_by_a_start = ["spawn_failures"];
        let done: Vec<&str> = done
            .iter()
            .map(String::as_str)
            .filter(|name| !set_by_a_start.contains(name))
            .collect();
        assert_eq!(done, expected, "{} -> {}", row.from, row.to);
        if let Some((hooks, reason)) = row.differs {
            assert_ne!(hooks, row.hooks, "{reason}");
        }
    }
}

/// The table's requirements are enforced: without them, the same row is refused.
#[test]
fn every_gate_of_the_first_seed_is_a_gate_of_default() {
    let workflow = shipped_workflow("default");
    let gated = TABLE
        .iter()
        .filter(|row| !matches!(row.given, Precondition::Nothing));
    assert_eq!(gated.clone().count(), 5);
    for row in gated {
        let mut world = World::placed(&workflow, row.from);
        if let Precondition::Fail(round) = row.given {
            world.set("review_round", round);
        }
        let refusal = world.refused(requester(row), row.to);
        assert_eq!(refusal.code(), "gate-failed", "{} -> {}", row.from, row.to);
    }
    // In the other round, the review leads elsewhere.
    for (round, to) in [(2, "working"), (1, "stuck")] {
        let mut world = World::placed(&workflow, "agent-review");
        world.write(&[("## Review", "Verdict: FAIL")]);
        world.set("review_round", round);
        assert_eq!(world.refused(Role::Reviewer, to).code(), "guard-failed");
    }
}

/// The role that the seed's prompts tell to run the command; otherwise the human.
fn requester(row: &Row) -> Role {
    match (row.from, row.to) {
        (_, "cancelled" | "done") | ("pending" | "reviewing" | "stuck", _) => Role::Human,
        ("agent-review", _) => Role::Reviewer,
        _ => Role::Worker,
    }
}

fn take(workflow: &orange_engine::Workflow, row: &Row) -> Vec<String> {
    let mut world = World::placed(workflow, row.from);
    match row.given {
        Precondition::Nothing => {}
        Precondition::Plan => world.write(&[("## Plan", "TOUCHING: src")]),
        Precondition::Handoff => world.write(&[("## Handoff", "UNCERTAIN: the name")]),
        Precondition::Pass => world.write(&[("## Review", "Verdict: PASS")]),
        Precondition::Fail(round) => {
            world.write(&[("## Review", "Verdict: FAIL")]);
            world.set("review_round", round);
        }
    }
    let decision = if row.to == "done" {
        // Only a completed merge leads there: no role can just claim it.
        assert_eq!(world.refused(Role::Human, "done").code(), "not-by-request");
        world.facts.git = Some(git_facts(&ALL_HOLD));
        world.verb(Role::Human, Verb::Merge);
        let merge = world.task.pending_merge().unwrap();
        let effect = world
            .task
            .pending_effect(merge)
            .unwrap()
            .planned
            .effect
            .clone();
        assert!(matches!(effect, Effect::Merge(_)));
        let outcome = world.outcome_of(&effect);
        let plan = world.observe(Observation::EffectDone {
            effect: merge,
            outcome,
        });
        Decision::Plan(plan)
    } else {
        world.move_to(requester(row), row.to)
    };
    let Decision::Plan(plan) = decision else {
        panic!("{} -> {}: {decision:#?}", row.from, row.to)
    };
    assert_eq!(world.task.status, status(row.to));
    plan.events
        .iter()
        .filter_map(|event| match &event.fact {
            orange_engine::event::Fact::EffectPlanned(planned) => {
                Some(planned.effect.label().to_owned())
            }
            orange_engine::event::Fact::FieldSet { field, .. } => Some(field.to_string()),
            _ => None,
        })
        .collect()
}

#[test]
fn an_unreadable_document_is_never_a_workflow() {
    assert!(load("name: x\nversion: 1\n").workflow.is_none());
}

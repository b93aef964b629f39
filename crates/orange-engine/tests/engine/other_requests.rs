//! User requests other than a status: outlook, other workflows, deletion.

use orange_engine::decision::Decision;
use orange_engine::effect::Effect;
use orange_engine::event::Fact;
use orange_engine::evidence::Evidence;
use orange_engine::history::describe;
use orange_engine::input::{Cause, Observation, Request, RequestKind};
use orange_engine::language::verbs::Verb;
use orange_engine::language::workflow::Trigger;
use orange_engine::names::HarnessName;
use orange_engine::refusal::Blocker;
use orange_engine::role::Role;
use orange_engine::task::AgentSettings;
use orange_engine::{Workflow, next_steps, replay};
use proptest::prelude::*;

use crate::fixtures::{
    World, load_clean, new_task, plan_of, refusal_of, shipped_workflow, status, task_file,
};
use crate::laws::WORKFLOWS;
use crate::random_histories::{any_step, cause};

fn missing(decision: Decision) -> Vec<Blocker> {
    let refusal = refusal_of(decision);
    assert!(!refusal.hints.is_empty(), "{refusal}");
    refusal.missing
}

fn adopt(workflow: &Workflow) -> RequestKind {
    RequestKind::ChangeWorkflow {
        workflow: Box::new(workflow.clone()),
        text: String::from("its text"),
    }
}

#[test]
fn model_and_effort_apply_to_one_harness() {
    let workflow = shipped_workflow("default");
    let agent_settings = AgentSettings {
        model: Some(String::from("large")),
        effort: Some(String::from("high")),
        review_effort: None,
    };
    let spawned = |review: &str, review_effort: Option<&str>, entry: Option<&str>| {
        let mut new = new_task("Add a thing", entry);
        new.harness = HarnessName::new("claude");
        new.review_harness = HarnessName::new(review);
        new.agent_settings = AgentSettings {
            review_effort: review_effort.map(str::to_owned),
            ..agent_settings.clone()
        };
        let mut world = World::create(&workflow, &new).unwrap();
        if entry.is_none() {
            world.verb(Role::Human, Verb::Spawn);
        }
        let spawn = world
            .task
            .pending
            .iter()
            .find_map(|it| match &it.planned.effect {
                Effect::Spawn(spawn) => Some((spawn.model.clone(), spawn.effort.clone())),
                _ => None,
            });
        let (model, effort) = spawn.unwrap();
        (model.unwrap_or_default(), effort.unwrap_or_default())
    };
    let pair = |model: &str, effort: &str| (model.to_owned(), effort.to_owned());
    assert_eq!(spawned("codex", Some("low"), None), pair("large", "high"));
    let review = Some("agent-review");
    assert_eq!(spawned("claude", None, review), pair("large", "high"));
    assert_eq!(spawned("claude", Some("low"), review), pair("large", "low"));
    assert_eq!(spawned("codex", None, review), pair("", ""));
    assert_eq!(spawned("codex", Some("low"), review), pair("", "low"));
}

#[test]
fn only_a_finished_and_released_task_can_be_deleted() {
    let workflow = shipped_workflow("default");
    let mut world = World::begin(&workflow);
    let open = missing(world.ask(Role::Human, RequestKind::Delete));
    assert!(matches!(open[..], [Blocker::NotEnded { .. }]), "{open:?}");
    world.verb(Role::Human, Verb::Spawn);
    world.settle();
    world.verb(Role::Human, Verb::Cancel);
    let busy = missing(world.ask(Role::Human, RequestKind::Delete));
    assert!(matches!(busy[..], [Blocker::EffectsRunning]), "{busy:?}");
    // A release that failed leaves the workspace as it is.
    let release = |world: &World<'_>| {
        let pending = world.task.pending.iter();
        let mut releases =
            pending.filter(|it| matches!(it.planned.effect, Effect::ReleaseWorkspace { .. }));
        releases.next().map(|it| it.planned.id)
    };
    let mut held = world.clone();
    let kill = held.task.pending[0].planned.id;
    let outcome = held.outcome_of(&held.task.pending[0].planned.effect.clone());
    held.observe(Observation::EffectDone {
        effect: kill,
        outcome,
    });
    let effect = release(&held).unwrap();
    held.observe(Observation::EffectFailed {
        effect,
        error: String::from("full"),
        feedback: None,
    });
    let holds = missing(held.ask(Role::Human, RequestKind::Delete));
    assert!(matches!(holds[..], [Blocker::HoldsWorkspace]), "{holds:?}");

    world.settle();
    let agent = missing(world.ask(Role::Worker, RequestKind::Delete));
    assert!(
        matches!(agent[..], [Blocker::NotAllowed { .. }]),
        "{agent:?}"
    );
    let unconfirmed = missing(world.ask(Role::Human, RequestKind::Delete));
    assert!(
        matches!(unconfirmed[..], [Blocker::ConfirmationNeeded { .. }]),
        "{unconfirmed:?}"
    );
    world.step(Cause::Request(Request {
        is_confirmed: true,
        ..Request::new(Role::Human, RequestKind::Delete)
    }));
    assert!(world.task.is_deleted);
    let again = world.ask(Role::Human, RequestKind::Delete);
    assert!(matches!(again, Decision::Plan(plan) if plan.is_already_done));
    assert_eq!(replay(&world.events).unwrap(), world.task);
    let agent = missing(world.ask(Role::Worker, RequestKind::Restore));
    assert!(
        matches!(agent[..], [Blocker::NotAllowed { .. }]),
        "{agent:?}"
    );
    world.ask(Role::Human, RequestKind::Restore);
    assert!(!world.task.is_deleted);
    assert_eq!(world.task.status, status("cancelled"));
}

#[test]
fn a_new_workflow_must_have_the_same_status() {
    let workflow = shipped_workflow("default");
    let mut world = World::placed(&workflow, "working");
    world.file = Some(task_file(&[("## Proof", "RESULT: seen")]));
    let absent = missing(world.ask(Role::Human, adopt(&shipped_workflow("autopilot"))));
    assert!(
        matches!(&absent[..], [Blocker::StatusAbsent { .. }]),
        "{absent:?}"
    );
    let other = |kind: &str| {
        load_clean(&format!(
            "name: other
version: 1
fields: {{ proofs: 7 }}
gates:
  proof: {{ section: \"## Proof\", fields: [RESULT], fresh: true }}
states:
  open: {{ kind: queued }}
  working: {{ kind: {kind} }}
  shut: {{ kind: terminal }}
transitions:
  - {{ from: open, to: working, by: human }}
  - {{ from: working, to: shut, by: [human, worker], gate: proof }}
"
        ))
    };
    let differs = missing(world.ask(Role::Human, adopt(&other("human"))));
    assert!(
        matches!(&differs[..], [Blocker::KindDiffers { .. }]),
        "{differs:?}"
    );
    let agent = missing(world.ask(Role::Worker, adopt(&other("agent"))));
    assert!(
        matches!(&agent[..], [Blocker::NotAllowed { .. }]),
        "{agent:?}"
    );
    let same = world.ask(Role::Human, adopt(&workflow));
    assert!(matches!(same, Decision::Plan(plan) if plan.is_already_done));
    let other = other("agent");
    world.ask(Role::Human, adopt(&other));
    assert_eq!(world.task.workflow.as_str(), "other");
    assert_eq!(world.task.status, status("working"));
    // The new workflow also treats earlier content as old.
    world.workflow = &other;
    let old = missing(world.move_to(Role::Worker, "shut"));
    assert!(matches!(&old[..], [Blocker::GateFailed { .. }]), "{old:?}");
    world.file = Some(task_file(&[("## Proof", "RESULT: seen again")]));
    world.expect_move(Role::Worker, "shut");
}

#[test]
fn a_workflow_cannot_change_while_effects_are_pending() {
    let workflow = shipped_workflow("default");
    let mut world = World::begin(&workflow);
    world.verb(Role::Human, Verb::Spawn);
    let mut other = workflow.clone();
    other.description = None;
    let busy = missing(world.ask(Role::Human, adopt(&other)));
    assert!(matches!(busy[..], [Blocker::EffectsRunning]), "{busy:?}");
}

#[test]
fn a_request_of_a_respawning_agent_is_accepted() {
    let workflow = shipped_workflow("default");
    let mut world = World::placed(&workflow, "agent-review");
    let running = missing(world.ask(
        Role::Human,
        RequestKind::Respawn {
            role: Some(Role::Reviewer),
        },
    ));
    assert!(
        matches!(&running[..], [Blocker::StillRunning { .. }]),
        "{running:?}"
    );
    world.ends(&Role::Reviewer, Evidence::Exit { code: 3 });
    for role in [Some(Role::Reviewer), None] {
        let mut world = world.clone();
        // The worker does not run in this world; together with it every role is covered.
        if role.is_none() {
            world.ask(
                Role::Human,
                RequestKind::Respawn {
                    role: Some(Role::Worker),
                },
            );
        }
        let again = world.ask(Role::Human, RequestKind::Respawn { role: role.clone() });
        assert!(
            matches!(&again, Decision::Plan(plan) if plan.is_already_done),
            "{role:?}: {again:?}"
        );
    }
}

#[test]
fn a_message_without_a_receiver_is_not_reported_as_delivered() {
    let workflow = shipped_workflow("default");
    let mut world = World::placed(&workflow, "planning");
    world.file = Some(task_file(&[("## Plan", "APPROACH: steps")]));
    world.expect_move(Role::Worker, "working");
    let nowhere = missing(world.verb(Role::Worker, Verb::RequestChanges));
    assert!(
        matches!(&nowhere[..], [Blocker::VerbUnavailable { .. }]),
        "{nowhere:?}"
    );
    // Repeating a request for changes is reported as already done.
    let mut world = World::placed(&workflow, "reviewing");
    world.verb(Role::Human, Verb::RequestChanges);
    let again = world.verb(Role::Human, Verb::RequestChanges);
    assert!(matches!(again, Decision::Plan(plan) if plan.is_already_done));
}

#[test]
fn an_agent_cannot_confirm() {
    let workflow = load_clean(
        "name: asking
version: 1
states:
  open: { kind: human, expects: [worker], respawn: { worker: { prompt: worker } } }
  shut: { kind: terminal }
entry:
  open: {}
transitions:
  - { from: open, to: shut, confirm: Really? }
prompts:
  worker: Work.
",
    );
    let ask = |by: Role| {
        let mut world = World::placed(&workflow, "open");
        world.step(Cause::Request(Request {
            by,
            kind: RequestKind::Move { to: status("shut") },
            is_confirmed: true,
            message: None,
            head: None,
            if_version: None,
        }))
    };
    let agent = missing(ask(Role::Worker));
    assert!(
        matches!(&agent[..], [Blocker::ConfirmationNeeded { .. }]),
        "{agent:?}"
    );
    assert!(matches!(ask(Role::Human), Decision::Plan(_)));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// If the outlook calls an edge open, a request by an allowed role is not refused; every event
    /// has a description.
    #[test]
    fn an_outlook_agrees_with_decide(
        which in any::<prop::sample::Index>(),
        history in prop::collection::vec(any_step(), 0..25),
    ) {
        let workflow = which.get(&WORKFLOWS);
        let mut world = World::begin(workflow);
        for happening in &history {
            if let Some(cause) = cause(&mut world, happening) {
                world.step(cause);
            }
        }
        let events = world.events.clone();
        for (index, event) in events.iter().enumerate() {
            prop_assert!(!describe(&event.fact, &events).is_empty());
            let mut later = events.iter().skip(index).map(|it| &it.fact);
            let is_reopened = later.any(|it| matches!(it, Fact::TaskReopened { .. }));
            if matches!(event.fact, Fact::TaskDeleted { .. }) && !is_reopened {
                prop_assert!(workflow.is_terminal(&world.task.status), "only what has ended");
            }
        }
        let context = world.context();
        let task = world.task.clone();
        for way in next_steps(workflow, &task, &context) {
            let (Some(to), Trigger::Request) = (way.to.clone(), way.trigger) else { continue };
            let by = way.by.first().cloned().unwrap_or(Role::Human);
            let stands = |it: &&Blocker| !matches!(it, Blocker::ConfirmationNeeded { .. });
            let is_open = way.missing.iter().filter(stands).count() == 0
                && way.unchecked.is_empty();
            let overtakes = by.is_agent() && task.pending_merge().is_some();
            let asks_person = by.is_agent() && !way.missing.is_empty();
            if !is_open || overtakes || asks_person {
                continue;
            }
            let mut world = world.clone();
            let decision = world.step(Cause::Request(Request {
                by: by.clone(),
                kind: RequestKind::Move { to: to.clone() },
                is_confirmed: true,
                message: None,
                head: None,
                if_version: None,
            }));
            prop_assert!(!matches!(decision, Decision::Refusal(_)), "{by} {to}: {decision:?}");
        }
    }
}

#[test]
fn a_verb_is_available_only_in_its_states() {
    let workflow = shipped_workflow("autopilot");
    let unblocked =
        |name: &str| missing(World::placed(&workflow, name).verb(Role::Human, Verb::Unblock));
    for name in ["new", "routed", "in_progress", "delegated", "needs_review"] {
        let found = unblocked(name);
        let verb = Verb::Unblock;
        assert_eq!(found, [Blocker::VerbUnavailable { verb }], "{name}");
    }
    let mut blocked = World::placed(&workflow, "blocked");
    blocked.verb(Role::Human, Verb::Unblock);
    assert_eq!(blocked.task.status, status("new"));

    // A live run is not restarted; one that has ended is.
    let mut running = World::placed(&workflow, "in_progress");
    let role = Role::Worker;
    let found = missing(running.verb(Role::Human, Verb::Retry));
    assert_eq!(found, [Blocker::StillRunning { role }]);
    let verbs = |world: &mut World<'_>| -> Vec<Verb> {
        let context = world.context();
        let ways = next_steps(&workflow, &world.task, &context);
        ways.into_iter().flat_map(|way| way.verbs).collect()
    };
    assert!(!verbs(&mut running).contains(&Verb::Retry));
    running.task.runs.clear();
    assert!(verbs(&mut running).contains(&Verb::Retry));
    running.verb(Role::Human, Verb::Retry);
    assert_eq!(running.task.status, status("new"));
}

#[test]
fn a_review_that_asks_for_changes_accepts_a_message() {
    for name in ["default", "github", "minimal", "respawn", "session"] {
        let workflow = shipped_workflow(name);
        let mut world = World::placed(&workflow, "reviewing");
        let context = world.context();
        let ways = next_steps(&workflow, &world.task, &context);
        let mut changes = ways
            .iter()
            .filter(|way| way.verbs.contains(&Verb::RequestChanges));
        assert!(
            changes.next().is_some_and(|way| way.accepts_message),
            "{name}"
        );
    }
}

#[test]
fn failed_effects_are_retried_before_an_edge_is_taken() {
    let workflow = shipped_workflow("default");
    let mut world = World::placed(&workflow, "reviewing");
    // The verb `retry` would lead to `working`, and reviewed work would be reworked.
    world.verb(Role::Human, Verb::Merge);
    let effect = world.task.pending_merge().unwrap();
    let error = String::from("broken");
    world.observe(Observation::EffectFailed {
        effect,
        error,
        feedback: None,
    });
    let before = world.task.status.clone();
    let retried = world.verb(Role::Human, Verb::Retry);
    assert!(
        matches!(&retried, Decision::Plan(plan) if plan.events.iter().any(|it| matches!(it.fact, Fact::EffectRetried { .. }))),
        "{retried:?}"
    );
    assert_eq!(world.task.status, before);
}

#[test]
fn several_changes_are_one_decision() {
    let workflow = shipped_workflow("default");
    let new = new_task("", Some("clarification"));
    let mut world = World::create(&workflow, &new).unwrap();
    let amend = |summary: &str, to: &str| RequestKind::Amend {
        summary: Some(summary.to_owned()),
        branch: None,
        priority: None,
        to: Some(status(to)),
    };
    // The guard of the edge sees the summary that comes with the request.
    assert_eq!(world.task.status, status("clarification"));
    world.settle();
    let refused = world.ask(Role::Human, amend("Known", "working"));
    let refusal = refusal_of(refused);
    assert!(
        refusal
            .hints
            .iter()
            .any(|hint| hint.contains("nothing was changed"))
    );
    assert_eq!(world.task.summary, "");
    world.ask(Role::Human, amend("Known", "planning"));
    assert_eq!(world.task.summary, "Known");
    assert_eq!(world.task.status, status("planning"));
    // If the status is already reached, the other changes still apply.
    world.ask(Role::Human, amend("Known better", "planning"));
    assert_eq!(world.task.summary, "Known better");
    let again = world.ask(Role::Human, amend("Known better", "planning"));
    assert!(matches!(again, Decision::Plan(plan) if plan.is_already_done));
}

#[test]
fn the_history_records_who_respawned_an_agent() {
    let workflow = shipped_workflow("default");
    let mut world = World::placed(&workflow, "working");
    world.task.runs.clear();
    let respawned = world.ask(Role::Human, RequestKind::Respawn { role: None });
    let plan = plan_of(respawned);
    let mut facts = plan.events.iter().map(|event| &event.fact);
    let fact = facts.find(|fact| matches!(fact, Fact::AgentRespawned { .. }));
    let text = describe(fact.unwrap(), &plan.events);
    assert_eq!(text, "the user respawned the worker");
}

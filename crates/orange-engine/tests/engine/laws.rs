//! Properties of any history. `PROPTEST_CASES=100000` makes it a long run.

use std::sync::LazyLock;

use orange_engine::decision::Decision;
use orange_engine::event::{Event, Fact};
use orange_engine::input::{Cause, RequestKind};
use orange_engine::language::workflow::{Target, Trigger};
use orange_engine::names::RunId;
use orange_engine::role::Role;
use orange_engine::task::Task;
use orange_engine::{Workflow, replay, shipped_workflows};
use proptest::prelude::*;

use crate::fixtures::{World, load_clean, shipped_workflow};
use crate::random_histories::{
    Happening, any_step, any_step_without_user, any_worker_step, cause, config,
};

pub(crate) static WORKFLOWS: LazyLock<Vec<Workflow>> = LazyLock::new(|| {
    let mut all: Vec<Workflow> = shipped_workflows::ALL
        .iter()
        .map(|shipped| shipped_workflow(shipped.name))
        .collect();
    all.push(load_clean(include_str!("seeds/large.yml")));
    all.push(load_clean(include_str!("seeds/minimal.yml")));
    all.push(load_clean(include_str!("everything.yml")));
    all
});

/// Makes something happen and checks the properties of a single step.
fn apply(world: &mut World<'_>, happening: &Happening) -> Result<Option<Decision>, TestCaseError> {
    let Some(cause) = cause(world, happening) else {
        return Ok(None);
    };
    let before = world.task.clone();
    let recorded = world.events.len();
    let decision = world.step(cause.clone());
    let new = &world.events[recorded..];
    match &decision {
        Decision::Plan(plan) => prop_assert_eq!(&plan.events[..], new),
        // A refused request, or one that waits for facts, changes nothing.
        Decision::Refusal(refusal) => {
            prop_assert_eq!(&world.task, &before);
            prop_assert!(
                matches!(cause, Cause::Request(_)),
                "an observation is never refused"
            );
            prop_assert!(!refusal.missing.is_empty());
            prop_assert!(refusal.to_string().contains(before.id.as_str()));
        }
        Decision::Needs(needs) => {
            prop_assert_eq!(&world.task, &before);
            prop_assert!(!needs.facts.is_empty());
            prop_assert_eq!(needs.entered, before.entered.version);
        }
    }
    // An effect is named after the event that planned it, so no two share a name.
    for event in new {
        if let Fact::EffectPlanned(planned) = &event.fact {
            prop_assert_eq!(planned.id.0, event.version);
            // A plan is named within its own decision, so no two share a name either. What is
            // planned again stays in its plan.
            let is_new = (before.version + 1..=event.version).contains(&planned.plan);
            let is_again = before
                .pending
                .iter()
                .any(|it| it.planned.plan == planned.plan);
            prop_assert!(is_new || is_again);
        }
    }
    if is_reopening(&cause) && !new.is_empty() {
        reopens_what_the_user_cancelled(world, &before, new, &cause)?;
        return Ok(Some(decision));
    }
    one_edge_fires(world.workflow, &before, new, &cause)?;
    // A terminal state stays terminal, unless the user reopens the task.
    if world.workflow.is_terminal(&before.status) {
        prop_assert_eq!(&world.task.status, &before.status);
    }
    Ok(Some(decision))
}

fn is_reopening(cause: &Cause) -> bool {
    matches!(cause, Cause::Request(request) if request.kind == RequestKind::Reopen)
}

/// Only a cancelled task leaves its end, not by an agent, and its event says so.
fn reopens_what_the_user_cancelled(
    world: &World<'_>,
    before: &Task,
    new: &[Event],
    cause: &Cause,
) -> Result<(), TestCaseError> {
    let workflow = world.workflow;
    prop_assert!(workflow.is_cancelled(&before.status));
    prop_assert!(!workflow.is_terminal(&world.task.status));
    prop_assert!(matches!(cause, Cause::Request(request) if !request.by.is_agent()));
    let reopenings = new.iter().zip(&new[1..]).filter(|(change, reopening)| {
        matches!(change.fact, Fact::StatusChanged(_))
            && matches!(reopening.fact, Fact::TaskReopened { .. })
    });
    prop_assert_eq!(reopenings.count(), 1);
    // `@previous` never leads back to the end.
    let previous = world.task.entered.from.as_ref();
    prop_assert!(previous.is_none_or(|status| !workflow.is_terminal(status)));
    Ok(())
}

/// At most one status change per decision, along an open edge.
fn one_edge_fires(
    workflow: &Workflow,
    before: &Task,
    new: &[Event],
    cause: &Cause,
) -> Result<(), TestCaseError> {
    let changes: Vec<_> = new
        .iter()
        .filter_map(|event| match &event.fact {
            Fact::StatusChanged(changed) => Some(changed),
            _ => None,
        })
        .collect();
    prop_assert!(changes.len() <= 1);
    let Some(changed) = changes.first() else {
        return Ok(());
    };
    prop_assert_eq!(&changed.from, &before.status);
    let leads = |target: &Target| match target {
        Target::Status(to) => *to == changed.to,
        Target::Previous => before.entered.from.as_ref() == Some(&changed.to),
    };
    let along: Vec<_> = workflow
        .edges_from(&before.status)
        .filter(|edge| leads(&edge.to) && matches!(edge.trigger, trigger if trigger == changed.trigger || trigger == Trigger::Request))
        .collect();
    prop_assert!(
        !along.is_empty(),
        "no edge {} -> {}",
        changed.from,
        changed.to
    );
    if let Cause::Request(request) = cause {
        prop_assert_eq!(changed.trigger, Trigger::Request);
        let open = along.iter().filter(|edge| {
            edge.trigger == Trigger::Request
                && edge.is_open_to(&request.by)
                && edge
                    .when
                    .as_ref()
                    .is_none_or(|when| when.holds(|field| before.value(field)))
        });
        prop_assert_eq!(open.count(), 1);
    } else {
        prop_assert_eq!(&changed.by, &Role::Engine);
    }
    Ok(())
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_history_obeys_the_laws(
        which in 0..7usize,
        history in proptest::collection::vec(any_step(), 0..60),
    ) {
        let workflow = &WORKFLOWS[which];
        let mut world = World::begin(workflow);
        for happening in &history {
            apply(&mut world, happening)?;
        }
        // Replay equals live state, also after the JSON round trip that the store makes.
        prop_assert_eq!(&replay(&world.events).unwrap(), &world.task);
        let json = serde_json::to_string(&world.events).unwrap();
        let read: Vec<Event> = serde_json::from_str(&json).unwrap();
        prop_assert_eq!(&read, &world.events);
        let json = serde_json::to_string(&world.task).unwrap();
        prop_assert_eq!(&serde_json::from_str::<Task>(&json).unwrap(), &world.task);
        // The events alone explain the status.
        let why = orange_engine::why::explain(&world.events).unwrap();
        prop_assert_eq!(&why.status, &world.task.status);
        prop_assert!(why.to_string().contains(world.task.status.as_str()));
    }

    #[test]
    fn a_decision_depends_on_nothing_but_its_arguments(
        which in 0..7usize,
        history in proptest::collection::vec(any_step(), 0..40),
        last in any_step(),
    ) {
        let workflow = &WORKFLOWS[which];
        let mut world = World::begin(workflow);
        for happening in &history {
            apply(&mut world, happening)?;
        }
        if let Some(cause) = cause(&mut world, &last) {
            let mut again = world.clone();
            prop_assert_eq!(world.decide(cause.clone()), again.decide(cause));
        }
    }

    #[test]
    fn the_worker_cannot_move_its_task_out_of_agent_review(
        round in 1..3i64,
        history in proptest::collection::vec(any_worker_step(), 0..40),
    ) {
        let workflow = &WORKFLOWS[0];
        let mut world = World::placed(workflow, "agent-review");
        world.set("review_round", round);
        world.task.runs.insert(Role::Worker, orange_engine::task::Run {
            id: RunId::new("run-worker"),
            headless: false,
            plans: false,
            state: orange_engine::task::RunState::Alive,
        });
        for happening in &history {
            apply(&mut world, happening)?;
            let status = world.task.status.as_str();
            // A reviewer that keeps dying without a report ends in stuck; nothing else may happen.
            let crashed = status == "stuck" && world.task.entered.trigger == Some(Trigger::Crash);
            prop_assert!(status == "agent-review" || crashed, "{status} after {history:?}");
            if crashed {
                break;
            }
        }
    }

    #[test]
    fn default_stays_within_its_limits(
        history in proptest::collection::vec(any_step_without_user(), 0..250),
    ) {
        let workflow = &WORKFLOWS[0];
        let mut world = World::begin(workflow);
        for happening in &history {
            apply(&mut world, happening)?;
            let value = |name: &str| world.task.value(&orange_engine::names::FieldName::new(name));
            prop_assert!(value("review_round") <= 2);
            prop_assert!(value("crash_count") <= 2);
            prop_assert!(value("clarifications") <= 3);
            prop_assert!(value("delegations") <= 2);
            prop_assert!(value("spawn_failures") <= 3 + 1);
        }
        let entered = |name: &str| changes(&world.events).filter(|to| *to == name).count();
        prop_assert!(entered("agent-review") <= 2);
        prop_assert!(entered("delegated") <= 2);
        prop_assert!(entered("clarification") <= 4 + 4);
        prop_assert!(changes(&world.events).count() <= 40, "{}", changes(&world.events).count());
        // No agent and no outside event can end a task of this workflow.
        prop_assert!(entered("done") == 0 && entered("cancelled") == 0 && entered("reviewing") <= 2);
    }

    #[test]
    fn github_stays_within_its_rounds(
        history in proptest::collection::vec(any_step_without_user(), 0..250),
    ) {
        let workflow = WORKFLOWS.iter().find(|workflow| workflow.name.as_str() == "github").unwrap();
        let mut world = World::placed(workflow, "checking");
        for happening in &history {
            apply(&mut world, happening)?;
            let rounds = world.task.value(&orange_engine::names::FieldName::new("pr_rounds"));
            prop_assert!((0..=3).contains(&rounds));
        }
        let rounds = world.events.iter().filter(|event| match &event.fact {
            Fact::StatusChanged(changed) => {
                changed.trigger.is_forge() && changed.to.as_str() == "working"
            }
            _ => false,
        });
        prop_assert!(rounds.count() <= 3);
        let ends = changes(&world.events).filter(|to| ["done", "cancelled"].contains(to));
        prop_assert_eq!(ends.count(), 0);
    }

    #[test]
    fn autopilot_stays_within_its_limits(
        history in proptest::collection::vec(any_step_without_user(), 0..250),
    ) {
        let workflow = WORKFLOWS.iter().find(|workflow| workflow.name.as_str() == "autopilot").unwrap();
        let mut world = World::begin(workflow);
        for happening in &history {
            apply(&mut world, happening)?;
            let attempts = world.task.value(&orange_engine::names::FieldName::new("attempts"));
            prop_assert!((1..=5).contains(&attempts));
        }
        let runs = changes(&world.events).filter(|to| *to == "in_progress").count();
        prop_assert!(runs <= 5, "{runs} runs");
    }
}

fn changes(events: &[Event]) -> impl Iterator<Item = &str> {
    events.iter().filter_map(|event| match &event.fact {
        Fact::StatusChanged(changed) => Some(changed.to.as_str()),
        _ => None,
    })
}

//! Which task starts next: the order, the limits, the dependencies.

use std::collections::{BTreeMap, BTreeSet};

use orange_engine::budget::Budget;
use orange_engine::input::{Observation, RequestKind};
use orange_engine::language::verbs::Verb;
use orange_engine::language::workflow::Trigger;
use orange_engine::names::{HarnessName, ProjectName, Status, TaskId};
use orange_engine::parking::{Parking, Reason};
use orange_engine::role::Role;
use orange_engine::schedule::{
    Limits, QueueEntry, Schedule, SchedulePlace, ScheduledTask, Starter, Wait, find_cycle,
    find_waits, reached_limits, schedule, waits_before_limits,
};
use orange_engine::time::Timestamp;
use proptest::collection::{btree_set, vec};
use proptest::prelude::*;

use crate::fixtures::{World, shipped_workflow, status};

fn now() -> Timestamp {
    Timestamp::from_millis(1_000_000)
}

fn id(number: usize) -> TaskId {
    TaskId::new(format!("t{number:02}"))
}

fn waiting_task(number: usize) -> ScheduledTask {
    ScheduledTask {
        task: id(number),
        project: ProjectName::new("app"),
        harness: HarnessName::new("claude"),
        model: None,
        job: None,
        status: status("pending"),
        place: SchedulePlace::Queued(QueueEntry {
            is_requeued: false,
            starter: Starter::Engine,
            to: Some(status("planning")),
            has_running_effects: false,
            not_before: None,
        }),
        agents: BTreeMap::new(),
        has_workspace: false,
        needs_no_workspace: false,
        priority: 0,
        since: Timestamp::from_millis(0),
        after: BTreeSet::new(),
        parent: None,
    }
}

fn active(number: usize, place: &str) -> ScheduledTask {
    let harness = HarnessName::new("claude");
    ScheduledTask {
        status: status(place),
        place: SchedulePlace::Active,
        agents: BTreeMap::from([(harness, 1)]),
        has_workspace: true,
        ..waiting_task(number)
    }
}

fn ended_task(number: usize, cancelled: bool) -> ScheduledTask {
    ScheduledTask {
        status: status("over"),
        place: SchedulePlace::Ended { cancelled },
        ..waiting_task(number)
    }
}

fn started(found: &Schedule) -> Vec<&str> {
    found.starts.iter().map(TaskId::as_str).collect()
}

fn wait_texts(found: &Schedule, number: usize) -> Vec<String> {
    let waits = found.waits.get(&id(number)).into_iter().flatten();
    waits.map(ToString::to_string).collect()
}

#[test]
fn returned_tasks_go_first_then_priority_then_age_then_id() {
    let mut back = waiting_task(9);
    if let SchedulePlace::Queued(queued) = &mut back.place {
        queued.is_requeued = true;
    }
    let urgent = ScheduledTask {
        priority: 5,
        since: Timestamp::from_millis(900),
        ..waiting_task(8)
    };
    let old = ScheduledTask {
        since: Timestamp::from_millis(10),
        ..waiting_task(7)
    };
    let young = |number| ScheduledTask {
        since: Timestamp::from_millis(20),
        ..waiting_task(number)
    };
    let minor = ScheduledTask {
        priority: -1,
        ..waiting_task(0)
    };
    let all = [minor, young(4), young(3), old, urgent, back];
    let found = schedule(&all, &Limits::default(), now());
    assert_eq!(started(&found), ["t09", "t08", "t07", "t03", "t04", "t00"]);
}

#[test]
fn four_tasks_in_review_stop_every_start() {
    let limits = Limits {
        status: BTreeMap::from([(status("reviewing"), 4)]),
        ..Limits::default()
    };
    let mut all: Vec<ScheduledTask> = (0..3).map(|it| active(it, "reviewing")).collect();
    all.push(waiting_task(9));
    assert_eq!(started(&schedule(&all, &limits, now())), ["t09"]);
    all.push(active(3, "reviewing"));
    let found = schedule(&all, &limits, now());
    assert!(found.starts.is_empty());
    assert_eq!(
        wait_texts(&found, 9),
        [
            "nothing is started while 4 or more tasks are in `reviewing`, held by `t00`, `t01`, \
             `t02` and `t03`"
        ]
    );
}

#[test]
fn a_limit_of_one_harness_or_project_blocks_no_other() {
    let other = |number| ScheduledTask {
        project: ProjectName::new("other"),
        harness: HarnessName::new("codex"),
        ..waiting_task(number)
    };
    let all = [active(0, "working"), waiting_task(1), other(2), other(3)];
    for limits in [
        Limits {
            per_project: Some(1),
            ..Limits::default()
        },
        Limits {
            harness: [("claude", 1), ("codex", 1)]
                .map(|(name, limit)| (HarnessName::new(name), limit))
                .into(),
            ..Limits::default()
        },
    ] {
        let found = schedule(&all, &limits, now());
        assert_eq!(started(&found), ["t02"]);
        assert!(
            wait_texts(&found, 1)[0].contains("held by `t00`"),
            "{found:?}"
        );
        assert!(
            wait_texts(&found, 3)[0].contains("held by `t02`"),
            "{found:?}"
        );
    }
}

#[test]
fn a_limit_on_a_queue_or_a_terminal_state_blocks_nothing() {
    let limits = Limits {
        status: BTreeMap::from([(status("pending"), 1), (status("over"), 1)]),
        ..Limits::default()
    };
    let all = [waiting_task(1), waiting_task(2), ended_task(3, false)];
    assert_eq!(started(&schedule(&all, &limits, now())), ["t01", "t02"]);
}

#[test]
fn a_dependency_is_done_when_it_finished_and_was_not_cancelled() {
    let after = |number| ScheduledTask {
        after: BTreeSet::from([id(number)]),
        ..waiting_task(9)
    };
    let limits = Limits::default();
    let wait = |all: &[ScheduledTask]| find_waits(&all[0], all, &limits);
    assert_eq!(wait(&[after(1), ended_task(1, false)]), []);
    let over = || status("over");
    assert_eq!(
        wait(&[after(1), ended_task(1, true)]),
        [Wait::Cancelled {
            task: id(1),
            status: over()
        }]
    );
    assert_eq!(wait(&[after(1)]), [Wait::UnknownTask { task: id(1) }]);
    let waits = wait(&[after(1), waiting_task(1)]);
    assert_eq!(
        waits[0].to_string(),
        "task `t01` must be done first; it is in `pending`"
    );
    assert!(waits[0].hint().unwrap().contains("orange task show t01"));
}

#[test]
fn parents_and_children_do_not_deadlock() {
    let parent = active(1, "working");
    let child = ScheduledTask {
        parent: Some(id(1)),
        ..waiting_task(2)
    };
    let later = ScheduledTask {
        after: BTreeSet::from([id(1)]),
        ..waiting_task(3)
    };
    let all = [parent, child, later];
    let after = |numbers: &[usize]| numbers.iter().map(|it| id(*it)).collect::<BTreeSet<_>>();
    let found =
        |parent: usize, numbers: &[usize]| find_cycle(&all, Some(&id(parent)), &after(numbers));
    assert_eq!(found(1, &[1]), Some(vec![id(1)]), "after its own parent");
    assert_eq!(found(1, &[3]), Some(vec![id(3), id(1)]));
    assert_eq!(found(2, &[1]), Some(vec![id(1), id(2)]), "a grandchild");
    assert_eq!(found(1, &[2]), None, "after a sibling");
    assert_eq!(find_cycle(&all, None, &after(&[1, 2, 3])), None);
}

#[test]
fn default_has_the_expected_scheduling_places() {
    let workflow = shipped_workflow("default");
    let mut world = World::begin(&workflow);
    let stands = |world: &World<'_>| ScheduledTask::of(&workflow, &world.task);
    let SchedulePlace::Queued(queued) = stands(&world).place else {
        panic!("{world:?}", world = world.task)
    };
    assert_eq!(
        queued.starter,
        Starter::NotRequested,
        "its start was not requested"
    );
    world.task.queueing.starts_automatically = true;
    let SchedulePlace::Queued(queued) = stands(&world).place else {
        panic!("{:?}", world.task)
    };
    assert_eq!(queued.starter, Starter::Engine);
    assert_eq!(queued.to, Some(status("planning")));
    assert!(!queued.is_requeued);
    world.ask(Role::Engine, RequestKind::Verb(Verb::Spawn));
    let standing = stands(&world);
    assert_eq!(standing.place, SchedulePlace::Active);
    assert_eq!(standing.agents.values().sum::<u32>(), 1);
    assert!(standing.has_workspace);
    world.settle();
    world.observe(Observation::ChildAdded { child: id(1) });
    world.task.status = status("working");
    world.ask(
        Role::Human,
        RequestKind::Move {
            to: status("delegated"),
        },
    );
    world.settle();
    let standing = stands(&world);
    assert!(standing.agents.is_empty(), "its slot is released");
    assert!(!standing.has_workspace);
    world.observe(Observation::ChildEnded {
        child: id(1),
        status: status("done"),
    });
    let SchedulePlace::Queued(queued) = stands(&world).place else {
        panic!("{:?}", world.task)
    };
    assert!(queued.is_requeued, "what was begun is finished first");
    assert_eq!(queued.starter, Starter::Engine);
    assert_eq!(queued.to, Some(status("working")));
    world.ask(Role::Human, RequestKind::Verb(Verb::Cancel));
    assert_eq!(
        stands(&world).place,
        SchedulePlace::Ended { cancelled: true }
    );
}

fn any_standing(number: usize) -> impl Strategy<Value = ScheduledTask> {
    let numbers = (0..3usize, 0..2usize, -2..3i64, 0..4i64);
    (numbers, 0..10u8, any::<bool>(), btree_set(0..24usize, 0..3)).prop_map(
        move |((project, harness, priority, since), place, is_return, after)| {
            let mut standing = match place {
                0 | 1 => active(number, ["working", "reviewing"][usize::from(place)]),
                2 => ended_task(number, false),
                3 => ended_task(number, is_return),
                _ => waiting_task(number),
            };
            standing.project = ProjectName::new(["a", "b", "c"][project]);
            standing.harness = HarnessName::new(["claude", "codex"][harness]);
            if standing.place == SchedulePlace::Active {
                standing.agents = BTreeMap::from([(standing.harness.clone(), 1)]);
            }
            standing.priority = priority;
            standing.since = Timestamp::from_millis(since);
            // Only earlier ones, as when tasks are created one after the other.
            standing.after = after
                .into_iter()
                .filter(|it| *it < number)
                .map(id)
                .collect();
            if let SchedulePlace::Queued(queued) = &mut standing.place {
                queued.is_requeued = is_return;
            }
            standing
        },
    )
}

fn any_tasks() -> impl Strategy<Value = Vec<ScheduledTask>> {
    (0..24usize).prop_flat_map(|count| (0..count).map(any_standing).collect::<Vec<_>>())
}

fn any_limits() -> impl Strategy<Value = Limits> {
    let limit = || proptest::option::of(1..5u32);
    let pool = proptest::option::of(1..3u32);
    (limit(), limit(), limit(), limit(), limit(), pool).prop_map(
        |(agents, per_project, claude, planning, reviewing, pool)| Limits {
            agents,
            per_project,
            harness: claude
                .map(|it| (HarnessName::new("claude"), it))
                .into_iter()
                .collect(),
            status: [("planning", planning), ("reviewing", reviewing)]
                .into_iter()
                .filter_map(|(name, limit)| Some((status(name), limit?)))
                .collect(),
            pools: pool
                .map(|it| (ProjectName::new("a"), it))
                .into_iter()
                .collect(),
            parked: Vec::new(),
            failover: Vec::new(),
            full_disk: None,
            budget: Budget::default(),
        },
    )
}

/// The tasks after these were started.
fn after_start(all: &[ScheduledTask], starts: &[TaskId]) -> Vec<ScheduledTask> {
    let follow = |it: &ScheduledTask| match &it.place {
        SchedulePlace::Queued(queued) if starts.contains(&it.task) => ScheduledTask {
            status: queued.to.clone().unwrap(),
            place: SchedulePlace::Active,
            agents: BTreeMap::from([(it.harness.clone(), 1)]),
            has_workspace: true,
            ..it.clone()
        },
        _ => it.clone(),
    };
    all.iter().map(follow).collect()
}

/// The usage of each limit, with the limit.
fn limit_usage(all: &[ScheduledTask], limits: &Limits) -> Vec<(String, u32, u32)> {
    let agents = |is_meant: &dyn Fn(&ScheduledTask) -> bool| -> u32 {
        let meant = all.iter().filter(|it| is_meant(it));
        meant.flat_map(|it| it.agents.values()).sum()
    };
    let count = |is_meant: &dyn Fn(&ScheduledTask) -> bool| {
        u32::try_from(all.iter().filter(|it| is_meant(it)).count()).unwrap()
    };
    let mut found = Vec::new();
    if let Some(limit) = limits.agents {
        found.push((String::from("agents"), agents(&|_| true), limit));
    }
    if let Some(limit) = limits.per_project {
        for name in ["a", "b", "c"] {
            let here = agents(&|it| it.project.as_str() == name);
            found.push((name.to_owned(), here, limit));
        }
    }
    for (harness, limit) in &limits.harness {
        found.push((
            harness.to_string(),
            agents(&|it| it.harness == *harness),
            *limit,
        ));
    }
    for (name, limit) in &limits.status {
        let there = |it: &ScheduledTask| it.place == SchedulePlace::Active && it.status == *name;
        found.push((name.to_string(), count(&there), *limit));
    }
    for (project, limit) in &limits.pools {
        let slots = count(&|it| it.has_workspace && it.project == *project);
        found.push((format!("pool {project}"), slots, *limit));
    }
    found
}

#[test]
fn only_tasks_on_a_parked_harness_wait() {
    let parked = |reason, until| Parking {
        harness: HarnessName::new("claude"),
        reason,
        since: now(),
        until,
        output_line: None,
    };
    let other = ScheduledTask {
        harness: HarnessName::new("codex"),
        ..waiting_task(2)
    };
    let all = [waiting_task(1), other];
    let until = Timestamp::from_millis(1_700_000);
    for (parking, reason, hint) in [
        (
            parked(Reason::Quota, Some(until)),
            "harness `claude` has no quota left until 1970-01-01T00:28:20.000Z",
            "the task continues automatically then; if you have quota earlier, run `orange harness unpark claude`",
        ),
        (
            parked(Reason::Login, None),
            "harness `claude` is not logged in",
            "log in with that program yourself, then run `orange harness unpark claude`",
        ),
    ] {
        let limits = Limits {
            parked: vec![parking],
            ..Limits::default()
        };
        let found = schedule(&all, &limits, now());
        assert_eq!(started(&found), ["t02"]);
        assert_eq!(wait_texts(&found, 1), [reason]);
        let waits = find_waits(&all[0], &all, &limits);
        assert_eq!(waits, found.waits[&id(1)], "a user's start waits too");
        assert_eq!(waits[0].hint().as_deref(), Some(hint));
    }
}

#[test]
fn a_task_whose_harness_is_parked_starts_on_the_one_that_takes_over() {
    let harness = |name: &str| HarnessName::new(name);
    let parked = |name: &str| Parking {
        harness: harness(name),
        reason: Reason::Login,
        since: now(),
        until: None,
        output_line: None,
    };
    let all: Vec<ScheduledTask> = (1..=3).map(waiting_task).collect();
    let mut limits = Limits {
        parked: vec![parked("claude")],
        failover: vec![harness("claude"), harness("codex")],
        harness: BTreeMap::from([(harness("codex"), 2)]),
        ..Limits::default()
    };
    let found = schedule(&all, &limits, now());
    assert_eq!(
        started(&found),
        ["t01", "t02"],
        "the limit of codex applies"
    );
    assert!(wait_texts(&found, 3)[0].contains("codex"), "{found:?}");
    limits.parked.push(parked("codex"));
    let found = schedule(&all, &limits, now());
    assert_eq!(started(&found), [""; 0]);
    assert_eq!(wait_texts(&found, 1), ["harness `claude` is not logged in"]);
}

proptest! {
    #[test]
    fn no_start_goes_beyond_a_limit(all in any_tasks(), limits in any_limits()) {
        let found = schedule(&all, &limits, now());
        let before = limit_usage(&all, &limits);
        let after = limit_usage(&after_start(&all, &found.starts), &limits);
        for ((name, then, _), (_, now, limit)) in before.into_iter().zip(after) {
            prop_assert!(now <= limit || now == then, "{name}: {then}, {now} of {limit}");
        }
    }

    #[test]
    fn every_queued_task_either_starts_or_has_a_reason(all in any_tasks(), limits in any_limits()) {
        let found = schedule(&all, &limits, now());
        for standing in &all {
            let is_queued = matches!(standing.place, SchedulePlace::Queued(_));
            let starts = found.starts.iter().filter(|it| **it == standing.task).count();
            let waits = found.waits.get(&standing.task);
            prop_assert!(waits.is_none_or(|it| !it.is_empty()));
            prop_assert_eq!(starts + usize::from(waits.is_some()), usize::from(is_queued));
            for wait in waits.into_iter().flatten() {
                prop_assert!(!wait.to_string().is_empty());
            }
        }
    }

    #[test]
    fn the_reason_for_one_task_needs_no_other_task(
        all in any_tasks(), limits in any_limits()
    ) {
        let found = schedule(&all, &limits, now());
        let holds = |it: &&ScheduledTask| {
            it.place == SchedulePlace::Active || !it.agents.is_empty() || it.has_workspace
        };
        let holders: Vec<ScheduledTask> = all.iter().filter(holds).cloned().collect();
        for task in &all {
            let mut alone = waits_before_limits(task, &all, now());
            if alone.is_empty() && matches!(task.place, SchedulePlace::Queued(_)) {
                alone = reached_limits(task, &holders, &limits);
            }
            if !alone.is_empty() {
                prop_assert_eq!(found.waits.get(&task.task), Some(&alone));
            }
        }
    }

    #[test]
    fn the_input_order_of_tasks_does_not_matter(
        all in any_tasks(), limits in any_limits(), turns in vec(any::<prop::sample::Index>(), 24),
    ) {
        let mut shuffled = all.clone();
        for (at, turn) in turns.iter().enumerate().take(all.len()) {
            shuffled.swap(at, turn.index(all.len()));
        }
        prop_assert_eq!(schedule(&shuffled, &limits, now()), schedule(&all, &limits, now()));
    }

    #[test]
    fn no_task_starts_before_its_dependencies(all in any_tasks(), limits in any_limits()) {
        let is_done = |task: &TaskId| {
            let mut found = all.iter().filter(|it| it.task == *task);
            found.any(|it| it.place == SchedulePlace::Ended { cancelled: false })
        };
        for started in schedule(&all, &limits, now()).starts {
            let standing = all.iter().find(|it| it.task == started).unwrap();
            prop_assert!(standing.after.iter().all(is_done));
        }
    }

    /// Starts by the user and by the scheduler follow the same rules.
    #[test]
    fn the_first_task_to_start_has_no_blockers(all in any_tasks(), limits in any_limits()) {
        let found = schedule(&all, &limits, now());
        if let Some(first) = found.starts.first() {
            let standing = all.iter().find(|it| it.task == *first).unwrap();
            prop_assert_eq!(find_waits(standing, &all, &limits), []);
        }
        if found.starts.is_empty() {
            for task in found.waits.keys() {
                let standing = all.iter().find(|it| it.task == *task).unwrap();
                prop_assert!(!find_waits(standing, &all, &limits).is_empty());
            }
        }
    }

    /// Running work always ends eventually; then every task that can run has run.
    #[test]
    fn no_task_starves(all in any_tasks(), limits in any_limits()) {
        let mut all = all;
        let mut began: BTreeSet<TaskId> = BTreeSet::new();
        for _ in 0..=2 * all.len() {
            let starts = schedule(&all, &limits, now()).starts;
            began.extend(starts.iter().cloned());
            all = after_start(&all, &starts);
            for standing in &mut all {
                if standing.place == SchedulePlace::Active {
                    standing.place = SchedulePlace::Ended { cancelled: false };
                    standing.status = Status::new("over");
                    standing.agents.clear();
                    standing.has_workspace = false;
                }
            }
        }
        let found = schedule(&all, &limits, now());
        for (task, waits) in &found.waits {
            // Only tasks that depend, directly or not, on a cancelled or missing task are left.
            let is_lost = |wait: &Wait| match wait {
                Wait::Cancelled { .. } | Wait::UnknownTask { .. } => true,
                Wait::Dependency { task, .. } => found.waits.contains_key(task),
                _ => false,
            };
            prop_assert!(waits.iter().any(is_lost), "{task}: {waits:?}");
        }
        prop_assert!(found.starts.is_empty());
    }
}

#[test]
fn unfinished_attempts_are_followed_by_growing_pauses() {
    let workflow = shipped_workflow("autopilot");
    let pause_of = |attempts: i64, trigger: Trigger| {
        let mut world = World::placed(&workflow, "new");
        world.set("attempts", attempts);
        world.task.entered.trigger = Some(trigger);
        let at = world.task.entered.at.millis();
        match ScheduledTask::of(&workflow, &world.task).place {
            SchedulePlace::Queued(queued) => queued.not_before.map(|then| then.millis() - at),
            place => panic!("{place:?}"),
        }
    };
    for trigger in [Trigger::Report, Trigger::Exit] {
        assert_eq!(pause_of(1, trigger), None);
        for (attempts, longest) in [(2, 10_000), (3, 20_000), (5, 80_000), (90, 300_000)] {
            let pause = pause_of(attempts, trigger).unwrap();
            assert!(
                (longest / 5 * 4..=longest).contains(&pause),
                "{attempts}: {pause}"
            );
            assert_eq!(
                pause_of(attempts, trigger),
                Some(pause),
                "it stays the same"
            );
        }
    }
    assert_eq!(pause_of(2, Trigger::SpawnFailed), Some(60_000));
    // A user's retry and finished children start a task immediately.
    assert_eq!(pause_of(3, Trigger::Request), None);
    assert_eq!(pause_of(3, Trigger::ChildrenDone), None);
}

#[test]
fn tasks_that_failed_together_do_not_start_together() {
    let workflow = shipped_workflow("autopilot");
    let starts: BTreeSet<i64> = (0..20)
        .map(|number| {
            let mut world = World::placed(&workflow, "new");
            world.task.id = TaskId::new(format!("t{number:03}"));
            world.set("attempts", 4);
            world.task.entered.trigger = Some(Trigger::Report);
            match ScheduledTask::of(&workflow, &world.task).place {
                SchedulePlace::Queued(queued) => queued.not_before.unwrap().millis(),
                place => panic!("{place:?}"),
            }
        })
        .collect();
    assert!(starts.len() >= 15, "{starts:?}");
}

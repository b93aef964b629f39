//! The figures, from events that are written here.

use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::shipped_workflows;

/// The window is from the 11th to the 18th of November.
const SINCE: &str = "2026-11-11T12:00:00.000Z";
const UNTIL: &str = "2026-11-18T12:00:00.000Z";

fn at(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap()
}

fn window() -> Window {
    Window {
        since: at(SINCE),
        until: at(UNTIL),
    }
}

fn event(version: u64, time: &str, fact: Value) -> Event {
    let mut event = fact;
    event["version"] = version.into();
    event["at"] = format!("2026-11-{time}:00.000Z").into();
    serde_json::from_value(event).unwrap()
}

fn created(version: u64, time: &str, status: &str) -> Event {
    let fact = json!({
        "type": "task.created", "id": "k3f9", "project": "app", "workflow": "default",
        "by": "human", "status": status, "summary": "x", "branch": "b", "harness": "claude",
        "review_harness": "claude", "fields": {},
    });
    event(version, time, fact)
}

fn moved(version: u64, time: &str, edge: [&str; 4]) -> Event {
    let [from, to, trigger, by] = edge;
    let fact = json!({
        "type": "status.changed", "from": from, "to": to, "trigger": trigger, "by": by,
    });
    event(version, time, fact)
}

fn ended(version: u64, time: &str, evidence: &Value) -> Event {
    let fact = json!({
        "type": "run.ended", "run": "r", "role": "worker", "evidence": evidence,
    });
    event(version, time, fact)
}

fn error(version: u64, time: &str) -> Event {
    let fact = json!({ "type": "error.recorded", "error": "something" });
    event(version, time, fact)
}

fn task_with(workflow: &str, events: Vec<Event>) -> TaskRecord {
    let source = shipped_workflows::find(workflow).unwrap().source;
    TaskRecord {
        task: TaskId::new("k3f9"),
        project: ProjectName::new("app"),
        summary: String::from("Add a line"),
        is_deleted: false,
        workflow: Some(Arc::new(crate::load(source).workflow.unwrap())),
        before: None,
        events,
        failed_effects: BTreeMap::new(),
    }
}

fn task(events: Vec<Event>) -> TaskRecord {
    task_with("default", events)
}

fn summary(tasks: Vec<TaskRecord>) -> Statistics {
    let spend = Vec::new();
    summarize(window(), &Records { tasks, spend })
}

fn entry(status: &str, time: &str) -> StatusEntry {
    StatusEntry {
        status: Status::new(status),
        at: at(time),
    }
}

#[test]
fn nothing_gives_empty_days_and_no_cost() {
    let empty = summary(Vec::new());
    assert_eq!(empty.throughput.periods.len(), 8);
    assert_eq!(empty.throughput.periods[0].from, "2026-11-11");
    assert_eq!(empty.throughput.total, Counts::default());
    assert_eq!(empty.costs.total.cost_text(), "none");
    assert_eq!(empty.statuses, []);
    assert_eq!(empty.failures, []);
}

#[test]
fn the_counted_types_are_those_that_are_read() {
    let mut facts = vec![created(1, "12T10:00", "pending")];
    facts.push(moved(
        2,
        "12T10:00",
        ["pending", "planning", "request", "human"],
    ));
    facts.push(ended(3, "12T10:00", &json!({ "cause": "login" })));
    facts.push(error(4, "12T10:00"));
    for fact in [
        json!({ "type": "agent.crashed", "role": "worker", "crash_count": 1 }),
        json!({ "type": "effect.failed", "effect": 1, "error": "x" }),
        json!({ "type": "edit.rejected", "by": "human", "to": "done", "reason": "x" }),
        json!({ "type": "report.received", "run": "r", "report": {} }),
        json!({
            "type": "pull_request.reaction", "reaction": "report",
            "fingerprint": { "kind": "failing", "head": "a", "digest": "b" },
        }),
    ] {
        facts.push(event(5, "12T10:00", fact));
    }
    let names = facts.iter().map(|event| {
        assert!(is_counted(&event.fact), "{event:?}");
        let json = serde_json::to_value(event).unwrap();
        json["type"].as_str().unwrap().to_owned()
    });
    let names: Vec<String> = names.collect();
    assert_eq!(names, COUNTED_TYPES);
    let other = json!({ "type": "hooks.finished" });
    assert!(!is_counted(&event(1, "12T10:00", other).fact));
}

#[test]
fn a_task_counts_on_the_days_it_was_created_and_ended() {
    let merged = task(vec![
        created(1, "12T10:00", "pending"),
        moved(5, "14T23:59", ["reviewing", "done", "merged", "human"]),
    ]);
    let cancelled = task(vec![
        created(1, "12T11:00", "pending"),
        moved(2, "12T12:00", ["pending", "cancelled", "request", "human"]),
    ]);
    let reported = task_with(
        "autopilot",
        vec![moved(
            9,
            "13T00:00",
            ["in_progress", "done", "report", "engine"],
        )],
    );
    let throughput = summary(vec![merged, cancelled, reported]).throughput;
    let counts = |created, done, merged, cancelled| Counts {
        created,
        done,
        merged,
        cancelled,
    };
    assert_eq!(throughput.total, counts(2, 2, 1, 1));
    assert_eq!(throughput.periods[1].counts, counts(2, 0, 0, 1));
    assert_eq!(throughput.periods[2].counts, counts(0, 1, 0, 0));
    assert_eq!(throughput.periods[3].counts, counts(0, 1, 1, 0));
}

#[test]
fn a_reopened_task_has_not_ended() {
    let mut events = vec![
        moved(5, "13T10:00", ["working", "cancelled", "request", "human"]),
        moved(6, "13T11:00", ["cancelled", "working", "request", "human"]),
    ];
    assert_eq!(
        summary(vec![task(events.clone())]).throughput.total,
        Counts::default()
    );
    events.push(moved(7, "14T10:00", ["working", "done", "merged", "human"]));
    let all = summary(vec![task(events)]);
    assert_eq!(
        (all.throughput.total.done, all.throughput.total.cancelled),
        (1, 0)
    );
    // The time between end and reopening is not a stay.
    let names: Vec<&str> = all.statuses.iter().map(|it| it.status.as_str()).collect();
    assert_eq!(names, ["working"]);
}

#[test]
fn a_deleted_task_counts_like_any_other() {
    let mut deleted = task(vec![created(1, "12T10:00", "pending")]);
    deleted.is_deleted = true;
    let spend = vec![spend(
        "k3f9",
        "r1",
        "claude",
        None,
        Some(5),
        Some(1_000_000),
    )];
    let tasks = vec![deleted];
    let all = summarize(window(), &Records { tasks, spend });
    assert_eq!(all.throughput.total.created, 1);
    assert!(all.costs.tasks[0].deleted);
}

#[test]
fn a_stay_that_began_before_the_window_has_its_whole_length() {
    let mut old = task(vec![moved(
        7,
        "12T12:00",
        ["reviewing", "working", "request", "human"],
    )]);
    old.before = Some(entry("reviewing", "2026-11-02T12:00:00.000Z"));
    let times = summary(vec![old]).statuses;
    assert_eq!(times.len(), 1);
    assert_eq!(times[0].median_seconds, 10 * 86_400);
}

#[test]
fn half_and_nine_of_ten_are_lengths_that_occurred() {
    let stay = |minutes: u64| {
        let mut task = task(vec![moved(
            2,
            "12T12:00",
            ["working", "agent-review", "request", "worker"],
        )]);
        let since =
            at("2026-11-12T12:00:00.000Z").millis() - i64::try_from(minutes).unwrap() * 60_000;
        task.before = Some(StatusEntry {
            status: Status::new("working"),
            at: Timestamp::from_millis(since),
        });
        task
    };
    let times = summary((1..=10).rev().map(stay).collect()).statuses;
    assert_eq!(times[0].stays, 10);
    assert_eq!(times[0].median_seconds, 5 * 60);
    assert_eq!(times[0].p90_seconds, 9 * 60);
    assert_eq!(times[0].longest_seconds, 10 * 60);
}

#[test]
fn statuses_are_in_the_order_of_the_workflow() {
    let one = task(vec![
        created(1, "12T10:00", "pending"),
        moved(2, "12T10:05", ["pending", "planning", "request", "human"]),
        moved(3, "12T10:10", ["planning", "working", "request", "worker"]),
        moved(
            4,
            "12T10:40",
            ["working", "agent-review", "request", "worker"],
        ),
    ]);
    let times = summary(vec![one]).statuses;
    let names: Vec<&str> = times.iter().map(|it| it.status.as_str()).collect();
    assert_eq!(names, ["pending", "planning", "working"]);
    assert_eq!(times[2].median_seconds, 30 * 60);
}

#[test]
fn a_clock_that_was_set_back_makes_no_negative_or_invented_time() {
    let mut back = task(vec![
        moved(3, "13T10:00", ["planning", "working", "request", "worker"]),
        // Recorded an hour earlier than what came before it.
        moved(
            4,
            "13T09:00",
            ["working", "agent-review", "request", "worker"],
        ),
        // The change to `reviewing` has a time before the window and is not read.
        moved(9, "14T09:00", ["reviewing", "done", "merged", "human"]),
        // After the end of the window.
        created(10, "29T09:00", "pending"),
    ]);
    back.before = Some(entry("planning", "2026-11-30T12:00:00.000Z"));
    let all = summary(vec![back]);
    let seconds: Vec<(&str, u64)> = all
        .statuses
        .iter()
        .map(|it| (it.status.as_str(), it.longest_seconds))
        .collect();
    assert_eq!(seconds, [("planning", 0), ("working", 0)]);
    assert_eq!(all.throughput.total.done, 1);
    assert_eq!(
        all.throughput.periods[7].counts.created, 1,
        "counts on the last day"
    );
}

#[test]
fn long_windows_have_weeks_and_months() {
    for (days, per_period, periods) in [(31, 7, 5), (30, 1, 31), (400, 30, 14)] {
        let until = at(UNTIL);
        let since = Timestamp::from_millis(until.millis() - days * 86_400_000);
        let throughput = summarize(Window { since, until }, &Records::default()).throughput;
        assert_eq!(throughput.days_per_period, per_period, "{days}");
        assert_eq!(throughput.periods.len(), periods, "{days}");
    }
    // A clock that was set back can put the end before the start.
    let window = Window {
        since: at(UNTIL),
        until: at(SINCE),
    };
    let one = task(vec![created(1, "12T10:00", "pending")]);
    let records = Records {
        tasks: vec![one],
        ..Records::default()
    };
    let throughput = summarize(window, &records).throughput;
    assert_eq!(throughput.periods.len(), 1);
    assert_eq!(throughput.periods[0].counts.created, 1);
}

#[test]
fn reviews_say_what_sent_a_task_back() {
    let often = task(vec![
        moved(
            1,
            "12T10:00",
            ["working", "agent-review", "request", "worker"],
        ),
        moved(
            2,
            "12T11:00",
            ["agent-review", "working", "request", "reviewer"],
        ),
        moved(
            3,
            "12T12:00",
            ["working", "agent-review", "request", "worker"],
        ),
        moved(
            4,
            "12T13:00",
            ["agent-review", "stuck", "request", "reviewer"],
        ),
        moved(5, "12T14:00", ["stuck", "reviewing", "request", "human"]),
        moved(6, "12T15:00", ["reviewing", "working", "request", "human"]),
    ]);
    let once = task_with(
        "github",
        vec![moved(
            1,
            "12T10:00",
            ["checking", "working", "pr_failing", "engine"],
        )],
    );
    let never = task(vec![
        moved(
            1,
            "12T10:00",
            ["agent-review", "reviewing", "request", "reviewer"],
        ),
        moved(2, "12T11:00", ["reviewing", "done", "merged", "human"]),
    ]);
    // A clarification and a crash are no reviews.
    let other = task(vec![
        moved(
            1,
            "12T10:00",
            ["planning", "clarification", "request", "worker"],
        ),
        moved(
            2,
            "12T11:00",
            ["clarification", "working", "request", "human"],
        ),
        moved(3, "12T12:00", ["working", "stuck", "crash", "engine"]),
        moved(4, "12T13:00", ["stuck", "working", "request", "human"]),
    ]);
    let reviews = summary(vec![often, once, never, other]).reviews;
    assert_eq!(reviews.tasks, 3);
    let back = [
        reviews.back_by_reviewer,
        reviews.back_by_user,
        reviews.back_by_pull_request,
    ];
    assert_eq!(back, [2, 1, 1]);
    let distribution: Vec<(u64, u64)> = reviews
        .distribution
        .iter()
        .map(|it| (it.times, it.tasks))
        .collect();
    assert_eq!(distribution, [(0, 1), (1, 1), (3, 1)]);
}

fn counts(statistics: &Statistics) -> Vec<(Cause, u64, u64)> {
    let failures = statistics.failures.iter();
    failures.map(|it| (it.cause, it.count, it.tasks)).collect()
}

#[test]
fn failures_have_a_cause_and_count_once() {
    let crash = json!({ "type": "agent.crashed", "role": "worker", "crash_count": 1 });
    let memory = json!({ "cause": "out_of_memory" });
    let one = task(vec![
        // An exit, its error and its crash are one failure.
        ended(1, "12T10:00", &json!({ "cause": "exit", "code": 1 })),
        error(2, "12T10:00"),
        event(3, "12T10:00", crash.clone()),
        // So is a crash whose cause is known.
        ended(4, "12T11:00", &memory),
        error(5, "12T11:00"),
        event(6, "12T11:00", crash),
        // An exit without an error is a success.
        ended(7, "12T12:00", &json!({ "cause": "exit", "code": 0 })),
        error(8, "12T13:00"),
        ended(9, "12T14:00", &json!({ "cause": "stopped" })),
        ended(10, "12T15:00", &json!({ "cause": "quota" })),
    ]);
    let two = task(vec![
        ended(1, "12T10:00", &json!({ "cause": "quota" })),
        ended(2, "12T10:00", &json!({ "cause": "network" })),
        moved(3, "12T10:00", ["working", "stuck", "timeout", "engine"]),
    ]);
    let found = counts(&summary(vec![one, two]));
    let expected = [
        (Cause::Quota, 2, 2),
        (Cause::Network, 1, 1),
        (Cause::OutOfMemory, 1, 1),
        (Cause::Crash, 1, 1),
        (Cause::TimedOut, 1, 1),
    ];
    assert_eq!(found, expected);
}

#[test]
fn reports_effects_and_pull_requests_have_causes() {
    let report = |version: u64, time: &str, report: Value| {
        let fact = json!({ "type": "report.received", "run": "r", "report": report });
        event(version, time, fact)
    };
    let reaction = |version: u64, kind: &str| {
        let fact = json!({
            "type": "pull_request.reaction", "reaction": "report",
            "fingerprint": { "kind": kind, "head": "a", "digest": "b" },
        });
        event(version, "12T16:00", fact)
    };
    let done = json!({ "status": "done", "files_changed": ["a"] });
    let mut one = task(vec![
        report(1, "12T10:00", json!({ "status": "blocked" })),
        error(2, "12T10:00"),
        report(3, "12T11:00", done.clone()),
        error(4, "12T11:00"),
        report(5, "12T12:00", done),
        event(
            6,
            "12T12:30",
            json!({ "type": "effect.failed", "effect": 1, "error": "x", "feedback": "y" }),
        ),
        event(
            7,
            "12T13:00",
            json!({ "type": "effect.failed", "effect": 2, "error": "x" }),
        ),
        event(
            8,
            "12T14:00",
            json!({ "type": "effect.failed", "effect": 3, "error": "x" }),
        ),
        reaction(9, "failing"),
        reaction(10, "conflicting"),
        reaction(11, "feedback"),
    ]);
    let merge = json!({
        "strategy": "auto", "branch": "b", "head": "a", "base": "b", "to": "done",
    });
    let merge: crate::effect::Merge = serde_json::from_value(merge).unwrap();
    one.failed_effects.insert(EffectId(1), Effect::Merge(merge));
    let acquire = Effect::AcquireWorkspace { restore: false };
    one.failed_effects.insert(EffectId(2), acquire);
    let found = counts(&summary(vec![one]));
    let causes: Vec<Cause> = found.iter().map(|it| it.0).collect();
    let expected = [
        Cause::StartFailed,
        Cause::Blocked,
        Cause::GateRefused,
        Cause::VerificationFailed,
        Cause::MergeConflict,
        Cause::ChecksFailed,
        Cause::OtherEffect,
    ];
    assert_eq!(causes, expected);
    assert!(found.iter().all(|it| it.1 == 1), "{found:?}");
}

fn spend(
    task: &str,
    run: &str,
    harness: &str,
    model: Option<&str>,
    tokens: Option<u64>,
    money: Option<u64>,
) -> SpendRecord {
    SpendRecord {
        task: TaskId::new(task),
        run: RunId::new(run),
        harness: HarnessName::new(harness),
        model: model.map(str::to_owned),
        tokens,
        money: money.map(Money),
    }
}

#[test]
fn an_unknown_cost_is_never_zero() {
    let records = Records {
        tasks: vec![task(Vec::new())],
        spend: vec![
            // One run on two days.
            spend(
                "k3f9",
                "r1",
                "claude",
                Some("opus"),
                Some(100),
                Some(1_500_000),
            ),
            spend(
                "k3f9",
                "r1",
                "claude",
                Some("opus"),
                Some(20),
                Some(500_000),
            ),
            spend("k3f9", "r2", "claude", None, None, None),
            spend("k3f9", "r3", "pi", None, Some(7), None),
        ],
    };
    let costs = summarize(window(), &records).costs;
    assert_eq!(costs.total.runs, 3);
    assert_eq!(costs.total.cost_text(), "≥ 2.00 USD");
    assert_eq!(costs.total.runs_without_cost, 2);
    assert_eq!(costs.total.tokens, Some(127));
    let agents: Vec<(&str, String)> = costs
        .agents
        .iter()
        .map(|it| (it.name.as_str(), it.cost.cost_text()))
        .collect();
    assert_eq!(
        agents,
        [
            ("claude", "≥ 2.00 USD".to_owned()),
            ("pi", "unknown".to_owned())
        ]
    );
    assert_eq!(costs.models[0].name.as_deref(), Some("opus"));
    assert_eq!(costs.models[0].cost.cost_text(), "2.00 USD");
    let json = serde_json::to_value(&costs.agents[1]).unwrap();
    assert!(json["cost_usd"].is_null());
    assert_eq!(json["tokens"], 7);
}

#[test]
fn the_most_expensive_tasks_are_named() {
    let mut records = Records::default();
    for number in 0..14_u64 {
        let id = format!("t{number:02}");
        records.tasks.push(TaskRecord {
            task: TaskId::new(&id),
            ..task(Vec::new())
        });
        records.spend.push(spend(
            &id,
            "r",
            "claude",
            None,
            Some(1),
            Some(number * 1000),
        ));
    }
    let costs = summarize(window(), &records).costs;
    assert_eq!(costs.tasks.len(), 10);
    assert_eq!(costs.tasks[0].task.as_str(), "t13");
    assert_eq!(costs.other_tasks, 4);
}

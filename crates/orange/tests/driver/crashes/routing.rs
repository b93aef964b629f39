//! A choice by the router, wherever a process dies.

use std::fs;
use std::process::Stdio;
use std::time::Duration;

use orange_config::clock::Deadline;
use orange_engine::effect::EffectOutcome;
use orange_engine::event::Fact;
use orange_engine::names::TaskId;
use orange_engine::routing::{Choice, RoutedBy};

use super::crash_marks::{reached_marks, set_crash_marks};
use crate::lifecycles::routing::staged;
use crate::support::{SOON, Stage, wait_for};

const MARKS: [&str; 6] = [
    "before a commit",
    "after a commit",
    "before an effect",
    "after an effect",
    "the router is asked",
    "the router has answered",
];

fn with_router(does: &str) -> Stage {
    let stage = staged("[router]\nharness = \"router\"\n");
    stage.add_router(does);
    stage
}

fn parent_of(process: i32) -> i32 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|it| it.strip_prefix("PPid:"));
    line.unwrap().trim().parse().unwrap()
}

/// Every choice that was recorded for a task.
fn choices(stage: &Stage, id: &TaskId) -> Vec<Choice> {
    let events = stage.store().events(id, 0).unwrap().into_iter();
    let choices = events.filter_map(|it| match it.event.fact {
        Fact::EffectDone {
            outcome: EffectOutcome::Chosen(choice),
            ..
        } => Some(*choice),
        _ => None,
    });
    choices.collect()
}

/// Starts a task whose agent the router chooses, with deaths at these marks. Returns what chose the
/// agent, how often the router was asked, and how many marks were reached.
fn start(marks: &[&str], deaths: &[usize]) -> (RoutedBy, usize, usize) {
    let stage = with_router("echo '{\"executor\": \"other\"}'");
    let id = stage.create(&["Do it"]);
    set_crash_marks(&stage, marks, deaths);
    let in_time = Deadline::after(SOON).wait_for(|| {
        if matches!(stage.task(&id).status.as_str(), "new" | "routed") {
            stage.call(&["task", "spawn", id.as_str(), "--wait", "60"]);
        }
        stage.call(&["task", "update", id.as_str(), "--summary", "Do it"]);
        let task = stage.task(&id);
        task.status.as_str() == "in_progress" && task.pending.is_empty()
    });
    let reached = reached_marks(&stage);
    let case = format!("{deaths:?}: {reached:?}\n{}", stage.diagnostics(&id));
    assert!(in_time, "{case}");
    let calls = stage.router_calls();
    assert!(calls <= 2, "{calls} calls, {case}");
    assert_eq!(stage.store().runs(&id).unwrap().len(), 1, "{case}");
    // The agent writes this at its start, which may be after its start is recorded.
    let count = || fs::read_to_string(stage.path("scripts/.worker")).unwrap_or_default();
    wait_for("the agent", || !count().trim().is_empty());
    assert_eq!(count().trim(), "1", "{case}");
    let [choice] = choices(&stage, &id).try_into().unwrap();
    let expected = match choice.route.by {
        RoutedBy::Router => "other",
        _ => "script",
    };
    assert_eq!(choice.harness.as_str(), expected, "{case}");
    assert_eq!(stage.task(&id).harness, choice.harness, "{case}");
    (choice.route.by, calls, reached.len())
}

#[test]
fn a_death_anywhere_asks_the_router_at_most_twice_and_starts_one_agent() {
    let (by, calls, marks) = start(&MARKS, &[]);
    assert_eq!((by, calls), (RoutedBy::Router, 1));
    assert!(marks >= 10, "{marks}");
    for death in 0..marks {
        let (by, _, _) = start(&MARKS, &[death]);
        assert_eq!(by, RoutedBy::Router, "killed at mark {death}");
    }
}

#[test]
fn after_two_deaths_the_router_is_asked_no_more() {
    for mark in ["the router is asked", "the router has answered"] {
        let (by, calls, marks) = start(&[mark], &[0, 1]);
        assert_eq!((by, marks), (RoutedBy::Default, 2), "{mark}");
        let expected = if mark == "the router is asked" { 0 } else { 2 };
        assert_eq!(calls, expected, "{mark}");
    }
}

#[test]
fn a_router_whose_caller_is_killed_ends_and_is_asked_once_more() {
    let stage = with_router(
        "[ -e \"$0.once\" ] || { touch \"$0.once\"; echo $$ > \"$0.pid\"; sleep 100; }\n\
         echo '{\"executor\": \"other\"}'",
    );
    let id = stage.create(&["Do it"]);
    let mut caller = stage.orange(&["task", "spawn", id.as_str(), "--wait", "60"]);
    caller.stdout(Stdio::null()).stderr(Stdio::null());
    let mut caller = caller.spawn().unwrap();
    let pid = stage.path("router.pid");
    wait_for("the router", || {
        fs::read_to_string(&pid).is_ok_and(|it| it.ends_with('\n'))
    });
    let router = fs::read_to_string(&pid).unwrap().trim().parse().unwrap();
    // The performer may outlive the command.
    let performer = parent_of(router);
    caller.kill().unwrap();
    caller.wait().unwrap();
    let performer = rustix::process::Pid::from_raw(performer).unwrap();
    // It is the command itself, which has ended, or a process that the command started.
    let _dead = rustix::process::kill_process(performer, rustix::process::Signal::KILL);
    let process = format!("/proc/{router}");
    let in_time = Deadline::after(Duration::from_secs(10));
    assert!(in_time.wait_for(|| !fs::exists(&process).unwrap()));
    wait_for("the agent", || {
        stage.call(&["task", "spawn", id.as_str(), "--wait", "60"]);
        stage.task(&id).status.as_str() == "in_progress"
    });
    let [choice] = choices(&stage, &id).try_into().unwrap();
    assert_eq!(choice.harness.as_str(), "other");
    assert_eq!(stage.router_calls(), 2);
    assert_eq!(stage.store().runs(&id).unwrap().len(), 1);
}

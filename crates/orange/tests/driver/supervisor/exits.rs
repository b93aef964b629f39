//! Every exit rule of every shipped workflow, for every way to die.

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::Mutex;
use std::time::Duration;
use std::{fs, thread};

use orange_config::clock::{self, Deadline};
use orange_engine::evidence::Evidence;
use orange_engine::names::TaskId;
use orange_engine::task::RunState;
use orange_engine::time::Timestamp;
use orange_engine::{load, shipped_workflows};

use super::{deaths, time_to_notice};
use crate::support::scripts::WORK;
use crate::support::{PASS, RunningSupervisor, SOON, Stage};

/// How an agent, its window or its whole machine ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Death {
    Exit(i32),
    Signal(&'static str),
    SessionKilled,
    WindowKilled,
    ServerKilled,
    /// The server and the supervisor at once, as when the machine goes down.
    Rebooted,
}

const WAYS: [Death; 8] = [
    Death::Exit(0),
    Death::Exit(7),
    Death::Signal("KILL"),
    Death::Signal("SEGV"),
    Death::SessionKilled,
    Death::WindowKilled,
    Death::ServerKilled,
    Death::Rebooted,
];

/// Any later, a user would have been looking at a dead agent; the measured time is printed.
const TOLERATED: Duration = Duration::from_secs(10);

impl Death {
    /// Whether it is the agent's own exit, which exit rules are about.
    fn is_own(self) -> bool {
        !matches!(self, Death::ServerKilled | Death::Rebooted)
    }

    /// What the agent does at the end of its turn.
    fn end(self, role: &str) -> String {
        let code = if let Death::Exit(code) = self {
            code
        } else {
            0
        };
        format!("\ntouch $SCRIPTS/{role}-ready\npause {role}-go\nexit {code}\n")
    }
}

/// One rule: the workflow, what agents do before `role` dies in `status`, and what follows.
struct Rule {
    workflow: &'static str,
    worker: &'static str,
    reviewer: &'static str,
    role: &'static str,
    status: &'static str,
    /// The status afterwards.
    then: &'static str,
    crashes: i64,
    /// How many agents of that role there were in the end.
    runs: usize,
}

const PLAN: &str = "printf 'APPROACH: add\\nTOUCHING: work.txt\\n' | section Plan\n";

const PLAN_ONLY: &str = "printf 'APPROACH: add\\nTOUCHING: work.txt\\n' | section Plan\nask task update --status working\n";

const PLAN_AND_HANDOFF: &str = "printf 'APPROACH: add\\nTOUCHING: work.txt\\n' | section Plan\nask task update --status working\necho 'DONE: it' | section Handoff\n";

const HANDOFF: &str = "echo 'DONE: it' | section Handoff\n";

const ASKED: &str = "printf 'APPROACH: add\\nTOUCHING: work.txt\\n' | section Plan\nask task update --status working\necho 'DONE: it' | section Handoff\nask task update --status agent-review\n";

/// A verdict counts once its reviewer has made a call with it, here a refused one: there is another
/// round, or the branch has moved since the handoff.
const FAILED: &str =
    "printf 'Verdict: FAIL\\nno\\n' | section Review\nask task update --status stuck\n";

const PASSED: &str = "printf 'Verdict: PASS\\n' | section Review\ngit commit -q --allow-empty -m later\nask task update --status reviewing\ngit reset -q --hard HEAD~1\n";

/// As `PASSED`, where a pass leads to the checks.
const PASSED_FOR_CHECKS: &str = "printf 'Verdict: PASS\\n' | section Review\ngit commit -q --allow-empty -m later\nask task update --status checking\ngit reset -q --hard HEAD~1\n";

const fn rule(workflow: &'static str, role: &'static str, status: &'static str) -> Rule {
    Rule {
        workflow,
        worker: "",
        reviewer: "",
        role,
        status,
        then: status,
        crashes: 0,
        runs: 1,
    }
}

const RULES: &[Rule] = &[
    Rule {
        crashes: 1,
        ..rule("default", "worker", "planning")
    },
    Rule {
        worker: PLAN,
        then: "working",
        runs: 2,
        ..rule("default", "worker", "planning")
    },
    Rule {
        worker: PLAN_ONLY,
        crashes: 1,
        ..rule("default", "worker", "working")
    },
    Rule {
        worker: PLAN_AND_HANDOFF,
        then: "agent-review",
        ..rule("default", "worker", "working")
    },
    Rule {
        worker: ASKED,
        reviewer: PASSED,
        then: "reviewing",
        ..rule("default", "reviewer", "agent-review")
    },
    Rule {
        worker: ASKED,
        reviewer: FAILED,
        then: "working",
        ..rule("default", "reviewer", "agent-review")
    },
    Rule {
        worker: ASKED,
        crashes: 1,
        runs: 2,
        ..rule("default", "reviewer", "agent-review")
    },
    Rule {
        crashes: 1,
        ..rule("respawn", "worker", "working")
    },
    Rule {
        worker: HANDOFF,
        then: "agent-review",
        ..rule("respawn", "worker", "working")
    },
    Rule {
        worker: WORK,
        reviewer: PASSED,
        then: "reviewing",
        ..rule("respawn", "reviewer", "agent-review")
    },
    Rule {
        worker: WORK,
        reviewer: FAILED,
        then: "working",
        ..rule("respawn", "reviewer", "agent-review")
    },
    Rule {
        worker: WORK,
        crashes: 1,
        runs: 2,
        ..rule("respawn", "reviewer", "agent-review")
    },
    Rule {
        crashes: 1,
        ..rule("minimal", "worker", "working")
    },
    Rule {
        worker: HANDOFF,
        then: "reviewing",
        ..rule("minimal", "worker", "working")
    },
    Rule {
        then: "reviewing",
        ..rule("session", "worker", "working")
    },
    Rule {
        worker: "ask task update --status clarification\n",
        ..rule("default", "worker", "clarification")
    },
    Rule {
        worker: ASKED,
        reviewer: PASS,
        ..rule("default", "worker", "reviewing")
    },
    Rule {
        worker: "printf 'APPROACH: add\\nTOUCHING: work.txt\\n' | section Plan\nask task update --status working\nask task update --status stuck\n",
        ..rule("default", "worker", "stuck")
    },
    Rule {
        worker: "ask task update --status clarification\n",
        ..rule("respawn", "worker", "clarification")
    },
    Rule {
        crashes: 1,
        ..rule("github", "worker", "planning")
    },
    Rule {
        worker: PLAN,
        then: "working",
        runs: 2,
        ..rule("github", "worker", "planning")
    },
    Rule {
        worker: PLAN_ONLY,
        crashes: 1,
        ..rule("github", "worker", "working")
    },
    Rule {
        worker: PLAN_AND_HANDOFF,
        then: "agent-review",
        ..rule("github", "worker", "working")
    },
    Rule {
        worker: ASKED,
        reviewer: PASSED_FOR_CHECKS,
        then: "checking",
        ..rule("github", "reviewer", "agent-review")
    },
    Rule {
        worker: ASKED,
        reviewer: FAILED,
        then: "working",
        ..rule("github", "reviewer", "agent-review")
    },
    Rule {
        worker: ASKED,
        crashes: 1,
        runs: 2,
        ..rule("github", "reviewer", "agent-review")
    },
    Rule {
        worker: "ask task update --status clarification\n",
        ..rule("github", "worker", "clarification")
    },
    Rule {
        worker: "printf 'APPROACH: add\\nTOUCHING: work.txt\\n' | section Plan\nask task update --status working\nask task update --status stuck\n",
        ..rule("github", "worker", "stuck")
    },
    Rule {
        // Back to the queue, and restarted from there.
        then: "in_progress",
        runs: 2,
        ..rule("autopilot", "worker", "in_progress")
    },
    Rule {
        // Back to the queue, and restarted from there.
        then: "in_progress",
        runs: 2,
        ..rule("local", "worker", "in_progress")
    },
];

/// Every exit rule of every shipped workflow is tested, and nothing else.
#[test]
fn every_exit_rule_of_every_shipped_workflow_is_tested() {
    for shipped in shipped_workflows::ALL {
        let (name, workflow) = (shipped.name, load(shipped.source).workflow.unwrap());
        let mut expected: BTreeMap<(String, String), usize> = BTreeMap::new();
        for rule in &workflow.exit_rules {
            let state = workflow.state(&rule.status).unwrap();
            let role = rule.role.as_ref().or_else(|| state.expects.first());
            let key = (rule.status.to_string(), role.unwrap().to_string());
            *expected.entry(key).or_default() += 1;
        }
        let mut found: BTreeMap<(String, String), usize> = BTreeMap::new();
        for rule in RULES.iter().filter(|rule| rule.workflow == name) {
            let key = (rule.status.to_owned(), rule.role.to_owned());
            *found.entry(key).or_default() += 1;
        }
        // Every edge into it ends the worker; the test below covers a respawned one.
        if name == "respawn" {
            found.insert((String::from("stuck"), String::from("worker")), 1);
        }
        assert_eq!(found, expected, "{name}");
    }
}

#[test]
fn the_exit_of_a_worker_respawned_in_stuck_is_seen() {
    let stage = Stage::new("respawn");
    let _serving = RunningSupervisor::start(&stage);
    stage.script("worker-1", "ask task update --status stuck\nhang");
    stage.script("worker-2", &Death::Exit(7).end("worker"));
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str(), "--wait", "60"]);
    stage.wait_for_status(&id, "stuck");
    stage.wait_until_idle(&id);
    stage.run_ok(&["task", "respawn", id.as_str(), "--wait", "60"]);
    let ready = stage.path("scripts/worker-ready");
    assert!(
        Deadline::after(SOON).wait_for(|| ready.exists()),
        "{}",
        stage.diagnostics(&id)
    );
    fs::write(stage.path("scripts/worker-go"), "").unwrap();
    assert!(
        Deadline::after(SOON).wait_for(|| deaths(&stage, &id) == 1),
        "{}",
        stage.diagnostics(&id)
    );
    let task = stage.task(&id);
    assert_eq!((task.status.as_str(), task.crash_count), ("stuck", 0));
    assert_eq!(runs(&stage, &id, "worker"), 2);
}

/// Causes the end; returns when it began.
fn cause_death(
    stage: &Stage,
    way: Death,
    role: &str,
    serving: &mut Option<RunningSupervisor>,
) -> Timestamp {
    let pane = |what: &str| {
        let format = format!("#{{@orange_role}} {what}");
        let shown = stage.tmux(&["list-panes", "-a", "-F", &format]);
        let mut lines = shown.lines();
        let found = lines.find_map(|line| line.strip_prefix(&format!("{role} ")));
        found.unwrap().to_owned()
    };
    let target = match way {
        Death::Exit(_) => String::new(),
        Death::Signal(_) => pane("#{pane_pid}"),
        Death::SessionKilled => pane("#{session_id}"),
        Death::WindowKilled => pane("#{window_id}"),
        Death::ServerKilled | Death::Rebooted => stage.tmux(&["display-message", "-p", "#{pid}"]),
    };
    let then = clock::now();
    let kill = |signal: &str, pid: &str| {
        let mut kill = Command::new("kill");
        let killed = kill.args([&format!("-{signal}"), pid.trim()]).status();
        assert!(killed.unwrap().success());
    };
    match way {
        Death::Exit(_) => fs::write(stage.path("scripts").join(format!("{role}-go")), "").unwrap(),
        Death::Signal(signal) => kill(signal, &target),
        Death::SessionKilled => drop(stage.tmux(&["kill-session", "-t", &target])),
        Death::WindowKilled => drop(stage.tmux(&["kill-window", "-t", &target])),
        Death::ServerKilled => kill("KILL", &target),
        Death::Rebooted => {
            serving.take().unwrap().kill();
            kill("KILL", &target);
            *serving = Some(RunningSupervisor::start(stage));
        }
    }
    then
}

fn runs(stage: &Stage, id: &TaskId, role: &str) -> usize {
    let runs = stage.store().runs(id).unwrap();
    runs.iter()
        .filter(|run| run.role.to_string() == role)
        .count()
}

/// Tests a rule; returns how long the death went unnoticed.
fn check_rule(rule: &Rule, way: Death) -> Duration {
    let stage = Stage::new(rule.workflow);
    let mut serving = Some(RunningSupervisor::start(&stage));
    let end = |role: &str| {
        if role == rule.role {
            way.end(role)
        } else {
            String::from("\nhang\n")
        }
    };
    stage.script("worker-1", &format!("{}{}", rule.worker, end("worker")));
    stage.script(
        "reviewer-1",
        &format!("{}{}", rule.reviewer, end("reviewer")),
    );
    for later in ["worker-2", "reviewer-2"] {
        stage.script(later, "hang");
    }
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str(), "--wait", "60"]);
    let ready = stage.path("scripts").join(format!("{}-ready", rule.role));
    let in_time = Deadline::after(SOON).wait_for(|| ready.exists());
    assert!(
        in_time,
        "no {} came:\n{}",
        rule.role,
        stage.diagnostics(&id)
    );
    stage.wait_for_status(&id, rule.status);
    stage.wait_until_idle(&id);
    let lost = stage.task(&id).runs.len();
    let then = cause_death(&stage, way, rule.role, &mut serving);
    let diagnostics = || {
        format!(
            "{} {} {way:?}\n{}",
            rule.workflow,
            rule.status,
            stage.diagnostics(&id)
        )
    };
    let expected = if way.is_own() { 1 } else { lost };
    // A killed session may contain the other agent too.
    let at_least = |count: usize| deaths(&stage, &id) >= count;
    let in_time = Deadline::after(SOON).wait_for(|| at_least(expected));
    assert!(in_time, "its death was not noticed: {}", diagnostics());
    let took = time_to_notice(&stage, &id, then);
    if way.is_own() && way != Death::SessionKilled {
        // A reviewer that did not exit by itself approves nothing, and is respawned.
        let is_void =
            [PASSED, PASSED_FOR_CHECKS].contains(&rule.reviewer) && !matches!(way, Death::Exit(_));
        let (then, expected, crashes) = if is_void {
            (rule.status, 2, 1)
        } else {
            (rule.then, rule.runs, rule.crashes)
        };
        stage.wait_for_status(&id, then);
        let in_time = Deadline::after(SOON).wait_for(|| runs(&stage, &id, rule.role) == expected);
        assert!(in_time, "{}", diagnostics());
        assert_eq!(stage.task(&id).crash_count, crashes, "{}", diagnostics());
        assert_eq!(deaths(&stage, &id), 1, "judged once: {}", diagnostics());
    } else if !way.is_own() {
        let task = stage.task(&id);
        assert_eq!(task.status.as_str(), rule.status, "{}", diagnostics());
        assert_eq!(task.crash_count, 0, "{}", diagnostics());
        let is_lost = |state: &RunState| matches!(state, RunState::Ended { evidence } if *evidence == Evidence::Environment);
        assert!(
            task.runs.values().all(|run| is_lost(&run.state)),
            "{}",
            diagnostics()
        );
        // They come back with one command, and are watched again.
        stage.run_ok(&["task", "respawn", "--lost", "--wait", "60"]);
        let task = stage.task(&id);
        assert!(
            task.runs.values().all(|run| run.state.is_live()),
            "{}",
            diagnostics()
        );
    }
    took
}

fn all_rules(way: Death) {
    // Most of the time is spent waiting for a reviewer that comes back after a pause.
    let rules = Mutex::new(RULES.iter().rev());
    let play_all = || {
        let next = || rules.lock().unwrap().next();
        std::iter::from_fn(next)
            .map(|rule| check_rule(rule, way))
            .max()
    };
    let slowest = thread::scope(|scope| {
        let players: Vec<_> = (0..3).map(|_| scope.spawn(play_all)).collect();
        let played = players.into_iter().map(|it| it.join().unwrap());
        played.max().flatten().unwrap()
    });
    println!("{way:?}: seen after at most {} ms", slowest.as_millis());
    assert!(slowest < TOLERATED, "{slowest:?}");
}

#[test]
fn a_successful_exit_is_seen() {
    all_rules(WAYS[0]);
}

#[test]
fn a_failed_exit_is_seen() {
    all_rules(WAYS[1]);
}

#[test]
fn a_killed_agent_is_seen() {
    all_rules(WAYS[2]);
}

#[test]
fn a_crashed_agent_is_seen() {
    all_rules(WAYS[3]);
}

#[test]
fn a_closed_session_is_seen() {
    all_rules(WAYS[4]);
}

#[test]
fn a_closed_window_is_seen() {
    all_rules(WAYS[5]);
}

#[test]
fn a_lost_server_is_seen_and_its_agents_respawn() {
    all_rules(WAYS[6]);
}

#[test]
fn a_reboot_is_seen_and_all_agents_respawn() {
    all_rules(WAYS[7]);
}

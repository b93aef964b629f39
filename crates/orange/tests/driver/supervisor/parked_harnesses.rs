//! Quota and login failures park a harness: nothing starts on it meanwhile.

use std::fs;
use std::time::Duration;

use orange_config::clock::{self, Deadline};
use orange_engine::evidence::Evidence;
use orange_engine::names::TaskId;
use orange_engine::parking::Reason;
use orange_engine::task::RunState;

use super::deaths;
use crate::support::scripts::FAIL;
use crate::support::{PLAN_AND_WORK, ReportingAgent, RunningSupervisor, SOON, Stage, wait_for};

/// What the scripted agent prints when it cannot continue.
const RULES: &str = r#"
[[death]]
says = ["hit your limit"]
means = "quota"
wait = "1h"
[[death]]
says = ["please run /login"]
means = "login"
"#;

impl Stage {
    fn with_rules(workflow: &str) -> Stage {
        let stage = Stage::new(workflow);
        let path = stage.path("home/harnesses/script.toml");
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, format!("{text}{RULES}")).unwrap();
        stage
    }

    /// How many agents were ever started.
    fn started(&self) -> usize {
        let count = fs::read_to_string(self.path("scripts/.worker")).unwrap_or_default();
        count.trim().parse().unwrap_or(0)
    }

    fn is_alive(&self, id: &TaskId) -> bool {
        let task = self.task(id);
        let mut runs = task.runs.values();
        runs.any(|run| run.state == RunState::Alive)
    }

    /// How often the log reports a parked harness.
    fn notices(&self) -> usize {
        let log = fs::read_to_string(self.path("home/orange.log")).unwrap_or_default();
        log.matches("\"harness.parked\"").count()
    }
}

#[test]
fn lesson_40_after_the_first_deaths_by_quota_nothing_is_spawned_before_the_reset() {
    const TASKS: usize = 30;
    const RUNNING: usize = 3;
    let stage = Stage::with_rules("minimal");
    fs::write(
        stage.path("home/config.toml"),
        "[pool]\nsize = 40\n[limits]\nagents = 3\n",
    )
    .unwrap();
    for turn in 1..=RUNNING {
        // The exit code says success. The agent exits a moment after its last words, because tmux
        // does not read output that is written at the very moment of an exit.
        let says =
            "pause go\necho \"You've hit your limit · resets in 12 seconds\"\nsleep 0.3\nexit 0";
        stage.script(&format!("worker-{turn}"), says);
    }
    for turn in RUNNING + 1..=2 * TASKS {
        stage.script(&format!("worker-{turn}"), "hang");
    }
    let serving = RunningSupervisor::start(&stage);
    let tasks: Vec<TaskId> = (0..TASKS)
        .map(|number| {
            let branch = format!("b{number}");
            let (code, answer) = stage.json(&["task", "create", "--json", &branch, "Add a line"]);
            assert!([0, 5].contains(&code), "{answer}");
            TaskId::new(answer["task"]["id"].as_str().unwrap())
        })
        .collect();
    wait_for("three agents", || stage.started() == RUNNING);
    fs::write(stage.path("scripts/go"), "").unwrap();
    let all_deaths = || tasks.iter().map(|id| deaths(&stage, id)).sum::<usize>();
    wait_for("their deaths", || all_deaths() == RUNNING);
    // From here on, only the parked harness holds anything back.
    fs::write(
        stage.path("home/config.toml"),
        "[pool]\nsize = 40\n[limits]\nagents = 100\n",
    )
    .unwrap();
    let parked = stage.driver().scheduler.parked_harnesses().unwrap();
    assert_eq!(parked.len(), 1);
    assert_eq!(parked[0].harness.as_str(), "script");
    assert_eq!(parked[0].reason, Reason::Quota);
    let until = parked[0].until.unwrap();
    let text = parked[0].output_line.as_deref().unwrap();
    assert_eq!(text, "You've hit your limit · resets in 12 seconds");
    // A user's start is held back too, and the answer says why.
    let queued = tasks
        .iter()
        .find(|id| stage.task(id).runs.is_empty())
        .unwrap();
    let (code, output) = stage.call(&["task", "spawn", queued.as_str()]);
    assert_eq!(code, 3, "{output}");
    assert!(
        output.contains("harness `script` has no quota left until"),
        "{output}"
    );
    assert!(output.contains("orange harness unpark script"), "{output}");
    let dead = tasks.iter().find(|id| deaths(&stage, id) == 1).unwrap();
    let why = stage.run_ok(&["task", "why", dead.as_str()]);
    assert!(why.contains("saying: You've hit your limit"), "{why}");
    assert!(
        why.contains("harness `script` has no quota left until"),
        "{why}"
    );
    assert_eq!(stage.task(dead).crash_count, 0);
    let early = Duration::from_millis(500);
    while clock::after(early) < until {
        assert_eq!(stage.started(), RUNNING, "no agent starts before {until}");
        let _waited = Deadline::after(Duration::from_millis(100)).wait_for(|| false);
    }
    // Then all agents start, including those that died first.
    let in_time = Deadline::after(3 * SOON).wait_for(|| tasks.iter().all(|id| stage.is_alive(id)));
    let absent: Vec<String> = tasks
        .iter()
        .filter(|id| !stage.is_alive(id))
        .map(|id| stage.diagnostics(id))
        .collect();
    assert!(
        in_time,
        "{} started; absent: {}",
        stage.started(),
        absent.join("\n")
    );
    wait_for("their first turns", || stage.started() >= TASKS + RUNNING);
    assert_eq!(stage.started(), TASKS + RUNNING, "no start was wasted");
    assert_eq!(all_deaths(), RUNNING);
    assert_eq!(stage.notices(), 1, "one notification");
    assert_eq!(stage.driver().scheduler.parked_harnesses().unwrap(), []);
    drop(serving);
}

#[test]
fn lesson_40_a_live_agent_without_quota_is_killed_and_respawned() {
    let agent = ReportingAgent::new();
    let (stage, id) = (&agent.stage, &agent.id);
    let path = stage.path("home/harnesses/script.toml");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("{text}{RULES}")).unwrap();
    stage.script("worker-2", "hang");
    let _serving = RunningSupervisor::start(stage);
    // An overload, unlike a used-up quota, is no reason to kill the agent.
    agent.tell(&["failed", r#"{"message":"the model is overloaded"}"#]);
    let (_, listed) = stage.json(&["attention", "--json"]);
    assert_eq!(listed["items"][0]["kind"], "trouble", "{listed}");
    let early = Deadline::after(Duration::from_secs(1)).wait_for(|| deaths(stage, id) > 0);
    assert!(!early && stage.panes() == ["worker:0"]);
    agent.tell(&[
        "failed",
        r#"{"error":"rate_limit","last_assistant_message":"You've hit your limit · resets in 8 seconds"}"#,
    ]);
    wait_for("its end", || deaths(stage, id) == 1);
    let parked = stage.driver().scheduler.parked_harnesses().unwrap();
    assert_eq!(parked[0].reason, Reason::Quota);
    let output = parked[0].output_line.as_deref().unwrap();
    assert!(output.starts_with("rate_limit: You've hit"), "{output}");
    wait_for("that nothing of it is left", || stage.panes().is_empty());
    let until = parked[0].until.unwrap();
    while clock::after(Duration::from_millis(500)) < until {
        assert_eq!(stage.started(), 1, "no agent starts before {until}");
        let _waited = Deadline::after(Duration::from_millis(100)).wait_for(|| false);
    }
    wait_for("the next worker", || stage.started() == 2);
    stage.wait_until_idle(id);
    assert_eq!((stage.started(), deaths(stage, id)), (2, 1));
    assert_eq!(stage.task(id).crash_count, 0);
}

#[test]
fn a_harness_that_is_not_logged_in_waits_for_the_user() {
    let stage = Stage::with_rules("default");
    let serving = RunningSupervisor::start(&stage);
    stage.script("worker-1", &format!("{PLAN_AND_WORK}hang"));
    stage.script(
        "reviewer-1",
        "pause go\necho 'Please run /login'\nsleep 0.3\nexit 1",
    );
    stage.script("reviewer-2", "hang");
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str(), "--wait", "60"]);
    wait_for("both", || stage.panes() == ["reviewer:0", "worker:0"]);
    stage.wait_until_idle(&id);
    fs::write(stage.path("scripts/go"), "").unwrap();
    wait_for("its death", || deaths(&stage, &id) == 1);
    let parked = stage.driver().scheduler.parked_harnesses().unwrap();
    assert_eq!((parked[0].reason, parked[0].until), (Reason::Login, None));
    let listed = stage.run_ok(&["harness", "list"]);
    assert!(listed.contains("parked: not logged in"), "{listed}");
    let (code, listed) = stage.json(&["harness", "list", "--json"]);
    assert_eq!(code, 0);
    let mut lines = listed["harnesses"].as_array().unwrap().iter();
    let line = lines.find(|line| line["name"] == "script").unwrap();
    assert_eq!(
        (&line["state"], &line["parked"]["reason"]),
        (&"parked".into(), &"login".into())
    );
    // The next supervisor leaves it parked; a user's respawn does not start an agent either.
    serving.kill();
    let _serving = RunningSupervisor::start(&stage);
    stage.run_ok(&[
        "task",
        "respawn",
        id.as_str(),
        "--role",
        "reviewer",
        "--wait",
        "60",
    ]);
    let early = Deadline::after(Duration::from_secs(2)).wait_for(|| stage.panes().len() != 1);
    assert!(!early, "{:?}", stage.panes());
    let task = stage.task(&id);
    assert_eq!(task.status.as_str(), "agent-review");
    assert_eq!((task.crash_count, task.attention.len()), (0, 0));
    let why = stage.run_ok(&["task", "why", id.as_str()]);
    assert!(why.contains("harness `script` is not logged in"), "{why}");
    let output = stage.run_ok(&["harness", "unpark", "script"]);
    assert_eq!(
        output,
        "script: agents can be started on it again; 1 task can continue\n"
    );
    wait_for("both", || stage.panes() == ["reviewer:0", "worker:0"]);
    stage.wait_until_idle(&id);
    assert_eq!(stage.task(&id).crash_count, 0);
    let output = stage.run_ok(&["harness", "unpark", "script"]);
    assert_eq!(output, "script: it was not parked\n");
    let (code, output) = stage.call(&["harness", "unpark", "nobody"]);
    assert_eq!(code, 4, "{output}");
    assert_eq!(stage.notices(), 1);
}

#[test]
fn without_a_supervisor_a_performer_waits_until_the_user_unparks() {
    let stage = Stage::with_rules("default");
    // The message names no time, so the definition's one hour applies.
    stage.script(
        "worker-1",
        "echo \"You've hit your limit\"\nsleep 0.3\nexit 1",
    );
    stage.script("worker-2", "hang");
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str(), "--wait", "60"]);
    wait_for("its end", || stage.panes() == ["worker:1"]);
    let (code, output) = stage.json(&["task", "update", id.as_str(), "--priority", "1", "--json"]);
    assert_eq!(code, 0, "{output}");
    let run = &stage.store().runs(&id).unwrap()[0];
    let Some(Evidence::Quota { until: Some(until) }) = run.evidence else {
        panic!("{run:?}");
    };
    let left = until.millis() - clock::now().millis();
    assert!((3_500_000..=3_600_000).contains(&left), "{left}");
    assert_eq!(stage.started(), 1);
    let (code, output) = stage.json(&["harness", "unpark", "script", "--json"]);
    assert_eq!(
        (code, &output["parking"]["reason"]),
        (0, &"quota".into()),
        "{output}"
    );
    assert_eq!(output["tasks"][0], id.as_str());
    wait_for("the next", || stage.started() == 2);
    wait_for("its life", || stage.is_alive(&id));
}

#[test]
fn another_harness_takes_over_from_a_parked_one() {
    let stage = Stage::with_rules("default");
    let definition = fs::read_to_string(stage.path("home/harnesses/script.toml")).unwrap();
    let other = definition.replacen("name = \"script\"", "name = \"other\"", 1);
    fs::write(stage.path("home/harnesses/other.toml"), other).unwrap();
    // One that is not installed is passed over.
    fs::write(
        stage.path("home/config.toml"),
        "failover = [\"claude\", \"other\"]\n",
    )
    .unwrap();
    let out_of_quota = "echo \"You've hit your limit\"\nsleep 0.3\nexit 1";
    stage.script("worker-1", &format!("echo half > half.txt\n{out_of_quota}"));
    stage.script("worker-2", "give found < half.txt\nhang");
    stage.script("worker-3", "hang");
    let serving = RunningSupervisor::start(&stage);
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str(), "--wait", "60"]);
    wait_for("the other agent", || stage.path("scripts/found").exists());
    wait_for("its life", || stage.is_alive(&id));
    let task = stage.task(&id);
    assert_eq!((task.harness.as_str(), task.crash_count), ("other", 0));
    let runs = stage.store().runs(&id).unwrap();
    let used: Vec<&str> = runs.iter().map(|run| run.harness.as_str()).collect();
    assert_eq!((used[0], *used.last().unwrap()), ("script", "other"));
    let why = stage.run_ok(&["task", "history", id.as_str()]);
    assert!(why.contains("so `other` is the worker now"), "{why}");
    // It works where the first agent worked.
    let found = fs::read_to_string(stage.path("scripts/found")).unwrap();
    assert_eq!(found, "half\n");
    // A new task starts with it immediately.
    let second = stage.create(&["--branch", "second", "Add a line"]);
    stage.run_ok(&["task", "spawn", second.as_str(), "--wait", "60"]);
    wait_for("the second", || stage.is_alive(&second));
    assert_eq!(stage.task(&second).harness.as_str(), "other");
    wait_for("its turn", || stage.started() == 3);
    drop(serving);
}

#[test]
fn a_supervisor_lets_another_harness_take_over_what_waited_before() {
    let stage = Stage::with_rules("default");
    let definition = fs::read_to_string(stage.path("home/harnesses/script.toml")).unwrap();
    let other = definition.replacen("name = \"script\"", "name = \"other\"", 1);
    fs::write(stage.path("home/harnesses/other.toml"), other).unwrap();
    let out_of_quota = "echo \"You've hit your limit\"\nsleep 0.3\nexit 1";
    stage.script("worker-1", out_of_quota);
    stage.script("worker-2", "hang");
    let serving = RunningSupervisor::start(&stage);
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str(), "--wait", "60"]);
    let waits = || stage.run_ok(&["task", "why", id.as_str()]);
    wait_for("the parking", || waits().contains("has no quota left"));
    drop(serving);
    fs::write(stage.path("home/config.toml"), "failover = [\"other\"]\n").unwrap();
    let serving = RunningSupervisor::start(&stage);
    wait_for("the other agent", || stage.is_alive(&id));
    assert_eq!(stage.task(&id).harness.as_str(), "other");
    drop(serving);
}

#[test]
fn a_message_that_would_start_an_agent_waits() {
    let stage = Stage::with_rules("default");
    let serving = RunningSupervisor::start(&stage);
    let says = "pause go\necho 'Please run /login'\nsleep 0.3\nexit 0";
    stage.script("worker-1", &format!("{PLAN_AND_WORK}{says}"));
    stage.script("reviewer-1", &format!("pause fail\n{FAIL}hang"));
    stage.script("worker-2", "hang");
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str(), "--wait", "60"]);
    wait_for("both", || stage.panes() == ["reviewer:0", "worker:0"]);
    stage.wait_until_idle(&id);
    // The worker is not needed just now, but its message applies to every other agent.
    fs::write(stage.path("scripts/go"), "").unwrap();
    wait_for("its death", || {
        stage.driver().scheduler.parked_harnesses().unwrap().len() == 1
    });
    assert_eq!(stage.task(&id).status.as_str(), "agent-review");
    fs::write(stage.path("scripts/fail"), "").unwrap();
    stage.wait_for_status(&id, "working");
    let reason = "harness `script` is not logged in";
    let why = || stage.run_ok(&["task", "why", id.as_str()]);
    wait_for("the message", || why().contains(reason));
    assert_eq!(stage.started(), 1);
    assert_eq!(stage.task(&id).attention, [""; 0]);
    stage.run_ok(&["harness", "unpark", "script"]);
    wait_for("the worker", || stage.started() == 2);
    stage.wait_until_idle(&id);
    assert!(stage.is_alive(&id));
    drop(serving);
}

#[test]
fn the_commands_show_parked_harnesses() {
    let stage = Stage::with_rules("default");
    stage.script(
        "worker-1",
        "echo \"You've hit your limit\"\nsleep 0.3\nexit 1",
    );
    stage.script("worker-2", "hang");
    let id = stage.create(&["Add a line"]);
    let mut output = stage.transcript(&["harness", "list"]);
    stage.run_ok(&["task", "spawn", id.as_str(), "--wait", "60"]);
    wait_for("its end", || stage.panes() == ["worker:1"]);
    stage.run_ok(&["task", "update", id.as_str(), "--priority", "1"]);
    output.push_str(&stage.transcript(&["harness", "list"]));
    let mut attention = stage.transcript(&["attention"]);
    for seconds in 1..60 {
        attention = attention.replace(&format!("\n{seconds:>2}s "), "\n 0s ");
    }
    output.push_str(&attention);
    let (_, needed) = stage.json(&["attention", "--all", "--json"]);
    let item = &needed["items"][0];
    assert_eq!(
        (&item["kind"], &item["harness"]),
        (&"parked".into(), &"script".into())
    );
    let other = stage.create(&["two", "Another line"]);
    output.push_str(&stage.transcript(&["task", "spawn", other.as_str()]));
    output.push_str(&stage.transcript(&["harness", "unpark", "nobody"]));
    output.push_str(&stage.transcript(&["harness", "unpark", "script"]));
    output.push_str(&stage.transcript(&["harness", "unpark", "script"]));
    insta::assert_snapshot!(output);
}

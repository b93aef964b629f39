//! A supervisor's load, raised limits or mistakes must not affect others.

use std::process::{Command, Stdio};
use std::time::Duration;
use std::{fs, thread};

use orange_config::clock::Deadline;
use orange_driver::supervisor::{Settings, Supervisor};
use orange_driver::{Answer, TaskRequest, WaitPolicy};
use orange_engine::input::{Request, RequestKind};
use orange_engine::language::verbs::Verb;
use orange_engine::names::TaskId;
use orange_engine::role::Role;
use orange_engine::task::RunState;
use serde_json::json;

use crate::support::{RunningSupervisor, SOON, Stage, wait_for};

#[test]
fn a_slow_setup_does_not_delay_the_exits_of_other_tasks() {
    let stage = Stage::new("default");
    stage.script("worker-1", "hang");
    stage.script("worker-2", "hang");
    let (victim, slow) = (stage.create(&["One"]), stage.create(&["Two"]));
    stage.run_ok(&["task", "spawn", victim.as_str(), "--wait", "60"]);
    stage.wait_until_idle(&victim);
    let (began, go) = (stage.path("began"), stage.path("go"));
    let (began_shown, go_shown) = (began.display(), go.display());
    let script = format!("touch '{began_shown}'; until [ -e '{go_shown}' ]; do sleep 0.05; done");
    stage.configure("setup", &json!(["sh", "-c", script]));
    let settings = Settings {
        performers: 1,
        ..Settings::default()
    };
    let supervisor = Supervisor::new(stage.driver(), settings).unwrap();
    let stopper = supervisor.stopper();
    let supervising = thread::spawn(move || supervisor.run());
    // A program started here would be below the supervisor, so make the request in this process.
    let ask = |task: &TaskId, verb: Verb, waiting: WaitPolicy| {
        let request = TaskRequest {
            task: task.clone(),
            request: Request::new(Role::Human, RequestKind::Verb(verb)),
            waiting,
        };
        let answer = stage.driver().requests.ask(&request).unwrap();
        assert!(!matches!(answer, Answer::Refused(_)), "{answer:?}");
    };
    ask(&slow, Verb::Spawn, WaitPolicy::Skip);
    wait_for("the setup", || began.exists());
    // The only performer is busy for as long as the test wants.
    ask(&victim, Verb::Cancel, WaitPolicy::Detached(SOON));
    assert_eq!(stage.task(&victim).status.as_str(), "cancelled");
    assert_eq!(stage.panes().len(), 0);
    assert!(
        !stage.task(&slow).pending.is_empty(),
        "the other one still waits"
    );
    fs::write(&go, "").unwrap();
    let alive = || {
        let task = stage.task(&slow);
        let mut runs = task.runs.values();
        runs.any(|run| run.state == RunState::Alive)
    };
    wait_for("the slow one", alive);
    stopper.stop();
    assert!(Deadline::after(SOON).wait_for(|| supervising.is_finished()));
    supervising.join().unwrap().unwrap();
}

#[test]
fn agents_do_not_inherit_the_raised_limit_of_open_files() {
    let stage = Stage::new("default");
    stage.script("worker-1", "ulimit -n | give limit\nhang");
    let orange = stage.orange(&["serve"]);
    let mut serve = Command::new("sh");
    serve
        .args(["-c", "ulimit -S -n 256; exec \"$1\" serve", "sh"])
        .arg(orange.get_program())
        .env_clear()
        .envs(stage.environment.variables())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut serving = serve.spawn().unwrap();
    wait_for("supervision", || stage.driver().context.is_supervised());
    let limits = fs::read_to_string(format!("/proc/{}/limits", serving.id())).unwrap();
    let own = limits
        .lines()
        .find(|line| line.starts_with("Max open files"));
    let own = own.unwrap().split_whitespace().nth(3).unwrap();
    assert_ne!(own, "256", "the supervisor has raised its own");
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str(), "--wait", "60"]);
    let limit = || fs::read_to_string(stage.path("scripts/limit")).unwrap_or_default();
    wait_for("the agent", || !limit().trim().is_empty());
    assert_eq!(limit().trim(), "256");
    serving.kill().unwrap();
    serving.wait().unwrap();
}

#[test]
fn a_process_with_a_reused_supervisor_pid_gets_no_signal() {
    let stage = Stage::new("default");
    let serving = RunningSupervisor::start(&stage);
    let path = stage.home().path().join("supervisor.lock");
    let text = || fs::read_to_string(&path).unwrap();
    // It holds the lock a moment before it has written its identity.
    wait_for("its number", || !text().is_empty());
    let text = text();
    let status: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(status["pid"], serving.pid());
    assert!(status["start"].is_number(), "{status}");
    // As if the process that holds the lock had not written its identity yet.
    let mut bystander = Command::new("sleep").arg("600").spawn().unwrap();
    let mut earlier = status.clone();
    earlier["pid"] = bystander.id().into();
    fs::write(&path, earlier.to_string()).unwrap();
    let (code, output) = stage.call(&["serve", "--stop"]);
    assert_eq!(code, 5, "{output}");
    assert!(bystander.try_wait().unwrap().is_none(), "it was not meant");
    bystander.kill().unwrap();
    bystander.wait().unwrap();
    fs::write(&path, text).unwrap();
    let output = stage.run_ok(&["serve", "--stop"]);
    assert!(output.contains("supervisor stopped"), "{output}");
}

#[test]
fn unreadable_settings_are_reported_once() {
    let stage = Stage::new("default");
    stage.create(&["Add a line"]);
    let settings = Settings {
        sweep: Duration::from_millis(100),
        ..Settings::default()
    };
    let supervisor = Supervisor::new(stage.driver(), settings).unwrap();
    let stopper = supervisor.stopper();
    let supervising = thread::spawn(move || supervisor.run());
    let config = stage.path("home/config.toml");
    fs::write(&config, "[limits]\nagents = \"many\"\n").unwrap();
    let failure_count = || {
        let log = fs::read_to_string(stage.path("home/orange.log")).unwrap_or_default();
        log.matches("\"schedule.failed\"").count()
    };
    wait_for("the log", || failure_count() == 1);
    // Many more polls fail the same way.
    let again = Deadline::after(Duration::from_secs(2)).wait_for(|| failure_count() > 1);
    assert!(!again, "it is logged once");
    fs::remove_file(&config).unwrap();
    let log = stage.run_ok(&["log"]);
    assert!(log.contains("schedule.failed"), "{log}");
    stopper.stop();
    assert!(Deadline::after(SOON).wait_for(|| supervising.is_finished()));
    supervising.join().unwrap().unwrap();
}

//! One supervisor per home, which may come and go.

use std::fs;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use orange_driver::supervisor::{Settings, Stopper, Supervisor, SupervisorError};
use orange_driver::{Answer, TaskRequest, WaitPolicy};
use orange_engine::input::{Request, RequestKind};
use orange_engine::language::verbs::Verb;
use orange_engine::names::TaskId;
use orange_engine::role::Role;

use super::deaths;
use crate::support::scripts::FAIL;
use crate::support::{FIX, PASS, PLAN_AND_WORK, RunningSupervisor, SOON, Stage, wait_for, way};

#[test]
fn the_supervisor_performs_a_whole_task_on_its_own() {
    let stage = Stage::new("default");
    let serving = RunningSupervisor::start(&stage);
    stage.script("worker-1", PLAN_AND_WORK);
    stage.script("worker-2", FIX);
    stage.script("reviewer-1", FAIL);
    stage.script("reviewer-2", PASS);
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str(), "--wait", "60"]);
    stage.wait_for_status(&id, "reviewing");
    stage.wait_until_idle(&id);
    let expected = [
        "planning",
        "working",
        "agent-review",
        "working",
        "agent-review",
        "reviewing",
    ];
    assert_eq!(way(&stage, &id), expected, "{}", stage.diagnostics(&id));
    drop(serving);
    stage.run_ok(&["task", "cancel", id.as_str(), "--wait", "60"]);
}

/// Now and then the supervisor starts the task first; the user sees no difference.
#[test]
fn the_answer_to_a_creation_is_the_same_whoever_starts_the_task() {
    let stage = Stage::new("default");
    let serving = RunningSupervisor::start(&stage);
    for number in 1..=6 {
        let branch = format!("branch-{number}");
        let typed = ["task", "create", &branch, "Fix it", "--wait", "60"];
        let output = stage.run_ok(&typed);
        let id = stage.driver().callers.resolve_task(Some(&branch)).unwrap();
        let expected = format!("{id}: from `pending` to `planning`\n");
        assert_eq!(output, expected, "{}", stage.diagnostics(&id));
        stage.run_ok(&["task", "cancel", &branch, "--yes", "--wait", "60"]);
    }
    drop(serving);
}

#[test]
fn a_home_has_one_supervisor() {
    let stage = Stage::new("default");
    let serving = RunningSupervisor::start(&stage);
    let (code, output) = stage.call(&["serve"]);
    assert_eq!(code, 5, "{output}");
    assert!(
        output.contains(&format!("process {}", serving.pid())),
        "{output}"
    );
    serving.kill();
    // Its lock was released with it.
    let again = stage.run_ok(&["serve", "--detach"]);
    assert!(again.contains("supervisor running"), "{again}");
    let output = stage.run_ok(&["serve", "--stop"]);
    assert!(output.contains("supervisor stopped"), "{output}");
    wait_for("its end", || !stage.driver().context.is_supervised());
    let output = stage.run_ok(&["serve", "--stop"]);
    assert!(output.contains("no supervisor is running"), "{output}");
}

#[test]
fn a_supervisor_exits_when_a_newer_version_migrates_the_database() {
    let stage = Stage::new("default");
    let settings = Settings {
        tick: Duration::from_millis(100),
        ..Settings::default()
    };
    let supervisor = Supervisor::new(stage.driver(), settings).unwrap();
    let running = thread::spawn(move || supervisor.run());
    let database = rusqlite::Connection::open(stage.home().database()).unwrap();
    database.pragma_update(None, "user_version", 99).unwrap();
    wait_for("its exit", || running.is_finished());
    let error = running.join().unwrap().unwrap_err().to_string();
    assert!(error.contains("its schema is 99"), "{error}");
    assert!(!stage.driver().context.is_supervised());
}

#[test]
fn a_yielding_supervisor_hands_over_and_the_next_continues() {
    let stage = Stage::new("default");
    stage.script("worker-1", "pause go\nexit 7");
    stage.script("worker-2", "hang");
    let yielding = Settings {
        yields: true,
        tick: Duration::from_millis(100),
        ..Settings::default()
    };
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str(), "--wait", "60"]);
    // Both run in this process: a program started here would be below a supervisor, and not the
    // user.
    let supervisor = Supervisor::new(stage.driver(), yielding).unwrap();
    let first = thread::spawn(move || supervisor.run());
    let supervisor = Supervisor::new(stage.driver(), Settings::default()).unwrap();
    wait_for("the first one's end", || first.is_finished());
    first.join().unwrap().unwrap();
    let stopper = supervisor.stopper();
    let second = thread::spawn(move || supervisor.run());
    fs::write(stage.path("scripts/go"), "").unwrap();
    wait_for("the death", || deaths(&stage, &id) == 1);
    stopper.stop();
    second.join().unwrap().unwrap();
}

#[test]
fn a_status_times_out() {
    let stage = Stage::new("default");
    fs::create_dir_all(stage.path("home/workflows")).unwrap();
    fs::write(stage.path("home/workflows/hurried.yml"), HURRIED).unwrap();
    stage.run_ok(&["workflow", "check", "hurried"]);
    let _serving = RunningSupervisor::start(&stage);
    let id = stage.create(&["Add a line", "--workflow", "hurried"]);
    stage.wait_for_status(&id, "closed");
    let history = stage.run_ok(&["task", "history", id.as_str()]);
    assert!(history.contains("created it in `asked`"), "{history}");
}

/// A question that is not answered in time.
const HURRIED: &str = "\
version: 1
name: hurried
states:
  asked: { kind: human, timeout: { after: 1s, then: closed } }
  closed: { terminal: true }
transitions:
  - { from: asked, to: closed, trigger: timeout }
  - { from: asked, to: closed, by: human }
verbs: { cancel: closed, merge: [] }
";

/// A supervisor that never sweeps during a test, so that it notices nothing by luck.
fn without_sweeps(stage: &Stage) -> (Stopper, JoinHandle<Result<(), SupervisorError>>) {
    let settings = Settings {
        sweep: Duration::from_hours(1),
        ..Settings::default()
    };
    let supervisor = Supervisor::new(stage.driver(), settings).unwrap();
    let stopper = supervisor.stopper();
    (stopper, thread::spawn(move || supervisor.run()))
}

/// Starts a task's worker from this process; a program would be below its supervisor, and so not
/// the user.
fn spawn_here(stage: &Stage, id: &TaskId) {
    let request = TaskRequest {
        task: id.clone(),
        request: Request::new(Role::Human, RequestKind::Verb(Verb::Spawn)),
        waiting: WaitPolicy::Detached(SOON),
    };
    let answer = stage.driver().requests.ask(&request).unwrap();
    assert!(matches!(answer, Answer::Done(_)), "{answer:?}");
    stage.wait_until_idle(id);
}

fn write_status(stage: &Stage, id: &TaskId, from: &str, to: &str) {
    let file = stage.worktree(id).join("TASK.md");
    let text = fs::read_to_string(&file).unwrap();
    let (from, to) = (format!("status: {from}"), format!("status: {to}"));
    fs::write(&file, text.replace(&from, &to)).unwrap();
}

#[test]
fn a_hand_edited_status_is_followed_immediately() {
    let stage = Stage::new("default");
    stage.script("worker-1", "hang");
    let id = stage.create(&["Add a line"]);
    let (stopper, supervising) = without_sweeps(&stage);
    spawn_here(&stage, &id);
    write_status(&stage, &id, "planning", "clarification");
    stage.wait_for_status(&id, "clarification");
    stopper.stop();
    supervising.join().unwrap().unwrap();
}

#[test]
fn a_status_edited_without_a_supervisor_is_followed_at_its_start() {
    let stage = Stage::new("default");
    stage.script("worker-1", "hang");
    let id = stage.create(&["Add a line"]);
    spawn_here(&stage, &id);
    write_status(&stage, &id, "planning", "clarification");
    let (stopper, supervising) = without_sweeps(&stage);
    stage.wait_for_status(&id, "clarification");
    stopper.stop();
    supervising.join().unwrap().unwrap();
}

#[test]
fn a_rebuilt_database_is_watched() {
    let stage = Stage::new("default");
    stage.script("worker-1", "pause go\nexit 7");
    let id = stage.create(&["Add a line"]);
    let (stopper, supervising) = without_sweeps(&stage);
    stage.driver().admin.rebuild(true).unwrap();
    spawn_here(&stage, &id);
    fs::write(stage.path("scripts/go"), "").unwrap();
    wait_for("the death", || deaths(&stage, &id) == 1);
    stopper.stop();
    supervising.join().unwrap().unwrap();
}

/// An exit rule with a command that runs as long as the test wants.
const PATIENT: &str = include_str!("patient.yml");

#[test]
fn a_slow_gate_delays_no_poll() {
    let stage = Stage::new("default");
    fs::create_dir_all(stage.path("home/workflows")).unwrap();
    fs::write(stage.path("home/workflows/patient.yml"), PATIENT).unwrap();
    stage.script("worker-1", "pause go\nexit 0");
    stage.script("worker-2", "pause go\nexit 7");
    let _serving = RunningSupervisor::start(&stage);
    let slow = stage.create(&["Add a line", "--workflow", "patient"]);
    stage.run_ok(&["task", "spawn", slow.as_str(), "--wait", "60"]);
    let other = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", other.as_str(), "--wait", "60"]);
    stage.wait_until_idle(&other);
    fs::write(stage.path("scripts/go"), "").unwrap();
    wait_for("the other's death", || deaths(&stage, &other) == 1);
    assert_eq!(deaths(&stage, &slow), 0, "its gate cannot have ended yet");
    fs::write(stage.worktree(&slow).join("gate-go"), "").unwrap();
    stage.wait_for_status(&slow, "checked");
}

#[test]
fn a_service_manager_gets_what_it_needs() {
    let stage = Stage::new("default");
    let unit = stage.run_ok(&["serve", "--unit", "systemd"]);
    assert!(unit.contains("KillMode=process"), "{unit}");
    let home = stage.home().path().display().to_string();
    assert!(unit.contains(&format!("ORANGE_HOME={home}\n")), "{unit}");
    let unit = stage.run_ok(&["serve", "--unit", "launchd"]);
    assert!(unit.contains(&format!("<string>{home}</string>")), "{unit}");
    assert!(!stage.driver().context.is_supervised(), "it was only asked");
}

#[test]
fn invalid_settings_keep_the_last_valid_ones() {
    let stage = Stage::new("default");
    stage.script("worker-1", "pause go\nexit 7");
    let _serving = RunningSupervisor::start(&stage);
    let file = stage.path("home/config.toml");
    fs::write(&file, "[supervisor]\ntick = \"5s\"\n").unwrap();
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str(), "--wait", "60"]);
    stage.wait_until_idle(&id);
    fs::write(&file, "[supervisor]\ntick = \"nonsense\n").unwrap();
    fs::write(stage.path("scripts/go"), "").unwrap();
    wait_for("the death", || deaths(&stage, &id) == 1);
    assert!(stage.driver().context.is_supervised());
}

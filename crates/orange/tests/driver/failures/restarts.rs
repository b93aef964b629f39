//! The tmux server or the machine restarts; lost agents come back.

use std::fs;
use std::process::{Command, Stdio};

use orange_driver::{TaskRequest, WaitPolicy};
use orange_effects::process::ProcessIdentity;
use orange_engine::evidence::Evidence;
use orange_engine::input::{Request, RequestKind};
use orange_engine::names::TaskId;
use orange_engine::role::Role;
use orange_engine::task::RunState;

use crate::support::scripts::FAIL;
use crate::support::{FIX, PASS, PLAN_AND_WORK, Stage, log, wait_for, way};

/// Waits until no process of the task's runs is left.
fn wait_until_runs_are_gone(stage: &Stage, id: &TaskId) {
    for run in stage.store().runs(id).unwrap() {
        let Some(place) = run.place else { continue };
        // A server that is still exiting refuses new clients.
        for pid in [place.process.pid, place.server.pid] {
            wait_for("the agent and its server to go", || {
                !fs::exists(format!("/proc/{pid}")).unwrap()
            });
        }
    }
}

/// A server that a user starts in place of ours: it assigns the same ids again.
fn strangers_server(stage: &Stage, panes: usize) {
    for number in 0..panes {
        let name = format!("stranger-{number}");
        let mut tmux = Command::new("tmux");
        tmux.arg("-S").arg(stage.home().tmux_socket());
        tmux.args(["-f", "/dev/null", "new-session", "-d", "-s", &name]);
        tmux.args(["sleep", "600"]);
        tmux.env_clear().envs(stage.environment.variables());
        assert!(tmux.stdin(Stdio::null()).status().unwrap().success());
    }
}

fn foreign_panes(stage: &Stage) -> Vec<String> {
    let shown = stage.tmux(&[
        "list-panes",
        "-a",
        "-F",
        "#{session_name} #{pane_id} #{pane_dead}",
    ]);
    let found = shown.lines().filter(|it| it.starts_with("stranger"));
    found.map(str::to_owned).collect()
}

#[test]
fn an_id_of_the_old_server_never_hits_a_pane_of_the_new_one() {
    let stage = Stage::new("default");
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    stage.wait_for_turn("worker-1");
    let before = stage.tmux(&["list-panes", "-a", "-F", "#{session_id} #{pane_id}"]);
    stage.tmux(&["kill-server"]);
    wait_until_runs_are_gone(&stage, &id);
    strangers_server(&stage, 3);
    let after = stage.tmux(&["list-panes", "-a", "-F", "#{session_id} #{pane_id}"]);
    assert!(
        after.lines().any(|it| it == before.trim()),
        "the ids were not handed out again: {before} {after}"
    );
    let there = foreign_panes(&stage);
    assert_eq!(there.len(), 3);
    // A message, a respawn, a cancel: each could hit the pane that has the old one's id.
    stage.run_ok(&["task", "respawn", id.as_str()]);
    stage.wait_for_turn("worker-2");
    assert_eq!(foreign_panes(&stage), there);
    let runs = stage.store().runs(&id).unwrap();
    assert_eq!(runs[0].evidence, Some(Evidence::Environment), "{runs:?}");
    stage.tmux(&["kill-server"]);
    wait_until_runs_are_gone(&stage, &id);
    strangers_server(&stage, 3);
    let there = foreign_panes(&stage);
    stage.run_ok(&["task", "cancel", id.as_str()]);
    stage.wait_until_idle(&id);
    assert_eq!(foreign_panes(&stage), there);
    assert_eq!(stage.task(&id).status.as_str(), "cancelled");
    for stranger in &there {
        let pane = stranger.split(' ').nth(1).unwrap();
        let shown = stage.tmux(&["capture-pane", "-p", "-t", pane]);
        assert_eq!(shown.trim(), "", "nothing was typed there");
    }
}

/// The variables that differ for each start.
const OWN: [&str; 2] = ["ORANGE_RUN_ID", "ORANGE_RUN_PROOF"];

/// The machine was restarted: its boot id is different, and its pids are assigned again, one of
/// them to this very test.
fn simulate_reboot(stage: &Stage) {
    let own = ProcessIdentity::of(std::process::id()).unwrap();
    let connection = rusqlite::Connection::open(stage.home().database()).unwrap();
    connection
        .execute(
            "UPDATE runs SET boot_id = 'another', pid = ?1, process_started = ?2",
            rusqlite::params![own.pid, own.start.unwrap().to_string()],
        )
        .unwrap();
}

/// The second start of a worker equals its first, apart from its identity.
fn assert_respawned_unchanged(stage: &Stage, id: &TaskId) {
    let task = stage.task(id);
    assert_eq!((task.status.as_str(), task.crash_count), ("planning", 0));
    let runs = stage.store().runs(id).unwrap();
    assert_eq!(runs.len(), 2);
    assert_eq!(runs[0].evidence, Some(Evidence::Environment));
    let run = &runs[1].id;
    wait_for("the worker", || {
        stage.path(&format!("scripts/at-{run}")).exists()
    });
    let (first, second) = (
        runs[0].setup.clone().unwrap(),
        runs[1].setup.clone().unwrap(),
    );
    assert_eq!(first.directory, second.directory);
    assert_eq!(first.environment, second.environment);
    assert_eq!(first.argv[..2], second.argv[..2]);
    assert_eq!(runs[0].role, runs[1].role);
    // What the agents saw is the same, apart from their identity.
    let mut seen: Vec<Vec<String>> = Vec::new();
    for turn in 1..=8 {
        let path = stage.path(&format!("scripts/seen-{id}-{turn}"));
        let Ok(text) = fs::read_to_string(path) else {
            continue;
        };
        let lines = text.lines().filter(|line| {
            let name = line.split('=').next().unwrap();
            !OWN.contains(&name) && !name.starts_with("TMUX")
        });
        seen.push(lines.map(str::to_owned).collect());
    }
    assert_eq!(seen.len(), 2, "{}", stage.diagnostics(id));
    assert_eq!(seen[0], seen[1]);
}

#[test]
fn after_a_reboot_every_lost_agent_respawns_with_its_settings() {
    let stage = Stage::new("default");
    let tell = "env | sort > $SCRIPTS/seen-$ORANGE_TASK_ID-$turn\npwd >> $SCRIPTS/seen-$ORANGE_TASK_ID-$turn\n";
    for turn in 1..=8 {
        stage.script(
            &format!("worker-{turn}"),
            &format!("{tell}touch $SCRIPTS/at-$ORANGE_RUN_ID"),
        );
    }
    let ids: Vec<TaskId> = ["Task one", "Task two", "Task three"]
        .iter()
        .map(|it| stage.create(&[it]))
        .collect();
    for id in &ids {
        stage.run_ok(&["task", "spawn", id.as_str()]);
        let run = stage.task(id).runs.values().next().unwrap().id.clone();
        wait_for("the worker", || {
            stage.path(&format!("scripts/at-{run}")).exists()
        });
    }
    let nothing = stage.run_ok(&["task", "respawn", "--lost"]);
    assert!(nothing.contains("no agent is lost"), "{nothing}");

    // One crashed before: that is its own fault, and the user's to judge.
    let crashed = stage.create(&["Task four"]);
    stage.script("worker-4", "exit 7");
    stage.run_ok(&["task", "spawn", crashed.as_str()]);
    wait_for("the crash", || {
        stage.panes().contains(&String::from("worker:1"))
    });
    stage.run_ok(&["task", "update", crashed.as_str(), "--summary", "Five"]);

    stage.tmux(&["kill-server"]);
    for id in &ids {
        wait_until_runs_are_gone(&stage, id);
    }
    simulate_reboot(&stage);
    strangers_server(&stage, 4);
    let there = foreign_panes(&stage);

    let (code, answer) = stage.json(&["task", "respawn", "--lost", "--json", "--wait", "60"]);
    assert_eq!(code, 0, "{answer}");
    assert_eq!(answer["schema"], "orange.task.respawn.lost/1");
    let tasks = answer["tasks"].as_array().unwrap();
    let mut named: Vec<&str> = tasks
        .iter()
        .map(|it| it["task"].as_str().unwrap())
        .collect();
    let mut expected: Vec<&str> = ids.iter().map(TaskId::as_str).collect();
    named.sort_unstable();
    expected.sort_unstable();
    assert_eq!(named, expected);
    for task in tasks {
        assert_eq!(task["respawned"], serde_json::json!(["worker"]), "{task}");
        assert_eq!(task["in_flight"], false, "{task}");
    }
    assert_eq!(foreign_panes(&stage), there, "no stranger was touched");
    for id in &ids {
        assert_respawned_unchanged(&stage, id);
    }
    let task = stage.task(&crashed);
    assert!(
        task.runs.values().all(|run| !run.state.is_live()),
        "a crash is not lost"
    );
    assert_eq!(answer["exited"], serde_json::json!([crashed.as_str()]));
    let again = stage.run_ok(&["task", "respawn", "--lost"]);
    assert!(again.contains("no agent is lost"), "{again}");
    let command = format!("orange task respawn {crashed}");
    let again = again.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(again.contains(&command), "{again}");
    // The user knows which agents they stopped.
    stage.run_ok(&["task", "stop", ids[0].as_str()]);
    let stopped = stage.run_ok(&["task", "respawn", "--lost"]);
    assert!(!stopped.contains(ids[0].as_str()), "{stopped}");
    for id in &ids {
        stage.rebuild(id);
    }
}

#[test]
fn both_agents_of_a_review_respawn_and_are_reported_in_one_line() {
    let stage = Stage::new("default");
    stage.script("worker-1", PLAN_AND_WORK);
    stage.script("reviewer-1", "hang");
    stage.script("reviewer-2", PASS);
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    stage.wait_for_status(&id, "agent-review");
    stage.wait_until_idle(&id);
    wait_for("the reviewer", || stage.path("scripts/hangs").exists());
    stage.tmux(&["kill-server"]);
    wait_until_runs_are_gone(&stage, &id);
    // The database is gone as well; the lost runs are still known.
    stage.lose_database();
    stage.run_ok(&["rebuild"]);
    let output = stage.run_ok(&["task", "respawn", "--lost", "--wait", "60"]);
    let lines: Vec<&str> = output.lines().collect();
    assert_eq!(
        lines,
        [format!("{id}: respawned the worker and the reviewer")],
        "{output}"
    );
    stage.wait_for_status(&id, "reviewing");
    stage.wait_until_idle(&id);
    assert_eq!(
        way(&stage, &id),
        ["planning", "working", "agent-review", "reviewing"]
    );
    assert_eq!(log(&stage, &id), ["one"]);
    assert_eq!(stage.panes(), ["worker:0"]);
}

#[test]
fn effects_of_a_lost_performer_are_finished_despite_other_failures() {
    let stage = Stage::new("default");
    let harnesses = stage.path("home/harnesses");
    let text = fs::read_to_string(harnesses.join("script.toml")).unwrap();
    let other = harnesses.join("other.toml");
    fs::write(&other, text.replace("\"script\"", "\"other\"")).unwrap();
    let one = stage.create(&["Task one", "--harness", "other"]);
    let two = stage.create(&["Task two"]);
    let three = stage.create(&["Task three"]);
    for id in [&one, &two, &three] {
        stage.run_ok(&["task", "spawn", id.as_str()]);
    }
    stage.wait_for_turn("worker-3");
    stage.tmux(&["kill-server"]);
    for id in [&one, &two, &three] {
        wait_until_runs_are_gone(&stage, id);
    }
    // One cannot be started any more; for another the start was recorded but not performed.
    fs::remove_file(&other).unwrap();
    let request = TaskRequest {
        task: two.clone(),
        request: Request::new(Role::Human, RequestKind::Respawn { role: None }),
        waiting: WaitPolicy::Skip,
    };
    stage.driver().requests.ask(&request).unwrap();
    assert!(!stage.task(&two).pending.is_empty());
    let (code, output) = stage.call(&["task", "respawn", "--lost", "--wait", "60"]);
    assert_eq!(code, 3, "{output}");
    let line = |id: &TaskId| {
        let mut lines = output.lines();
        lines.find(|line| line.starts_with(id.as_str()))
    };
    let failed = line(&one).unwrap();
    assert!(failed.contains("cannot start the worker"), "{output}");
    assert!(
        line(&three).unwrap().ends_with("respawned the worker"),
        "{output}"
    );
    for id in [&two, &three] {
        stage.wait_until_idle(id);
        let task = stage.task(id);
        let mut runs = task.runs.values();
        assert!(
            runs.all(|it| it.state == RunState::Alive),
            "{}",
            stage.diagnostics(id)
        );
    }
    assert_eq!(stage.panes(), ["worker:0", "worker:0"]);
}

#[test]
fn an_agent_cannot_respawn_others() {
    let stage = Stage::new("default");
    stage.script(
        "worker-1",
        "ask task respawn --lost\nask rebuild --move-aside\n",
    );
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    stage.wait_for_turn("worker-1");
    let calls = stage.calls();
    assert!(calls.contains("respawn --lost -> 3"), "{calls}");
    assert!(calls.contains("rebuild --move-aside -> 3"), "{calls}");
    assert_eq!(stage.store().runs(&id).unwrap().len(), 1);
    assert!(!stage.path("home/orange.db.before-rebuild-1").exists());
}

/// Passes the scripted agent its conversation; returns a function for what each run was given.
fn with_conversations(stage: &Stage) -> impl Fn(&TaskId, &str) -> Vec<String> {
    let path = stage.path("home/harnesses/script.toml");
    let text = fs::read_to_string(&path).unwrap();
    let definition = text.replace(
        "\"{prompt_file}\"]",
        "\"{prompt_file}\", [\"new={session_id}\"], [\"old={resumed_id}\"]]",
    );
    fs::write(&path, definition).unwrap();
    |id, role| {
        let runs = stage.store().runs(id).unwrap().into_iter();
        let runs = runs.filter(|run| run.role.as_str() == role);
        let definition = runs.filter_map(|run| Some(run.setup?.argv[3].clone()));
        definition.collect()
    }
}

#[test]
fn lesson_30_a_respawned_agent_resumes_its_own_conversation_once() {
    let stage = Stage::new("default");
    let conversations = with_conversations(&stage);
    stage.script("worker-1", "exit 7");
    stage.script("worker-2", "exit 7");
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    for deaths in 1..=2 {
        wait_for("the worker's death", || stage.panes() == ["worker:1"]);
        // After the second death the task waits for the user, with a worker to talk to.
        let _moved = stage.call(&["task", "respawn", id.as_str()]);
        wait_for("the next worker", || {
            conversations(&id, "worker").len() == deaths + 1
        });
        stage.wait_until_idle(&id);
    }
    let workers = conversations(&id, "worker");
    let [first, second, third] = workers.as_slice() else {
        panic!("{workers:?}");
    };
    assert!(first.starts_with("new="), "{workers:?}");
    assert_eq!(second.strip_prefix("old="), first.strip_prefix("new="));
    // The conversation itself may have caused the deaths.
    assert!(third.starts_with("new=") && third != first, "{workers:?}");
}

#[test]
fn lesson_30_the_conversation_reported_by_an_agent_is_resumed() {
    let stage = Stage::new("default");
    let path = stage.path("home/harnesses/script.toml");
    let text = fs::read_to_string(&path).unwrap();
    let definition = text.replace(
        "\"{prompt_file}\"]",
        "\"{prompt_file}\", [\"old={resumed_id}\"]]",
    );
    fs::write(&path, definition).unwrap();
    stage.script(
        "worker-1",
        "orange agent-event session-start --session-id chosen-by-itself\nexit 7",
    );
    stage.script("worker-2", "true");
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    wait_for("the worker's death", || stage.panes() == ["worker:1"]);
    let _moved = stage.call(&["task", "respawn", id.as_str()]);
    stage.wait_for_turn("worker-2");
    let runs = stage.store().runs(&id).unwrap();
    let argv = |run: usize| runs[run].setup.clone().unwrap().argv;
    let is_old = |word: &String| word.starts_with("old=");
    assert!(!argv(0).iter().any(is_old), "{:?}", argv(0));
    assert_eq!(
        argv(1).into_iter().find(is_old).unwrap(),
        "old=chosen-by-itself"
    );
}

#[test]
fn a_reviewer_starts_a_new_conversation_in_every_round() {
    let stage = Stage::new("default");
    let conversations = with_conversations(&stage);
    stage.script("worker-1", PLAN_AND_WORK);
    stage.script("worker-2", FIX);
    stage.script("reviewer-1", FAIL);
    stage.script("reviewer-2", PASS);
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    stage.wait_for_status(&id, "reviewing");
    let reviewers = conversations(&id, "reviewer");
    assert!(
        reviewers.iter().all(|it| it.starts_with("new=")),
        "{reviewers:?}"
    );
    assert_ne!(reviewers[0], reviewers[1]);
}

//! Things that vanish unasked: servers, files, programs, workspaces.

use std::fs;

use orange_engine::event::Fact;
use orange_engine::evidence::Evidence;
use orange_engine::task::Workspace;

use crate::support::{Stage, wait_for};

#[test]
fn a_lost_server_is_not_a_crash_and_its_agents_respawn() {
    let stage = Stage::new("default");
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    stage.wait_for_turn("worker-1");
    stage.tmux(&["kill-server"]);
    wait_for("the agent to go", || {
        let runs = stage.store().runs(&id).unwrap();
        let place = runs[0].place.clone().unwrap();
        !fs::exists(format!("/proc/{}", place.process.pid)).unwrap()
    });
    stage.run_ok(&["task", "respawn", id.as_str()]);
    stage.wait_for_turn("worker-2");
    assert_eq!(stage.panes(), ["worker:0"]);
    let task = stage.task(&id);
    assert_eq!((task.status.as_str(), task.crash_count), ("planning", 0));
    let runs = stage.store().runs(&id).unwrap();
    assert_eq!(runs[0].evidence, Some(Evidence::Environment), "{runs:?}");
}

#[test]
fn lesson_12_a_server_that_does_not_answer_changes_nothing() {
    let stage = Stage::new("default");
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    stage.wait_for_turn("worker-1");
    let socket = stage.home().tmux_socket();
    let aside = socket.with_extension("aside");
    fs::rename(&socket, &aside).unwrap();
    stage.run_ok(&["task", "update", id.as_str(), "--summary", "Add two lines"]);
    fs::rename(&aside, &socket).unwrap();
    let task = stage.task(&id);
    assert!(
        task.runs.values().all(|run| run.state.is_live()),
        "{}",
        stage.diagnostics(&id)
    );
    assert_eq!(task.attention, [] as [String; 0]);
    assert_eq!(stage.panes(), ["worker:0"]);
}

#[test]
fn lesson_47_a_deleted_task_file_comes_back() {
    let stage = Stage::new("default");
    stage.script(
        "worker-1",
        "printf 'APPROACH: a\\n' | section Plan\nask task update --status working\n\
         git clean -fdxq\n[ -e TASK.md ] || echo gone >> $SCRIPTS/gone\n\
         ask task update --summary 'Add two lines'\n",
    );
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    stage.wait_for_turn("worker-1");
    assert!(stage.path("scripts/gone").exists(), "{}", stage.calls());
    let text = fs::read_to_string(stage.worktree(&id).join("TASK.md")).unwrap();
    assert!(text.contains("APPROACH: a"), "{text}");
    assert!(text.contains("summary: Add two lines"), "{text}");
}

#[test]
fn lesson_14_a_failed_start_returns_to_the_queue_and_says_why() {
    let stage = Stage::new("default");
    let id = stage.create(&["Add a line"]);
    fs::remove_file(stage.path("home/harnesses/script.toml")).unwrap();
    let (_, output) = stage.call(&["task", "spawn", id.as_str()]);
    stage.wait_until_idle(&id);
    let task = stage.task(&id);
    assert_eq!(
        task.status.as_str(),
        "pending",
        "{output}\n{}",
        stage.diagnostics(&id)
    );
    assert_eq!(task.workspace, Workspace::None);
    assert!(stage.store().workspace_of(&id).unwrap().is_none());
    let events = stage.store().events(&id, 0).unwrap();
    let why = events.iter().find_map(|it| match &it.event.fact {
        Fact::EffectFailed { error, .. } => Some(error.clone()),
        _ => None,
    });
    assert!(
        why.unwrap().contains("script"),
        "{}",
        stage.diagnostics(&id)
    );
    assert!(stage.current_text(&id).contains("status: pending"));
}

#[test]
fn unsaved_work_is_rescued_before_another_task_gets_the_worktree() {
    let stage = Stage::new("minimal");
    stage.script("worker-1", "echo precious > unsaved.txt");
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    stage.wait_for_turn("worker-1");
    stage.run_ok(&["task", "cancel", id.as_str()]);
    stage.wait_until_idle(&id);
    let rescues = stage.git("for-each-ref --format=%(refname) refs/orange/rescue");
    let rescues = String::from_utf8(rescues.stdout).unwrap();
    let rescue = rescues.lines().next().unwrap();
    let kept = stage.git(&format!("grep -h precious {rescue}"));
    assert_eq!(
        String::from_utf8(kept.stdout).unwrap(),
        "precious\n",
        "{rescues}"
    );
    let other = stage.create(&["Task another"]);
    stage.run_ok(&["task", "spawn", other.as_str()]);
    assert!(!stage.worktree(&other).join("unsaved.txt").exists());
}

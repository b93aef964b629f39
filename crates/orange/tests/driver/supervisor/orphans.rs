//! Processes that outlive their run are killed, and no others.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use orange_config::clock::Deadline;
use orange_effects::process::{Liveness, ProcessIdentity};
use orange_engine::names::TaskId;

use super::deaths;
use crate::support::{RunningSupervisor, Stage, wait_for};

/// Sweeps often, so that a test need not wait a minute.
const OFTEN: &str = "[supervisor]\nsweep = \"1s\"\n";

impl Stage {
    fn children(&self) -> Vec<ProcessIdentity> {
        let pids = fs::read_to_string(self.path("scripts/children")).unwrap();
        let pids = pids.lines().map(|it| it.trim().parse().unwrap());
        pids.map(|pid| ProcessIdentity::of(pid).unwrap()).collect()
    }

    fn killed_orphans(&self, id: &TaskId) -> usize {
        let log = self.run_ok(&["log", "--task", id.as_str()]);
        log.matches("orphan.ended").count()
    }
}

fn are_gone(all: &[ProcessIdentity]) -> bool {
    all.iter().all(|it| it.liveness() == Liveness::Gone)
}

/// A process that carries the marks of a run.
struct MarkedProcess(Child);

impl MarkedProcess {
    fn with(run: &str, home: &str) -> MarkedProcess {
        let mut sleep = Command::new("sleep");
        sleep.arg("600").env("ORANGE_RUN_ID", run);
        sleep.env("ORANGE_HOME", home).stdin(Stdio::null());
        MarkedProcess(sleep.spawn().unwrap())
    }

    fn is_alive(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }
}

impl Drop for MarkedProcess {
    fn drop(&mut self) {
        let _gone = self.0.kill();
        let _reaped = self.0.wait();
    }
}

#[test]
fn lesson_15_processes_that_outlive_their_agent_are_killed() {
    let stage = Stage::new("default");
    fs::write(stage.path("home/config.toml"), OFTEN).unwrap();
    let _serving = RunningSupervisor::start(&stage);
    stage.script("worker-1", "children\npause go\nexit 3");
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str(), "--wait", "60"]);
    wait_for("its children", || stage.path("scripts/children").exists());
    wait_for("both", || stage.children().len() == 2);
    let children = stage.children();
    stage.wait_until_idle(&id);
    // Processes of another home, or of a run that is unknown here, are left alone.
    let home = stage.home().path().display().to_string();
    let run = stage.store().runs(&id).unwrap()[0].id.to_string();
    let mut others = [
        MarkedProcess::with(&run, "/nowhere/else"),
        MarkedProcess::with("unknown-run", &home),
    ];
    let alive = Deadline::after(Duration::from_secs(4)).wait_for(|| are_gone(&children[..1]));
    assert!(!alive, "a process of a live run was killed");
    // The process that claims another home still carries the run's id: it would be killed when the
    // run ends, so replace it first.
    drop(std::mem::replace(
        &mut others[0],
        MarkedProcess::with("another", "/nowhere/else"),
    ));
    fs::write(stage.path("scripts/go"), "").unwrap();
    wait_for("its death", || deaths(&stage, &id) == 1);
    wait_for("their end", || are_gone(&children));
    wait_for("the log", || stage.killed_orphans(&id) == 1);
    // A process of another home stays, whatever run it claims.
    let mut foreign = MarkedProcess::with(&run, "/nowhere/else");
    let gone = Deadline::after(Duration::from_secs(4)).wait_for(|| !foreign.is_alive());
    assert!(!gone, "it is of another home");
    assert!(others.iter_mut().all(MarkedProcess::is_alive));
    let task = stage.task(&id);
    assert_eq!((task.status.as_str(), task.crash_count), ("planning", 1));
}

#[test]
fn the_pane_of_a_dead_agent_is_kept() {
    let stage = Stage::new("default");
    fs::write(stage.path("home/config.toml"), OFTEN).unwrap();
    let _serving = RunningSupervisor::start(&stage);
    stage.script("worker-1", "echo the last words\nexit 3");
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str(), "--wait", "60"]);
    wait_for("its death", || deaths(&stage, &id) == 1);
    let closed = Deadline::after(Duration::from_secs(6)).wait_for(|| stage.panes().is_empty());
    assert!(!closed, "the pane was closed");
    assert_eq!(stage.killed_orphans(&id), 0);
}

#[test]
fn lesson_16_a_leftover_pane_is_closed_and_blocks_no_start() {
    let stage = Stage::new("default");
    fs::write(stage.path("home/config.toml"), OFTEN).unwrap();
    stage.script("worker-1", "echo the last words\nchildren\nexit 3");
    stage.script("worker-2", "hang");
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str(), "--wait", "60"]);
    wait_for("its end", || stage.panes() == ["worker:1"]);
    let children = stage.children();
    stage.run_ok(&["task", "update", id.as_str(), "--priority", "1"]);
    assert_eq!(deaths(&stage, &id), 1);
    // The run is forgotten, as if the process that was to end it had died halfway.
    let run = stage.store().runs(&id).unwrap()[0].id.clone();
    let session = stage.tmux(&["display-message", "-p", "#{session_name}"]);
    let _serving = RunningSupervisor::start(&stage);
    wait_for("their end", || are_gone(&children));
    wait_for("the log", || stage.killed_orphans(&id) == 1);
    assert_eq!(stage.panes().len(), 0, "its pane went with its processes");
    let logs = stage.run_ok(&["task", "logs", id.as_str()]);
    assert!(
        logs.contains("the last words"),
        "what run {run} in {session} has shown is kept"
    );
    stage.run_ok(&["task", "respawn", id.as_str(), "--wait", "60"]);
    wait_for("another", || stage.panes() == ["worker:0"]);
}

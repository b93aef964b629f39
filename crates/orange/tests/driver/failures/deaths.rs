//! Callers and performers are killed; one further command recovers.

use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use std::{fs, thread};

use orange_config::clock::Deadline;

use crate::support::{Stage, log, way};

/// How long the killing lasts.
const KILL_TIME: Duration = Duration::from_secs(5);

/// An agent whose command is killed runs it again.
const STUBBORN: &str = "until ask task update --status $1; do sleep 0.05; done\n";

fn worker(line: &str) -> String {
    let asking = STUBBORN.replace("$1", "agent-review");
    format!("commit {line}\necho 'DONE: {line}' | section Handoff\n{asking}")
}

fn reviewer(verdict: &str, status: &str) -> String {
    let asking = STUBBORN.replace("$1", status);
    format!("echo 'Verdict: {verdict}' | section Review\n{asking}")
}

/// A pseudo-random sequence that is the same in every run.
pub fn next(state: &mut u64) -> u64 {
    *state = state
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

/// Processes of this home that ask or perform, without agents and the tmux server.
pub fn callers(stage: &Stage) -> Vec<u32> {
    let home = format!("ORANGE_HOME={}", stage.home().path().display());
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Ok(pid) = entry.file_name().to_string_lossy().parse::<u32>() else {
            continue;
        };
        let read = |name: &str| fs::read(entry.path().join(name)).unwrap_or_default();
        let command = read("cmdline");
        let words: Vec<&[u8]> = command.split(|byte| *byte == 0).collect();
        let is_orange = words.first().is_some_and(|it| it.ends_with(b"orange"));
        let asks = [&b"perform"[..], b"task", b"detach"];
        let asks = words.get(1).is_some_and(|it| asks.contains(it));
        let variables = read("environ");
        let is_ours = variables
            .split(|byte| *byte == 0)
            .any(|it| it == home.as_bytes());
        if is_orange && asks && is_ours {
            found.push(pid);
        }
    }
    found
}

pub fn kill(pid: u32) {
    let mut kill = Command::new("kill");
    let _gone = kill.args(["-9", &pid.to_string()]).output();
}

/// Runs one sequence of deaths; `DEATHS_FROM` shifts all of them for longer runs.
fn run_deaths(number: u64) {
    let from = std::env::var("DEATHS_FROM").ok();
    let seed = number + from.and_then(|from| from.parse().ok()).unwrap_or(0);
    let stage = Stage::new("respawn");
    stage.script("worker-1", &worker("one"));
    stage.script("worker-2", &worker("two"));
    stage.script("reviewer-1", &reviewer("FAIL", "working"));
    stage.script("reviewer-2", &reviewer("PASS", "reviewing"));
    let id = stage.create(&["Add a line"]);
    let calm = AtomicBool::new(false);
    let killed = AtomicUsize::new(0);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut state = seed;
            while !calm.load(Ordering::Relaxed) {
                // The pause grows, so that a slow machine finishes a command at some time.
                let most = 90 + 5 * killed.load(Ordering::Relaxed) as u64;
                thread::sleep(Duration::from_millis(10 + next(&mut state) % most));
                let callers = callers(&stage);
                let chosen = usize::try_from(next(&mut state)).unwrap();
                if let Some(pid) = callers.get(chosen % callers.len().max(1)) {
                    kill(*pid);
                    killed.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
        let rage = Deadline::after(KILL_TIME);
        // Keep asking, or everything would be idle after the first death.
        for number in 0.. {
            let is_pending = stage.task(&id).status.as_str() == "pending";
            if rage.has_passed() && !is_pending {
                break;
            }
            let summary = format!("Add line {number}");
            if is_pending {
                stage.call(&["task", "spawn", id.as_str()]);
            }
            stage.call(&["task", "update", id.as_str(), "--summary", &summary]);
        }
        calm.store(true, Ordering::Relaxed);
    });
    let killed = killed.into_inner();
    assert!(killed > 3, "only {killed} were killed");
    // One further command, and then only what it triggered.
    let (code, output) = stage.call(&["task", "update", id.as_str(), "--summary", "Add two lines"]);
    assert!(
        code == 0 || code == 5,
        "{code}: {output}\n{}",
        stage.diagnostics(&id)
    );
    stage.wait_for_status(&id, "reviewing");
    stage.wait_until_idle(&id);
    let expected = [
        "working",
        "agent-review",
        "working",
        "agent-review",
        "reviewing",
    ];
    assert_eq!(
        way(&stage, &id),
        expected,
        "seed {seed}\n{}",
        stage.diagnostics(&id)
    );
    assert_eq!(log(&stage, &id), ["one", "two"], "seed {seed}");
    assert_eq!(stage.panes(), [] as [&str; 0], "seed {seed}");
    let runs = stage.store().runs(&id).unwrap();
    assert_eq!(runs.len(), 4, "seed {seed}\n{}", stage.diagnostics(&id));
    let text = stage.current_text(&id);
    assert!(text.contains("status: reviewing"), "seed {seed}: {text}");
}

#[test]
fn killed_at_any_moment_it_reaches_the_same_end_1() {
    run_deaths(1);
}

#[test]
fn killed_at_any_moment_it_reaches_the_same_end_2() {
    run_deaths(2);
}

#[test]
fn killed_at_any_moment_it_reaches_the_same_end_3() {
    run_deaths(3);
}

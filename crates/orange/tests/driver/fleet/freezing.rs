//! Agents stand still while other machines may get their task.

use std::fs;

use super::ledger_server::LedgerServer;
use super::machines::Machine;
use super::{cancel, create_and_start};
use crate::support::wait_for;

/// Counts as long as it runs.
const COUNT: &str = "\
echo here | give begun
while :; do sleep 0.02; done
";

/// The states of the processes whose command line has this text.
fn states(text: &str) -> Vec<char> {
    let mut states = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let line = fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default();
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let state = stat
            .rsplit_once(')')
            .and_then(|(_, rest)| rest.trim_start().chars().next());
        if line.contains(text) && !line.contains("exec-run") && !line.contains("tmux") {
            states.extend(state);
        }
    }
    states
}

#[test]
fn agents_freeze_without_a_server_or_a_runner_and_continue_after_the_next_beat() {
    let server = LedgerServer::start();
    let mut machine = Machine::join("a", &server, None);
    machine.stage.script("worker-1", COUNT);
    let id = create_and_start(&server);
    machine.run();
    let begun = machine.stage.path("scripts/begun");
    wait_for("the agent", || begun.exists());
    let agent = machine.stage.path("agent").display().to_string();
    let is_frozen = || {
        let states = states(&agent);
        !states.is_empty() && states.iter().all(|it| *it == 'T')
    };
    let is_running = || {
        let states = states(&agent);
        !states.is_empty() && states.iter().all(|it| *it != 'T')
    };
    assert!(is_running());
    server.set_away(true);
    wait_for("frozen agents", is_frozen);
    server.set_away(false);
    wait_for("agents that continue", is_running);
    assert!(machine.has(&id));
    // The agents outlive the runner, and what freezes them does so too.
    machine.kill_runner();
    wait_for("agents frozen without a runner", is_frozen);
    machine.run();
    wait_for("agents that run, or were fenced", || {
        is_running() || !machine.has(&id)
    });
    if machine.has(&id) {
        cancel(&server, &id);
    }
}

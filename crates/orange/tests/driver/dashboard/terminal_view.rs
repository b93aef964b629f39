//! The agent's terminal: in the dashboard, and attached to it.

use super::open;
use crate::support::{Stage, Terminal, wait_for};

#[test]
fn the_output_of_an_agent_stays_after_its_task_has_ended() {
    let stage = Stage::new("default");
    stage.script("worker-1", "echo hello from the agent; hang");
    let id = stage.create(&["fix", "Fix the roof"]);
    stage.run_ok(&["task", "spawn", "fix", "--wait", "60"]);
    wait_for("the agent", || stage.path("scripts/hangs").exists());
    let terminal = open(&stage);
    terminal.wait_for("hello from the agent");
    stage.run_ok(&["task", "cancel", "fix", "--yes", "--wait", "60"]);
    stage.wait_until_idle(&id);
    wait_for("an empty list", || {
        !terminal.screen().contains("Fix the roof")
    });
    terminal.press(&["f"]);
    terminal.wait_for("all tasks, finished ones too");
    terminal.press(&["j", "j", "j", "j", "Enter"]);
    terminal.wait_for("Fix the roof");
    terminal.wait_for("hello from the agent");
    terminal.wait_for("worker, ended");
    let screen = terminal.screen();
    assert!(!screen.contains("no agent is running"), "{screen}");
    // Another view tells times as the rest of orange does.
    terminal.press(&["5"]);
    terminal.wait_for("in `cancelled` since ");
    let screen = terminal.screen();
    let line = screen.lines().find(|it| it.contains("since ")).unwrap();
    assert!(!line.contains("Z:"), "{line}");
}

#[test]
fn one_key_leads_back_to_the_dashboard_also_inside_the_users_own_tmux() {
    let stage = Stage::new("default");
    stage.script("worker-1", "echo hello from the agent");
    stage.create(&["fix", "Fix the roof"]);
    stage.run_ok(&["task", "spawn", "fix", "--wait", "60"]);
    stage.wait_for_turn("worker-1");
    // The keys pass through the user's own tmux, as they do from a real keyboard.
    let own = stage.path("own").display().to_string();
    let nested = format!("env -u TMUX tmux -u -f /dev/null -S '{own}' new-session orange ");
    for (name, line) in [("alone", "orange "), ("nested", &nested)] {
        let terminal = Terminal::start(&stage, name, 100, line);
        terminal.resize(100, 30);
        terminal.wait_for("Enter attach");
        terminal.press(&["Enter"]);
        terminal.wait_for("F12: leave, the agent keeps running");
        wait_for("only the agent", || !terminal.screen().contains("RUNNING"));
        terminal.press(&["F12"]);
        terminal.wait_for("RUNNING 1");
        terminal.wait_for("Enter attach");
        assert_eq!(stage.panes(), ["worker:0"], "{name}");
        terminal.press(&["q"]);
        let end = terminal.finish();
        assert!(end.contains("[exit 0]"), "{name}: {end}");
    }
}

//! From the dashboard into an agent's terminal, and back.

use crate::support::{Stage, Terminal, wait_for};

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

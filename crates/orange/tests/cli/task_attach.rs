//! `orange task attach`: terminals that show an agent.

use std::fs;
use std::process::{Command, Stdio};

use orange_engine::names::TaskId;

use crate::support::{Stage, wait_for};

impl Stage {
    /// Waits until the first run of a task has ended, whether or not orange has noticed.
    pub fn wait_for_end(&self, id: &TaskId) {
        wait_for("the agent to go", || {
            let runs = self.store().runs(id).unwrap();
            let place = runs[0].place.clone().unwrap();
            !fs::exists(format!("/proc/{}", place.process.pid)).unwrap()
        });
    }
}

#[test]
fn attach_without_an_agent_names_the_command_to_run() {
    let stage = Stage::new("default");
    let id = stage.create(&["Add a line"]);
    let attach = ["task", "attach", id.as_str()];
    let (code, output) = stage.call(&attach);
    assert_eq!(code, 4, "{output}");
    assert!(
        output.contains(&format!("`orange task spawn {id}`")),
        "{output}"
    );

    stage.run_ok(&["task", "spawn", id.as_str(), "--wait", "60"]);
    stage.tmux(&["kill-server"]);
    stage.wait_for_end(&id);
    let (code, output) = stage.call(&attach);
    assert_eq!(code, 4, "{output}");
    assert!(output.contains("was lost with its tmux server"), "{output}");
    assert!(
        output.contains(&format!("`orange task respawn {id}`")),
        "{output}"
    );
    let shown = stage.run_ok(&["task", "show", id.as_str()]);
    assert!(
        shown.contains("worker was lost with its tmux server; not handled yet"),
        "{shown}"
    );

    stage.run_ok(&["task", "cancel", id.as_str(), "--wait", "60"]);
    let (code, output) = stage.call(&attach);
    assert_eq!(code, 4, "{output}");
    assert!(
        !output.contains("spawn"),
        "a finished task gets no hint: {output}"
    );
}

#[test]
fn attach_outside_a_terminal_names_what_to_run_instead() {
    let stage = Stage::new("default");
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str(), "--wait", "60"]);
    let (code, answer) = stage.json(&["task", "attach", id.as_str(), "--json"]);
    let error = &answer["error"];
    assert_eq!((code, &error["code"]), (3, &"no-terminal".into()));
    let message = format!("cannot attach to task `{id}`: this is not a terminal");
    assert_eq!(error["message"], message.as_str());
    let hint = error["hints"][1].as_str().unwrap();
    assert!(hint.ends_with(&format!("`orange logs {id}`")), "{hint}");
}

/// A terminal emulated by a separate tmux server.
struct Terminal<'a> {
    stage: &'a Stage,
}

impl Terminal<'_> {
    fn open<'a>(stage: &'a Stage, command: &[&str]) -> Terminal<'a> {
        let terminal = Terminal { stage };
        let mut tmux = terminal.tmux();
        let size = ["-x", "160", "-y", "24"];
        tmux.args(["-f", "/dev/null", "new-session", "-d"])
            .args(size);
        tmux.arg("--");
        tmux.args(command);
        assert!(tmux.status().unwrap().success());
        terminal
    }

    fn screen(&self) -> String {
        let output = self.tmux().args(["capture-pane", "-p"]).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    }

    fn tmux(&self) -> Command {
        let mut tmux = Command::new("tmux");
        tmux.arg("-S").arg(self.stage.path("outer"));
        tmux.env_clear().envs(self.stage.environment.variables());
        tmux.env("TERM", "xterm").stdin(Stdio::null());
        tmux
    }
}

impl Drop for Terminal<'_> {
    fn drop(&mut self) {
        let _gone = self.tmux().arg("kill-server").output();
    }
}

#[test]
fn attach_inside_the_same_server_switches_the_client() {
    let stage = Stage::new("default");
    let (one, two) = (stage.create(&["Task one"]), stage.create(&["Task two"]));
    for id in [&one, &two] {
        stage.run_ok(&["task", "spawn", id.as_str()]);
    }
    let orange = env!("CARGO_BIN_EXE_orange");
    let terminal = Terminal::open(&stage, &[orange, "task", "attach", one.as_str()]);
    let clients = || stage.tmux(&["list-clients", "-F", "#{session_name}"]);
    wait_for("the client", || {
        clients().trim() == format!("app/orange-tasks/{one}")
    });
    // The user opens a window next to the agent and calls orange there.
    let session = stage.tmux(&["list-clients", "-F", "#{session_id}"]);
    let home = format!("ORANGE_HOME={}", stage.home().path().display());
    stage.tmux(&[
        "new-window",
        "-t",
        session.trim(),
        "-e",
        &home,
        &format!(
            "{orange} task attach {two} 2>{}",
            stage.path("said").display()
        ),
    ]);
    let output = || fs::read_to_string(stage.path("said")).unwrap_or_default();
    wait_for("the switch", || {
        clients().trim() == format!("app/orange-tasks/{two}")
    });
    assert_eq!(output(), "", "no client was nested, so nothing is printed");
    // The line at the bottom names the task and its status, also after a change.
    for status in ["planning", "clarification"] {
        if status != "planning" {
            stage.run_ok(&["task", "update", two.as_str(), "--status", status]);
        }
        let line = format!("{two} app/orange-tasks/{two} · {status}");
        wait_for("the status line", || terminal.screen().contains(&line));
    }
    assert_eq!(clients().lines().count(), 1);
}

#[test]
fn attach_inside_another_tmux_explains_how_to_detach() {
    let stage = Stage::new("default");
    let id = stage.create(&["Task one"]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    let orange = env!("CARGO_BIN_EXE_orange");
    let said = stage.path("said");
    let call = format!("{orange} task attach {id} 2>{}", said.display());
    let _terminal = Terminal::open(&stage, &["sh", "-c", &call]);
    wait_for("the client", || !stage.tmux(&["list-clients"]).is_empty());
    let said = fs::read_to_string(said).unwrap();
    assert!(said.contains("press `F12` to detach"), "{said}");
    // Without a terminal the answer is clear too, and the agent is not disturbed.
    let mut attach = stage.orange(&["task", "attach", id.as_str()]);
    let output = attach.env("TERM", "xterm").output().unwrap();
    assert!(!output.status.success());
    assert!(!output.stderr.is_empty());
    assert_eq!(stage.panes(), ["worker:0"]);
}

#[test]
fn attach_shows_the_agent() {
    let stage = Stage::new("default");
    let id = stage.create(&["Add a line"]);
    let (code, output) = stage.call(&["task", "attach", id.as_str()]);
    assert_eq!(code, 4, "{output}");
    stage.run_ok(&["task", "spawn", id.as_str()]);
    // A terminal emulated by another tmux server.
    let outer = stage.path("outer");
    let orange = env!("CARGO_BIN_EXE_orange");
    let mut terminal = Command::new("tmux");
    terminal
        .arg("-S")
        .arg(&outer)
        .args(["-f", "/dev/null", "new-session", "-d", "--"]);
    terminal.args([orange, "task", "attach", id.as_str()]);
    terminal
        .env_clear()
        .envs(stage.environment.variables())
        .env("TERM", "xterm");
    assert!(terminal.stdin(Stdio::null()).status().unwrap().success());
    let mut shown = String::new();
    let deadline = orange_config::clock::Deadline::after(crate::support::stage::SOON);
    let in_time = deadline.wait_for(|| {
        shown = stage.tmux(&["list-clients", "-F", "#{session_name} #{window_name}"]);
        !shown.is_empty()
    });
    let mut end = Command::new("tmux");
    let _gone = end.arg("-S").arg(&outer).arg("kill-server").output();
    assert!(in_time, "no client");
    assert!(
        shown.starts_with(&format!("app/orange-tasks/{id}")),
        "{shown}"
    );
}

#[test]
fn the_users_tmux_configuration_counts_in_agents_sessions() {
    let stage = Stage::new("default");
    let own = "set -g prefix C-a\nset -g mouse on\nset -g status-left mine\n";
    fs::write(stage.path("my.conf"), own).unwrap();
    let settings = "[tmux]\nconfig = \"~/my.conf\"\n";
    fs::write(stage.path("home/config.toml"), settings).unwrap();
    let shown = stage.run_ok(&["config", "show"]);
    let is_shown = |line: &str| line.contains("tmux.config") && line.contains("~/my.conf");
    assert!(shown.lines().any(is_shown), "{shown}");

    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str(), "--wait", "60"]);
    let option = |name: &str| stage.tmux(&["show-options", "-g", "-v", name]);
    assert_eq!(
        (option("prefix").trim(), option("mouse").trim()),
        ("C-a", "on")
    );
    // The line with the way back and the key for it stay.
    assert!(!option("status-left").contains("mine"));
    assert!(option("status-right").contains("F12: leave"));
    let keys = stage.tmux(&["list-keys", "-T", "root", "F12"]);
    assert!(keys.contains("detach-client"), "{keys}");
}

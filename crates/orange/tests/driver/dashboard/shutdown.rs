//! Signals, a closed terminal and a stop leave nothing behind.

use std::fs;
use std::process::Command;

use orange_engine::task::RunState;

use super::{open, process, signal};
use crate::support::{Stage, Terminal, wait_for};

/// A process's state letter; `None` if it is gone or a zombie.
fn state(process: u32) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let after = stat.rsplit(')').next().unwrap_or_default();
    after.trim().chars().next().filter(|state| *state != 'Z')
}

/// Command lines of this program that still run for the home.
fn left(stage: &Stage) -> Vec<String> {
    let home = format!("ORANGE_HOME={}", stage.home().path().display());
    let all = fs::read_dir("/proc").unwrap().flatten();
    let own = all.filter_map(|it| {
        let read = |name: &str| fs::read(it.path().join(name)).unwrap_or_default();
        let words = String::from_utf8_lossy(&read("cmdline")).replace('\0', " ");
        let is_ours = words
            .split(' ')
            .next()
            .is_some_and(|it| it.ends_with("/orange"));
        let environment = read("environ");
        let mut variables = environment.split(|byte| *byte == 0);
        (is_ours && variables.any(|it| it == home.as_bytes())).then_some(words)
    });
    own.collect()
}

/// Asserts that the next process can supervise at once.
fn assert_nothing_is_left(stage: &Stage, process: u32) {
    wait_for("the end of the dashboard", || state(process).is_none());
    wait_for("its lock", || !stage.driver().context.is_supervised());
    assert_eq!(left(stage), Vec::<String>::new());
    stage.run_ok(&["serve", "--detach"]);
    stage.run_ok(&["serve", "--stop"]);
}

#[test]
fn a_closed_terminal_ends_it_and_leaves_nothing() {
    let stage = Stage::new("default");
    stage.create(&["one", "Fix the roof"]);
    let terminal = open(&stage);
    terminal.wait_for("supervising");
    let process = process(&stage);
    terminal.close();
    assert_nothing_is_left(&stage, process);
}

#[test]
fn a_killed_terminal_ends_it_and_leaves_nothing() {
    let stage = Stage::new("default");
    stage.create(&["one", "Fix the roof"]);
    let terminal = open(&stage);
    terminal.wait_for("supervising");
    let process = process(&stage);
    signal("KILL", terminal.server());
    assert_nothing_is_left(&stage, process);
}

#[test]
fn a_terminal_that_is_closed_while_an_agent_is_shown_leaves_the_agent_alone() {
    let stage = Stage::new("default");
    stage.script("worker-1", "echo hello from the agent");
    let id = stage.create(&["one", "Fix the roof"]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    stage.wait_for_turn("worker-1");
    let terminal = open(&stage);
    let process = process(&stage);
    terminal.wait_for("Enter attach");
    terminal.press(&["Enter"]);
    wait_for("the agent's own terminal", || {
        let screen = terminal.screen();
        screen.contains("hello from the agent") && !screen.contains("? help")
    });
    terminal.close();
    wait_for("the end of the dashboard", || state(process).is_none());
    wait_for("its lock", || !stage.driver().context.is_supervised());
    wait_for("no client of the agent", || {
        stage.tmux(&["list-clients"]).is_empty()
    });
    assert_eq!(stage.panes(), ["worker:0"]);
    let runs = stage.task(&id).runs;
    assert!(runs.values().all(|run| run.state == RunState::Alive));
}

/// The tmux clients of a home that stay connected without a terminal.
fn control_clients(stage: &Stage) -> Vec<u32> {
    let socket = stage.home().tmux_socket().display().to_string();
    let all = fs::read_dir("/proc").unwrap().flatten();
    let clients = all.filter_map(|it| {
        let words = fs::read(it.path().join("cmdline")).unwrap_or_default();
        let words: Vec<&[u8]> = words.split(|byte| *byte == 0).collect();
        let is_client = words.contains(&socket.as_bytes()) && words.contains(&&b"-C"[..]);
        let pid: u32 = it.file_name().to_string_lossy().parse().ok()?;
        (is_client && state(pid).is_some()).then_some(pid)
    });
    clients.collect()
}

#[test]
fn a_killed_dashboard_leaves_no_client_and_the_server_can_end() {
    let stage = Stage::new("default");
    stage.script("worker-1", "echo hello from the agent");
    let id = stage.create(&["one", "Fix the roof"]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    stage.wait_for_turn("worker-1");
    let terminal = open(&stage);
    terminal.wait_for("supervising");
    terminal.wait_for("hello from the agent");
    wait_for("both clients", || control_clients(&stage).len() == 2);
    let server = stage.tmux(&["display-message", "-p", "#{pid}"]);
    let server = server.trim().parse().unwrap();
    signal("KILL", process(&stage));
    // tmux 3.3 keeps a client for which it has output.
    for name in ["x", "y", "z"] {
        stage.tmux(&["new-session", "-d", "-s", name, "sleep 1000"]);
    }
    wait_for("the end of the clients", || {
        control_clients(&stage).is_empty()
    });
    assert_eq!(stage.panes().len(), 4, "the server lives");
    stage.tmux(&["kill-server"]);
    wait_for("the end of the server", || state(server).is_none());
}

#[test]
fn a_client_that_is_killed_gives_the_terminal_back() {
    let stage = Stage::new("default");
    stage.script("worker-1", "echo hello from the agent");
    let id = stage.create(&["one", "Fix the roof"]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    stage.wait_for_turn("worker-1");
    let terminal = open(&stage);
    for _ in 0..2 {
        terminal.wait_for("Enter attach");
        terminal.press(&["Enter"]);
        let mut client = None;
        wait_for("the client in the terminal", || {
            let format = "#{client_control_mode} #{client_pid}";
            let clients = stage.tmux(&["list-clients", "-F", format]);
            let mut clients = clients.lines().filter_map(|it| it.strip_prefix("0 "));
            client = clients.next().map(|pid| pid.parse().unwrap());
            client.is_some() && !terminal.screen().contains("? help")
        });
        signal("KILL", client.unwrap());
        terminal.wait_for("? help");
        terminal.press(&["?"]);
        terminal.wait_for("Keys");
        terminal.press(&["Escape"]);
        wait_for("the end of the help", || {
            !terminal.screen().contains("Keys")
        });
    }
    assert_eq!(stage.panes(), ["worker:0"], "the agent is left alone");
    terminal.press(&["q"]);
    let end = terminal.finish();
    assert!(end.contains("[exit 0]"), "{end}");
    assert!(!end.contains("? help"), "{end}");
    assert_eq!(terminal.mode("#{alternate_on}"), "0");
    let settings = settings(&terminal);
    assert!(settings.contains(" icanon"), "{settings}");
    assert!(settings.contains(" echo "), "{settings}");
}

#[test]
fn it_shuts_down_cleanly_on_every_signal() {
    for name in ["TERM", "HUP", "INT"] {
        let stage = Stage::new("default");
        let terminal = open(&stage);
        let process = process(&stage);
        signal(name, process);
        let end = terminal.finish();
        assert_nothing_is_left(&stage, process);
        assert!(end.contains("[exit 0]"), "{name}: {end}");
        assert!(
            !end.contains("? help"),
            "the terminal was not restored: {end}"
        );
    }
}

#[test]
fn it_leaves_the_terminal_while_it_is_stopped() {
    let stage = Stage::new("default");
    let terminal = open(&stage);
    let process = process(&stage);
    terminal.press(&["C-z"]);
    wait_for("a stopped process", || state(process) == Some('T'));
    wait_for("the shell's own screen", || {
        !terminal.screen().contains("? help")
    });
    signal("CONT", process);
    terminal.wait_for("? help");
    terminal.press(&["?"]);
    terminal.wait_for("Keys");
    terminal.press(&["Escape"]);
    // Sent together, the two would be read as one key.
    wait_for("the end of the help", || {
        !terminal.screen().contains("Keys")
    });
    terminal.press(&["q"]);
    assert!(terminal.finish().contains("[exit 0]"));
}

#[test]
fn it_resumes_with_the_same_screen_after_every_suspend() {
    let stage = Stage::new("default");
    stage.create(&["one", "Fix the roof"]);
    stage.create(&["two", "Paint the door"]);
    let terminal = open(&stage);
    terminal.wait_for("QUEUE AND DONE 2");
    terminal.press(&["/"]);
    terminal.press(&["-l", "roof"]);
    terminal.press(&["Enter"]);
    terminal.press(&["4"]);
    terminal.wait_for("created it in `pending`");
    terminal.wait_for("QUEUE AND DONE 1");
    let process = process(&stage);
    for count in 2..5 {
        signal("TSTP", process);
        wait_for("a stopped process", || state(process) == Some('T'));
        wait_for("the shell's own screen", || {
            !terminal.screen().contains("? help")
        });
        stage.create(&[&format!("more-{count}"), "Another roof"]);
        signal("CONT", process);
        terminal.wait_for(&format!("QUEUE AND DONE {count}"));
        let screen = terminal.screen();
        for kept in ["/roof", "created it in `pending`", "? help"] {
            assert!(screen.contains(kept), "{kept}: {screen}");
        }
        assert!(!screen.contains("Paint the door"), "{screen}");
    }
    terminal.press(&["q"]);
    assert!(terminal.finish().contains("[exit 0]"));
    assert_nothing_is_left(&stage, process);
}

/// The terminal's own settings, such as `echo`.
fn settings(terminal: &Terminal<'_>) -> String {
    let mut stty = Command::new("stty");
    let output = stty.args(["-F", &terminal.mode("#{pane_tty}"), "-a"]);
    String::from_utf8(output.output().unwrap().stdout).unwrap()
}

#[test]
fn an_agent_that_is_killed_while_it_is_shown_leaves_the_terminal_as_it_was() {
    let stage = Stage::new("default");
    stage.script("worker-1", "echo hello from the agent");
    let id = stage.create(&["one", "Fix the roof"]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    stage.wait_for_turn("worker-1");
    let terminal = open(&stage);
    terminal.wait_for("Enter attach");
    terminal.press(&["Enter"]);
    wait_for("the agent's own terminal", || {
        let screen = terminal.screen();
        screen.contains("hello from the agent") && !screen.contains("? help")
    });
    let agent = stage.tmux(&["list-panes", "-a", "-F", "#{pane_pid}"]);
    signal("KILL", agent.trim().parse().unwrap());
    terminal.wait_for("Pane is dead");
    terminal.press(&["C-b", "d"]);
    terminal.wait_for("The agent has exited. Enter starts it again.");
    terminal.press(&["q"]);
    let end = terminal.finish();
    assert!(end.contains("[exit 0]"), "{end}");
    assert!(!end.contains("? help"), "{end}");
    assert_eq!(terminal.mode("#{alternate_on}"), "0");
    let settings = settings(&terminal);
    assert!(settings.contains(" icanon"), "{settings}");
    assert!(settings.contains(" echo "), "{settings}");
}

#[test]
fn the_modes_of_the_terminal_survive_a_killed_editor() {
    let mut stage = Stage::new("default");
    let editor = stage.path("editor");
    fs::write(
        &editor,
        "#!/bin/sh\nstty raw -echo -onlcr\ntouch \"$0.ran\"\nkill -9 $$\n",
    )
    .unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    fs::set_permissions(&editor, mode).unwrap();
    let variables = stage.environment.variables().clone().into_iter();
    let more = [("EDITOR".into(), editor.into_os_string())];
    stage.environment = orange_config::Environment::of(variables.chain(more));
    let line = "stty -g > modes; orange ; stty -g | diff - modes";
    let terminal = Terminal::start(&stage, "modes", 100, line);
    terminal.wait_for("? help");
    terminal.press(&["c"]);
    terminal.wait_for("New task");
    terminal.press(&["-l", "kept text"]);
    terminal.press(&["C-e"]);
    wait_for("the editor", || stage.path("editor.ran").exists());
    terminal.wait_for("your text is kept");
    terminal.press(&["Escape"]);
    terminal.wait_for("? help");
    terminal.press(&["q"]);
    let screen = terminal.finish();
    assert!(screen.contains("[exit 0]"), "{screen}");
}

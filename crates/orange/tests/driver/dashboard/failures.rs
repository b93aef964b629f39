//! Outside failures are reported, and cleared once they are fixed.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{fs, thread};

use rusqlite::Connection;

use super::{open, signal};
use crate::support::{Stage, Terminal, wait_for};

/// How long another process locks the database.
const LOCKED: Duration = Duration::from_secs(5);

/// How quickly a key must be answered whatever is broken: much sooner than any fix.
const AT_ONCE: Duration = Duration::from_secs(3);

/// Opens and closes the help, which must never wait.
fn assert_keys_are_answered(terminal: &Terminal<'_>) {
    let start = Instant::now();
    terminal.press(&["?"]);
    // The last line is drawn last.
    terminal.wait_for("Esc back");
    terminal.press(&["Escape"]);
    wait_for("no help", || {
        let screen = terminal.screen();
        !screen.contains("Keys") && screen.contains("? help")
    });
    assert!(start.elapsed() < AT_ONCE, "{:?}", start.elapsed());
}

#[test]
fn a_lost_tmux_server_is_reported_and_the_next_one_shown() {
    let stage = Stage::new("default");
    stage.script("worker-1", "echo hello from the first");
    stage.script("worker-2", "echo hello from the second");
    let id = stage.create(&["one", "Fix the roof"]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    stage.wait_for_turn("worker-1");
    let terminal = open(&stage);
    terminal.wait_for("hello from the first");
    terminal.wait_for(&format!("● {id}"));
    let server = stage.tmux(&["display-message", "-p", "#{pid}"]);
    signal("KILL", server.trim().parse().unwrap());
    terminal.wait_for(&format!("✗ {id}"));
    assert_keys_are_answered(&terminal);
    terminal.wait_for("Enter start agent");
    terminal.press(&["Enter"]);
    terminal.wait_for("hello from the second");
    terminal.wait_for(&format!("● {id}"));
    terminal.press(&["q"]);
    assert!(terminal.finish().contains("[exit 0]"));
}

/// A stopped tmux server that does not answer until this is dropped.
struct StoppedServer(u32);

impl StoppedServer {
    fn server(stage: &Stage) -> StoppedServer {
        let server = stage.tmux(&["display-message", "-p", "#{pid}"]);
        let server = server.trim().parse().unwrap();
        signal("STOP", server);
        StoppedServer(server)
    }
}

impl Drop for StoppedServer {
    fn drop(&mut self) {
        signal("CONT", self.0);
    }
}

#[test]
fn a_hanging_tmux_server_does_not_block_browsing() {
    let stage = Stage::new("default");
    stage.script("worker-1", "echo hello from the agent");
    let id = stage.create(&["one", "Fix the roof"]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    stage.wait_for_turn("worker-1");
    let terminal = open(&stage);
    terminal.wait_for("hello from the agent");
    terminal.wait_for("Enter attach");
    let stopped = StoppedServer::server(&stage);
    terminal.press(&["Enter"]);
    assert_keys_are_answered(&terminal);
    terminal.wait_for("Cannot attach");
    terminal.press(&["Escape"]);
    terminal.wait_for("? help");
    terminal.press(&["4"]);
    terminal.wait_for("created it in `pending`");
    drop(stopped);
    terminal.press(&["1"]);
    terminal.wait_for("hello from the agent");
    terminal.wait_for(&format!("● {id}"));
}

#[test]
fn waiting_for_a_busy_database_is_shown() {
    let stage = Stage::new("default");
    let id = stage.create(&["one", "Fix the roof"]);
    let terminal = open(&stage);
    terminal.wait_for("QUEUE AND DONE 1");
    terminal.wait_for("x cancel");
    let writer = Connection::open(stage.home().database()).unwrap();
    writer.execute_batch("BEGIN IMMEDIATE").unwrap();
    let since = Instant::now();
    terminal.press(&["x"]);
    terminal.wait_for(" Confirm ");
    terminal.press(&["y"]);
    terminal.wait_for("another process is writing to the database");
    assert_keys_are_answered(&terminal);
    terminal.press(&["4"]);
    terminal.wait_for("created it in `pending`");
    assert!(since.elapsed() < LOCKED, "{:?}", since.elapsed());
    assert_eq!(stage.task(&id).status.as_str(), "pending");
    thread::sleep(LOCKED.saturating_sub(since.elapsed()));
    writer.execute_batch("ROLLBACK").unwrap();
    stage.wait_for_status(&id, "cancelled");
    wait_for("no word of it", || {
        !terminal.screen().contains("another process")
    });
    terminal.press(&["q"]);
    assert!(terminal.finish().contains("[exit 0]"));
}

#[test]
fn a_locked_database_is_reported_and_read_afterwards() {
    let stage = Stage::new("default");
    stage.create(&["one", "Fix the roof"]);
    let holder = Connection::open(stage.home().database()).unwrap();
    let keep = "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; SELECT last FROM sequence";
    holder.execute_batch(keep).unwrap();
    let since = Instant::now();
    let terminal = open(&stage);
    terminal.wait_for("list may be stale");
    terminal.wait_for("database is locked");
    assert_keys_are_answered(&terminal);
    thread::sleep(LOCKED.saturating_sub(since.elapsed()));
    drop(holder);
    terminal.wait_for("QUEUE AND DONE 1");
    terminal.wait_for("supervising");
    assert!(
        !terminal.screen().contains("locked"),
        "{}",
        terminal.screen()
    );
    terminal.press(&["q"]);
    assert!(terminal.finish().contains("[exit 0]"));
}

/// The command that gives a process its own mounts; `None` where the system forbids that.
fn unshare() -> Option<&'static str> {
    let call = if rustix::process::geteuid().is_root() {
        "unshare --mount"
    } else {
        "unshare --mount --map-root-user"
    };
    let mut words = call.split(' ');
    let mut unshare = Command::new(words.next().unwrap());
    unshare
        .args(words)
        .args(["mount", "-t", "tmpfs", "none", "/mnt"]);
    let is_allowed = unshare.stdin(Stdio::null()).output();
    let is_allowed = is_allowed.is_ok_and(|it| it.status.success());
    assert!(
        is_allowed || std::env::var_os("CI").is_none(),
        "`{call}` is not allowed"
    );
    is_allowed.then_some(call)
}

/// Fills the form for a task with this summary, to be started later.
fn create(terminal: &Terminal<'_>, summary: &str) {
    terminal.press(&["c"]);
    terminal.wait_for("New task");
    terminal.press(&["-l", summary]);
    for _ in 0..7 {
        terminal.press(&["Tab"]);
    }
    terminal.press(&["Space"]);
    terminal.wait_for("later, with Enter");
    terminal.press(&["C-s"]);
}

#[test]
fn a_full_disk_is_reported_and_writing_resumes() {
    let Some(unshare) = unshare() else {
        println!("skipped: a disk of its own needs `unshare --mount`");
        return;
    };
    let stage = Stage::new("default");
    let root = stage.path("");
    // Next to the dashboard, a script fills its disk on request, and frees the space again.
    let script = format!(
        "cd '{root}' && cp -a home kept && mount -t tmpfs -o size=6m none home || exit 9
         cp -a kept/. home/
         (until [ -e fill ]; do sleep 0.1; done; cat /dev/zero > home/ballast; touch filled
          until [ -e room ]; do sleep 0.1; done; rm home/ballast; touch roomy) 2>/dev/null &
         cd repo; orange ",
        root = root.display()
    );
    let path = stage.path("on-a-small-disk");
    fs::write(
        &path,
        script.replace("orange ", env!("CARGO_BIN_EXE_orange")),
    )
    .unwrap();
    let line = format!("{unshare} sh '{}'", path.display());
    let terminal = Terminal::start(&stage, "dash", 100, &line);
    terminal.resize(100, 30);
    terminal.wait_for("No tasks in `app` yet.");
    create(&terminal, "Fix the roof");
    terminal.wait_for("QUEUE AND DONE 1");
    let read_script = |file: &str| {
        wait_for(file, || stage.path(file).exists());
    };
    fs::write(stage.path("fill"), "").unwrap();
    read_script("filled");
    create(&terminal, "Paint the door");
    terminal.wait_for("Task not created");
    let screen = terminal.screen().to_lowercase();
    assert!(
        screen.contains("full") || screen.contains("no space"),
        "{screen}"
    );
    terminal.press(&["Escape"]);
    terminal.wait_for("? help");
    assert_keys_are_answered(&terminal);
    assert!(terminal.screen().contains("QUEUE AND DONE 1"));
    fs::write(stage.path("room"), "").unwrap();
    read_script("roomy");
    // What was typed is still there.
    terminal.press(&["c"]);
    terminal.wait_for("Paint the door");
    terminal.press(&["C-s"]);
    terminal.wait_for("QUEUE AND DONE 2");
    terminal.wait_for("supervising");
    terminal.press(&["q"]);
    assert!(terminal.finish().contains("[exit 0]"));
}

#[test]
fn the_screen_of_a_killed_dashboard_is_cleared() {
    let stage = Stage::new("default");
    // What a killed one leaves: the other screen, with its text.
    let left = "printf '\\033[?1049h\\033[10;30Hold text'; orange ";
    let terminal = Terminal::start(&stage, "dash", 100, left);
    terminal.wait_for("? help");
    assert!(
        !terminal.screen().contains("old text"),
        "{}",
        terminal.screen()
    );
}

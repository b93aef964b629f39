//! Dashboard cost: the first frame, the slowest frames, and idle CPU.
//!
//! Run with `cargo bench -p orange --features crash-points --bench dashboard`; the feature makes
//! the real program log how long each frame took. `SESSIONS` sets the number of agents (default
//! 50), each of which prints 20 lines a second, `SECONDS` how long to watch (default 60), `ROUNDS`
//! how often the dashboard is started (default 15).
//! A quick run: `SESSIONS=10 SECONDS=5 ROUNDS=3`.
//!
//! The limits: the first frame within 60 ms for 1,000 tasks and within 250 ms for 10,000; update
//! and draw within 8 ms in 99 of 100 frames; 1 % of a core while idle; 10 ms from a key to its frame
//! if the dashboard runs in tmux.

#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a benchmark starts programs, measures time and prints what it measured"
)]

mod captures;
mod fleet;
mod shown;

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use serde_json::Value;

use crate::captures::captures;
use crate::fleet::{Fleet, number, used};
use crate::shown::Shown;

/// The time limit for the first frame, by number of tasks.
const FIRST_FRAMES: [(usize, Duration); 2] = [
    (1_000, Duration::from_millis(60)),
    (10_000, Duration::from_millis(250)),
];

/// The time limit for 99 of 100 frames.
const FRAME: Duration = Duration::from_millis(8);

/// The CPU limit while idle, in percent of a core.
const IDLE: f64 = 1.0;

/// The time limit from a key to its frame, through a tmux that the dashboard runs in.
const KEY: Duration = Duration::from_millis(10);

/// How many keys are pressed in tmux.
const KEYS: usize = 40;

fn main() {
    let mut arguments = std::env::args().skip(1);
    if arguments.next().as_deref() == Some("--print") {
        return print(Path::new(&arguments.next().unwrap()));
    }
    let mut missed = Vec::new();
    for (tasks, limit) in FIRST_FRAMES {
        let first = first_frames(tasks);
        let (median, worst) = (at(&first, 50), at(&first, 100));
        println!("first frame of {tasks} tasks: {median:.1?}, worst {worst:.1?} (limit {limit:?})");
        if median > limit {
            missed.push(format!("a first frame of {tasks} tasks takes {median:.1?}"));
        }
    }
    busy_and_idle(&mut missed);
    assert!(missed.is_empty(), "{}", missed.join("; "));
}

/// An agent that prints 20 lines a second until the file `quiet` exists.
fn print(quiet: &Path) {
    let mut count = 0;
    loop {
        if !quiet.exists() {
            count += 1;
            let mut stdout = std::io::stdout().lock();
            let _closed = writeln!(stdout, "line {count} of what an agent says as it works");
        }
        thread::sleep(Duration::from_millis(50));
    }
}

/// The given percentile of the times.
fn at(times: &[Duration], percent: usize) -> Duration {
    let mut times = times.to_vec();
    times.sort_unstable();
    let last = times.len() - 1;
    times[(times.len() * percent / 100).min(last)]
}

fn dashboard(fleet: &Fleet) -> Command {
    let mut orange = Command::new(env!("CARGO_BIN_EXE_orange"));
    orange.env_clear().envs(fleet.environment().variables());
    orange.env("TERM", "xterm-256color").env("LANG", "C.UTF-8");
    orange.current_dir(fleet.path("repo"));
    orange
}

/// The time from program start to a frame with every line of the list.
fn first_frames(tasks: usize) -> Vec<Duration> {
    let fleet = Fleet::new(0, "/bin/sh", &["-c", "exit"]);
    fill(&fleet, tasks);
    let heading = format!("QUEUE AND DONE {tasks} ");
    let rounds = (0..number("ROUNDS", 15)).map(|_| {
        let mut shown = Shown::start(dashboard(&fleet), 100, 30);
        let full = shown.wait_for("a full frame", |lines| {
            let rows = lines.iter().filter(|line| line.contains(" pending "));
            let is_headed = lines.iter().any(|line| line.contains(&heading));
            let is_whole = lines.last().is_some_and(|line| line.contains("q quit"));
            is_headed && is_whole && rows.count() >= 10
        });
        full - shown.started_at()
    });
    rounds.collect()
}

/// Creates one task with the real command, and copies it as often as needed.
fn fill(fleet: &Fleet, tasks: usize) {
    let mut create = dashboard(fleet);
    let summary = "Say in a sentence of an ordinary length what is to be done";
    create.args(["task", "create", "--no-spawn", "--quiet", summary]);
    assert!(create.stdout(Stdio::null()).status().unwrap().success());
    let connection = Connection::open(fleet.path("home/orange.db")).unwrap();
    let more = format!(
        "PRAGMA synchronous = OFF; BEGIN;
         CREATE TEMP TABLE numbers AS WITH RECURSIVE n (n) AS
             (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {}) SELECT n FROM n;
         INSERT INTO tasks SELECT printf('t%05d', n), project, version, status, workflow,
             workflow_hash, replace(snapshot, id, printf('t%05d', n)), directory || n, sequence,
             parent FROM tasks, numbers;
         INSERT INTO task_rows SELECT printf('t%05d', n), project, status, workflow_hash, branch,
             summary || ' ' || n, n % 4, entered_at, attention, runs FROM task_rows, numbers;
         COMMIT;",
        tasks - 1
    );
    connection.execute_batch(&more).unwrap();
}

/// Whether a screen shows a text.
fn has(text: &str) -> impl Fn(&[String]) -> bool {
    move |lines| lines.iter().any(|line| line.contains(text))
}

/// Many agents that print, then the same agents while silent.
fn busy_and_idle(missed: &mut Vec<String>) {
    let sessions = number("SESSIONS", 50);
    let time = Duration::from_secs(number("SECONDS", 60).try_into().unwrap());
    let quiet = std::env::temp_dir().join(format!("o-bench-quiet-{}", std::process::id()));
    let program = std::env::current_exe().unwrap();
    let arguments = ["--print", quiet.to_str().unwrap()];
    let fleet = Fleet::new(sessions, program.to_str().unwrap(), &arguments);
    fs::create_dir_all(fleet.path("home/crash-points")).unwrap();
    fs::write(fleet.path("home/crash-points/frames"), "").unwrap();
    let mut shown = Shown::start(dashboard(&fleet), 160, 50);
    let running = format!("RUNNING {sessions} ");
    shown.wait_for("every agent", |lines| {
        lines.iter().any(|line| line.contains(&running))
    });
    shown.wait_for("what an agent says", has("of what an agent says"));
    thread::sleep(Duration::from_secs(2));

    let before = frames(&fleet).len();
    let start = Instant::now();
    let mut keys = Vec::new();
    while start.elapsed() < time {
        keys.push(shown.press("?", "the help", has("half a page down")));
        let is_back = |lines: &[String]| !has("half a page down")(lines);
        keys.push(shown.press("q", "no help", is_back));
        // Select one agent after the other.
        shown.press("j", "another agent", has("of what an agent says"));
        thread::sleep(Duration::from_millis(300));
    }
    let times = frames(&fleet).split_off(before);
    let (middle, most) = (at(&times, 50), at(&times, 99));
    println!(
        "update and draw while {sessions} agents print 20 lines a second: {middle:.2?}, \
         p99 {most:.2?} of {} frames (limit {FRAME:?})",
        times.len()
    );
    if most > FRAME {
        missed.push(format!("update and draw take {most:.2?}"));
    }
    println!(
        "from key to frame meanwhile: {:.1?}, p99 {:.1?} of {} keys",
        at(&keys, 50),
        at(&keys, 99),
        keys.len()
    );
    let other = captures(&fleet);
    println!("one capture-pane process per session, once, meanwhile: {other:.1?}");

    fs::write(&quiet, "").unwrap();
    thread::sleep(Duration::from_secs(3));
    let (start, before) = (Instant::now(), used(shown.pid()));
    thread::sleep(time);
    let share = (used(shown.pid()) - before) / start.elapsed().as_secs_f64() * 100.0;
    println!("idle with {sessions} tasks: {share:.2} % of a core (limit {IDLE} %)");
    if share > IDLE {
        missed.push(format!(
            "{share:.2} % of a core are used while nothing happens"
        ));
    }
    println!(
        "one capture-pane process per session, once, in silence: {:.1?}",
        captures(&fleet)
    );
    drop(shown);
    let keys = keys_in_tmux(&fleet);
    let (middle, most) = (at(&keys, 50), at(&keys, 99));
    println!("from key to frame in tmux: {middle:.1?}, p99 {most:.1?} (limit {KEY:?})");
    if middle > KEY {
        missed.push(format!("a key takes {middle:.1?} to its frame in tmux"));
    }
    fs::remove_file(quiet).unwrap();
}

/// The time from a key to its frame, if the dashboard runs in tmux, as it often does.
fn keys_in_tmux(fleet: &Fleet) -> Vec<Duration> {
    let tmux = || {
        let mut tmux = Command::new("tmux");
        tmux.env_clear().envs(fleet.environment().variables());
        tmux.env("TERM", "xterm-256color").env("LANG", "C.UTF-8");
        tmux.args(["-u", "-f", "/dev/null", "-S"]);
        tmux.arg(fleet.path("outer"))
            .current_dir(fleet.path("repo"));
        tmux
    };
    let shows = |text: &str| {
        let screen = tmux().args(["capture-pane", "-p"]).output().unwrap();
        String::from_utf8_lossy(&screen.stdout).contains(text)
    };
    let mut start = tmux();
    start.args(["new-session", env!("CARGO_BIN_EXE_orange")]);
    let mut shown = Shown::start(start, 160, 50);
    let start = Instant::now();
    while !shows("? help") {
        assert!(start.elapsed() < Duration::from_mins(1), "no dashboard");
        thread::sleep(Duration::from_millis(100));
    }
    thread::sleep(Duration::from_secs(3));
    shown.press_until_quiet("j");
    let mut keys = Vec::new();
    for _ in 0..KEYS / 2 {
        keys.push(shown.press_until_quiet("?"));
        assert!(shows("half a page down"), "the help is not shown");
        keys.push(shown.press_until_quiet("q"));
        assert!(!shows("half a page down"), "the help is still shown");
    }
    assert!(tmux().arg("kill-server").status().unwrap().success());
    keys
}

/// The logged duration of each frame.
fn frames(fleet: &Fleet) -> Vec<Duration> {
    let written = fs::read_to_string(fleet.path("home/crash-points/frames")).unwrap();
    let micros = written.lines().filter_map(|line| {
        let line: Value = serde_json::from_str(line).ok()?;
        line["micros"].as_u64()
    });
    micros.map(Duration::from_micros).collect()
}

//! `orange task list` and `--help` against minimal programs with the same output.
//!
//! Run with `cargo bench -p orange --bench list`. The list of ten thousand tasks may take twice as
//! long as a program that selects the same rows and prints the same bytes (this one, started with
//! `--select`), the help three times as long as a program that does nothing (`--nothing`). The
//! bench alternates between them, so that a noisy machine affects all alike. `supervise` measures a
//! list of live agents.

#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a benchmark starts programs, measures time and prints what it measured"
)]

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags};
use tempfile::TempDir;

const TASKS: usize = 10_000;
const ROUNDS: usize = 40;
const LIST_LIMIT: f64 = 2.0;
const HELP_LIMIT: f64 = 3.0;

fn main() {
    let mut arguments = std::env::args().skip(1);
    match arguments.next().as_deref() {
        Some("--nothing") => return,
        Some("--select") => return select(Path::new(&arguments.next().unwrap())),
        _ => {}
    }
    let root = TempDir::new().unwrap();
    prepare(root.path());
    let home = root.path().join("home");
    let printed = orange(root.path(), &["task", "list"]).output().unwrap();
    let lines = String::from_utf8_lossy(&printed.stdout).lines().count();
    assert_eq!(lines, TASKS + 1, "{printed:?}");
    fs::write(home.join("printed"), &printed.stdout).unwrap();
    let own = |arguments: &[&Path]| {
        let mut own = Command::new(std::env::current_exe().unwrap());
        own.args(arguments).env_clear();
        own
    };
    let mut times: [Vec<Duration>; 4] = std::array::from_fn(|_| Vec::new());
    for _ in 0..ROUNDS {
        times[0].push(timed(&mut orange(root.path(), &["task", "list"])));
        times[1].push(timed(&mut own(&[Path::new("--select"), &home])));
        times[2].push(timed(&mut orange(root.path(), &["--help"])));
        times[3].push(timed(&mut own(&[Path::new("--nothing")])));
    }
    let [list, select, help, nothing] = times.map(median);
    let of = |ours: Duration, least: Duration| ours.as_secs_f64() / least.as_secs_f64();
    let (listing, helping) = (of(list, select), of(help, nothing));
    println!("list {list:?}, select {select:?}, ratio {listing:.2}, {TASKS} tasks");
    println!("help {help:?}, nothing {nothing:?}, ratio {helping:.2}, {ROUNDS} rounds in turns");
    assert!(listing <= LIST_LIMIT, "the ratio {listing:.2} is over");
    assert!(helping <= HELP_LIMIT, "the ratio {helping:.2} is over");
}

/// Selects the rows that the list shows, and prints the list's recorded output.
fn select(home: &Path) {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(home.join("orange.db"), flags).unwrap();
    let sql = "SELECT task, project, status, branch, summary, round, entered_at, attention, runs
               FROM task_rows ORDER BY entered_at";
    let mut statement = connection.prepare(sql).unwrap();
    let mut rows = statement.query([]).unwrap();
    let mut read = 0;
    while let Some(row) = rows.next().unwrap() {
        for column in [0, 1, 2, 3, 4, 6, 7, 8] {
            read += row.get::<_, String>(column).unwrap().len();
        }
    }
    assert!(read > 0);
    let printed = fs::read(home.join("printed")).unwrap();
    std::io::stdout().lock().write_all(&printed).unwrap();
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn timed(command: &mut Command) -> Duration {
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    let start = Instant::now();
    let output = command.output().unwrap();
    let took = start.elapsed();
    assert!(output.status.success(), "{output:?}");
    took
}

fn orange(root: &Path, arguments: &[&str]) -> Command {
    let mut orange = Command::new(env!("CARGO_BIN_EXE_orange"));
    orange.args(arguments).current_dir(root.join("repo"));
    orange
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap());
    orange
        .env("HOME", root)
        .env("ORANGE_HOME", root.join("home"));
    orange
}

/// Creates one task with the real commands, and copies it as often as needed.
fn prepare(root: &Path) {
    for folder in ["home/harnesses", "repo"] {
        fs::create_dir_all(root.join(folder)).unwrap();
    }
    let harness = "name = \"script\"\nbinary = \"/bin/sh\"\n[args]\nfull = [\"{prompt_file}\"]\n";
    fs::write(root.join("home/harnesses/script.toml"), harness).unwrap();
    let identity = ["-c", "user.name=A", "-c", "user.email=a@example.org"];
    for arguments in [
        &["init", "-q"][..],
        &["commit", "-q", "--allow-empty", "-m", "x"],
    ] {
        let mut git = Command::new("git");
        git.args(identity)
            .args(arguments)
            .current_dir(root.join("repo"));
        timed(&mut git);
    }
    timed(&mut orange(
        root,
        &["project", "add", "--harness", "script"],
    ));
    let summary = "Say in a sentence of an ordinary length what is to be done";
    timed(&mut orange(
        root,
        &["task", "create", summary, "--no-spawn"],
    ));
    let connection = Connection::open(root.join("home/orange.db")).unwrap();
    let more = format!(
        "PRAGMA synchronous = OFF; BEGIN;
         CREATE TEMP TABLE numbers AS WITH RECURSIVE n (n) AS
             (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {}) SELECT n FROM n;
         INSERT INTO tasks (id, project, version, status, workflow, workflow_hash, snapshot,
             directory, sequence) SELECT printf('t%05d', n), project, version, status, workflow,
             workflow_hash, snapshot, directory || n, sequence FROM tasks, numbers;
         INSERT INTO task_rows SELECT printf('t%05d', n), project, status, workflow_hash, branch,
             summary || ' ' || n, n % 4, entered_at, attention, runs FROM task_rows, numbers;
         COMMIT;",
        TASKS - 1
    );
    connection.execute_batch(&more).unwrap();
}

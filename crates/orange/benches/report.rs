//! `orange report` against a program that only reads the same rows.
//!
//! Run with `cargo bench -p orange --bench report`. There are ten thousand tasks with 300,000
//! events over 300 days. A report of a week may take three times as long as a program that selects
//! the same events and costs (this one, started with `--select`), and may take no longer than twice
//! that of a home with only that week (`--since` limits what is read). The bench alternates between
//! them, so that a noisy machine affects all alike.

#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a benchmark starts programs, measures time and prints what it measured"
)]

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags};
use tempfile::TempDir;

const TASKS: usize = 10_000;
const DAYS: usize = 300;
const ROUNDS: usize = 20;
const SELECT_LIMIT: f64 = 3.0;
const SMALL_LIMIT: f64 = 2.0;

/// The start of the window, as SQL.
const WEEK_AGO: &str = "strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-7 days')";

fn main() {
    let mut arguments = std::env::args().skip(1);
    if arguments.next().as_deref() == Some("--select") {
        return select(Path::new(&arguments.next().unwrap()));
    }
    let (all, week) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    prepare(all.path(), TASKS, DAYS);
    prepare(week.path(), TASKS * 7 / DAYS, 7);
    let printed = orange(all.path(), &["report"]).output().unwrap();
    println!("{}", String::from_utf8_lossy(&printed.stdout));
    let mut times: [Vec<Duration>; 4] = std::array::from_fn(|_| Vec::new());
    for _ in 0..ROUNDS {
        times[0].push(timed(&mut orange(all.path(), &["report"])));
        let mut select = Command::new(std::env::current_exe().unwrap());
        select
            .arg("--select")
            .arg(all.path().join("home"))
            .env_clear();
        times[1].push(timed(&mut select));
        times[2].push(timed(&mut orange(week.path(), &["report"])));
        times[3].push(timed(&mut orange(
            all.path(),
            &["report", "--since", "300d"],
        )));
    }
    let [report, select, small, whole] = times.map(median);
    let of = |ours: Duration, least: Duration| ours.as_secs_f64() / least.as_secs_f64();
    let (to_select, to_small) = (of(report, select), of(report, small));
    println!("a week of {TASKS} tasks: {report:?}, select {select:?}, ratio {to_select:.2}");
    println!("only that week: {small:?}, ratio {to_small:.2}; all {DAYS} days: {whole:?}");
    assert!(
        to_select <= SELECT_LIMIT,
        "the ratio {to_select:.2} is over"
    );
    assert!(to_small <= SMALL_LIMIT, "the ratio {to_small:.2} is over");
}

/// Reads the events and the costs of a week.
fn select(home: &Path) {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(home.join("orange.db"), flags).unwrap();
    let mut read = 0;
    for sql in [
        format!("SELECT event FROM events WHERE at >= {WEEK_AGO} ORDER BY task, version"),
        format!("SELECT task FROM spend WHERE counted_at >= {WEEK_AGO}"),
    ] {
        let mut statement = connection.prepare(&sql).unwrap();
        let mut rows = statement.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            read += row.get::<_, String>(0).unwrap().len();
        }
    }
    assert!(read > 0);
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

/// Creates one task with the real commands, and copies it: each copy has thirty events, two runs
/// with a cost, and ends a day after it was created.
fn prepare(root: &Path, tasks: usize, days: usize) {
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
         CREATE TEMP TABLE first AS SELECT event FROM events WHERE version = 1;
         CREATE TEMP TABLE numbers AS WITH RECURSIVE n (n) AS
             (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {tasks}) SELECT n FROM n;
         INSERT INTO tasks (id, project, version, status, workflow, workflow_hash, snapshot,
             directory, sequence) SELECT printf('t%05d', n), project, 30, status, workflow,
             workflow_hash, snapshot, directory || n, sequence FROM tasks, numbers;
         INSERT INTO task_rows SELECT printf('t%05d', n), project, status, workflow_hash, branch,
             summary || ' ' || n, n % 4, entered_at, attention, runs FROM task_rows, numbers;
         CREATE TEMP TABLE times AS SELECT n, value AS version,
             strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-' || (n * {days} * 1440 / {tasks}) ||
                 ' minutes', '+' || (value * 45) || ' minutes') AS at
             FROM numbers, (SELECT n AS value FROM numbers WHERE n <= 30);
         COMMIT;"
    );
    connection.execute_batch(&more).unwrap();
    fill(&connection);
}

/// Gives each task its events: one in three changes the status, the others are bookkeeping.
fn fill(connection: &Connection) {
    let change = |from: &str, to: &str, trigger: &str| {
        format!(
            "json_object('version', version, 'at', at, 'type', 'status.changed', 'from', '{from}',
                 'to', '{to}', 'trigger', '{trigger}', 'by', 'human')"
        )
    };
    let sql = format!(
        "BEGIN;
         INSERT INTO events (task, version, sequence, at, event)
         SELECT printf('t%05d', n), version, 1, at, CASE
             WHEN version = 1 THEN json_set((SELECT event FROM first), '$.at', at)
             WHEN version = 2 THEN {}
             WHEN version = 30 THEN {}
             WHEN version % 6 = 0 THEN {}
             WHEN version % 6 = 3 THEN {}
             WHEN version = 11 THEN json_object('version', version, 'at', at, 'type', 'run.ended',
                 'run', 'r', 'role', 'worker', 'evidence', json('{{\"cause\":\"network\"}}'))
             ELSE json_object('version', version, 'at', at, 'type', 'field.set', 'field', 'a',
                 'value', version) END
         FROM times;
         INSERT INTO spend (task, run, day, harness, model, tokens, money, is_unpriced, counted_at)
         SELECT printf('t%05d', n), 'r' || version, substr(at, 1, 10), 'script', NULL, n * 7, n,
             0, at FROM times WHERE version IN (15, 30);
         COMMIT;",
        change("pending", "working", "request"),
        change("reviewing", "done", "merged"),
        change("working", "reviewing", "request"),
        change("reviewing", "working", "request"),
    );
    connection.execute_batch(&sql).unwrap();
}

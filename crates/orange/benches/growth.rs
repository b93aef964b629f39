//! How command times grow from 10 to 1,000 and 10,000 tasks.
//!
//! Run with `cargo bench -p orange --bench growth`. A command about one task may take 1.3 times as
//! long with 10,000 tasks as with 10, and a list of 1,000 may take ten milliseconds longer than one
//! of 10. The bench alternates between the homes, so that a noisy machine affects all of them
//! alike. All tasks are queued: half of the table is about tasks without a requested start, the
//! other half about tasks that a limit holds back.

#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a benchmark starts programs, measures time and prints what it measured"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use tempfile::TempDir;

const SIZES: [usize; 3] = [10, 1_000, 10_000];
const ROUNDS: usize = 21;
const ONE_TASK_LIMIT: f64 = 1.3;
const LIST_LIMIT: Duration = Duration::from_millis(10);

/// Commands about one task; `BRANCH` is the task's branch, `NEW` an unused branch name.
const COMMANDS: [(&str, &[&str]); 4] = [
    (
        "create",
        &["create", "--no-spawn", "--branch", "NEW", "A summary"],
    ),
    ("show", &["show", "BRANCH"]),
    ("why", &["why", "BRANCH"]),
    ("update", &["update", "BRANCH", "--summary", "NEW"]),
];

fn main() {
    let mut is_slow = false;
    for starts_itself in [false, true] {
        let kind = if starts_itself {
            "held back by a limit"
        } else {
            "not to be started"
        };
        println!("{kind}, medians of {ROUNDS} rounds in turns:");
        let homes: Vec<Home> = SIZES.map(|size| Home::of(size, starts_itself)).into();
        for (name, words) in COMMANDS {
            let times = measure(&homes, |home, round| home.task(words, round));
            let growth = times[2].as_secs_f64() / times[0].as_secs_f64();
            println!("  {name:<8} {}, {growth:.2} times", times_text(&times));
            is_slow |= growth > ONE_TASK_LIMIT;
        }
        let times = measure(&homes, |home, round| home.task(&["list"], round));
        let longer = times[1].saturating_sub(times[0]);
        println!("  list     {}, {longer:.1?} longer", times_text(&times));
        is_slow |= longer > LIST_LIMIT;
    }
    assert!(!is_slow, "something is over its limit");
}

fn times_text(times: &[Duration]) -> String {
    let sizes = SIZES.iter().zip(times);
    let bodies: Vec<String> = sizes
        .map(|(size, took)| format!("{size}: {took:.1?}"))
        .collect();
    bodies.join(", ")
}

fn measure(homes: &[Home], command: impl Fn(&Home, usize) -> Command) -> Vec<Duration> {
    let mut times: Vec<Vec<Duration>> = homes.iter().map(|_| Vec::new()).collect();
    for round in 0..ROUNDS {
        for (home, times) in homes.iter().zip(&mut times) {
            times.push(timed(&mut command(home, round)));
        }
    }
    times.into_iter().map(median).collect()
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

/// A home with a given number of tasks.
struct Home {
    root: TempDir,
}

impl Home {
    /// Creates one task with the real commands, and copies it as often as needed.
    fn of(size: usize, starts_itself: bool) -> Home {
        let root = TempDir::new().unwrap();
        let home = Home { root };
        for folder in ["home/harnesses", "repo"] {
            fs::create_dir_all(home.path(folder)).unwrap();
        }
        let harness =
            "name = \"script\"\nbinary = \"/bin/sh\"\n[args]\nfull = [\"{prompt_file}\"]\n";
        fs::write(home.path("home/harnesses/script.toml"), harness).unwrap();
        let identity = ["-c", "user.name=A", "-c", "user.email=a@example.org"];
        for arguments in [
            &["init", "-q"][..],
            &["commit", "-q", "--allow-empty", "-m", "x"],
        ] {
            let mut git = Command::new("git");
            git.args(identity).args(arguments);
            timed(git.current_dir(home.path("repo")));
        }
        let limits = "[limits]\nagents = 1\n";
        fs::write(home.path("home/config.toml"), limits).unwrap();
        timed(&mut home.orange(["project", "add", "--harness", "script"]));
        let summary = "Say in a sentence of an ordinary length what is to be done";
        timed(&mut home.task(&["create", "--no-spawn", "measured", summary], 0));
        let database = Connection::open(home.path("home/orange.db")).unwrap();
        database
            .execute_batch(&copy_tasks_sql(size - 1, starts_itself))
            .unwrap();
        home
    }

    fn path(&self, below: &str) -> PathBuf {
        self.root.path().join(below)
    }

    fn task(&self, words: &[&str], round: usize) -> Command {
        let new = format!("new-{}-{round}", words[0]);
        let words = words.iter().map(|word| match *word {
            "BRANCH" => "measured",
            "NEW" => new.as_str(),
            word => word,
        });
        self.orange(["task"].into_iter().chain(words))
    }

    fn orange<'a>(&self, words: impl IntoIterator<Item = &'a str>) -> Command {
        let mut orange = Command::new(env!("CARGO_BIN_EXE_orange"));
        let path: &Path = self.root.path();
        orange
            .args(words)
            .current_dir(path.join("repo"))
            .env_clear();
        orange
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", path)
            .env("ORANGE_HOME", path.join("home"));
        orange
    }
}

/// Copies the only task, giving each copy its own id and branch. One of them has the only agent
/// that may run.
fn copy_tasks_sql(copies: usize, starts_itself: bool) -> String {
    let starts = if starts_itself { "true" } else { "false" };
    let (id, branch) = ("printf('t%05d', n)", "printf('task/t%05d', n)");
    format!(
        "PRAGMA synchronous = OFF; BEGIN;
         CREATE TEMP TABLE numbers AS WITH RECURSIVE n (n) AS
             (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {copies}) SELECT n FROM n;
         UPDATE tasks SET snapshot = json_set(snapshot, '$.starts_itself', json('{starts}'));
         INSERT INTO tasks (id, project, version, status, workflow, workflow_hash, snapshot,
             directory, sequence) SELECT {id}, project, version, status, workflow, workflow_hash,
             json_set(snapshot, '$.id', {id}, '$.branch', {branch}), 'tasks/repo/' || {id}, sequence
             FROM tasks, numbers;
         INSERT INTO task_rows SELECT {id}, project, status, workflow_hash, {branch},
             summary || ' ' || n, 0, entered_at, attention, runs FROM task_rows, numbers;
         INSERT INTO events SELECT {id}, version, sequence, at, event FROM events, numbers;
         INSERT INTO imports (task, version, by_role, is_request, stray, hash, at)
             SELECT {id}, version, by_role, is_request, stray, hash, at FROM imports, numbers;
         UPDATE tasks SET status = 'working', snapshot = json_set(snapshot, '$.status', 'working')
             WHERE id = 't00001';
         UPDATE task_rows SET status = 'working' WHERE task = 't00001';
         COMMIT;"
    )
}

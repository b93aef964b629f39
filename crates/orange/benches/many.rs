//! Starting many tasks with one command, against the bare commands.
//!
//! Run with `cargo bench -p orange --bench many`; `TASKS` sets how many (default 100), `FILES` the
//! size of the repository (default 2,000). Bare means one `git worktree add` and one `tmux
//! new-session` per task, one after the other. It fails below 20 tasks per second.

#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a benchmark starts programs, measures time and prints what it measured"
)]

mod stage;

use std::fmt::Write as _;
use std::fs;
use std::time::Duration;

use crate::stage::{Stage, median, timed};

/// How many tasks per second must be created and started.
const LIMIT: f64 = 20.0;

fn number(name: &str, default: usize) -> usize {
    std::env::var(name).map_or(default, |text| text.parse().unwrap())
}

fn add_files(stage: &Stage, files: usize) {
    for number in 0..files {
        let folder = stage.path(&format!("repo/src/{}", number % 50));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(format!("{number}.txt")), "text\n".repeat(50)).unwrap();
    }
    timed(stage.command("git").args(["add", "-A"]));
    timed(stage.command("git").args(["commit", "-q", "-m", "files"]));
}

fn bare(stage: &Stage, tasks: usize) -> Vec<Duration> {
    let socket = stage.path("bare.sock").display().to_string();
    let one = |number| {
        let branch = format!("bare-{number}");
        let worktree = stage.path(&branch).display().to_string();
        let mut git = stage.command("git");
        git.args(["worktree", "add", "-q", "-b", &branch, &worktree]);
        let mut tmux = stage.command("tmux");
        tmux.args(["-S", &socket, "new-session", "-d", "-s", &branch, "-c"]);
        timed(&mut git) + timed(tmux.args([&worktree, "sleep", "600"]))
    };
    let times = (0..tasks).map(one).collect();
    let mut tmux = stage.command("tmux");
    timed(tmux.args(["-S", &socket, "kill-server"]));
    times
}

/// One command for all tasks, whose summaries begin with this word.
fn ours(stage: &Stage, tasks: usize, word: &str, more: &[&str]) -> Duration {
    let mut list = String::new();
    for number in 0..tasks {
        writeln!(list, "- {word} number {number}").unwrap();
    }
    let path = stage.path("list.md");
    fs::write(&path, list).unwrap();
    let mut orange = stage.orange(&["task", "create", "--wait", "600", "--from"]);
    timed(orange.arg(path).args(more))
}

fn main() {
    let (tasks, files) = (number("TASKS", 100), number("FILES", 2_000));
    let stage = Stage::new(&format!("[pool]\nsize = {}\n", tasks + 1));
    add_files(&stage, files);
    // The first task starts the tmux server.
    timed(&mut stage.orange(&["task", "create", "--branch", "first", "First"]));
    let bare_times = bare(&stage, tasks);
    let bare: Duration = bare_times.iter().sum();
    let created = ours(&stage, tasks, "Queued", &["--no-spawn"]);
    let started = ours(&stage, tasks, "Started", &[]);
    let socket = stage.path("home/tmux.sock").display().to_string();
    let mut tmux = stage.command("tmux");
    timed(tmux.args(["-S", &socket, "kill-server"]));
    println!("{tasks} tasks in a repository of {files} files:");
    println!("one bare start, median     {:8.2?}", median(bare_times));
    let mut rates = Vec::new();
    for (what, took) in [
        ("bare worktree and session", bare),
        ("created", created),
        ("created and started", started),
    ] {
        let count = f64::from(u32::try_from(tasks).unwrap());
        let rate = count / took.as_secs_f64();
        println!("{what:26} {took:8.2?}  {rate:6.1} per second");
        rates.push(rate);
    }
    println!("started, ratio to bare: {:.2}", rates[0] / rates[2]);
    for rate in &rates[1..] {
        assert!(*rate >= LIMIT, "{rate:.1} per second is less than {LIMIT}");
    }
}

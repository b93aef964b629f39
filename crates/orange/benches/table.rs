//! The main commands against the bare ones, as one table of ratios.
//!
//! Run with `just bench`. Bare and ours run in turns, so that a busy machine slows both; compare
//! ratios, not milliseconds. `ROUNDS` sets how often (default 15); the median counts. The bare
//! commands do the same work on the same repository of 2,000 files: git and tmux for a start, a
//! program that makes the same durable writes for an update, a `SELECT` of the same rows for a list.

#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a benchmark starts programs, measures time and prints what it measured"
)]

mod copies;
mod minimal_select;
mod minimal_update;
mod stage;

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::copies::copy_task;
use crate::minimal_select::select;
use crate::minimal_update::minimal;
use crate::stage::{Stage, median, timed};

/// The number of files in the repository.
const FILES: usize = 2000;

/// What one line compares.
#[derive(Default)]
struct Row {
    name: &'static str,
    bare_name: &'static str,
    bare: Vec<Duration>,
    ours: Vec<Duration>,
    goal: &'static str,
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    match arguments.next().as_deref() {
        Some("--minimal") => return minimal(Path::new(&arguments.next().unwrap())),
        Some("--select") => return select(Path::new(&arguments.next().unwrap())),
        _ => {}
    }
    let rounds = std::env::var("ROUNDS").map_or(15, |text| text.parse().unwrap());
    let mut rows = starts(rounds);
    rows.push(update(rounds));
    rows.extend(lists(rounds));
    println!("{rounds} rounds in turns, medians in milliseconds:");
    println!();
    println!("| work | bare | ours | ratio | ours − bare | goal |");
    println!("|---|---|---|---|---|---|");
    for row in rows {
        let [bare, ours] = [row.bare, row.ours].map(|it| median(it).as_secs_f64() * 1000.0);
        let (name, bare_name, goal) = (row.name, row.bare_name, row.goal);
        let (ratio, more) = (ours / bare, ours - bare);
        println!(
            "| {name} | {bare_name}: {bare:.1} | {ours:.1} | {ratio:.2} | {more:.1} | {goal} |"
        );
    }
}

/// This program, as one of the minimal ones.
fn own(mode: &str, folder: &Path) -> Command {
    let mut own = Command::new(std::env::current_exe().unwrap());
    own.arg(mode).arg(folder).env_clear();
    own
}

/// A stage with the files, and two worktrees for the bare commands.
fn stage_with_files() -> Stage {
    let stage = Stage::new("[pool]\nsize = 500\n");
    for number in 0..FILES {
        let folder = stage.path(&format!("repo/src/{}", number % 50));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(format!("{number}.txt")), "text\n".repeat(50)).unwrap();
    }
    for line in [
        "add -A",
        "commit -q -m files",
        "worktree add -q --detach ../bare",
    ] {
        git(&stage, line);
    }
    stage
}

fn git(stage: &Stage, words: &str) -> Duration {
    timed(stage.command("git").args(words.split(' ')))
}

/// A session of the bare server that runs what our agents run.
fn session(stage: &Stage, name: &str, directory: &str) -> Duration {
    let socket = stage.path("bare.sock").display().to_string();
    let mut tmux = stage.command("tmux");
    tmux.args(["-S", &socket, "new-session", "-d", "-s", name, "-c"]);
    timed(tmux.arg(stage.path(directory)).args(["sleep", "600"]))
}

/// Starts in new and in reused worktrees, and creation without a start.
fn starts(rounds: usize) -> Vec<Row> {
    let stage = stage_with_files();
    let mut new = Row {
        name: "create + start, new worktree",
        bare_name: "`git worktree add`, `tmux new-session`",
        goal: "ratio ≤ 1.5",
        ..Row::default()
    };
    let mut reused = Row {
        name: "create + start, reused worktree",
        bare_name: "`git status`, `git switch`, `tmux new-session`",
        goal: "ratio ≤ 2",
        ..Row::default()
    };
    let mut created = Row {
        name: "`create --no-spawn`",
        bare_name: "`orange --version`",
        goal: "≤ 8 ms more",
        ..Row::default()
    };
    // The first round starts the tmux servers, and does not count.
    for round in 0..=rounds {
        let bare_new = {
            let (branch, place) = (format!("bare-{round}"), format!("bare-{round}"));
            let add = format!("worktree add -q -b {branch} ../{place}");
            git(&stage, &add) + session(&stage, &branch, &place)
        };
        let branch = format!("ours-{round}");
        let start = ["task", "create", "--branch", &branch, "A task"];
        let ours_new = timed(&mut stage.orange(&start));
        timed(&mut stage.orange(&["task", "cancel", &branch, "--yes"]));

        let bare_reused = {
            let place = stage.path("bare").display().to_string();
            let branch = format!("again-{round}");
            let took = git(&stage, &format!("-C {place} status --porcelain"))
                + git(&stage, &format!("-C {place} switch -q -c {branch} main"))
                + session(&stage, &branch, "bare");
            git(&stage, &format!("-C {place} switch -q --detach main"));
            took
        };
        // The task that was just cancelled has left its worktree.
        let branch = format!("reused-{round}");
        let start = ["task", "create", "--branch", &branch, "A task"];
        let ours_reused = timed(&mut stage.orange(&start));

        let version = timed(&mut stage.orange(&["--version"]));
        let summary = format!("Task number {round}");
        let create = timed(&mut stage.orange(&["task", "create", "--no-spawn", &summary]));
        if round > 0 {
            for (row, bare, ours) in [
                (&mut new, bare_new, ours_new),
                (&mut reused, bare_reused, ours_reused),
                (&mut created, version, create),
            ] {
                row.bare.push(bare);
                row.ours.push(ours);
            }
        }
    }
    for socket in ["bare.sock", "home/tmux.sock"] {
        let mut tmux = stage.command("tmux");
        let _gone = tmux
            .arg("-S")
            .arg(stage.path(socket))
            .arg("kill-server")
            .output();
    }
    vec![new, reused, created]
}

fn update(rounds: usize) -> Row {
    let stage = Stage::new("");
    let (task, folder) = minimal_update::prepare(&stage);
    let mut row = Row {
        name: "`task update --status`",
        bare_name: "the same durable writes",
        goal: "ratio ≤ 1.3",
        ..Row::default()
    };
    for round in 0..2 * rounds {
        let to = if round % 2 == 0 { "held" } else { "open" };
        row.bare.push(timed(&mut own("--minimal", &folder)));
        let update = ["task", "update", &task, "--status", to];
        row.ours.push(timed(&mut stage.orange(&update)));
    }
    row
}

/// Lists and a task among many, all of which wait in a queue.
fn lists(rounds: usize) -> Vec<Row> {
    let mut rows = Vec::new();
    for (tasks, list_name, show_name) in [
        (1_000, "`list`, 1,000 tasks", "`show`, 1,000 tasks"),
        (10_000, "`list`, 10,000 tasks", "`show`, 10,000 tasks"),
    ] {
        let stage = Stage::new("");
        let create = ["task", "create", "--no-spawn", "--branch", "measured"];
        timed(stage.orange(&create).arg("Say what is to be done"));
        let home = stage.path("home");
        copy_task(&home.join("orange.db"), tasks - 1, true);
        let printed = stage.orange(&["task", "list"]).output().unwrap();
        fs::write(home.join("printed"), printed.stdout).unwrap();
        let mut list = Row {
            name: list_name,
            bare_name: "`SELECT` of the same rows",
            goal: if tasks == 1_000 { "≤ 8 ms" } else { "" },
            ..Row::default()
        };
        let mut show = Row {
            name: show_name,
            bare_name: "`orange --version`",
            goal: "≤ 8 ms",
            ..Row::default()
        };
        for _ in 0..rounds {
            list.bare.push(timed(&mut own("--select", &home)));
            list.ours.push(timed(&mut stage.orange(&["task", "list"])));
            show.bare.push(timed(&mut stage.orange(&["--version"])));
            let words = ["task", "show", "measured"];
            show.ours.push(timed(&mut stage.orange(&words)));
        }
        rows.extend([list, show]);
    }
    rows
}

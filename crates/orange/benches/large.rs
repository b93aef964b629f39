//! A start in one of ten large repositories, against the bare commands.
//!
//! Run with `cargo bench -p orange --bench large`; `FILES` sets the size of each repository
//! (default 100,000), `ROUNDS` how often a start is measured (default 5). Bare means `git worktree
//! add` and `tmux new-session`. It fails when the ratio of the medians is over 1.5. The files of the
//! repositories are hard links, so that all ten take the disk space of one: about 0.5 GB, and for
//! each of the two worktrees of a round as much again.

#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a benchmark starts programs, measures time and prints what it measured"
)]

mod stage;

use std::io::{BufWriter, Write as _};
use std::process::Stdio;
use std::time::Duration;

use crate::stage::{Stage, median, timed};

const REPOSITORIES: usize = 10;
const LIMIT: f64 = 1.5;

fn number(name: &str, default: usize) -> usize {
    std::env::var(name).map_or(default, |text| text.parse().unwrap())
}

fn git(stage: &Stage, repository: &str, words: &str) -> Duration {
    let place = stage.path(repository).display().to_string();
    let mut git = stage.command("git");
    timed(git.args(["-C", &place]).args(words.split(' ')))
}

/// Writes one commit with this many files into an empty repository.
fn import(stage: &Stage, repository: &str, files: usize) {
    let place = stage.path(repository).display().to_string();
    let mut import = stage.command("git");
    import.args(["-C", &place, "fast-import", "--quiet"]);
    let mut import = import.stdin(Stdio::piped()).spawn().unwrap();
    let mut input = BufWriter::new(import.stdin.take().unwrap());
    let head = "commit refs/heads/main\ncommitter Ada <ada@example.org> 1700000000 +0000\ndata 0\n";
    input.write_all(head.as_bytes()).unwrap();
    for number in 0..files {
        let (folder, text) = (number % 1_000, format!("file {number}\n"));
        let file = format!(
            "M 644 inline src/{folder}/{number}.txt\ndata {}\n",
            text.len()
        );
        input.write_all(file.as_bytes()).unwrap();
        input.write_all(text.as_bytes()).unwrap();
    }
    drop(input);
    assert!(import.wait().unwrap().success());
}

/// Ten projects, of which the last nine share the files and the objects of the first.
fn add_repositories(stage: &Stage, files: usize) {
    timed(
        stage
            .command("git")
            .args(["init", "-q", "-b", "main", "../large-0"]),
    );
    import(stage, "large-0", files);
    git(stage, "large-0", "reset -q --hard main");
    for number in 1..REPOSITORIES {
        let name = format!("large-{number}");
        let clone = format!("clone -q --shared --no-checkout . ../{name}");
        git(stage, "large-0", &clone);
        let mut copy = stage.command("cp");
        let (from, to) = (stage.path("large-0/src"), stage.path(&name));
        timed(copy.arg("-al").arg(from).arg(to));
        git(stage, &name, "reset -q");
        git(stage, &name, "remote remove origin");
    }
    for number in 0..REPOSITORIES {
        let place = stage.path(&format!("large-{number}")).display().to_string();
        let words = ["project", "add", &place, "--harness", "script"];
        timed(stage.orange(&words).args(["--workflow", "minimal"]));
    }
}

/// The bare commands, whose worktree is removed afterwards.
fn bare(stage: &Stage, round: usize) -> Duration {
    let socket = stage.path("bare.sock").display().to_string();
    let (branch, place) = (format!("bare-{round}"), stage.path("bare"));
    let place = place.display().to_string();
    let add = format!("worktree add -q -b {branch} {place}");
    let mut took = git(stage, "large-0", &add);
    let mut tmux = stage.command("tmux");
    tmux.args(["-S", &socket, "new-session", "-d", "-s", &branch, "-c"]);
    took += timed(tmux.args([&place, "sleep", "600"]));
    git(
        stage,
        "large-0",
        &format!("worktree remove --force {place}"),
    );
    took
}

/// A start by orange, whose worktree is removed afterwards.
fn ours(stage: &Stage, round: usize) -> Duration {
    let branch = format!("ours-{round}");
    let create = ["new", "--project", "large-0", "--branch", &branch, "A task"];
    let took = timed(stage.orange(&create).args(["--wait", "600"]));
    timed(&mut stage.orange(&["cancel", &branch, "--yes", "--wait", "600"]));
    timed(&mut stage.orange(&["workspace", "remove", "large-0--1"]));
    took
}

fn main() {
    let (files, rounds) = (number("FILES", 100_000), number("ROUNDS", 5));
    let stage = Stage::new("");
    add_repositories(&stage, files);
    let (mut bare_times, mut our_times) = (Vec::new(), Vec::new());
    // The first round starts the tmux servers, and does not count.
    for round in 0..=rounds {
        let times = (bare(&stage, round), ours(&stage, round));
        if round > 0 {
            bare_times.push(times.0);
            our_times.push(times.1);
        }
    }
    for socket in ["bare.sock", "home/tmux.sock"] {
        let socket = stage.path(socket).display().to_string();
        let mut tmux = stage.command("tmux");
        let _gone = tmux.args(["-S", &socket, "kill-server"]).output();
    }
    let (bare, ours) = (median(bare_times), median(our_times));
    let ratio = ours.as_secs_f64() / bare.as_secs_f64();
    println!(
        "{REPOSITORIES} repositories of {files} files: bare {bare:.2?}, ours {ours:.2?}, ratio \
         {ratio:.2} (limit {LIMIT}), {rounds} rounds in turns"
    );
    assert!(ratio <= LIMIT, "the ratio {ratio:.2} is over {LIMIT}");
}
